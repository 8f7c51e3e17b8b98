/* program_test.c: the parser and checker of portable source: signatures, what is refused and at which
 * line, limits. What accepted sources compute is tested by tests/api/kernels_*_test.c. */
#include <stdlib.h>

#include "kernel/check/builtins.h"
#include "unit/program_support.h"

static void check_param(const accel_param *param, const char *name, accel_param_kind kind,
                        accel_data_type type, uint32_t lanes, uint32_t read_only, size_t size)
{
    assert_string_equal(param->name, name);
    assert_int_equal(param->kind, kind);
    assert_int_equal(param->type, type);
    assert_int_equal(param->lanes, lanes);
    assert_int_equal(param->read_only, read_only);
    assert_int_equal(param->size, size);
}

static void test_signatures(void **state)
{
    (void)state;
    translation t = translate(
        "typedef uint word; struct s { double d; char c; };\n"
        "void helper(void) {}\n"
        "__kernel void first(__global float *a, __constant int *b, const __global uchar *restrict "
        "c,"
        " __local double *d, word e, const char f, float4 g, __global struct s *h, global void *i,"
        " __global ulong3 *j, __global half *k, local short2 l[])\n{ helper(); }\n"
        "kernel __attribute__((reqd_work_group_size(8, 4, 2))) void second() {}\n");
    assert_true(t.good);
    assert_int_equal(accel__program_kernel_count(t.program), 2);
    assert_null(accel__program_kernel(t.program, 2));
    const accel__signature *first = accel__program_kernel(t.program, 0);
    assert_string_equal(first->name, "first");
    assert_int_equal(first->param_count, 12);
    const accel_param *p = first->params;
    check_param(p++, "a", ACCEL_PARAM_KIND_POINTER, ACCEL_DATA_TYPE_F32, 1, 0, 4);
    check_param(p++, "b", ACCEL_PARAM_KIND_POINTER, ACCEL_DATA_TYPE_I32, 1, 1, 4);
    check_param(p++, "c", ACCEL_PARAM_KIND_POINTER, ACCEL_DATA_TYPE_U8, 1, 1, 1);
    check_param(p++, "d", ACCEL_PARAM_KIND_LOCAL, ACCEL_DATA_TYPE_F64, 1, 0, 8);
    check_param(p++, "e", ACCEL_PARAM_KIND_VALUE, ACCEL_DATA_TYPE_U32, 1, 0, 4);
    check_param(p++, "f", ACCEL_PARAM_KIND_VALUE, ACCEL_DATA_TYPE_I8, 1, 0, 1);
    check_param(p++, "g", ACCEL_PARAM_KIND_VALUE, ACCEL_DATA_TYPE_F32, 4, 0, 16);
    check_param(p++, "h", ACCEL_PARAM_KIND_POINTER, ACCEL_DATA_TYPE_NONE, 1, 0, 16);
    check_param(p++, "i", ACCEL_PARAM_KIND_POINTER, ACCEL_DATA_TYPE_NONE, 1, 0, 0);
    check_param(p++, "j", ACCEL_PARAM_KIND_POINTER, ACCEL_DATA_TYPE_U64, 3, 0, 32);
    check_param(p++, "k", ACCEL_PARAM_KIND_POINTER, ACCEL_DATA_TYPE_F16, 1, 0, 2);
    check_param(p++, "l", ACCEL_PARAM_KIND_LOCAL, ACCEL_DATA_TYPE_I16, 2, 0, 4);
    const accel__signature *second = accel__program_kernel(t.program, 1);
    assert_string_equal(second->name, "second");
    assert_int_equal(second->param_count, 0);
    assert_int_equal(second->required_block[0], 8);
    assert_int_equal(second->required_block[1], 4);
    assert_int_equal(second->required_block[2], 2);
    assert_int_equal(first->required_block[0], 0);
    translation_release(&t);
}

static void test_doubles_are_seen(void **state)
{
    (void)state;
    translation t = translate("__kernel void k(__global float *a) { a[0] = 1.5; }");
    assert_false(accel__program_uses_double(t.program));
    translation_release(&t);
    t = translate("__kernel void k(__global float *a) { a[0] = (double)a[1]; }");
    assert_true(accel__program_uses_double(t.program));
    translation_release(&t);
    t = translate("typedef double4 d; __kernel void k(__global d *a) { }");
    assert_true(accel__program_uses_double(t.program));
    translation_release(&t);
}

/* One statement in line 3 of a kernel. */
#define IN_KERNEL(statement)                                                                       \
    "__kernel void k(__global int *p, __global float *f, __local int *l, int n)\n{\n" statement    \
    "\n}\n"

#define REFUSED(statement, message) refuses(IN_KERNEL(statement), "source:3: error: " message)

static void test_refused_types(void **state)
{
    (void)state;
    refuses("\n__kernel void k(read_only image2d_t i) {}",
            "source:2: error: 'read_only' is not part");
    refuses("\n__kernel void k(image2d_t i) {}", "source:2: error: 'image2d_t' is not part");
    REFUSED("sampler_t s;", "'sampler_t' is not part of the kernel language");
    REFUSED("event_t e;", "'event_t' is not part");
    REFUSED("half h;", "half arithmetic is not part");
    REFUSED("float h = 1.0h;", "half arithmetic is not part");
    REFUSED("long long x;", "'long long' is not part");
    REFUSED("int *__local q;", "a pointer that lives outside of private memory");
    REFUSED("void x;", "'x' has a type without size");
    REFUSED("int half;", "'half' is a word of the kernel language");
    REFUSED("int a[0];", "the size of an array must be");
    REFUSED("int a[n];", "the size of an array must be an integer constant");
    REFUSED("int a[100000][100000];", "this array is too large");
    REFUSED("atomic_int a;", "'atomic_int' is not part");
    refuses("\nunion u { int i; __global float *p; };", "source:2: error: expected the type of a");
    refuses("\nstruct u { int *p; };", "source:2: error: pointers inside of a struct");
    refuses("\nstruct u { int i : 3; };", "source:2: error: bit-fields are not part");
    refuses("\nstruct u { int i; } __attribute__((packed));", "the attribute 'packed' is not part");
}

static void test_refused_parameters(void **state)
{
    (void)state;
    refuses("struct s { int i; };\n__kernel void k(struct s v) {}",
            "source:2: error: the parameter 'v' is a struct");
    refuses("\n__kernel void k(__global int **p) {}", "source:2: error: ");
    refuses("\n__kernel void k(int *p) {}", "the pointer 'p' of a kernel needs __global");
    refuses("\n__kernel void k(size_t n) {}", "source:2: error: the parameter 'n' of a kernel");
    refuses("\n__kernel void k(bool b) {}", "source:2: error: the parameter 'b' of a kernel");
    refuses("\n__kernel void k(half h) {}", "half arithmetic is not part");
    refuses("\n__kernel int k() { return 1; }", "source:2: error: the kernel 'k' must return void");
    refuses("\nvoid f(int a, ...) {}", "variadic functions are not part");
    refuses("\nvoid f(int (*g)(int)) {}", "function pointers are not part");
    refuses("\nvoid f(int a, int a) {}", "two parameters named 'a'");
}

static void test_refused_statements(void **state)
{
    (void)state;
    REFUSED("goto end; end: ;", "'goto' is not part");
    REFUSED("end: n = 1;", "labels are not part");
    REFUSED("printf(\"x\");", "strings are not part");
    REFUSED("printf(n);", "'printf': printf is not part");
    REFUSED("case 1: ;", "'case' must stand directly");
    REFUSED("switch (n) { case 1: if (n) { case 2: ; } }", "'case' must stand directly");
    REFUSED("switch (n) { n = 1; }", "a statement before the first case");
    REFUSED("switch (n) { case 1: case 1: ; }", "this case stands twice");
    REFUSED("switch (n) { default: default: ; }", "this case stands twice");
    REFUSED("break;", "'break' outside of a loop");
    REFUSED("continue;", "'continue' outside of a loop");
    REFUSED("return n;", "'k' returns nothing");
    REFUSED("static int s;", "'static', 'inline' or '__kernel' inside");
    REFUSED("__local int t = 3;", "local memory ('t') cannot be initialised");
    REFUSED("__global int t;", "the variable 't' in global memory");
    REFUSED("int a = 1, a = 2;", "'a' is declared twice");
    REFUSED("if (n) int a = 1;", "a declaration in place of a statement");
    REFUSED("int f(int);", "the function 'f' inside of another");
    REFUSED("int i = { 1, 2 };", "more values than int holds");
    REFUSED("int i[2] = { 1, 2, 3 };", "more values than int[2] holds");
    REFUSED("int i[2] = { [1] = 2 };", "designated initialisers are not part");
    REFUSED("n = (int[2]){ 1, 2 }[0];", "");
    REFUSED("async_work_group_copy(l, p, 1, 0);", "'async_work_group_copy': asynchronous");
    refuses("void f() {\n__local int t; }", "source:2: error: local memory ('t') can only");
    refuses("int f(int n) {\nreturn; }", "source:2: error: 'f' must return a value");
}

static void test_refused_barriers(void **state)
{
    (void)state;
    REFUSED("n = (barrier(CLK_LOCAL_MEM_FENCE), 1);", "a barrier must be a statement of its own");
    REFUSED("for (barrier(1); n; n--) ;", "a barrier in the head of a loop");
    REFUSED("for (; n; barrier(1)) ;", "a barrier must be a statement of its own");
    REFUSED("if (n) n = 1; else (void)barrier(1);", "a barrier must be a statement of its own");
    refuses("int f(int n) { barrier(1); return n; }\n__kernel void k(__global int *p)\n{\n"
            "p[0] = f(1) + 1;\n}",
            "source:4: error: 'f' holds a barrier");
    refuses("int f(int n) { barrier(1); return n; }\n__kernel void k(__global int *p)\n{\n"
            "while (f(1)) ;\n}",
            "source:4: error: 'f' holds a barrier");
    accepts("int f(int n) { barrier(1); return n; }\n__kernel void k(__global int *p)\n{\n"
            "p[0] = f(1); f(2); const int a = f(3); p[1] += f(a); }");
}

static void test_refused_expressions(void **state)
{
    (void)state;
    REFUSED("n = m;", "unknown name 'm'");
    REFUSED("foo(n);", "unknown function 'foo'");
    REFUSED("n();", "'n' is called but is no function");
    REFUSED("n = sin(f[0], f[1]);", "'sin' takes 1 argument, not 2");
    REFUSED("n = sin(n);", "argument 1 of 'sin' is int, must be float or double");
    REFUSED("f[0] = fmax(f[0], 1.0);", "the arguments of 'fmax' differ in type");
    REFUSED("n = max(n, 1u);", "the arguments of 'max' differ in type");
    REFUSED("3 = n;", "'=' needs something it can assign to");
    REFUSED("n + 1 = n;", "'=' needs something it can assign to");
    REFUSED("const int c = 1; c = 2;", "'=' on something constant");
    REFUSED("n = *n;", "'*' does not take int");
    REFUSED("n = f[0] % 2;", "'%' does not take");
    REFUSED("n = f[0] << 2;", "'<<' does not take");
    REFUSED("n = ~f[0];", "'~' does not take");
    REFUSED("n = p[f[0]];", "the index of an array must be an integer");
    REFUSED("p = f;", "what is assigned to is __global int * and cannot hold __global float *");
    REFUSED("p = l;", "what is assigned to is __global int * and cannot hold __local int *");
    REFUSED("p = (__global int *)l;", "no cast from __local int * to __global int *");
    REFUSED("p = (__global int *)n;", "no cast from int to __global int *");
    REFUSED("n = &n;", "what is assigned to is int and cannot hold int *");
    REFUSED("n = &3;", "'&' needs something that has an address");
    REFUSED("n = k;", "function pointers are not part");
    REFUSED("atomic_add(f, 1);", "argument 1 of 'atomic_add' is __global float *");
    REFUSED("atomic_add((__global long *)p, 1);", "64-bit atomics are not part");
    REFUSED("atomic_add(&n, 1);", "argument 1 of 'atomic_add' is int *");
    REFUSED("n = 08;", "'08' is no number");
    REFUSED("n = 1.5e;", "'1.5e' is no number");
    REFUSED("n = 99999999999999999999;", "'99999999999999999999' does not fit 64 bits");
    REFUSED("n = '';", "a character literal must hold one character");
    REFUSED("float4 v; v.xx = v.xy;", "'=' needs something it can assign to");
    REFUSED("float4 v; v = v.xyzw.s7;", "'s7' names no lanes of float4");
    REFUSED("float4 v = (float4)(1, 2, 3);", "3 lanes for a vector of 4");
    REFUSED("float4 v; int4 w; v = v + w;", "'+' does not take float4 and int4");
    REFUSED("n = convert_float_rtz(n);", "'convert_float_rtz': rounding modes");
    REFUSED("n = sizeof(void);", "sizeof a type without size");
    REFUSED("struct t { int a; } t; n = t.b;", "no field 'b' in struct t");
    REFUSED("n.x = 1;", "'x' asked of something that is no struct");
    REFUSED("__global half *h = 0; f[0] = *h;", "half arithmetic is not part");
}

static void test_refused_programs(void **state)
{
    (void)state;
    refuses("int f(int n);\nint g(int n) {\nreturn f(n); }\nint f(int n) {\nreturn g(n); }",
            "source:5: error: recursion is not part of the kernel language ('g')");
    refuses("int f(int n) {\nreturn n ? f(n - 1) : 0; }", "source:2: error: recursion is not part");
    refuses("int f(int n);\n__kernel void k() {\nf(1); }",
            "source:3: error: the function 'f' is declared but not defined");
    refuses("__kernel void a() {}\n__kernel void b() {\na(); }",
            "source:3: error: a call of the kernel 'a'");
    refuses("\nint x = 1;",
            "source:2: error: the variable 'x' at program scope must be __constant");
    refuses("\n__global int x;", "'x': only __constant variables may stand at program scope");
    refuses("\n__constant int x;", "source:2: error: the constant 'x' has no value");
    refuses("int f() { return 1; }\n__constant int x = f();",
            "source:2: error: the value of 'x' must");
    refuses("void f() {}\nvoid f() {}", "source:2: error: 'f' is defined twice");
    refuses("void f(int a);\nvoid f(float a) {}", "source:2: error: 'f' was declared differently");
    refuses("\nfloat sin(float x) { return x; }", "'sin' is a function of the kernel language");
    refuses("\nextern int x;", "'extern' is not part");
    refuses("\nint", "error: expected a name");
    refuses("__kernel void k() {\n", "source:2: error: expected '}' before the end of the source");
    refuses("\n42;", "source:2: error: expected a type before '42'");
}

static unsigned count_of(const char *text, const char *part)
{
    unsigned count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        count++;
    return count;
}

/* Each declaration that fails is reported, and none for what depends on it. */
static void test_errors_go_on(void **state)
{
    (void)state;
    translation t = translate(
        "int f(int n) { return m; }\nint x;\nint g() { return f(2); }\n"
        "__kernel void k(int n) { n = f(1) + q; }\n__kernel void o() { f(1); }");
    assert_null(t.program);
    assert_int_equal(t.diagnostics.error_count, 3);
    const char *log = accel__text_string(&t.diagnostics.log);
    assert_non_null(strstr(log, "source:1: error: unknown name 'm'"));
    assert_non_null(strstr(log, "source:2: error: the variable 'x'"));
    assert_non_null(strstr(log, "source:4: error: unknown name 'q'"));
    translation_release(&t);
    accel__text many = {0};
    for (int i = 0; i < 100; i++)
        accel__text_format(&many, "int f%d() { return no; }\n", i);
    t = translate(many.data);
    assert_int_equal(count_of(accel__text_string(&t.diagnostics.log), "error"), 20);
    translation_release(&t);
    accel__text_release(&many);
}

static void nested_source(accel__text *out, const char *before, int count, const char *open,
                          const char *middle, const char *close, const char *after)
{
    accel__text_clear(out);
    accel__text_append_string(out, before);
    for (int i = 0; i < count; i++)
        accel__text_append_string(out, open);
    accel__text_append_string(out, middle);
    for (int i = 0; i < count; i++)
        accel__text_append_string(out, close);
    accel__text_append_string(out, after);
}

/* Depth is bounded: an error, not the end of the stack. */
static void test_limits(void **state)
{
    (void)state;
    static const char *const shapes[][4] = {
        {"int f(int n) { return ", "(", "n", ")"},
        {"int f(int n) { return ", "-", "n", ""},
        {"int f(int n) { return ", "n+(", "n", ")"},
        {"int f(int n) { return ", "n?n:", "n", ""},
        {"int f(int n) { n ", "= n ", "", ""},
        {"int f(int n) { ", "{", ";", "}"},
        {"int f(int n) { ", "if (n) ", ";", ""},
        {"int f(int n) { ", "for (;;) ", ";", ""},
        {"int f(int n) { int ", "*", "p", ""},
        {"int f(int n) { int p", "[1]", "", ""},
        {"int f(int n) { int a = ", "{", "1", "}"},
        {"int f(int n) { return n", "+n", "", ""},
        {"int f(int n) { return n", ",n", "", ""},
        {"int f(int n) { int ", "(", "p", ")"},
        {"int f(int n) { ", "struct {", "int a;", "} a;"},
    };
    accel__text text = {0};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int count = 10; count <= 100000; count *= 10) {
            nested_source(&text, shapes[i][0], count, shapes[i][1], shapes[i][2], shapes[i][3],
                          "; }");
            translation t = translate(text.data);
            assert_true(t.good || t.diagnostics.error_count > 0);
            translation_release(&t);
        }
    nested_source(&text, shapes[0][0], 20, shapes[0][1], shapes[0][2], shapes[0][3], "; }");
    accepts(text.data);
    accel__text_release(&text);
}

/* Whether the function that the document names is in the table. */
static bool is_known(const char *row, const char *name, size_t size)
{
    char full[64];
    const bool approximate = strstr(row, "| approximate") == row;
    snprintf(full, sizeof full, "%s%.*s", approximate ? "native_" : "", (int)size, name);
    const accel__builtin *found = accel__builtin_find(full, strlen(full));
    return found != NULL && found->rule != ACCEL__RULE_REFUSED;
}

/* Every function that docs/kernel-language.md promises exists. */
static void test_the_document_is_kept(void **state)
{
    (void)state;
    char path[1024];
    char line[4096];
    unsigned names = 0;
    const char *root = getenv("SOURCE_DIR");
    snprintf(path, sizeof path, "%s/docs/kernel-language.md", root != NULL ? root : ".");
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    bool in_table = false;
    while (fgets(line, sizeof line, file) != NULL) {
        in_table = in_table ? strncmp(line, "Most take", 9) != 0 : strstr(line, "| fences") == line;
        if (!in_table || strstr(line, "| conversions") == line)
            continue;
        for (const char *at = strchr(line, '`'); at != NULL;) {
            const char *end = strchr(at + 1, '`');
            assert_non_null(end);
            const size_t size = (size_t)(end - at - 1);
            const bool type = size <= 5 && size > 0 &&
                              (strncmp(at + 1, "int", size) == 0 ||
                               strncmp(at + 1, "uint", size) == 0 ||
                               strncmp(at + 1, "float", size) == 0);
            if (memchr(at, '\xE2', size) == NULL && !type) { /* … stands for a prefix or suffix */
                if (!is_known(line, at + 1, size))
                    fail_msg("the document names %.*s", (int)size, at + 1);
                names++;
            }
            at = strchr(end + 1, '`');
        }
    }
    fclose(file);
    assert_true(names > 130);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signatures),           cmocka_unit_test(test_doubles_are_seen),
        cmocka_unit_test(test_refused_types),        cmocka_unit_test(test_refused_parameters),
        cmocka_unit_test(test_refused_statements),   cmocka_unit_test(test_refused_barriers),
        cmocka_unit_test(test_refused_expressions),  cmocka_unit_test(test_refused_programs),
        cmocka_unit_test(test_errors_go_on),         cmocka_unit_test(test_limits),
        cmocka_unit_test(test_the_document_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
