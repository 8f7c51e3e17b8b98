/* kernel_cache_fork_test.c: the disk cache of compiled kernels as programs meet it: eight processes at once
 * (case B109), directories that cannot or must not be used, entries that are damaged. Whatever is wrong
 * with the cache, kernels are compiled and run. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/process.h"

static accel_device device;
static char root[] = "/tmp/accel_cache_test-XXXXXX";
static char cache[512];
static unsigned compiled;
static unsigned from_cache;

static void listen(accel_log_level level, const char *backend, const char *text, void *user)
{
    (void)level;
    (void)backend;
    (void)user;
    compiled += strstr(text, ": compiled") != NULL;
    from_cache += strstr(text, ": from the cache") != NULL;
}

/* Builds kernel number `number`, runs it, and looks at the number that it writes. 0: all is well. */
static int use_kernel(unsigned number)
{
    char source[128];
    snprintf(source, sizeof source, "__kernel void k(__global uint *out) { out[0] = %uu * 3u; }\n",
             number);
    accel_module *module = NULL;
    accel_kernel *kernel = NULL;
    accel_stream *stream = NULL;
    void *memory = NULL;
    unsigned value = 0;
    CHECK_QUIET(accel_module_create_from_source(device, source, strlen(source), NULL, &module) ==
                ACCEL_OK);
    CHECK_QUIET(accel_module_get_kernel(module, "k", &kernel) == ACCEL_OK);
    CHECK_QUIET(accel_stream_default(device, &stream) == ACCEL_OK);
    CHECK_QUIET(accel_memory_alloc(stream, sizeof value, NULL, &memory) == ACCEL_OK);
    const accel_launch_shape one = {{1, 1, 1}, {1, 1, 1}};
    const accel_kernel_arg argument = ACCEL_ARG_POINTER(memory);
    CHECK_QUIET(accel_kernel_launch(kernel, stream, &one, &argument, 1) == ACCEL_OK);
    CHECK_QUIET(accel_copy(&value, memory, sizeof value, stream) == ACCEL_OK);
    CHECK_QUIET(accel_stream_synchronize(stream) == ACCEL_OK);
    CHECK_QUIET(value == number * 3u);
    CHECK_QUIET(accel_memory_free(memory) == ACCEL_OK);
    accel_module_release(module);
    return 0;
}

/* As above, and says whether the compiler ran. */
static bool compiles(unsigned number)
{
    const unsigned before = compiled;
    assert_int_equal(use_kernel(number), 0);
    return compiled != before;
}

static void use_directory(const char *name)
{
    snprintf(cache, sizeof cache, "%s/%s", root, name);
    setenv("ACCEL_CACHE_DIR", cache, 1);
}

/* Calls `body` for each entry; returns how many there are. */
static unsigned each_entry(void (*body)(const char *path))
{
    unsigned count = 0;
    DIR *directory = opendir(cache);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.') {
            char path[1024];
            snprintf(path, sizeof path, "%s/%s", cache, entry->d_name);
            if (body != NULL)
                body(path);
            count++;
        }
    if (directory != NULL)
        closedir(directory);
    return count;
}

static void entries_are_used_again(void **state)
{
    (void)state;
    use_directory("plain");
    assert_true(compiles(1));
    assert_false(compiles(1));
    assert_int_equal(each_entry(NULL), 1);
    struct stat about;
    assert_int_equal(stat(cache, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    setenv("ACCEL_CACHE", "0", 1);
    assert_true(compiles(1));
    unsetenv("ACCEL_CACHE");
    assert_false(compiles(1));
    use_directory("other");
    assert_true(compiles(1));
}

/* ---- damaged entries ---- */

static off_t new_size;

static void cut(const char *path)
{
    assert_int_equal(truncate(path, new_size), 0);
}

static void spoil(const char *path)
{
    const int file = open(path, O_RDWR | O_CLOEXEC);
    assert_true(file >= 0);
    const char byte = 0x55;
    assert_int_equal(pwrite(file, &byte, 1, new_size), 1);
    close(file);
}

static void damaged_entries_are_made_anew(void **state)
{
    (void)state;
    use_directory("damaged");
    assert_true(compiles(1));
    static const off_t sizes[] = {0, 1, 40, 100, 1000, 5000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        new_size = sizes[i];
        each_entry(cut);
        assert_true(compiles(1));
        assert_false(compiles(1));
        each_entry(spoil);
        assert_true(compiles(1));
        assert_false(compiles(1));
    }
}

/* ---- directories that do not serve ---- */

/* Without a cache each build compiles, and nothing else goes wrong. */
static void expect_no_cache(unsigned number)
{
    assert_true(compiles(number));
    assert_true(compiles(number));
}

static void unusable_directories_are_done_without(void **state)
{
    (void)state;
    char other[600];
    setenv("ACCEL_CACHE_DIR", "/proc/nowhere/cache", 1);
    expect_no_cache(2);
    use_directory("file");
    const int file = open(cache, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    close(file);
    expect_no_cache(2);
    use_directory("target");
    assert_true(compiles(2));
    snprintf(other, sizeof other, "%s/link", root);
    assert_int_equal(symlink(cache, other), 0);
    setenv("ACCEL_CACHE_DIR", other, 1);
    expect_no_cache(2);
    use_directory("open");
    assert_int_equal(mkdir(cache, 0700), 0);
    assert_int_equal(chmod(cache, 0777), 0);
    expect_no_cache(2);
    use_directory("read-only");
    assert_int_equal(mkdir(cache, 0500), 0);
    if (geteuid() != 0) /* root may write all the same */
        expect_no_cache(2);
}

static void directories_of_others_are_not_trusted(void **state)
{
    (void)state;
    use_directory("foreign");
    assert_true(compiles(3));
    if (chown(cache, 12345, 12345) != 0)
        skip(); /* only root can give a directory away */
    expect_no_cache(3);
    assert_int_equal(chown(cache, geteuid(), getegid()), 0);
    assert_false(compiles(3));
}

/* Mounts a small file system of its own over the directory; false where that is not allowed. */
static bool mount_small(unsigned long flags, const char *options)
{
    assert_int_equal(mkdir(cache, 0700), 0);
    return mount("tmpfs", cache, "tmpfs", flags, options) == 0;
}

static void full_and_noexec_file_systems(void **state)
{
    (void)state;
    use_directory("full");
    if (!mount_small(0, "size=4k,mode=0700"))
        skip(); /* only root can mount */
    expect_no_cache(4);
    assert_int_equal(umount(cache), 0);
    use_directory("noexec");
    assert_true(mount_small(MS_NOEXEC, "size=4m,mode=0700"));
    assert_true(compiles(4));
    assert_false(compiles(4)); /* entries are read, never run where they lie */
    assert_int_equal(umount(cache), 0);
    use_directory("sealed");
    assert_true(mount_small(0, "size=4m,mode=0700"));
    assert_true(compiles(4));
    assert_int_equal(mount("tmpfs", cache, "tmpfs", MS_REMOUNT | MS_RDONLY, NULL), 0);
    assert_false(compiles(4));
    expect_no_cache(5);
    assert_int_equal(umount(cache), 0);
}

/* ---- B109 ---- */

enum { PROCESSES = 8, KERNELS = 12 };

static unsigned kernels_each = KERNELS;

static int build_all(void *user)
{
    const unsigned first = *(const unsigned *)user;
    for (unsigned i = 0; i < kernels_each; i++) {
        const unsigned number = 100 + (first % 2 == 0 ? first + i : first + KERNELS - i) % KERNELS;
        const int code = use_kernel(number);
        if (code != 0)
            return code;
    }
    return 0;
}

static void run_processes(void)
{
    pid_t children[PROCESSES];
    for (unsigned i = 0; i < PROCESSES; i++)
        children[i] = test_child_start(build_all, &i);
    for (unsigned i = 0; i < PROCESSES; i++)
        assert_int_equal(test_child_wait(children[i], 100), 0);
}

static void eight_processes_share_a_directory(void **state)
{
    (void)state;
    use_directory("shared");
    run_processes();
    assert_int_equal(each_entry(NULL), KERNELS);
    run_processes(); /* now all of it is there */
    for (unsigned i = 0; i < KERNELS; i++)
        assert_false(compiles(100 + i));
}

static void eight_processes_without_a_directory(void **state)
{
    (void)state;
    kernels_each = 3;
    setenv("ACCEL_CACHE_DIR", "/proc/nowhere/cache", 1);
    run_processes();
    use_directory("off");
    setenv("ACCEL_CACHE", "0", 1);
    run_processes();
    assert_int_equal(each_entry(NULL), 0);
    unsetenv("ACCEL_CACHE");
    kernels_each = KERNELS;
}

static int set_up(void **state)
{
    (void)state;
    test_environment(1);
    unsetenv("ACCEL_CC");
    if (mkdtemp(root) == NULL)
        return 1;
    accel_log_set_callback(ACCEL_LOG_LEVEL_DEBUG, listen, NULL);
    device = test_cpu_device(0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[64];
    static const char *const mounted[] = {"full", "noexec", "sealed"};
    for (size_t i = 0; i < 3; i++) { /* where a test failed in between */
        use_directory(mounted[i]);
        umount2(cache, MNT_DETACH);
    }
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_used_again),
        cmocka_unit_test(damaged_entries_are_made_anew),
        cmocka_unit_test(unusable_directories_are_done_without),
        cmocka_unit_test(directories_of_others_are_not_trusted),
        cmocka_unit_test(full_and_noexec_file_systems),
        cmocka_unit_test(eight_processes_share_a_directory),
        cmocka_unit_test(eight_processes_without_a_directory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
