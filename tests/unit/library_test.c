/* library_test.c: loading shared objects from memory: each load is its own, damaged ones are refused,
 * and every refusal of the system leaves another way or a clean failure. */
#include "platform/library.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include "platform/process.h"
#include "platform/scratch.h"
#include "support/check.h"
#include "support/process.h"
#include "unit/fault_sweep.h"

static accel__text object; /* int value(void) that counts up from 1 */
static accel__text other;  /* the same from 1001 */

static bool compile(const char *source, accel__text *out_object)
{
    accel__scratch scratch;
    char text[1100];
    char made[1100];
    char program[256];
    if (accel__scratch_create(&scratch, NULL) != 0)
        return false;
    accel__scratch_path(&scratch, "x.c", text, sizeof text);
    accel__scratch_path(&scratch, "x.so", made, sizeof made);
    char *const arguments[] = {
        (char *)"cc", (char *)"-shared", (char *)"-fPIC", (char *)"-o", made, text, NULL};
    const accel__process_limits limits = {.timeout_ms = 60000};
    accel__process_result result = {0};
    accel__text said = {0};
    const bool right = accel__process_find("cc", program, sizeof program) &&
                       accel__write_file(text, 0600, source, strlen(source)) == 0 &&
                       accel__process_run(program, arguments, NULL, &limits, &said, &result) &&
                       accel__read_file(made, 1 << 24, out_object) == 0;
    accel__text_release(&said);
    accel__scratch_remove(&scratch);
    return right;
}

static int set_up(void **state)
{
    (void)state;
    return own_directory_begin() &&
                   compile("static int n; int value(void) { return ++n; }", &object) &&
                   compile("static int n = 1000; int value(void) { return ++n; }", &other)
               ? 0
               : 1;
}

static int tear_down(void **state)
{
    (void)state;
    accel__text_release(&object);
    accel__text_release(&other);
    return own_directory_end() ? 0 : 1;
}

static int call(void *library)
{
    int (*value)(void);
    void *symbol = accel__library_symbol(library, "value");
    assert_non_null(symbol);
    memcpy(&value, &symbol, sizeof value);
    return value();
}

static void *load(const accel__text *from)
{
    void *library;
    char reason[256] = "";
    const accel_status status = accel__library_load(from->data, from->size, &library, reason,
                                                    sizeof reason);
    if (status != ACCEL_OK)
        fail_msg("%s: %s", accel_status_name(status), reason);
    return library;
}

static void each_load_is_its_own(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    void *libraries[COUNT];
    const unsigned descriptors = count_descriptors();
    for (int i = 0; i < COUNT; i++) {
        libraries[i] = load(i % 3 == 0 ? &other : &object);
        assert_int_equal(call(libraries[i]), i % 3 == 0 ? 1001 : 1);
        if (i % 5 == 4) {
            accel__library_unload(libraries[i]);
            libraries[i] = NULL;
        }
    }
    assert_int_equal(count_descriptors(), descriptors);
    for (int i = 0; i < COUNT; i++)
        if (libraries[i] != NULL) {
            assert_int_equal(call(libraries[i]), i % 3 == 0 ? 1002 : 2);
            accel__library_unload(libraries[i]);
        }
    void *library = load(&object);
    assert_null(accel__library_symbol(library, "no_such_symbol"));
    accel__library_unload(library);
}

static int loads_in_child(void *user)
{
    (void)user;
    void *first;
    char reason[256];
    CHECK_QUIET(accel__library_load(other.data, other.size, &first, reason, sizeof reason) ==
                ACCEL_OK);
    int (*value)(void);
    void *symbol = accel__library_symbol(first, "value");
    memcpy(&value, &symbol, sizeof value);
    CHECK_QUIET(value() == 1001);
    return 0;
}

static void children_load_too(void **state)
{
    (void)state;
    void *library = load(&object);
    assert_int_equal(test_in_child(loads_in_child, NULL, 20), 0);
    assert_int_equal(call(library), 1);
    accel__library_unload(library);
}

/* Every length short of the whole: a header, a table or a segment is always missing. */
static void cut_off_objects_are_refused(void **state)
{
    (void)state;
    char reason[256];
    void *library;
    char *exact = NULL;
    for (size_t size = 0; size < object.size; size += size < 256 ? 1 : 97) {
        exact = malloc(size + 1); /* its own block, so that a reader past the end is seen */
        assert_non_null(exact);
        memcpy(exact, object.data, size);
        reason[0] = '\0';
        assert_int_equal(accel__library_load(exact, size, &library, reason, sizeof reason),
                         ACCEL_ERROR_INVALID_ARGUMENT);
        assert_null(library);
        assert_string_not_equal(reason, "");
        free(exact);
    }
}

static void expect_refused(char *bytes, size_t size, const char *part)
{
    const char *fault;
    char reason[256] = "";
    void *library;
    assert_false(accel__library_check(bytes, size, &fault));
    assert_int_equal(accel__library_load(bytes, size, &library, reason, sizeof reason),
                     ACCEL_ERROR_INVALID_ARGUMENT);
    assert_string_equal(reason, fault);
    if (strstr(reason, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", reason, part);
}

static void foreign_objects_are_refused(void **state)
{
    (void)state;
    char *bytes = malloc(object.size);
    assert_non_null(bytes);
    ElfW(Ehdr) header;
#define WITH(change, part)                                                                         \
    do {                                                                                           \
        memcpy(bytes, object.data, object.size);                                                   \
        memcpy(&header, bytes, sizeof header);                                                     \
        change;                                                                                    \
        memcpy(bytes, &header, sizeof header);                                                     \
        expect_refused(bytes, object.size, part);                                                  \
    } while (0)
    WITH(header.e_ident[0] = 'E', "no ELF");
    WITH(header.e_ident[EI_CLASS] ^= 3, "another kind of machine");
    WITH(header.e_ident[EI_DATA] ^= 3, "another kind of machine");
    WITH(header.e_machine = EM_S390, "another kind of machine");
    WITH(header.e_type = ET_REL, "no shared object");
    WITH(header.e_phnum = 0, "damaged");
    WITH(header.e_phentsize = 1, "damaged");
    WITH(header.e_phoff = UINT64_MAX - 8, "cut off");
    WITH(header.e_shoff = UINT64_MAX - 8, "cut off");
    WITH(header.e_phnum = UINT16_MAX, "cut off");
#undef WITH
    free(bytes);
}

static void unresolved_objects_are_refused(void **state)
{
    (void)state;
    accel__text bad = {0};
    char reason[256] = "";
    void *library;
    assert_true(compile("int no_such_function_anywhere(void); int value(void) "
                        "{ return no_such_function_anywhere(); }",
                        &bad));
    assert_int_equal(accel__library_load(bad.data, bad.size, &library, reason, sizeof reason),
                     ACCEL_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "no_such_function_anywhere"));
    accel__text_release(&bad);
}

/* ---- refusals of the system ---- */

static int no_memory_file(const char *name, unsigned flags)
{
    (void)name;
    (void)flags;
    errno = EACCES;
    return -1;
}

static bool forbid_all; /* code from any file, not only from the first that is asked for */
static unsigned forbidden;

static void *no_code_map(void *address, size_t size, int protection, int flags, int descriptor,
                         off_t offset)
{
    if ((protection & PROT_EXEC) != 0 && (forbid_all || forbidden == 0)) {
        forbidden++;
        errno = EPERM;
        return MAP_FAILED;
    }
    return mmap(address, size, protection, flags, descriptor, offset);
}

static void there_is_another_way(void **state)
{
    (void)state;
    const accel__calls real = accel__platform;
    accel__platform.memory_file = no_memory_file;
    void *first = load(&object);
    setenv("TMPDIR", "/nowhere/at/all", 1);
    void *second = load(&other);
    accel__platform = real;
    accel__platform.map = no_code_map;
    void *third = load(&object);
    assert_int_equal(forbidden, 1);
    forbid_all = true;
    char reason[256] = "";
    void *none;
    assert_int_equal(accel__library_load(object.data, object.size, &none, reason, sizeof reason),
                     ACCEL_ERROR_SYSTEM);
    assert_non_null(strstr(reason, "may not be run"));
    accel__platform = real;
    setenv("TMPDIR", own_directory, 1);
    assert_int_equal(call(first), 1);
    assert_int_equal(call(second), 1001);
    assert_int_equal(call(third), 1);
    accel__library_unload(first);
    accel__library_unload(second);
    accel__library_unload(third);
    assert_int_equal(count_left(), 0);
}

static void failures_leave_nothing(void **state)
{
    (void)state;
    const unsigned descriptors = count_descriptors();
    bool faulty = true;
    for (unsigned number = 1; faulty; number++) {
        char reason[256] = "";
        void *library = NULL;
        fault_begin(number);
        const accel_status status = accel__library_load(object.data, object.size, &library, reason,
                                                        sizeof reason);
        faulty = fault_end();
        if (status == ACCEL_OK) {
            assert_int_equal(call(library), 1);
            accel__library_unload(library);
        } else {
            assert_null(library);
            assert_string_not_equal(reason, "");
        }
        assert_true(faulty || status == ACCEL_OK);
        assert_int_equal(count_descriptors(), descriptors);
        assert_int_equal(count_left(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_load_is_its_own),
        cmocka_unit_test(children_load_too),
        cmocka_unit_test(cut_off_objects_are_refused),
        cmocka_unit_test(foreign_objects_are_refused),
        cmocka_unit_test(unresolved_objects_are_refused),
        cmocka_unit_test(there_is_another_way),
        cmocka_unit_test(failures_leave_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
