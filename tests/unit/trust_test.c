/* trust_test.c: what is taken for another user's doing. Cases with files of other users need root. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"

#include "platform/trust.h"

enum { STRANGER = 40002 };

static char folder[] = "/tmp/accel_test_trust-XXXXXX";
static char file[64];
static char reason[256];

static int set_up(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(file, sizeof file, "%s/file", folder);
    FILE *made = fopen(file, "w");
    return made == NULL || fclose(made) != 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(folder);
}

static void refused(const char *path, const char *word)
{
    assert_false(accel__trust_path(path, reason, sizeof reason));
    assert_non_null(strstr(reason, word));
}

static void test_own(void **state)
{
    char around[128];
    (void)state;
    assert_true(accel__trust_path("/", reason, sizeof reason));
    assert_true(accel__trust_path("/bin/sh", reason, sizeof reason));
    assert_true(accel__trust_path(file, reason, sizeof reason));
    snprintf(around, sizeof around, "%s/.././%s//file", folder, strrchr(folder, '/') + 1);
    assert_true(accel__trust_path(around, reason, sizeof reason));
    assert_int_equal(chdir(folder), 0);
    assert_true(accel__trust_path("file", reason, sizeof reason));
    assert_int_equal(chdir("/"), 0);
    refused("/nowhere/at/all", "No such file");
}

static void test_rights(void **state)
{
    (void)state;
    assert_int_equal(chmod(file, 0646), 0);
    refused(file, "others may write");
    assert_false(accel__trust_file(file, 0, reason, sizeof reason));
    assert_int_equal(chmod(file, 0664), 0); /* a group of one's own */
    assert_true(accel__trust_path(file, reason, sizeof reason));
    assert_int_equal(chmod(folder, 0777), 0);
    refused(file, "others may write");
    assert_int_equal(chmod(folder, 01777), 0);
    assert_true(accel__trust_path(file, reason, sizeof reason));
    assert_int_equal(chmod(folder, 0700), 0);
}

static void test_strangers(void **state)
{
    char link[80];
    (void)state;
    if (geteuid() != 0)
        skip();
    snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(symlink("file", link), 0);
    assert_true(accel__trust_path(link, reason, sizeof reason));
    assert_true(accel__trust_links(link, reason, sizeof reason));
    assert_int_equal(lchown(link, STRANGER, STRANGER), 0);
    refused(link, "another user (40002) owns");
    assert_false(accel__trust_links(link, reason, sizeof reason));
    assert_true(accel__trust_links(file, reason, sizeof reason));
    assert_int_equal(chmod(file, 0644), 0);
    assert_int_equal(chown(file, STRANGER, STRANGER), 0);
    refused(file, "another user (40002) owns");
    assert_true(accel__trust_file(file, STRANGER, reason, sizeof reason));
    assert_false(accel__trust_file(file, 0, reason, sizeof reason));
    assert_true(accel__trust_links(file, reason, sizeof reason));
    assert_int_equal(unlink(link), 0);
}

static void test_circle(void **state)
{
    char link[80];
    (void)state;
    snprintf(link, sizeof link, "%s/circle", folder);
    assert_int_equal(symlink("circle", link), 0);
    refused(link, "Too many levels");
    assert_int_equal(unlink(link), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_rights),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_circle),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
