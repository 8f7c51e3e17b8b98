/* emit_opencl_test.c: portable source as OpenCL C: what is changed, that nothing else is, and lack of
 * memory. Whether drivers take it is shown by tests/opencl. */
#include "unit/program_support.h"

#include "base/allocate.h"
#include "kernel/emit_opencl/emit_opencl.h"

/* The text; "" where the source is refused. */
static accel__text emit(const char *source, bool offsets)
{
    accel__unit unit = {0};
    accel__diagnostics diagnostics = {0};
    accel__text text = {0};
    accel__program *program = NULL;
    if (accel__preprocess(source, strlen(source), NULL, NULL, 0, &diagnostics, &unit))
        program = accel__program_parse(&unit, &diagnostics);
    if (program == NULL)
        fail_msg("%s\n%s", source, accel__text_string(&diagnostics.log));
    if (!accel__program_emit_opencl(program, offsets, &diagnostics, &text))
        accel__text_clear(&text);
    accel__program_release(program);
    accel__unit_release(&unit);
    accel__diagnostics_release(&diagnostics);
    return text;
}

/* The text with each run of blanks as one, so that tests need not know the spacing. */
static void squeeze(accel__text *text)
{
    size_t to = 0;
    for (size_t from = 0; from < text->size; from++)
        if (text->data[from] != ' ' || (to != 0 && text->data[to - 1] != ' '))
            text->data[to++] = text->data[from];
    text->data[to] = '\0';
}

static void has(const char *source, bool offsets, const char *wanted)
{
    accel__text text = emit(source, offsets);
    squeeze(&text);
    if (strstr(text.data, wanted) == NULL) {
        fputs(text.data, stderr); /* a message of cmocka's is cut */
        fail_msg("wanted: %s", wanted);
    }
    accel__text_release(&text);
}

static void has_not(const char *source, bool offsets, const char *unwanted)
{
    accel__text text = emit(source, offsets);
    squeeze(&text);
    if (text.size == 0 || strstr(text.data, unwanted) != NULL)
        fail_msg("%s\n--- unwanted: %s\n--- got: %s", source, unwanted, text.data);
    accel__text_release(&text);
}

/* ---- the head ---- */

static void test_facts(void **state)
{
    (void)state;
    has("__kernel __attribute__((reqd_work_group_size(4, 2, 1)))\n"
        "void one(__global const float4 *in, __local int *room, const double by) {}\n"
        "int helper(int x) { return x; }\n"
        "__kernel void two(void) {}\n",
        false,
        "/* accel kernels 1\nkernel one 4 2 1 3 0\nparam in 2 11 4 1 16\nparam room 3 6 1 0 4\n"
        "param by 1 12 1 0 8\nkernel two 0 0 0 0 0\n*/\n#pragma OPENCL FP_CONTRACT OFF\n"
        "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#line 1 \"source\"\n");
    has_not("__kernel void one(void) {}", false, "cl_khr_fp64");
}

/* Kernels that some drivers get wrong are told by a number behind the count of parameters. */
static void notes(const char *body, unsigned wanted)
{
    char source[1024];
    char line[64];
    snprintf(source, sizeof source,
             "int turn(__local int *t, int x, int by) { if (by == 0) return x; t[0] = x; "
             "barrier(1); return t[0]; }\n"
             "int plain(__local int *t, int x) { t[0] = x; barrier(1); return t[0]; }\n"
             "__kernel void k(__global int *d, __local int *t, const int n)\n{\n"
             "const int i = get_global_id(0); int v = n;\n%s\nd[i] = v;\n}\n",
             body);
    snprintf(line, sizeof line, "kernel k 0 0 0 3 %u\n", wanted);
    has(source, false, line);
}

static void test_notes(void **state)
{
    (void)state;
    notes("if (i >= n) return;", 0);
    notes("if (i >= n) return; barrier(1);", 1);
    notes("barrier(1); if (i >= n) return;", 0);
    notes("if (n > 5) return; barrier(1);", 0); /* all do, or none */
    notes("v = t[i]; barrier(1); if (v == 3) { d[i] = 1; return; } barrier(1);", 1);
    notes("for (int k = 0; k < n; k++) { barrier(1); if (t[i] == k) return; }", 1);
    notes("switch (n) { case 1: barrier(1); break; default: v = 2; }", 2);
    notes("switch (n) { case 1: v = 1; } barrier(1);", 0);
    notes("v = turn(t, v, n);", 2);
    notes("v = plain(t, v);", 0);
}

/* ---- words ---- */

static void test_words(void **state)
{
    (void)state;
    has_not("inline int f(int x) { return x; }\n__kernel void k(void) {}", false, "inline");
    has("_Bool f(int x) { return x; }\n__kernel void k(void) {}", false, "bool f");
    has("__kernel void k(__global int *p) { atom_add(p, 1); }", false, "atomic_add (p, 1)");
    has("__kernel void k(__global int *p) { work_group_barrier(1); }", false, "barrier (1)");
    has("__kernel void k(__global int *p) { *p = ctz(*p); }", false, "= accel_ctz (*p)");
    has("__kernel void k(__global int *p) { *p = ctz(*p); }", false,
        "static __attribute__((overloada");
    has_not("__kernel void k(__global int *p) { int ctz = 1; *p = ctz; }", false, "accel_ctz");
    has("__kernel void k(__global int *p) { if (p == NULL) return; }", false, "#ifndef NULL\n");
    has_not("#pragma OPENCL FP_CONTRACT ON\n__kernel void k(void) {}", false, "FP_CONTRACT ON");
    has("#pragma unroll\n__kernel void k(void) {}", false, "#pragma unroll");
}

/* Names of our own keep clear of the source's. */
static void test_prefix(void **state)
{
    (void)state;
    has("__kernel void k(__global int *p) { int accel_ctz = 1; *p = ctz(accel_ctz); }", false,
        "= accel__ctz (accel_ctz)");
    has("__kernel void k(__global int *p, int accel__x, int accel_) { *p = ctz(*p); }", false,
        "= accel___ctz (*p)");
}

static void test_item_functions(void **state)
{
    (void)state;
    static const char source[] =
        "__kernel void k(__global ulong *p, uint d)\n"
        "{ *p = get_global_id(d) + get_local_id(2) + get_num_groups(3) + get_global_size(0); }";
    has(source, false,
        "= accel_global_id (d) + get_local_id (2) + accel_num_groups (3) + "
        "get_global_size (0)");
    has(source, false, "static size_t accel_global_id(uint d) {");
    has(source, false, ": 1; }");
    has_not(source, false, "accel_local_id");
    has("__kernel void k(__global ulong *p) { *p = get_enqueued_local_size(0); }", false,
        "= get_local_size (0)");
}

/* ---- divisions ---- */

#define KERNEL(body)                                                                               \
    "__kernel void k(__global int *a, __global uchar *c, const int b, const uint u)\n{ " body " }"

static void test_divisions(void **state)
{
    (void)state;
    has(KERNEL("*a = b / *a;"), false, "*a = accel_div_int((int)( b ), (int)( *a )) ;");
    has(KERNEL("*a = b / *a % 7;"), false, "*a = accel_div_int((int)( b ), (int)( *a )) % 7;");
    has(KERNEL("*a = b % *a / b;"), false,
        "= accel_div_int((int)( accel_mod_int((int)( b ), (int)( *a )) ), (int)( b )) ;");
    has(KERNEL("*a = b / u;"), false, "accel_div_uint((uint)( b ), (uint)( u ))");
    has(KERNEL("*a = b / -1 + 10 / -5;"), false,
        "accel_div_int((int)( b ), (int)( -1 )) + 10 / -5;");
    has(KERNEL("*a = *a / 4 + (int)(1.0f / b);"), false, "*a = *a / 4 + (int)(1.0f / b);");
    has(KERNEL("int d[12 / 4]; d[0] = 1; *a = d[0];"), false, "d[12 / 4]");
    has(KERNEL("*a = b / 0;"), false, "accel_div_int((int)( b ), (int)( 0 ))");
    has(KERNEL("*a = b / *a;"), false,
        "static int accel_div_int(int a, int b) { const int d = b == (int)(0) || b == (int)(-1) ? "
        "(int)(1) : b; return b == (int)(0) ? (int)(0) : b == (int)(-1) ? as_int((uint)(0) - "
        "as_uint(a)) : a / d; }\n");
}

static void test_division_assignments(void **state)
{
    (void)state;
    has(KERNEL("a[b] /= u;"), false,
        "({ __global int *accel_p = &( a[b] ); *accel_p = (int)accel_div_uint((uint)(*accel_p), "
        "(uint)( u )); }) ;");
    has(KERNEL("int v = 5; v %= b; *a = v;"), false, "({ __private int *accel_p = &( v );");
    has(KERNEL("c[0] /= b;"), false, "(uchar)accel_div_int((int)(*accel_p), (int)( b ))");
    has(KERNEL("a[0] /= 3;"), false, "a[0] /= 3;");
    has(KERNEL("float f = 1.0f; f /= b; *a = (int)f;"), false, "f /= b;");
    has("__kernel void k(volatile __local int *t, int b) { t[1] /= b; }", false,
        "__local volatile int *accel_p");
}

static void test_vector_divisions(void **state)
{
    (void)state;
    static const char source[] = "__kernel void k(__global int4 *v, __global uchar8 *c, int b)\n"
                                 "{ v[0] = v[1] / b; c[0] %= c[1]; int4 w = v[0]; w.x /= b; "
                                 "v[1] = w; }";
    has(source, false, "accel_div_int4((int4)( v[1] ), (int4)( b ))");
    has(source, false, "*accel_p = (uchar8)accel_mod_uchar8((uchar8)(*accel_p), (uchar8)( c[1] ))");
    has(source, false, "w. x = (int)accel_div_int((int)(w . x), (int)( b ))");
    has(source, false, "static uchar8 accel_mod_uchar8(");
    accel__text refused = emit("__kernel void k(__global int4 *v, int b) { v[b++].x /= b; }",
                               false);
    assert_int_equal(refused.size, 0);
    accel__text_release(&refused);
}

/* ---- declarations ---- */

static void test_inner_declarations(void **state)
{
    (void)state;
    static const char source[] = "int f(int x) { __constant int two = 1, more[2] = {3, 4}; "
                                 "return x * two + more[1]; }\n"
                                 "__kernel void k(__global int *p)\n"
                                 "{ __local int outer; if (*p > 1) { __local int t[4], s; "
                                 "t[0] = 1; s = sizeof(t); *p = t[0] + s + f(1); } outer = 1; }";
    accel__text text = emit(source, false);
    squeeze(&text);
    const char *constant = strstr(text.data, "__constant int accel_inner_");
    const char *function = strstr(text.data, "int f(");
    assert_true(constant != NULL && function != NULL && constant < function);
    const char *moved = strstr(text.data, "{ __local int accel_inner_");
    const char *condition = strstr(text.data, "if (*p > 1)");
    assert_true(moved != NULL && condition != NULL && moved < condition);
    assert_null(strstr(condition, "__local"));
    assert_non_null(strstr(text.data, "__local int outer;"));
    accel__text_release(&text);
}

/* ---- pointers as offsets ---- */

static void test_params(void **state)
{
    (void)state;
    static const char source[] =
        "typedef __global const float *source_t;\n"
        "__kernel void k(source_t in, __global int *restrict out, __constant int table[4],\n"
        "                __global int rows[][8], __local int *room, const float by)\n"
        "{ out[0] = (int)in[0] + table[1] + rows[0][1]; }";
    has_not(source, false, "accel_base");
    has(source, true,
        "void k( __global const uchar *accel_base_0, ulong accel_offset_0 , __global uchar "
        "*accel_base_1, ulong accel_offset_1 ,");
    has(source, true, "__constant uchar *accel_base_2");
    has(source, true, "__local int *room, const float by)");
    has(source, true, "source_t in = (__global const void *)(accel_base_0 + accel_offset_0);");
    has(source, true, "__global int * restrict out = (__global void *)(accel_base_1 + ");
    has(source, true, "__constant int *table = (__constant void *)(accel_base_2 + ");
    has(source, true, "__global int (*rows) [ 8 ] = (__global void *)(accel_base_3 + ");
    has(source, true, "kernel k 0 0 0 6 0\nparam in 2 11 1 1 4\n");
    has("__kernel void k(__global int *p);\nint f(__global int *p) { return *p; }\n"
        "kernel void k(global int *q) { *q = f(q); }",
        true, "f(__global int *p)");
    has("__kernel void k(__global int *p);\n__kernel void k(__global int *q) { *q = 1; }", true,
        "__kernel void k( __global uchar *accel_base_0, ulong accel_offset_0 );");
}

/* ---- lines and memory ---- */

static void test_lines(void **state)
{
    (void)state;
    has("\n\n__kernel\nvoid k(__global int *p)\n{\n    *p = 1 / *p;\n}\n", true,
        "\n__kernel\nvoid k( __global uchar");
    has("#line 40 \"other.h\"\n__kernel void k(void) {}\n", false, "#line 40 \"other.h\"\n");
}

static unsigned left;

static bool due(void)
{
    return left != 0 && --left == 0;
}

static void test_lack_of_memory(void **state)
{
    (void)state;
    static const char source[] = "__kernel void k(__global int *p, __global int4 *v, int n)\n"
                                 "{ if (n) { __local int t[4]; t[0] = ctz(n); barrier(1);\n"
                                 "p[0] /= t[0] / n; v[0] %= n; } }";
    accel__unit unit = {0};
    accel__diagnostics diagnostics = {0};
    assert_true(accel__preprocess(source, strlen(source), NULL, NULL, 0, &diagnostics, &unit));
    accel__program *program = accel__program_parse(&unit, &diagnostics);
    assert_non_null(program);
    bool good = false;
    unsigned failures = 0;
    for (unsigned number = 1; !good && number < 10000; number++) {
        accel__text text = {0};
        diagnostics.out_of_memory = false;
        left = number;
        accel__allocate_fault = due;
        good = accel__program_emit_opencl(program, true, &diagnostics, &text);
        accel__allocate_fault = NULL;
        const bool happened = left == 0;
        left = 0;
        assert_true(good == !happened);
        assert_true(diagnostics.out_of_memory == happened);
        failures += happened;
        accel__text_release(&text);
    }
    assert_true(good);
    assert_true(failures > 20);
    accel__program_release(program);
    accel__unit_release(&unit);
    accel__diagnostics_release(&diagnostics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_item_functions),
        cmocka_unit_test(test_divisions),
        cmocka_unit_test(test_division_assignments),
        cmocka_unit_test(test_vector_divisions),
        cmocka_unit_test(test_inner_declarations),
        cmocka_unit_test(test_params),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
