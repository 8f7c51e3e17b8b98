/* preprocess_damage_test.c: sources that explode, are damaged at random, or meet a lack of memory: an
 * error, never a crash, a leak or a wrong unit. */
#include "base/allocate.h"
#include "kernel/preprocess/internal.h"
#include "unit/preprocess_support.h"

/* ---- limits ---- */

static void append_doubling(accel__text *text, int depth, const char *last)
{
    for (int i = 0; i < depth; i++)
        accel__text_format(text, "#define D%d D%d D%d\n", i, i + 1, i + 1);
    accel__text_format(text, "#define D%d %s\nD0\n", depth, last);
}

static void test_limits(void **state)
{
    (void)state;
    const accel__preprocess_limits real = accel__preprocess_limit;
    accel__preprocess_limit = (accel__preprocess_limits){
        .tokens = 20000, .steps = 100000, .text = 100000};
    accel__text text = {0};
    append_doubling(&text, 60, "x");
    fails(text.data, "more than 20000 tokens");
    accel__text_clear(&text);
    append_doubling(&text, 60, ""); /* work without a result */
    fails(text.data, "macros expand without end");
    accel__text_clear(&text);
    accel__text_append_string(&text, "#define D(x) x x\n");
    for (int i = 0; i < 60; i++)
        accel__text_append_string(&text, "D(");
    accel__text_append_string(&text, "y");
    for (int i = 0; i < 60; i++)
        accel__text_append_string(&text, ")");
    fails(text.data, "more than 20000 tokens");
    accel__text_clear(&text);
    accel__text_append_string(&text, "#define S(x) #x\n#define T(x) S(x) S(x)\n");
    for (int i = 0; i < 12; i++)
        accel__text_append_string(&text, "T(");
    accel__text_append_string(&text, "\"\"");
    for (int i = 0; i < 12; i++)
        accel__text_append_string(&text, ")");
    fails(text.data, "bytes of source"); /* quotes quoted double each time */
    accel__preprocess_limit = real;
    accel__text_clear(&text);
    accel__text_append_string(&text, "#define f(x) x\n");
    for (int i = 0; i < 1000; i++)
        accel__text_append_string(&text, "f(");
    for (int i = 0; i < 1000; i++)
        accel__text_append_string(&text, ")");
    fails(text.data, "macro calls nested deeper than");
    accel__text_clear(&text);
    accel__text_append_string(&text, "#if ");
    for (int i = 0; i < 5000; i++)
        accel__text_append_string(&text, i % 2 == 0 ? "(" : "-");
    fails(text.data, "nested too deeply");
    accel__text_clear(&text);
    for (int i = 0; i < 1000; i++)
        accel__text_append_string(&text, "@\n");
    fails(text.data, "source:100: error: too many errors");
    accel__text_release(&text);
}

/* ---- damaged sources ---- */

static const char *const seeds[] = {
    EXAMPLE_3
    "f(y+1) + f(f(z)) % t(t(g)(0) + t)(1); g(x+(3,4)-w) | h 5) & m\n(f)^m(m); p() i[q()] = "
    "{ q(1), r(2,3), r(4,), r(,5), r(,) }; str(\"a\\n\" 'b')\n",
    EXAMPLE_4 "debug(1, 2); fputs(str(strncmp(\"abc\\0d\") // gone\n) xglue(HIGH, LOW)\n",
    "#define E(f, ...) p(f, ## __VA_ARGS__) #__VA_ARGS__\nE(1) E(1,2)\n#if defined(E) && (1 ? 2 : "
    "3/0) "
    "|| 'a' == 0x61 << 2 - -1u % 3\n__LINE__ __FILE__\n#elif 1\n#else\n#endif\n#line 20 \"x\"\n",
    "#pragma unroll 4\nkernel void k(global float *a, int n) { /* c */ for (int i = 0; i < n; i++) "
    "a[i] += 1.5e+3f; } // \xC3\xA9\n_Pragma(\"x (\\\"y\\\")\")\n#warning w\n# 3 \"q\" 1\n"
    "#ifdef A\n#ifndef B\n#undef C\n#endif\n#endif\na\\\nb <:%:%:\n"};

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13; /* xorshift32 */
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Changes a few bytes: replaced, removed, doubled pieces, and pieces that mean something. */
static void mutate(accel__text *text, uint32_t *random)
{
    static const char *const pieces[] = {
        "#",   "##",   "(",  ")",   ",",        "\n",     "\\\n",       "\"",         "'",
        "/*",  "*/",   "//", "\n#", "defined ", "f(",     "x",          "\n#define ", "__VA_ARGS__",
        "...", "\xC3", "0x", "?",   ":",        "\n#if ", "\n#endif\n", "_Pragma(",   "\n#line 7 "};
    const uint32_t count = 1 + next_random(random) % 4;
    for (uint32_t i = 0; i < count && text->size > 2; i++) {
        const size_t at = next_random(random) % (text->size - 1);
        const size_t rest = text->size - at;
        const uint32_t kind = next_random(random) % 4;
        accel__text made = {0};
        accel__text_append(&made, text->data, at);
        if (kind == 0)
            accel__text_append_char(&made, (char)(1 + next_random(random) % 255));
        else if (kind == 1)
            accel__text_append_string(
                &made, pieces[next_random(random) % (sizeof pieces / sizeof pieces[0])]);
        else if (kind == 2)
            accel__text_append(&made, text->data + at, next_random(random) % rest % 40);
        const size_t skipped = kind == 3 ? next_random(random) % rest % 20 : kind == 0;
        accel__text_append(&made, text->data + at + skipped, rest - skipped);
        accel__text_release(text);
        *text = made;
    }
}

static void test_damaged_sources(void **state)
{
    (void)state;
    const accel__preprocess_limits real = accel__preprocess_limit;
    accel__preprocess_limit = (accel__preprocess_limits){
        .tokens = 5000, .steps = 20000, .text = 50000};
    uint32_t random = 20240817;
    unsigned accepted = 0;
    for (int round = 0; round < 8000; round++) {
        accel__text text = {0};
        accel__text_append_string(&text, seeds[round % 4]);
        for (int i = round / 1000; i >= 0; i--) /* the later, the wilder */
            mutate(&text, &random);
        run result = preprocess_bytes(text.data, text.size, NULL);
        assert_int_equal(result.good, result.diagnostics.error_count == 0);
        assert_false(result.diagnostics.out_of_memory);
        if (result.good) {
            check_round_trip(&result);
            accepted++;
        }
        release(&result);
        accel__text_release(&text);
    }
    assert_true(accepted > 100); /* the check above was not idle */
    accel__preprocess_limit = real;
}

/* ---- lack of memory ---- */

static unsigned requests_left;

static bool fail_request(void)
{
    return --requests_left == 0;
}

/* The n-th request fails: an error that says so, or a harmless loss; never a wrong unit. */
static void sweep(const char *source, const accel_module_options *options)
{
    run whole = preprocess_bytes(source, strlen(source), options);
    for (unsigned n = 1;; n++) {
        accel__unit unit = {0};
        accel__diagnostics diagnostics = {0};
        requests_left = n;
        accel__allocate_fault = fail_request;
        const bool good = accel__preprocess(source, strlen(source), options, NULL, 0, &diagnostics,
                                            &unit);
        accel__allocate_fault = NULL;
        const bool failed = requests_left == 0 || requests_left > n;
        assert_int_equal(diagnostics.out_of_memory, failed);
        if (failed) {
            assert_false(good);
            assert_null(unit.tokens);
        } else {
            assert_int_equal(good, whole.good);
        }
        accel__unit_release(&unit);
        accel__diagnostics_release(&diagnostics);
        if (!failed)
            break;
        assert_true(n < 100000);
    }
    release(&whole);
}

static void test_no_memory(void **state)
{
    (void)state;
    write_file("memory.h", "#pragma once\nint memory;\n");
    const accel_define defines[] = {{"F(x)", "[x]"}};
    accel_module_options options = file_options(NULL, 0);
    options.defines = defines;
    options.define_count = 1;
    sweep("#include \"memory.h\"\n#define N \"memory.h\"\n#include N\nF(1) __FILE__ __LINE__\n",
          &options);
    for (size_t i = 0; i < 4; i++)
        sweep(seeds[i], NULL);
    sweep("#define f(a,b) a ## b\n#define f(x) x\nf(1,2\n@ 'x\n#if 1/0\n#error e\n", NULL);
    sweep("#define a b\\\nc\n_Pragma(\"x\") a #\n", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_damaged_sources),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, make_own_directory, remove_own_directory);
}
