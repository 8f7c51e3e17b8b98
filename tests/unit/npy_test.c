/* npy_test.c: the .npy reader and writer of `accel run`: every numeric type and version, every refusal
 * by its name, and damaged files: cut at every byte, changed at every byte, with lies about sizes.
 *
 * The reader belongs to the command and not to the library, so its sources are included here. */
#include "cli/npy.c"
#include "cli/npy_header.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define REST ", 'fortran_order': False, 'shape': (2, 3), }"

static char path[] = "/tmp/accel-npy-XXXXXX";

static int make_path(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file >= 0 ? close(file) : -1;
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_file(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* A file of `version` with that dictionary and `data_size` counting bytes of data. */
static size_t make_file(uint8_t *bytes, int version, const char *dictionary, size_t data_size)
{
    size_t prefix = version == 1 ? 10 : 12;
    size_t length = strlen(dictionary);
    memset(bytes, 0, prefix);
    memcpy(bytes, magic, sizeof magic);
    bytes[6] = (uint8_t)version;
    bytes[8] = (uint8_t)length;
    bytes[9] = (uint8_t)(length >> 8);
    memcpy(bytes + prefix, dictionary, length);
    for (size_t i = 0; i < data_size; i++)
        bytes[prefix + length + i] = (uint8_t)(i + 1);
    return prefix + length + data_size;
}

/* Reads such a file; it must be refused with that word in the message. */
static void expect_refusal(int version, const char *dictionary, size_t data_size, const char *word)
{
    uint8_t bytes[4096];
    accel__npy array;
    accel__npy_problem problem = {""};
    write_file(bytes, make_file(bytes, version, dictionary, data_size));
    bool done = accel__npy_read(path, &array, &problem);
    accel__npy_release(&array);
    if (done || strstr(problem.text, word) == NULL)
        print_error("%s\n%s\nwanted: %s\n", dictionary, problem.text, word);
    assert_false(done);
    assert_non_null(strstr(problem.text, word));
    assert_non_null(strstr(problem.text, ";"));
}

static void expect_type(const char *descr, accel_data_type type, size_t size)
{
    char dictionary[128];
    uint8_t bytes[512];
    snprintf(dictionary, sizeof dictionary, "{'descr': '%s'" REST "\n", descr);
    for (int version = 1; version <= 3; version++) {
        accel__npy array;
        accel__npy_problem problem = {""};
        size_t file_size = make_file(bytes, version, dictionary, 6 * size);
        write_file(bytes, file_size);
        if (!accel__npy_read(path, &array, &problem))
            fail_msg("%s version %d: %s", descr, version, problem.text);
        assert_int_equal(array.layout.type, type);
        assert_false(array.layout.fortran_order);
        assert_int_equal(array.layout.dimension_count, 2);
        assert_int_equal(array.layout.shape[0], 2);
        assert_int_equal(array.layout.shape[1], 3);
        assert_int_equal(array.layout.element_count, 6);
        assert_int_equal(array.layout.data_size, 6 * size);
        assert_int_equal(array.header_size, file_size - 6 * size);
        assert_memory_equal(array.header, bytes, array.header_size);
        assert_memory_equal(array.data, bytes + array.header_size, 6 * size);
        accel__npy_release(&array);
    }
}

static void test_reads_every_type_in_every_version(void **state)
{
    (void)state;
    for (int type = 1; type <= ACCEL_DATA_TYPE_C128; type++) {
        const char *descr = accel__npy_descr((accel_data_type)type);
        if (descr != NULL)
            expect_type(descr, (accel_data_type)type, accel_data_type_size((accel_data_type)type));
    }
    expect_type("=f8", ACCEL_DATA_TYPE_F64, 8);
    expect_type("i4", ACCEL_DATA_TYPE_I32, 4);
    expect_type("<u1", ACCEL_DATA_TYPE_U8, 1);
    expect_type(">i1", ACCEL_DATA_TYPE_I8, 1); /* one byte has no order */
    assert_null(accel__npy_descr(ACCEL_DATA_TYPE_BF16));
}

static void test_refuses_types_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *descr;
        const char *word;
    } rows[] = {
        {"'>f4'", "big-endian"},
        {"'>i2'", "big-endian"},
        {"'>c16'", "big-endian"},
        {"'|O'", "objects"},
        {"'<M8[ns]'", "datetime"},
        {"'<m8[s]'", "datetime"},
        {"'<U5'", "text"},
        {"'|S3'", "text"},
        {"'|V8'", "structured"},
        {"[('x', '<f4')]", "structured"},
        {"('<f4', (2,))", "structured"},
        {"'<f16'", "does not know"},
        {"'<c32'", "does not know"},
        {"'<f3'", "does not know"},
        {"'<i16'", "does not know"},
        {"''", "does not know"},
        {"'<'", "does not know"},
        {"'<f'", "does not know"},
        {"'<f4x'", "does not know"},
        {"'<b2'", "does not know"},
        {"'<f99999999999'", "does not know"},
        {"4", "not a string"},
        {"None", "not a string"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char dictionary[128];
        snprintf(dictionary, sizeof dictionary, "{'descr': %s" REST, rows[i].descr);
        expect_refusal(1 + (int)i % 3, dictionary, 24, rows[i].word);
    }
}

static void test_refuses_wrong_sizes(void **state)
{
    (void)state;
    expect_refusal(1, "{'descr': '<f4'" REST, 23, "too short");
    expect_refusal(1, "{'descr': '<f4'" REST, 0, "too short");
    expect_refusal(2, "{'descr': '<f4'" REST, 25, "too long");
    expect_refusal(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}", 1, "too long");
    /* Lies of every size: no memory may be taken for them. */
    expect_refusal(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846975,)}",
                   8, "too short");
    expect_refusal(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,)}",
                   8, "overflows");
    expect_refusal(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
                   8, "overflows");
    expect_refusal(3,
                   "{'descr': '|u1', 'fortran_order': False, 'shape': (4294967296, 0, "
                   "4294967296)}",
                   0, "overflows");
    expect_refusal(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (9223372036854775808,)}",
                   0, "overflows");
    expect_refusal(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,)}",
                   0, "overflows");
}

static void test_refuses_damaged_headers(void **state)
{
    (void)state;
    static const struct {
        const char *dictionary;
        const char *word;
    } rows[] = {
        {"", "dictionary"},
        {"{", "key"},
        {"{}", "missing"},
        {"[1]", "dictionary"},
        {"{'descr': '<f4'}", "missing"},
        {"{'descr': '<f4', 'shape': (1,)}", "missing"},
        {"{'descr': '<f4', 'descr': '<f4'" REST, "twice"},
        {"{'descr': '<f4', 'extra': 1" REST, "unknown key"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3)}", "comma"},
        {"{'descr' '<f4'" REST, "key"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}", "True nor False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "negative"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6)}", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 6}", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2.0, 3)}", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3}", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,, 3)}", "tuple"},
        {"{'descr': '<f4" REST, "does not know"}, /* the string ends at the next quote */
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } x", "follows"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_refusal(1, rows[i].dictionary, 24, rows[i].word);
    char many[1024] = "{'descr': '|u1', 'fortran_order': False, 'shape': (";
    for (int i = 0; i < 65; i++)
        strcat(many, "1, ");
    strcat(many, ")}");
    expect_refusal(1, many, 1, "dimensions");
}

static void test_accepts_what_python_writes(void **state)
{
    (void)state;
    static const struct {
        const char *dictionary;
        uint32_t dimension_count;
        size_t element_count;
        bool fortran_order;
    } rows[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }      \n", 0, 1, false},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (3,), }\n", 1, 3, true},
        {"{\"shape\": (2, 3), \"descr\": \"<f4\", \"fortran_order\": True}", 2, 6, true},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }", 2, 6, false},
        {"{'descr':'<f4','fortran_order':False,'shape':(2,3,)}", 2, 6, false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }", 1, 0, false},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (5, 0, 7), }", 3, 0, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t bytes[512];
        accel__npy array;
        accel__npy_problem problem = {""};
        write_file(bytes, make_file(bytes, 1, rows[i].dictionary, rows[i].element_count * 4));
        if (!accel__npy_read(path, &array, &problem))
            fail_msg("%s: %s", rows[i].dictionary, problem.text);
        assert_int_equal(array.layout.dimension_count, rows[i].dimension_count);
        assert_int_equal(array.layout.element_count, rows[i].element_count);
        assert_int_equal(array.layout.fortran_order, rows[i].fortran_order);
        assert_true((array.data == NULL) == (rows[i].element_count == 0));
        accel__npy_release(&array);
    }
}

static void test_refuses_what_is_no_npy_file(void **state)
{
    (void)state;
    accel__npy array;
    accel__npy_problem problem;
    static const struct {
        const char *bytes;
        size_t size;
        const char *word;
    } rows[] = {
        {"", 0, "not a .npy"},
        {"PK\3\4 a zip file of arrays", 24, "not a .npy"},
        {"\x93NUMPY", 6, "inside its"},
        {"\x93NUMPY\1\0\1", 9, "inside its"},
        {"\x93NUMPY\1\0\0\0", 10, "dictionary"},
        {"\x93NUMPY\1\0\0\0more", 14, "dictionary"},
        {"\x93NUMPY\2\0\5\0\0", 11, "inside its"},
        {"\x93NUMPY\0\0\5\0\0\0{'de", 16, "version 0.0"},
        {"\x93NUMPY\4\0\5\0\0\0{'de", 16, "version 4.0"},
        {"\x93NUMPY\1\1\5\0\0\0{'de", 16, "version 1.1"},
        {"\x93NUMPY\2\0\xff\xff\xff\xff{'de", 16, "4294967295"},
        {"\x93NUMPY\3\0\1\0\x10\0{'de", 16, "1048577"},
        {"\x93NUMPY\3\0\0\0\x10\0{'de", 16, "inside its"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_file(rows[i].bytes, rows[i].size);
        assert_false(accel__npy_read(path, &array, &problem));
        if (strstr(problem.text, rows[i].word) == NULL)
            fail_msg("row %zu: %s", i, problem.text);
        accel__npy_release(&array);
    }
    assert_false(accel__npy_read("/nonexistent/x.npy", &array, &problem));
    assert_non_null(strstr(problem.text, "No such file"));
    assert_false(accel__npy_read("/tmp", &array, &problem));
    assert_non_null(strstr(problem.text, "cannot be read"));
}

/* A pipe has no size to compare with: only reading tells. */
static void test_reads_from_a_pipe(void **state)
{
    (void)state;
    for (int change = -1; change <= 1; change++) {
        int ends[2];
        char name[64];
        uint8_t bytes[512];
        accel__npy array;
        accel__npy_problem problem = {""};
        size_t size = make_file(bytes, 1, "{'descr': '<f4'" REST, 24);
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], bytes, size + (size_t)change), size + (size_t)change);
        close(ends[1]);
        snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
        assert_int_equal(accel__npy_read(name, &array, &problem), change == 0);
        if (change != 0)
            assert_non_null(strstr(problem.text, change < 0 ? "too short" : "too long"));
        accel__npy_release(&array);
        close(ends[0]);
    }
}

static void test_makes_headers_that_it_reads(void **state)
{
    (void)state;
    for (uint32_t dimensions = 0; dimensions <= ACCEL__NPY_DIMENSION_MAX; dimensions++) {
        accel__npy array;
        accel__npy_problem problem = {""};
        accel__npy_layout read;
        accel__npy_layout layout = {.type = ACCEL_DATA_TYPE_I16, .dimension_count = dimensions};
        for (uint32_t i = 0; i < dimensions; i++)
            layout.shape[i] = i < 3 ? i + 2 : 1;
        layout.fortran_order = dimensions % 2 != 0;
        assert_true(accel__npy_measure(&layout, &problem));
        assert_true(accel__npy_create(&layout, &array, &problem));
        assert_int_equal(array.header_size % 64, 0);
        assert_int_equal(array.header[array.header_size - 1], '\n');
        assert_true(accel__npy_parse(array.header, array.header_size, &read, &problem));
        assert_memory_equal(&read, &layout, sizeof layout);
        for (size_t i = 0; i < layout.data_size; i++)
            assert_int_equal(array.data[i], 0);
        accel__npy_release(&array);
    }
    accel__npy array;
    accel__npy_problem problem;
    accel__npy_layout layout = {.type = ACCEL_DATA_TYPE_BF16};
    assert_false(accel__npy_create(&layout, &array, &problem));
    assert_non_null(strstr(problem.text, "bf16"));
    accel__npy_release(&array);
}

/* Whatever the bytes are: a refusal with words, or a layout that is true of them. */
static void parse_anything(const uint8_t *bytes, size_t size)
{
    accel__npy_layout layout;
    accel__npy_problem problem = {""};
    uint8_t *exact = malloc(size > 0 ? size : 1); /* so that a sanitizer sees one byte too far */
    assert_non_null(exact);
    memcpy(exact, bytes, size);
    if (accel__npy_parse(exact, size, &layout, &problem)) {
        size_t item = accel_data_type_size(layout.type);
        assert_true(item > 0 && layout.data_size == layout.element_count * item);
        assert_true(layout.dimension_count <= ACCEL__NPY_DIMENSION_MAX);
    } else {
        assert_true(strlen(problem.text) > 0);
    }
    free(exact);
}

static const struct {
    const char *dictionary;
    size_t data_size;
} seeds[] = {
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24},
    {"{'descr': '|b1', 'fortran_order': True, 'shape': (), }   \n", 1},
    {"{'descr': '<c16', 'fortran_order': False, 'shape': (18446744073709551615, 0, 4294967296)}",
     0},
    {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1L,), }", 4},
};

enum { SEED_COUNT = sizeof seeds / sizeof seeds[0] };

static void test_survives_every_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < SEED_COUNT; i++)
        for (int version = 1; version <= 3; version++) {
            uint8_t bytes[512];
            size_t size = make_file(bytes, version, seeds[i].dictionary, seeds[i].data_size);
            for (size_t cut = 0; cut <= size; cut++) {
                accel__npy array;
                accel__npy_problem problem = {""};
                parse_anything(bytes, cut);
                write_file(bytes, cut);
                bool done = accel__npy_read(path, &array, &problem);
                assert_true(done ? cut == size : strlen(problem.text) > 0);
                accel__npy_release(&array);
                /* the same cut, with a length that agrees: the dictionary itself ends early */
                size_t prefix = version == 1 ? 10 : 12;
                if (cut < prefix)
                    continue;
                uint8_t shorter[512];
                memcpy(shorter, bytes, cut);
                shorter[8] = (uint8_t)(cut - prefix);
                parse_anything(shorter, cut);
            }
        }
}

static void test_survives_every_changed_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < SEED_COUNT; i++) {
        uint8_t bytes[512];
        size_t size = make_file(bytes, 1 + (int)i % 3, seeds[i].dictionary, 0);
        for (size_t at = 0; at < size; at++) {
            uint8_t old = bytes[at];
            for (int value = 0; value < 256; value++) {
                bytes[at] = (uint8_t)value;
                parse_anything(bytes, size);
            }
            bytes[at] = old;
        }
    }
}

/* Random heaps of the pieces that headers are made of. */
static void test_survives_shuffled_pieces(void **state)
{
    (void)state;
    static const char *const pieces[] = {"{",
                                         "}",
                                         "(",
                                         ")",
                                         ",",
                                         ":",
                                         "'",
                                         "\"",
                                         "descr",
                                         "'descr'",
                                         "'shape'",
                                         "True",
                                         "False",
                                         "'<f4'",
                                         "1",
                                         "0",
                                         "-",
                                         "L",
                                         "9999999999999",
                                         "[",
                                         " ",
                                         "\n",
                                         "\x80",
                                         "'fortran_order'"};
    uint32_t random = 12345;
    for (int round = 0; round < 20000; round++) {
        char text[400] = "";
        uint8_t bytes[512];
        for (int i = 0; i < 20; i++) {
            random = random * 1664525u + 1013904223u;
            strcat(text, pieces[(random >> 16) % (sizeof pieces / sizeof pieces[0])]);
        }
        parse_anything(bytes, make_file(bytes, 1 + round % 3, text, 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_every_type_in_every_version),
        cmocka_unit_test(test_refuses_types_by_name),
        cmocka_unit_test(test_refuses_wrong_sizes),
        cmocka_unit_test(test_refuses_damaged_headers),
        cmocka_unit_test(test_accepts_what_python_writes),
        cmocka_unit_test(test_refuses_what_is_no_npy_file),
        cmocka_unit_test(test_reads_from_a_pipe),
        cmocka_unit_test(test_makes_headers_that_it_reads),
        cmocka_unit_test(test_survives_every_cut),
        cmocka_unit_test(test_survives_every_changed_byte),
        cmocka_unit_test(test_survives_shuffled_pieces),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
