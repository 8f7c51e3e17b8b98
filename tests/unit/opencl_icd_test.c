/* opencl_icd_test.c: which OpenCL drivers the files and variables name: the grammar of .icd files as they
 * are found in the field, and of the variables of the two loaders in use. Nothing is loaded: the
 * libraries are empty files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/opencl/driver/icd.h"
#include "backends/opencl/driver/icd_file.h"

enum { DRIVER_MAX = 8, PATH_SIZE = 256 };

static char root[] = "/tmp/accel-icd-XXXXXX";

/* What the last listing gave. */
static accel_backend_driver drivers[DRIVER_MAX];
static accel_backend_probe summary;
static uint32_t count;

static const char *path_of(const char *name)
{
    static char paths[4][PATH_SIZE];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, PATH_SIZE, "%s/%s", root, name);
    return path;
}

static void write_bytes(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(path_of(name), "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void write_text(const char *name, const char *text)
{
    write_bytes(name, text, strlen(text));
}

/* A .icd file in the folder "v" that holds `format` with the path of the library "libone.so". */
static void write_icd(const char *name, const char *format)
{
    char text[PATH_SIZE * 2];
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "v/%s", name);
    snprintf(text, sizeof text, format, path_of("libone.so")); // NOLINT: the tests' own formats
    write_text(path, text);
}

static void list(void)
{
    memset(drivers, 0, sizeof drivers);
    summary = (accel_backend_probe){0};
    count = accel__opencl_list(drivers, DRIVER_MAX, &summary);
}

static void forget(const char *name)
{
    static const char command[] = "rm -rf";
    char text[PATH_SIZE + sizeof command];
    snprintf(text, sizeof text, "%s %s", command, path_of(name));
    assert_int_equal(system(text), 0); // NOLINT: a path of our own
}

static int set_up(void **state)
{
    (void)state;
    unsetenv("OCL_ICD_FILENAMES");
    unsetenv("OPENCL_VENDOR_PATH");
    unsetenv("LD_PRELOAD");
    forget("v");
    mkdir(path_of("v"), 0755);
    write_text("libone.so", "");
    write_text("libtwo.so", "");
    setenv("OCL_ICD_VENDORS", path_of("v"), 1);
    return 0;
}

/* ---- .icd files ---- */

static void one_driver(const char *format, const char *why)
{
    write_icd("one.icd", format);
    list();
    if (count != 1 || drivers[0].reason != ACCEL_REASON_NONE ||
        strcmp(drivers[0].library, path_of("libone.so")) != 0)
        fail_msg("%s: %u drivers, library '%s', reason %d %s", why, count, drivers[0].library,
                 (int)drivers[0].reason, drivers[0].detail);
    assert_string_equal(drivers[0].name, "one");
    assert_string_equal(drivers[0].source, path_of("v/one.icd"));
}

static void spellings_of_one_line(void **state)
{
    (void)state;
    one_driver("%s\n", "a line");
    one_driver("%s", "no line feed");
    one_driver("%s\r\n", "CR LF");
    one_driver("%s\r", "CR alone");
    one_driver("  \t%s \t \n", "blanks around it");
    one_driver("\n\n%s\n", "empty lines before");
    one_driver("%s\n\n\nlibother.so\n", "more lines");
    one_driver("%s\n# a comment\n", "a comment behind");
}

static void no_library(const char *bytes, size_t size, accel_reason reason)
{
    write_bytes("v/one.icd", bytes, size);
    list();
    assert_int_equal(count, 1);
    assert_int_equal(drivers[0].reason, reason);
    assert_true(drivers[0].detail[0] != '\0');
    assert_string_equal(drivers[0].name, "one");
}

static void files_that_name_nothing(void **state)
{
    static char huge[200000];
    (void)state;
    no_library("", 0, ACCEL_REASON_LIBRARY_MISSING);
    no_library(" \r\n \n", 5, ACCEL_REASON_LIBRARY_MISSING);
    no_library("/nowhere/libnone.so\n", 20, ACCEL_REASON_LIBRARY_MISSING);
    no_library("here/libone.so\n", 15, ACCEL_REASON_LIBRARY_UNUSABLE);
    no_library("./libone.so\n", 12, ACCEL_REASON_LIBRARY_UNUSABLE);
    no_library("lib\0one.so", 10, ACCEL_REASON_LIBRARY_UNUSABLE);
    memset(huge, 'x', sizeof huge);
    no_library(huge, sizeof huge, ACCEL_REASON_LIBRARY_UNUSABLE);
    no_library(huge, 4096, ACCEL_REASON_LIBRARY_UNUSABLE); /* a name longer than any path */
    no_library(huge, 4097, ACCEL_REASON_LIBRARY_UNUSABLE);
}

/* A name without slash is the loader's business: whether it is there the helper finds out. */
static void plain_names(void **state)
{
    (void)state;
    write_text("v/one.icd", "libnosuchdriver.so.7\n");
    list();
    assert_int_equal(count, 1);
    assert_int_equal(drivers[0].reason, ACCEL_REASON_NONE);
    assert_string_equal(drivers[0].library, "libnosuchdriver.so.7");
}

static void what_is_no_file(void **state)
{
    (void)state;
    mkdir(path_of("v/folder.icd"), 0755);
    assert_int_equal(mkfifo(path_of("v/pipe.icd"), 0600), 0);
    assert_int_equal(symlink("/nowhere", path_of("v/gone.icd")), 0);
    write_icd(".hidden.icd", "%s");
    write_icd("one.icd.bak", "%s");
    write_icd("icd", "%s");
    list();
    assert_int_equal(count, 0);
    assert_true(strstr(summary.reason, "no .icd file") != NULL);
}

static void one_library_is_one_driver(void **state)
{
    (void)state;
    write_icd("one.icd", "%s");
    assert_int_equal(symlink("one.icd", path_of("v/two.icd")), 0);
    assert_int_equal(symlink("libone.so", path_of("linked.so")), 0);
    write_text("v/three.icd", path_of("linked.so"));
    list();
    assert_int_equal(count, 1);
    unlink(path_of("linked.so"));
}

static void without_rights(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip(); /* root reads all */
    write_icd("one.icd", "%s");
    chmod(path_of("v/one.icd"), 0);
    list();
    assert_int_equal(count, 1);
    assert_int_equal(drivers[0].reason, ACCEL_REASON_PERMISSION);
}

static void order_and_names(void **state)
{
    (void)state;
    write_text("v/b.icd", path_of("libtwo.so"));
    write_icd("a.icd", "%s");
    list();
    assert_int_equal(count, 2);
    assert_string_equal(drivers[0].name, "a");
    assert_string_equal(drivers[1].name, "b");
    write_text("v/a.so.icd", "/nowhere/liba.so");
    list();
    assert_int_equal(count, 3);
    assert_string_equal(drivers[0].name, "a");
    assert_string_equal(drivers[1].name, "a-2");
    count = accel__opencl_list(drivers, 1, &summary); /* more than fit */
    assert_int_equal(count, 3);
}

/* The key changes with the library and with the file, and with nothing else. */
static void keys(void **state)
{
    (void)state;
    write_icd("one.icd", "%s");
    list();
    const uint64_t first = drivers[0].key;
    list();
    assert_true(drivers[0].key == first);
    write_text("libone.so", "changed");
    list();
    const uint64_t second = drivers[0].key;
    assert_true(second != first);
    write_icd("one.icd", "%s\n");
    list();
    assert_true(drivers[0].key != second);
    unlink(path_of("libone.so"));
    list();
    assert_true(drivers[0].key != second);
    assert_int_equal(drivers[0].reason, ACCEL_REASON_LIBRARY_MISSING);
}

/* ---- variables ---- */

static void vendors(void **state)
{
    (void)state;
    write_icd("one.icd", "%s");
    setenv("OCL_ICD_VENDORS", path_of("v/"), 1); /* a slash behind it */
    list();
    assert_int_equal(count, 1);
    setenv("OCL_ICD_VENDORS", path_of("v/one.icd"), 1);
    list();
    assert_int_equal(count, 1);
    assert_string_equal(drivers[0].source, path_of("v/one.icd"));
    setenv("OCL_ICD_VENDORS", path_of("libtwo.so"), 1);
    list();
    assert_int_equal(count, 1);
    assert_string_equal(drivers[0].library, path_of("libtwo.so"));
    assert_string_equal(drivers[0].source, "");
    assert_string_equal(drivers[0].name, "two");
    setenv("OCL_ICD_VENDORS", path_of("libthree.so"), 1);
    list();
    assert_int_equal(count, 1);
    assert_int_equal(drivers[0].reason, ACCEL_REASON_LIBRARY_MISSING);
    setenv("OCL_ICD_VENDORS", path_of("nosuch"), 1);
    list();
    assert_int_equal(count, 0);
    assert_true(strstr(summary.reason, "nosuch") != NULL && !summary.cannot_tell);
    setenv("OCL_ICD_VENDORS", path_of("v/two.icd"), 1);
    list();
    assert_int_equal(count, 0);
    assert_true(strstr(summary.reason, "two.icd") != NULL);
}

/* "None" is only what can be read to hold none. The folder is a loop of links, which nobody can read, not
 * even who may read everything. */
static void a_folder_that_cannot_be_read(void **state)
{
    (void)state;
    assert_int_equal(symlink(path_of("loop"), path_of("loop")), 0);
    setenv("OCL_ICD_VENDORS", path_of("loop"), 1);
    list();
    assert_int_equal(count, 0);
    assert_true(summary.cannot_tell);
    assert_non_null(strstr(summary.reason, path_of("loop")));
    setenv("OPENCL_VENDOR_PATH", path_of("loop"), 1);
    unsetenv("OCL_ICD_VENDORS");
    list();
    assert_true(count == 0 && summary.cannot_tell);
    /* What is named elsewhere is certain; whether that is all is not. */
    setenv("OCL_ICD_FILENAMES", path_of("libone.so"), 1);
    list();
    assert_true(count == 1 && summary.cannot_tell);
    assert_non_null(strstr(summary.reason, path_of("loop")));
    unlink(path_of("loop"));
}

static void vendor_path(void **state)
{
    (void)state;
    write_icd("one.icd", "%s");
    mkdir(path_of("other"), 0755);
    write_text("other/two.icd", path_of("libtwo.so"));
    setenv("OPENCL_VENDOR_PATH", path_of("other"), 1);
    list();
    assert_string_equal(drivers[0].name, "one"); /* OCL_ICD_VENDORS comes before it */
    setenv("OCL_ICD_VENDORS", "", 1);            /* empty is unset */
    list();
    assert_int_equal(count, 1);
    assert_string_equal(drivers[0].name, "two");
    setenv("OCL_ICD_VENDORS", "two.icd", 1); /* without slash: in the default folder */
    list();
    assert_int_equal(count, 1);
    assert_string_equal(drivers[0].source, path_of("other/two.icd"));
    forget("other");
}

static void file_names(void **state)
{
    char text[PATH_SIZE * 3];
    (void)state;
    write_icd("one.icd", "%s");
    snprintf(text, sizeof text, ":%s::%s:", path_of("libtwo.so"), path_of("libone.so"));
    setenv("OCL_ICD_FILENAMES", text, 1);
    list();
    assert_int_equal(count, 2); /* libone.so is not listed twice */
    assert_string_equal(drivers[0].library, path_of("libtwo.so"));
    assert_string_equal(drivers[1].library, path_of("libone.so"));
}

static void preloaded(void **state)
{
    (void)state;
    write_icd("one.icd", "%s");
    write_text("liboclgrind-rt.so", "");
    setenv("LD_PRELOAD", path_of("libsomething.so"), 1);
    list();
    assert_string_equal(drivers[0].name, "one");
    setenv("LD_PRELOAD", path_of("liboclgrind-rt.so"), 1);
    list();
    assert_int_equal(count, 1);
    assert_string_equal(drivers[0].library, path_of("liboclgrind-rt.so"));
    unsetenv("LD_PRELOAD");
}

/* Where no driver is named, a libOpenCL.so.1 that is none of the loaders is one. */
static void implementation(void **state)
{
    char before[PATH_SIZE];
    const char *path = getenv("LD_LIBRARY_PATH");
    (void)state;
    snprintf(before, sizeof before, "%s", path != NULL ? path : "");
    setenv("LD_LIBRARY_PATH", root, 1);
    write_text("libOpenCL.so.1", "some implementation");
    list();
    assert_int_equal(count, 1);
    assert_string_equal(drivers[0].library, path_of("libOpenCL.so.1"));
    write_text("libOpenCL.so.1", "some loader that reads OCL_ICD_VENDORS");
    list();
    assert_int_equal(count, 0);
    unlink(path_of("libOpenCL.so.1"));
    setenv("LD_LIBRARY_PATH", before, 1);
}

static void stamps(void **state)
{
    (void)state;
    const uint64_t first = accel__opencl_stamp();
    assert_true(accel__opencl_stamp() == first);
    setenv("UNRELATED_TO_OPENCL", "1", 1);
    assert_true(accel__opencl_stamp() == first);
    setenv("RUSTICL_ENABLE", "something", 1);
    const uint64_t second = accel__opencl_stamp();
    assert_true(second != first);
    setenv("OCL_ICD_VENDORS", "elsewhere", 1);
    assert_true(accel__opencl_stamp() != second);
    setenv("OCL_ICD_VENDORS", path_of("v"), 1);
    unsetenv("RUSTICL_ENABLE");
    assert_true(accel__opencl_stamp() == first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(spellings_of_one_line, set_up),
        cmocka_unit_test_setup(files_that_name_nothing, set_up),
        cmocka_unit_test_setup(plain_names, set_up),
        cmocka_unit_test_setup(what_is_no_file, set_up),
        cmocka_unit_test_setup(one_library_is_one_driver, set_up),
        cmocka_unit_test_setup(without_rights, set_up),
        cmocka_unit_test_setup(order_and_names, set_up),
        cmocka_unit_test_setup(keys, set_up),
        cmocka_unit_test_setup(vendors, set_up),
        cmocka_unit_test_setup(a_folder_that_cannot_be_read, set_up),
        cmocka_unit_test_setup(vendor_path, set_up),
        cmocka_unit_test_setup(file_names, set_up),
        cmocka_unit_test_setup(preloaded, set_up),
        cmocka_unit_test_setup(implementation, set_up),
        cmocka_unit_test_setup(stamps, set_up),
    };
    if (mkdtemp(root) == NULL)
        return 77;
    unsetenv("RUSTICL_ENABLE");
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    forget("");
    return failed;
}
