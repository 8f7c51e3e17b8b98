/* Files that appear whole or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocate.h"
#include "platform/calls.h"
#include "platform/new_file.h"

static char directory[] = "/tmp/accel-new-file-XXXXXX";
static char path[PATH_MAX];

static int enter_directory(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/file", directory);
    return 0;
}

static int leave_directory(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

static size_t count_files(void)
{
    size_t count = 0;
    DIR *of = opendir(directory);
    for (struct dirent *entry; (entry = readdir(of)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(of);
    return count;
}

static size_t read_file(char *text, size_t capacity)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return SIZE_MAX;
    const size_t size = fread(text, 1, capacity, file);
    fclose(file);
    return size;
}

static accel_status write_text(const char *text, size_t repeat)
{
    accel__new_file *file = NULL;
    const accel_status status = accel__new_file_create(path, "accel_test", &file);
    if (status != ACCEL_OK)
        return status;
    for (size_t i = 0; i < repeat; i++)
        accel__new_file_write(file, text, strlen(text));
    return accel__new_file_commit(file);
}

static void test_a_file_is_replaced_whole(void **state)
{
    static char text[1 << 20];
    struct stat status;
    (void)state;
    assert_int_equal(write_text("first", 1), ACCEL_OK);
    assert_int_equal(read_file(text, sizeof text), 5);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(write_text("second ", 20000), ACCEL_OK);
    assert_int_equal(read_file(text, sizeof text), 140000);
    assert_memory_equal(text + 139993, "second ", 7);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    assert_int_equal(count_files(), 1);
}

static void test_large_pieces_pass_the_buffer(void **state)
{
    static char piece[200000];
    static char text[sizeof piece + 10];
    accel__new_file *file = NULL;
    (void)state;
    memset(piece, 'x', sizeof piece);
    assert_int_equal(accel__new_file_create(path, "accel_test", &file), ACCEL_OK);
    accel__new_file_write(file, "a", 1);
    accel__new_file_write(file, piece, sizeof piece);
    accel__new_file_write(file, "b", 1);
    assert_int_equal(accel__new_file_commit(file), ACCEL_OK);
    assert_int_equal(read_file(text, sizeof text), sizeof piece + 2);
    assert_int_equal(text[0], 'a');
    assert_int_equal(text[1], 'x');
    assert_int_equal(text[sizeof piece + 1], 'b');
}

static void test_nothing_is_left_where_it_was_abandoned(void **state)
{
    accel__new_file *file = NULL;
    (void)state;
    unlink(path);
    assert_int_equal(accel__new_file_create(path, "accel_test", &file), ACCEL_OK);
    accel__new_file_write(file, "half", 4);
    accel__new_file_abandon(file);
    accel__new_file_abandon(NULL);
    assert_int_equal(count_files(), 0);
}

/* ---- a disk that gets full ---- */

static size_t space_left;
static ssize_t (*real_write)(int descriptor, const void *bytes, size_t size);

static ssize_t write_until_full(int descriptor, const void *bytes, size_t size)
{
    if (space_left == 0) {
        errno = ENOSPC;
        return -1;
    }
    if (size > space_left)
        size = space_left;
    if (size > 1000 && size % 2 == 0) {
        size = 1000; /* the system may take less than it is given */
    }
    space_left -= size;
    return real_write(descriptor, bytes, size);
}

static void test_a_full_disk_leaves_the_old_file(void **state)
{
    char text[16];
    (void)state;
    assert_int_equal(write_text("old", 1), ACCEL_OK);
    real_write = accel__platform.write;
    accel__platform.write = write_until_full;
    space_left = 100000;
    const accel_status failed = write_text("new ", 50000);
    accel_error error = {.struct_size = sizeof error};
    accel_last_error(&error);
    space_left = 1000000;
    const accel_status worked = write_text("new ", 50000);
    accel__platform.write = real_write;
    assert_int_equal(failed, ACCEL_ERROR_IO);
    assert_int_equal(error.vendor_code, ENOSPC);
    assert_non_null(strstr(error.message, path));
    assert_string_equal(error.function, "accel_test");
    assert_int_equal(worked, ACCEL_OK);
    assert_int_equal(write_text("old", 1), ACCEL_OK);
    assert_int_equal(read_file(text, sizeof text), 3);
    assert_int_equal(count_files(), 1);
}

/* ---- paths ---- */

static void test_errors_name_the_path(void **state)
{
    accel__new_file *file = NULL;
    (void)state;
    assert_int_equal(accel__new_file_create("/nonexistent/x", "accel_test", &file),
                     ACCEL_ERROR_NOT_FOUND);
    assert_non_null(strstr(accel_last_error_message(), "/nonexistent/x"));
    assert_null(file);
    assert_int_equal(accel__new_file_create(directory, "accel_test", &file),
                     ACCEL_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(accel_last_error_message(), directory));
    assert_int_equal(accel__new_file_create("", "accel_test", &file), ACCEL_ERROR_INVALID_ARGUMENT);
}

static void test_links_are_followed(void **state)
{
    char link_path[PATH_MAX + 8];
    char text[16];
    struct stat status;
    (void)state;
    snprintf(link_path, sizeof link_path, "%s.link", path);
    assert_int_equal(write_text("old", 1), ACCEL_OK);
    assert_int_equal(symlink(path, link_path), 0);
    accel__new_file *file = NULL;
    assert_int_equal(accel__new_file_create(link_path, "accel_test", &file), ACCEL_OK);
    accel__new_file_write(file, "new!", 4);
    assert_int_equal(accel__new_file_commit(file), ACCEL_OK);
    assert_int_equal(lstat(link_path, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(read_file(text, sizeof text), 4);
    unlink(link_path);
}

static void test_devices_are_written_to(void **state)
{
    struct stat status;
    accel__new_file *file = NULL;
    (void)state;
    assert_int_equal(accel__new_file_create("/dev/null", "accel_test", &file), ACCEL_OK);
    accel__new_file_write(file, "gone", 4);
    assert_int_equal(accel__new_file_commit(file), ACCEL_OK);
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
    if (access("/dev/full", W_OK) != 0)
        return;
    assert_int_equal(accel__new_file_create("/dev/full", "accel_test", &file), ACCEL_OK);
    accel__new_file_write(file, "no", 2);
    assert_int_equal(accel__new_file_commit(file), ACCEL_ERROR_IO);
}

static unsigned allowed;

static bool refuse_later(void)
{
    return allowed-- == 0;
}

static void test_want_of_memory_leaves_nothing(void **state)
{
    accel_status status = ACCEL_ERROR_INTERNAL;
    (void)state;
    unlink(path);
    for (unsigned n = 0; status != ACCEL_OK; n++) {
        allowed = n;
        accel__allocate_fault = refuse_later;
        status = write_text("x", 1);
        accel__allocate_fault = NULL;
        if (status != ACCEL_OK) {
            assert_int_equal(status, ACCEL_ERROR_OUT_OF_HOST_MEMORY);
            assert_int_equal(count_files(), 0);
        }
    }
    assert_int_equal(count_files(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_is_replaced_whole),
        cmocka_unit_test(test_large_pieces_pass_the_buffer),
        cmocka_unit_test(test_nothing_is_left_where_it_was_abandoned),
        cmocka_unit_test(test_a_full_disk_leaves_the_old_file),
        cmocka_unit_test(test_errors_name_the_path),
        cmocka_unit_test(test_links_are_followed),
        cmocka_unit_test(test_devices_are_written_to),
        cmocka_unit_test(test_want_of_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
