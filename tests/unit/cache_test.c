/* cache_test.c: the on-disk cache: keys, entries, damage, failing calls, eight processes at once, and
 * the size limit. */
#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "unit/cache_support.h"

/* ---- the hash and keys ---- */

static void check_digest(const char *text, size_t repeats, const char *wanted)
{
    accel__sha256 hash;
    unsigned char digest[ACCEL__SHA256_SIZE];
    char hexadecimal[2 * ACCEL__SHA256_SIZE + 1];
    accel__sha256_begin(&hash);
    for (size_t i = 0; i < repeats; i++)
        accel__sha256_add(&hash, text, strlen(text));
    accel__sha256_finish(&hash, digest);
    for (int i = 0; i < ACCEL__SHA256_SIZE; i++)
        snprintf(hexadecimal + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(hexadecimal, wanted);
}

/* The messages of the standard's example paper, and those of one block less or more. */
static void test_sha256(void **state)
{
    (void)state;
    check_digest("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_digest("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_digest("aaaaaaaaaa", 100000,
                 "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    check_digest("a", 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
    check_digest("a", 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
    check_digest("a", 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

static void test_keys(void **state)
{
    (void)state;
    static const char *const parts[][2] = {{"ab", "c"}, {"a", "bc"},   {"abc", ""},   {"abc", NULL},
                                           {"", "abc"}, {NULL, "abc"}, {"abc", "abc"}};
    enum { COUNT = 7 };
    accel__cache_key keys[COUNT];
    for (int i = 0; i < COUNT; i++) {
        accel__cache_key_begin(&keys[i]);
        accel__cache_key_add_string(&keys[i], parts[i][0]);
        accel__cache_key_add_string(&keys[i], parts[i][1]);
        accel__cache_key_finish(&keys[i]);
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(keys[i].digest, keys[j].digest, ACCEL__SHA256_SIZE);
    }
    const accel__cache_key once = key_of("x", 1);
    const accel__cache_key again = key_of("x", 1);
    assert_memory_equal(once.digest, again.digest, ACCEL__SHA256_SIZE);
}

/* ---- entries ---- */

static void test_store_and_find(void **state)
{
    (void)state;
    const accel__cache_key key = key_of("k", 1);
    const accel__cache_key other = key_of("k", 2);
    assert_int_equal(look(&key, "data", 4), 0);
    assert_int_equal(count_files(root, ""), 0); /* asking creates nothing */
    accel__cache_put(&key, "data", 4);
    assert_int_equal(look(&key, "data", 4), 1);
    assert_int_equal(look(&other, "data", 4), 0);
    accel__cache_put(&key, "other", 5);
    assert_int_equal(look(&key, "other", 5), 1);
    accel__cache_put(&other, "", 0);
    assert_int_equal(look(&other, "", 0), 1);
    assert_int_equal(count_files(directory, ""), 2);
    struct stat status;
    assert_int_equal(stat(directory, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    char path[256];
    entry_path(&key, path, sizeof path);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void overwrite(const char *path, off_t at, const char *bytes, size_t size, off_t length)
{
    const int file = open(path, O_WRONLY);
    assert_true(file >= 0);
    if (size != 0)
        assert_int_equal(pwrite(file, bytes, size, at), size);
    if (length >= 0)
        assert_int_equal(ftruncate(file, length), 0);
    assert_int_equal(close(file), 0);
}

/* Whatever became of an entry: it counts as missing, is removed, and can be stored again. */
static void test_damage(void **state)
{
    (void)state;
    const accel__cache_key key = key_of("k", 1);
    const accel__cache_key other = key_of("k", 2);
    char path[256];
    char other_path[256];
    char data[3000];
    memset(data, 'd', sizeof data);
    entry_path(&key, path, sizeof path);
    entry_path(&other, other_path, sizeof other_path);
    accel__cache_put(&key, data, sizeof data);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    for (off_t length = 0; length < status.st_size; length += length < 100 ? 1 : 211) {
        accel__cache_put(&key, data, sizeof data);
        overwrite(path, 0, "", 0, length);
        assert_int_equal(look(&key, data, sizeof data), 0);
        assert_int_equal(access(path, F_OK), -1);
    }
    for (off_t at = 0; at < status.st_size; at += at < 100 ? 1 : 211) {
        accel__cache_put(&key, data, sizeof data);
        overwrite(path, at, "\x7f", 1, -1);
        assert_int_equal(look(&key, data, sizeof data), 0);
        assert_int_equal(access(path, F_OK), -1);
    }
    accel__cache_put(&key, data, sizeof data);
    overwrite(path, 0, "", 0, status.st_size + 1);
    assert_int_equal(look(&key, data, sizeof data), 0);
    accel__cache_put(&key, data, sizeof data);
    assert_int_equal(rename(path, other_path), 0); /* whole, but of another key */
    assert_int_equal(look(&other, data, sizeof data), 0);
    assert_int_equal(access(other_path, F_OK), -1);
    accel__cache_put(&key, data, sizeof data);
    assert_int_equal(look(&key, data, sizeof data), 1);
}

static void test_foreign_things(void **state)
{
    (void)state;
    const accel__cache_key key = key_of("k", 1);
    char path[256];
    char aside[256];
    entry_path(&key, path, sizeof path);
    snprintf(aside, sizeof aside, "%s/aside", root);
    accel__cache_put(&key, "data", 4);
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(symlink(aside, path), 0); /* a good entry behind a link is not taken */
    assert_int_equal(look(&key, "data", 4), 0);
    assert_int_equal(access(aside, F_OK), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* does not hang */
    assert_int_equal(look(&key, "data", 4), 0);
    accel__cache_put(&key, "data", 4);
    assert_int_equal(look(&key, "data", 4), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(look(&key, "data", 4), 0);
    accel__cache_put(&key, "data", 4); /* cannot replace a directory: nothing is left behind */
    assert_int_equal(count_files(directory, ACCEL__CACHE_TEMPORARY), 0);
    if (geteuid() == 0) {
        assert_int_equal(rmdir(path), 0);
        accel__cache_put(&key, "data", 4);
        assert_int_equal(chown(path, 12345, 12345), 0);
        assert_int_equal(look(&key, "data", 4), 0);
    }
}

/* ---- failing calls ---- */

static unsigned fault_left;

static int counted_fault(const char *call)
{
    (void)call;
    return fault_left != 0 && --fault_left == 0 ? EIO : 0;
}

static bool counted_allocation(void)
{
    return counted_fault("") != 0;
}

/* The n-th of all calls and requests fails, for every n: what is found is right, what is there is
 * whole, and no descriptor stays open. */
static void test_each_failure(void **state)
{
    (void)state;
    const uint64_t descriptors = test_descriptor_digest();
    bool was_met = true;
    for (unsigned n = 1; was_met; n++) {
        const accel__cache_key key = key_of("n", (int)n);
        accel__cache_fault = counted_fault;
        accel__allocate_fault = counted_allocation;
        fault_left = n;
        accel__cache_put(&key, "data", 4);
        const int found = look(&key, "data", 4);
        was_met = fault_left == 0;
        accel__cache_fault = NULL;
        accel__allocate_fault = NULL;
        assert_true(found == 0 || found == 1);
        assert_true(was_met || found == 1);
        assert_int_equal(count_files(directory, ACCEL__CACHE_TEMPORARY), 0);
        accel__cache_put(&key, "data", 4);
        assert_int_equal(look(&key, "data", 4), 1);
        assert_true(n < 1000);
    }
    assert_true(test_descriptor_digest() == descriptors);
}

/* ---- many processes (B109) ---- */

enum { PROCESSES = 8, SOURCES = 200 };

static size_t make_content(int source, char *content, size_t capacity)
{
    const size_t size = 100 + (size_t)source * 37 % (capacity - 100);
    memset(content, 'a' + source % 26, size);
    memcpy(content, &source, sizeof source);
    return size;
}

/* Every source in an order of its own: what is found is right, what is missing is stored. */
static int use_all(void *user)
{
    const int number = *(const int *)user;
    char content[4096];
    for (int i = 0; i < 3 * SOURCES; i++) {
        const int source = (i * 77 + number * 31) % SOURCES;
        const accel__cache_key key = key_of("source", source);
        const size_t size = make_content(source, content, sizeof content);
        const int found = look(&key, content, size);
        CHECK_QUIET(found >= 0);
        if (found == 0 || i % 5 == number % 5) /* also over one that is there */
            accel__cache_put(&key, content, size);
    }
    return 0;
}

static void run_processes(void)
{
    pid_t children[PROCESSES];
    static int numbers[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        numbers[i] = i;
        children[i] = test_child_start(use_all, &numbers[i]);
    }
    for (int i = 0; i < PROCESSES; i++)
        assert_int_equal(test_child_wait(children[i], 60), 0);
}

static void test_processes(void **state)
{
    (void)state;
    run_processes();
    assert_int_equal(count_files(directory, ""), SOURCES);
    assert_int_equal(count_files(directory, ACCEL__CACHE_TEMPORARY), 0);
    char content[4096];
    for (int source = 0; source < SOURCES; source++) {
        const accel__cache_key key = key_of("source", source);
        const size_t size = make_content(source, content, sizeof content);
        assert_int_equal(look(&key, content, size), 1);
    }
    run_shell("rm -rf '%s'", directory);
    setenv("ACCEL_CACHE", "0", 1);
    run_processes();
    assert_int_equal(count_files(root, ""), 0);
}

/* ---- the limit ---- */

static void set_age(const accel__cache_key *key, long seconds)
{
    char path[256];
    entry_path(key, path, sizeof path);
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= seconds;
    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* In a child, as a process looks through the directory at its first store. */
static int store_one(void *user)
{
    static char data[200 * 1024];
    const accel__cache_key key = key_of("big", *(const int *)user);
    accel__cache_put(&key, data, sizeof data);
    return 0;
}

static void store_in_child(int number)
{
    assert_int_equal(test_in_child(store_one, &number, 20), 0);
}

static bool is_there(int number)
{
    char path[256];
    const accel__cache_key key = key_of("big", number);
    entry_path(&key, path, sizeof path);
    return access(path, F_OK) == 0;
}

static void test_limit(void **state)
{
    (void)state;
    static char data[200 * 1024];
    setenv("ACCEL_CACHE_MAX_MB", "1", 1);
    for (int i = 0; i < 5; i++) { /* 1000 KiB: still fits */
        store_in_child(i);
        const accel__cache_key key = key_of("big", i);
        set_age(&key, 1000 - i);
    }
    assert_int_equal(count_files(directory, ""), 5);
    const accel__cache_key oldest = key_of("big", 0);
    assert_int_equal(look(&oldest, data, sizeof data), 1); /* now it is the newest */
    char stray[192];
    snprintf(stray, sizeof stray, "%s/notes.txt", directory);
    assert_int_equal(close(open(stray, O_CREAT | O_WRONLY, 0600)), 0);
    char dead[192];
    snprintf(dead, sizeof dead, "%s/" ACCEL__CACHE_TEMPORARY "dead", directory);
    assert_int_equal(close(open(dead, O_CREAT | O_WRONLY, 0600)), 0);
    char young[192];
    snprintf(young, sizeof young, "%s/" ACCEL__CACHE_TEMPORARY "young", directory);
    assert_int_equal(close(open(young, O_CREAT | O_WRONLY, 0600)), 0);
    const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, dead, long_ago, 0), 0);
    store_in_child(5);
    /* 1200 KiB are more than 1 MiB: the three not used for longest go, down to 3/4 MiB */
    assert_true(is_there(0) && !is_there(1) && !is_there(2) && !is_there(3) && is_there(4) &&
                is_there(5));
    assert_int_equal(access(stray, F_OK), 0);
    assert_int_equal(access(dead, F_OK), -1);
    assert_int_equal(access(young, F_OK), 0);
    setenv("ACCEL_CACHE_MAX_MB", "many", 1); /* a warning, and the default */
    store_in_child(6);
    assert_true(is_there(6));
}

/* One process that stores without end does not pass the limit by more than its allowance. */
static int store_many(void *user)
{
    (void)user;
    static char data[50 * 1024];
    for (int i = 0; i < 100; i++) {
        const accel__cache_key key = key_of("many", i);
        accel__cache_put(&key, data, sizeof data);
        CHECK_QUIET(look(&key, data, sizeof data) == 1);
        CHECK_QUIET(count_files(directory, "") <= (1024 + 64) / 50 + 2);
    }
    static char huge[2 * 1024 * 1024];
    const accel__cache_key key = key_of("huge", 0);
    accel__cache_put(&key, huge, sizeof huge); /* would be all the cache: not kept */
    CHECK_QUIET(look(&key, huge, sizeof huge) == 0);
    return 0;
}

static void test_limit_in_one_process(void **state)
{
    (void)state;
    setenv("ACCEL_CACHE_MAX_MB", "1", 1);
    assert_int_equal(test_in_child(store_many, NULL, 30), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_sha256),    TEST(test_keys),           TEST(test_store_and_find),
        TEST(test_damage),    TEST(test_foreign_things), TEST(test_each_failure),
        TEST(test_processes), TEST(test_limit),          TEST(test_limit_in_one_process),
    };
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
