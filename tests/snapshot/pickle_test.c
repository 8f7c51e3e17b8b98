/* pickle_test.c: the reader of pickles: every opcode that makes data, every one that is refused, every
 * place at which a file can be cut, and files that want much from little. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/pickle.h"

/* ---- values as text ---- */

static size_t print(const accel__value *value, char *text, size_t capacity, int depth);

static size_t print_items(const accel__value *value, char *text, size_t capacity, int depth)
{
    size_t used = 0;
    for (size_t i = 0; i < value->count && used + 1 < capacity; i++) {
        const bool is_value = value->kind == ACCEL__VALUE_DICTIONARY && i % 2 == 1;
        if (i > 0)
            text[used++] = is_value ? ':' : ',';
        used += print(value->as.items[i], text + used, capacity - used, depth - 1);
    }
    return used;
}

/* [1,2], {"a":1}, None, True, "x", b"x", 0.5, BIG; "..." below the depth. */
static size_t print(const accel__value *value, char *text, size_t capacity, int depth)
{
    size_t used = 0;
    if (depth == 0)
        return (size_t)snprintf(text, capacity, "...");
    switch (value->kind) {
    case ACCEL__VALUE_NONE:
        return (size_t)snprintf(text, capacity, "None");
    case ACCEL__VALUE_BOOLEAN:
        return (size_t)snprintf(text, capacity, value->as.boolean ? "True" : "False");
    case ACCEL__VALUE_INTEGER:
        return (size_t)snprintf(text, capacity, "%lld", (long long)value->as.integer);
    case ACCEL__VALUE_BIG:
        return (size_t)snprintf(text, capacity, "BIG");
    case ACCEL__VALUE_REAL:
        return (size_t)snprintf(text, capacity, "%.17g", value->as.real);
    case ACCEL__VALUE_TEXT:
        return (size_t)snprintf(text, capacity, "\"%s\"", value->as.text);
    case ACCEL__VALUE_BYTES:
        return (size_t)snprintf(text, capacity, "b\"%s\"", value->as.text);
    default:
        text[used++] = value->kind == ACCEL__VALUE_LIST ? '[' : '{';
        used += print_items(value, text + used, capacity - used, depth);
        text[used++] = value->kind == ACCEL__VALUE_LIST ? ']' : '}';
        text[used] = '\0';
        return used;
    }
}

#define READS(bytes, expected) reads(bytes, sizeof(bytes) - 1, expected)
#define REFUSES(bytes, expected) refuses(bytes, sizeof(bytes) - 1, expected)

static void reads(const char *bytes, size_t size, const char *expected)
{
    char text[4096] = "";
    accel__value_store store = {0};
    accel__snapshot_problem problem = {""};
    accel__value *value = NULL;
    if (!accel__pickle_read((const uint8_t *)bytes, size, &store, &value, &problem))
        fail_msg("%s: %s", expected, problem.text);
    print(value, text, sizeof text - 8, 8);
    assert_string_equal(text, expected);
    accel__value_store_release(&store);
}

/* Refused, with `expected` in the message, which says also what to do. */
static void refuses(const char *bytes, size_t size, const char *expected)
{
    accel__value_store store = {0};
    accel__snapshot_problem problem = {""};
    accel__value *value = NULL;
    assert_false(accel__pickle_read((const uint8_t *)bytes, size, &store, &value, &problem));
    assert_null(value);
    if (strstr(problem.text, expected) == NULL || strstr(problem.text, "; ") == NULL)
        fail_msg("\"%s\" lacks \"%s\"", problem.text, expected);
    accel__value_store_release(&store);
}

/* ---- what Python writes ---- */

#define WHOLE "{\"a\":[1,-2,1099511627776,True,None,0.5],\"b\":[\"x\xc3\xa9\",[]]}"

static void test_protocols(void **state)
{
    (void)state;
    READS("(dp0\nVa\np1\n(lp2\nI1\naI-2\naL1099511627776L\naI01\naNaF0.5\nasVb\np3\n(Vx\xe9\np4\n("
          "ttp5"
          "\ns.",
          WHOLE);
    READS("}q\0(X\1\0\0\0aq\1]q\2(K\1J\xfe\xff\xff\xffL1099511627776L\nI01\nNG?"
          "\xe0\0\0\0\0\0\0eX\1\0\0\0"
          "bq\3(X\3\0\0\0x\xc3\xa9q\4)tq\5u.",
          WHOLE);
    READS("\x80\2}q\0(X\1\0\0\0aq\1]q\2(K\1J\xfe\xff\xff\xff\x8a\6\0\0\0\0\0\1\x88NG?"
          "\xe0\0\0\0\0\0\0eX\1"
          "\0\0\0bq\3X\3\0\0\0x\xc3\xa9q\4)\x86q\5u.",
          WHOLE);
    READS("\x80\4\x95\x34\0\0\0\0\0\0\0}\x94(\x8c\1a\x94]\x94("
          "K\1J\xfe\xff\xff\xff\x8a\6\0\0\0\0\0\1\x88NG?"
          "\xe0\0\0\0\0\0\0e\x8c\1b\x94\x8c\3x\xc3\xa9\x94)\x86\x94u.",
          WHOLE);
    READS("\x80\5\x95\x34\0\0\0\0\0\0\0}\x94(\x8c\1a\x94]\x94("
          "K\1J\xfe\xff\xff\xff\x8a\6\0\0\0\0\0\1\x88NG?"
          "\xe0\0\0\0\0\0\0e\x8c\1b\x94\x8c\3x\xc3\xa9\x94)\x86\x94u.",
          WHOLE);
    REFUSES("\x80\6N.", "protocol 6 is unknown");
}

static void test_numbers(void **state)
{
    (void)state;
    READS("(I00\nI01\nI7\nL00L\nL-12L\nL3\nl.", "[False,True,7,0,-12,3]");
    READS("(K\xffM\xff\xffJ\0\0\0\x80J\xff\xff\xff\x7fl.", "[255,65535,-2147483648,2147483647]");
    READS("(\x8a\0\x8a\1\xff\x8a\2\xff\0\x8a\x8\xff\xff\xff\xff\xff\xff\xff\x7f\x8a\x8\0\0\0\0\0\0"
          "\0\x80l.",
          "[0,-1,255,9223372036854775807,-9223372036854775808]");
    READS(
        "(\x8a\x9\xff\xff\xff\xff\xff\xff\xff\xff\0\x8a\xa\1\0\0\0\0\0\0\0\0\0\x8b\3\0\0\0\1\2\3l.",
        "[BIG,1,197121]");
    READS("(\x8a\x9\0\0\0\0\0\0\0\x80\xff\x8a\x9\0\0\0\0\0\0\0\x7f\xff\x8a\x9\0\0\0\0\0\0\0\0\1l.",
          "[-9223372036854775808,BIG,BIG]");
    READS("(I9223372036854775807\nI-"
          "9223372036854775808\nI9223372036854775808\nI99999999999999999999\nl.",
          "[9223372036854775807,-9223372036854775808,BIG,BIG]");
    READS("(F1.5e-7\nF-inf\nG\xbf\xf0\0\0\0\0\0\0l.", "[1.4999999999999999e-07,-inf,-1]");
    REFUSES("I\n.", "INT at byte 0 has an operand that is none");
    REFUSES("I-\n.", "INT at byte 0");
    REFUSES("I1x\n.", "INT at byte 0");
    REFUSES("L+1L\n.", "LONG at byte 0");
    REFUSES("F\n.", "FLOAT at byte 0");
    REFUSES("F1.5.\n.", "FLOAT at byte 0");
    REFUSES("F 1\n.", "FLOAT at byte 0");
}

static void test_texts(void **state)
{
    (void)state;
    READS("(S'a\\x41\\'\\n\\\\'\nS\"it's\"\nS''\nl.", "[\"aA'\n\\\",\"it's\",\"\"]");
    READS("(V\\u00e9\\U0001f600\xe9\\n\nV\nl.", "[\"\xc3\xa9\xf0\x9f\x98\x80\xc3\xa9\\n\",\"\"]");
    READS("(U\1xT\2\0\0\0yz\x8c\0X\0\0\0\0\x8d\1\0\0\0\0\0\0\0wl.",
          "[\"x\",\"yz\",\"\",\"\",\"w\"]");
    READS("(C\1xB\2\0\0\0yz\x8e\1\0\0\0\0\0\0\0w\x96\1\0\0\0\0\0\0\0vl.",
          "[b\"x\",b\"yz\",b\"w\",b\"v\"]");
    REFUSES("Sabc\n.", "STRING at byte 0");
    REFUSES("S'abc\n.", "STRING at byte 0");
    REFUSES("S'\n.", "STRING at byte 0");
    REFUSES("S'\\'\n.", "STRING at byte 0");
    REFUSES("S'\\q'\n.", "STRING at byte 0");
    REFUSES("S'\\x4'\n.", "STRING at byte 0");
    REFUSES("V\\u12\n.", "UNICODE at byte 0");
    REFUSES("V\\U00110000\n.", "UNICODE at byte 0");
}

static void test_collections(void **state)
{
    (void)state;
    READS("(K\1K\2t.", "[1,2]");
    READS("(K\1K\2K\3K\4d.", "{1:2,3:4}");
    READS("]K\1aK\2a(K\3K\4e.", "[1,2,3,4]");
    READS("}K\1K\2s(K\3K\4K\5K\6u.", "{1:2,3:4,5:6}");
    READS("(K\1\x85K\1K\2\x86K\1K\2K\3\x87)l.", "[[1],[1,2],[1,2,3],[]]");
    READS("K\1K\2"
          "0.",
          "1");
    READS("K\1(K\2K\3"
          "1.",
          "1");
    READS("K\1(0.", "1"); /* POP takes a mark that lies on top */
    READS("]K\1"
          "0.",
          "[]");
    REFUSES("K\1K\2"
            "0000.",
            "too few values");
}

static void test_memo(void **state)
{
    (void)state;
    READS("(K\5p7\n0g7\ng7\nl.", "[5,5]");
    READS("(K\5q\7"
          "0h\7j\7\0\0\0l.",
          "[5,5]");
    READS("(K\5r\7\0\0\0"
          "0g7\nl.",
          "[5]");
    READS("(K\5\x94K\6\x94h\0h\1l.", "[5,6,5,6]");
    READS("]q\0h\0a.", "[[[[[[[[...]]]]]]]]"); /* a list within itself */
    READS("}q\0K\1h\0s.", "{1:{1:{1:{1:{1:{1:{1:{...:...}}}}}}}}");
    REFUSES("h\0.", "BINGET at byte 0 asks for a memo entry that was never made");
    REFUSES("]r\xff\xff\xff\xff.",
            "LONG_BINPUT at byte 1 uses a memo index that no file of this size");
    REFUSES("]p99999999999999999999\n.", "PUT at byte 1 has no number");
    REFUSES("gx\n.", "GET at byte 0 has no number");
    REFUSES("q\0.", "too few values");
}

static void test_refused(void **state)
{
    (void)state;
    REFUSES("cos\nsystem\nS'echo'\n\x85R.", "opcode GLOBAL at byte 0 would import");
    REFUSES("\x80\4\x8c\2os\x8c\6system\x93\x8c\4echo\x85R.",
            "opcode STACK_GLOBAL at byte 14 would import");
    REFUSES("(S'echo'\nios\nsystem\n.", "opcode INST at byte 9 would call");
    REFUSES("(NNo.", "opcode OBJ at byte 3 would call");
    REFUSES("N)R.", "opcode REDUCE at byte 2 would call");
    REFUSES("N)\x81.", "opcode NEWOBJ at byte 2 would call");
    REFUSES("N)}\x92.", "opcode NEWOBJ_EX at byte 3 would call");
    REFUSES("]}b.", "opcode BUILD at byte 2 would set the state");
    REFUSES("\x82\1.", "opcode EXT1 at byte 0 would import");
    REFUSES("\x83\1\0.", "opcode EXT2 at byte 0 would import");
    REFUSES("\x84\1\0\0\0.", "opcode EXT4 at byte 0 would import");
    REFUSES("Pabc\n.", "opcode PERSID at byte 0 would fetch");
    REFUSES("NQ.", "opcode BINPERSID at byte 1 would fetch");
    REFUSES("\x97.", "opcode NEXT_BUFFER at byte 0 would fetch");
    REFUSES("N\x98.", "opcode READONLY_BUFFER at byte 1 would fetch");
    REFUSES("\x8f.", "opcode EMPTY_SET at byte 0 makes a kind");
    REFUSES("(\x91.", "opcode FROZENSET at byte 1 makes a kind");
    REFUSES("N(\x90.", "opcode ADDITEMS at byte 2 makes a kind");
    REFUSES("\xff.", "byte 0 (0xff) is no pickle opcode");
}

static void test_damage(void **state)
{
    (void)state;
    REFUSES("", "ends at byte 0 without STOP");
    REFUSES("N", "ends at byte 1 without STOP");
    REFUSES(".", "STOP at byte 0 finds too few");
    REFUSES("l.", "LIST at byte 0 finds no mark");
    REFUSES("e.", "APPENDS at byte 0 finds no mark");
    REFUSES("1.", "POP_MARK at byte 0 finds no mark");
    REFUSES("(e.", "APPENDS at byte 1 finds too few");
    REFUSES("N(Ne.", "APPENDS at byte 3 finds no list");
    REFUSES("](NNu.", "SETITEMS at byte 4 finds no dictionary");
    REFUSES("}(Nu.", "SETITEMS at byte 3 has a key without a value");
    REFUSES("(Nd.", "DICT at byte 2 has a key without a value");
    REFUSES("](Na.", "APPEND at byte 3 finds too few"); /* nothing crosses a mark */
    REFUSES("N(2.", "DUP at byte 2 finds too few");
    REFUSES("K", "ends inside opcode BININT1 at byte 0");
    REFUSES("I12", "ends inside opcode INT at byte 0");
    REFUSES("X\xff\xff\xff\xff"
            "abc.",
            "ends inside opcode BINUNICODE");
    REFUSES("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
            "abc.",
            "ends inside opcode BINUNICODE8");
    REFUSES("\x8b\xff\xff\xff\xff"
            "abc.",
            "ends inside opcode LONG4");
    REFUSES("\x95\xff\xff\xff\xff\xff\xff\xff\xff].", "FRAME at byte 0 has a frame that is longer");
}

/* Every beginning of a good file is refused; every change of a byte gives a value or a refusal. */
static void test_cuts_and_changes(void **state)
{
    static const char good[] =
        "\x80\4\x95\x34\0\0\0\0\0\0\0}\x94(\x8c\1a\x94]\x94(K\1J\xfe\xff\xff\xff\x8a\6"
        "\0\0\0\0\0\1\x88NG?\xe0\0\0\0\0\0\0e\x8c\1b\x94\x8c\3x\xc3\xa9\x94)\x86\x94u.";
    uint8_t bytes[sizeof good];
    (void)state;
    for (size_t size = 0; size < sizeof good - 1; size++)
        refuses(good, size, "byte");
    for (size_t i = 0; i < sizeof good - 1; i++)
        for (int to = 0; to < 256; to++) {
            accel__value_store store = {0};
            accel__snapshot_problem problem = {""};
            accel__value *value = NULL;
            memcpy(bytes, good, sizeof good);
            bytes[i] = (uint8_t)to;
            const bool read = accel__pickle_read(bytes, sizeof good - 1, &store, &value, &problem);
            assert_true(read == (value != NULL) && read == (problem.text[0] == '\0'));
            accel__value_store_release(&store);
        }
}

/* ---- much from little ---- */

static void expect_small(const uint8_t *bytes, size_t size, bool good)
{
    accel__value_store store = {0};
    accel__snapshot_problem problem = {""};
    accel__value *value = NULL;
    assert_int_equal(accel__pickle_read(bytes, size, &store, &value, &problem), good);
    assert_true(store.total <= ((size_t)1 << 20) + size * 128);
    accel__value_store_release(&store);
}

static void test_bombs(void **state)
{
    enum { SIZE = 1 << 20 };
    uint8_t *bytes = malloc(SIZE + 64);
    (void)state;
    assert_non_null(bytes);
    for (const char *c = "(]})N2\x94\x88"; *c != '\0'; c++) { /* a million of one opcode */
        bytes[0] = ']';
        memset(bytes + 1, *c, SIZE);
        bytes[SIZE + 1] = 'N';
        bytes[SIZE + 2] = '.';
        expect_small(bytes, SIZE + 3, true);
    }
    size_t size =
        0; /* each list holds the one before twice: 2^1000 elements, if one counted them */
    bytes[size++] = ']';
    for (int i = 0; i < 1000; i++) {
        memcpy(bytes + size, "2\x86", 2);
        size += 2;
    }
    bytes[size++] = '.';
    expect_small(bytes, size, true);
    memset(bytes, ']', SIZE); /* as deep as the file is long */
    memset(bytes + SIZE / 2, 'a', SIZE / 2 - 1);
    bytes[SIZE - 1] = '.';
    expect_small(bytes, SIZE, true);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_protocols), cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_texts),     cmocka_unit_test(test_collections),
        cmocka_unit_test(test_memo),      cmocka_unit_test(test_refused),
        cmocka_unit_test(test_damage),    cmocka_unit_test(test_cuts_and_changes),
        cmocka_unit_test(test_bombs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
