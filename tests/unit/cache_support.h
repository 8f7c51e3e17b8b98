/* cache_support.h: a cache directory of the test's own, and what is in it. */
#ifndef TESTS_UNIT_CACHE_SUPPORT_H
#define TESTS_UNIT_CACHE_SUPPORT_H

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocate.h"
#include "kernel/cache/cache.h"
#include "kernel/cache/internal.h"
#include "support/check.h"
#include "support/process.h"

static char root[] = "/tmp/accel_cache_test-XXXXXX";
static char directory[128]; /* the cache's */

static inline void run_shell(const char *format, const char *path)
{
    char command[512];
    snprintf(command, sizeof command, format, path);
    assert_int_equal(system(command), 0);
}

static inline int begin(void **state)
{
    (void)state;
    unsetenv("ACCEL_CACHE");
    unsetenv("ACCEL_CACHE_MAX_MB");
    snprintf(directory, sizeof directory, "%s/cache", root);
    accel__cache_fault = NULL;
    return setenv("ACCEL_CACHE_DIR", directory, 1);
}

static inline int end(void **state)
{
    (void)state;
    accel__cache_fault = NULL;
    run_shell("chmod -R u+rwx '%s'", root);
    run_shell("rm -rf '%s'/* ", root);
    return 0;
}

static inline int begin_all(void **state)
{
    (void)state;
    return mkdtemp(root) != NULL && chmod(root, 0755) == 0 ? 0 : -1;
}

static inline int end_all(void **state)
{
    (void)state;
    return rmdir(root);
}

static inline accel__cache_key key_of(const char *text, int number)
{
    accel__cache_key key;
    accel__cache_key_begin(&key);
    accel__cache_key_add_string(&key, text);
    accel__cache_key_add(&key, &number, sizeof number);
    accel__cache_key_finish(&key);
    return key;
}

static inline void entry_path(const accel__cache_key *key, char *path, size_t size)
{
    int at = snprintf(path, size, "%s/", directory);
    for (int i = 0; i < ACCEL__SHA256_SIZE; i++)
        at += snprintf(path + at, size - (size_t)at, "%02x", key->digest[i]);
    snprintf(path + at, size - (size_t)at, ".bin");
}

/* 1: the entry is there with that content, 0: it is missing, -1: it is wrong. */
static inline int look(const accel__cache_key *key, const void *data, size_t size)
{
    void *got = NULL;
    size_t got_size = 0;
    if (!accel__cache_get(key, &got, &got_size))
        return got == NULL && got_size == 0 ? 0 : -1;
    const int found = got_size == size && (size == 0 || memcmp(got, data, size) == 0) ? 1 : -1;
    accel__deallocate(got);
    return found;
}

static inline unsigned count_files(const char *path, const char *prefix)
{
    unsigned count = 0;
    DIR *stream = opendir(path);
    for (struct dirent *entry; stream != NULL && (entry = readdir(stream)) != NULL;)
        count += entry->d_name[0] != '.' && strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    if (stream != NULL)
        closedir(stream);
    return count;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

#endif
