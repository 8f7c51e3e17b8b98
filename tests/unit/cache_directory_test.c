/* cache_directory_test.c: the cache without a usable directory: it stays empty, works on, and says so
 * once. In children, as each process warns once; this one must therefore give no cause itself. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "unit/cache_support.h"

/* ---- directories that cannot be used ---- */

static unsigned warnings;
static char last_warning[512];

static void count_warning(accel_log_level level, const char *backend, const char *text, void *user)
{
    (void)level;
    (void)backend;
    (void)user;
    warnings++;
    snprintf(last_warning, sizeof last_warning, "%s", text);
}

/* In a child: stores and asks a few times; nothing is found, and there is one warning with `user` in
 * it (none for NULL). */
static int is_not_used(void *user)
{
    const char *const wanted = user;
    accel_log_set_callback(ACCEL_LOG_LEVEL_WARNING, count_warning, NULL);
    for (int i = 0; i < 3; i++) {
        const accel__cache_key key = key_of("k", i);
        CHECK_QUIET(look(&key, "data", 4) == 0);
        accel__cache_put(&key, "data", 4);
        CHECK_QUIET(look(&key, "data", 4) == 0);
    }
    if (wanted == NULL)
        return warnings != 0;
    if (warnings != 1 || strstr(last_warning, wanted) == NULL) {
        fprintf(stderr, "%u warnings, the last: %s\n", warnings, last_warning);
        return 2;
    }
    return 0;
}

static int set_uid_and_try(void *user)
{
    return setuid(65534) != 0 ? 3 : is_not_used(user);
}

static void expect_unused(const char *warning)
{
    assert_int_equal(test_in_child(is_not_used, (void *)(uintptr_t)warning, 20), 0);
}

static void test_unusable_directories(void **state)
{
    (void)state;
    char other[160];
    setenv("ACCEL_CACHE", "0", 1);
    expect_unused(NULL);
    assert_int_equal(count_files(root, ""), 0);
    unsetenv("ACCEL_CACHE");
    assert_int_equal(mkdir(directory, 0700), 0);
    assert_int_equal(chmod(directory, 0770), 0);
    expect_unused("others may write to it");
    assert_int_equal(chmod(directory, 0702), 0);
    expect_unused("others may write to it");
    assert_int_equal(chmod(directory, 0700), 0);
    snprintf(other, sizeof other, "%s/link", root);
    assert_int_equal(symlink(directory, other), 0);
    setenv("ACCEL_CACHE_DIR", other, 1);
    expect_unused("a symbolic link");
    strcat(other, "/");
    setenv("ACCEL_CACHE_DIR", other, 1); /* the slash must not make the link be followed */
    expect_unused("a symbolic link");
    setenv("ACCEL_CACHE_DIR", "/dev/null", 1);
    expect_unused("no directory");
    setenv("ACCEL_CACHE_DIR", "/dev/null/x", 1);
    expect_unused("no directory");
    setenv("ACCEL_CACHE_DIR", "/proc/accel-cache", 1);
    expect_unused("/proc/accel-cache is not used");
    unsetenv("ACCEL_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    expect_unused("HOME");
    setenv("XDG_CACHE_HOME", "relative", 1);
    expect_unused("HOME");
    unsetenv("XDG_CACHE_HOME");
    assert_int_equal(count_files(directory, ""), 0);
}

static void test_other_users(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* needs a second user */
    assert_int_equal(mkdir(directory, 0700), 0);
    assert_int_equal(chown(directory, 12345, 12345), 0);
    expect_unused("it belongs to another user");
    assert_int_equal(chown(directory, 65534, 65534), 0);
    assert_int_equal(chmod(directory, 0500), 0); /* its own, but read-only */
    assert_int_equal(test_in_child(set_uid_and_try, (void *)(uintptr_t) "could not be stored", 20),
                     0);
    assert_int_equal(chmod(directory, 0000), 0);
    assert_int_equal(test_in_child(set_uid_and_try, (void *)(uintptr_t) "is not used", 20), 0);
    assert_int_equal(count_files(directory, ""), 0);
}

static void test_where(void **state)
{
    (void)state;
    char path[256];
    const accel__cache_key key = key_of("k", 1);
    unsetenv("ACCEL_CACHE_DIR");
    snprintf(path, sizeof path, "%s/home", root);
    setenv("HOME", path, 1);
    accel__cache_put(&key, "home", 4);
    snprintf(path, sizeof path, "%s/home/.cache/accel", root);
    assert_int_equal(count_files(path, ""), 1);
    snprintf(path, sizeof path, "%s/xdg", root);
    setenv("XDG_CACHE_HOME", path, 1);
    assert_int_equal(look(&key, "home", 4), 0);
    accel__cache_put(&key, "xdg", 3);
    snprintf(path, sizeof path, "%s/xdg/accel", root);
    assert_int_equal(count_files(path, ""), 1);
    snprintf(path, sizeof path, "%s/b\xC3\xBC\xE2\x82\xAC sp//own/", root); /* B114 */
    setenv("ACCEL_CACHE_DIR", path, 1);
    accel__cache_put(&key, "own", 3);
    assert_int_equal(look(&key, "own", 3), 1);
    assert_int_equal(count_files(path, ""), 1);
    unsetenv("XDG_CACHE_HOME");
}

/* ---- a full disk ---- */

static const char *fault_call;
static int fault_code;

static int named_fault(const char *call)
{
    return strcmp(call, fault_call) == 0 ? fault_code : 0;
}

static int full_disk(void *user)
{
    (void)user;
    accel__cache_fault = named_fault;
    fault_call = "write";
    fault_code = ENOSPC;
    return is_not_used((void *)(uintptr_t) "could not be stored: No space left on device");
}

/* The disk ends in the middle of the data, really. */
static int limited_file_size(void *user)
{
    (void)user;
    const struct rlimit limit = {.rlim_cur = 1000, .rlim_max = 1000};
    static char data[5000];
    signal(SIGXFSZ, SIG_IGN);
    CHECK_QUIET(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    const accel__cache_key key = key_of("big", 1);
    const accel__cache_key small = key_of("small", 1);
    accel__cache_put(&key, data, sizeof data);
    CHECK_QUIET(look(&key, data, sizeof data) == 0);
    accel__cache_put(&small, "data", 4);
    CHECK_QUIET(look(&small, "data", 4) == 1);
    return 0;
}

enum { CANNOT_MOUNT = 77 };

/* In a mount namespace of its own: a file system of 64 KiB, first full and then read-only. What was
 * stored is found, what was not is missing, and no part of it stays. */
static int small_file_system(void *user)
{
    (void)user;
    static char data[10000];
    unsigned found = 0;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mkdir(directory, 0700) != 0 ||
        mount("none", directory, "tmpfs", MS_NOEXEC, "size=64k,mode=0700") != 0)
        return CANNOT_MOUNT;
    accel_log_set_callback(ACCEL_LOG_LEVEL_WARNING, count_warning, NULL);
    for (int i = 0; i < 20; i++) {
        const accel__cache_key key = key_of("small", i);
        accel__cache_put(&key, data, sizeof data);
        const int now = look(&key, data, sizeof data);
        CHECK_QUIET(now == 0 || now == 1);
        found += (unsigned)now;
    }
    CHECK_QUIET(found > 0 && found < 20 && warnings == 1);
    CHECK_QUIET(strstr(last_warning, "No space left on device") != NULL);
    CHECK_QUIET(count_files(directory, "") == found);
    CHECK_QUIET(mount("none", directory, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
    for (int i = 0; i < 20; i++) {
        const accel__cache_key key = key_of("small", i);
        const int now = look(&key, data, sizeof data);
        CHECK_QUIET(now == 0 || now == 1);
        found -= (unsigned)now;
        accel__cache_put(&key, data, sizeof data);
    }
    CHECK_QUIET(found == 0 && warnings == 1);
    return 0;
}

static void test_small_file_system(void **state)
{
    (void)state;
    const int result = test_in_child(small_file_system, NULL, 20);
    if (result == CANNOT_MOUNT)
        skip(); /* not allowed here */
    assert_int_equal(result, 0);
}

static void test_full_disk(void **state)
{
    (void)state;
    assert_int_equal(test_in_child(full_disk, NULL, 20), 0);
    assert_int_equal(count_files(directory, ""), 0);
    assert_int_equal(test_in_child(limited_file_size, NULL, 20), 0);
    assert_int_equal(count_files(directory, ""), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_unusable_directories),
        TEST(test_other_users),
        TEST(test_where),
        TEST(test_full_disk),
        TEST(test_small_file_system),
    };
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
