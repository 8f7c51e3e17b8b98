/* emit_test.c: the C that programs become: the structs of the cpu kernel ABI are those of
 * <accel/cpu.h>, both compilers take it without a word, damaged sources and a lack of memory end in an
 * error. What it computes is tested by tests/api/kernels_*_test.c. */
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/allocate.h"
#include "support/kernel_files.h"
#include "unit/program_support.h"

static char directory[] = "/tmp/accel_emit_test-XXXXXX";
static const char *const files[] = {"barriers.cl", "tiles.cl", "atomics.cl", "integers.cl",
                                    "floats.cl",   "flow.cl",  "vectors.cl"};

static bool has_compiler(const char *compiler)
{
    char command[128];
    snprintf(command, sizeof command, "%s --version >/dev/null 2>&1", compiler);
    return system(command) == 0;
}

/* Compiles `text` to nothing; any message is a failure. */
static void compile(const char *compiler, const char *text, const char *extra)
{
    char path[256];
    char command[1024];
    snprintf(path, sizeof path, "%s/kernel.c", directory);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fputs(extra, file);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof command,
             "%s -std=gnu17 -O1 -march=native -fno-math-errno -fno-trapping-math "
             "-fno-strict-aliasing -ffp-contract=off -fPIC -Werror -c %s -o %s/kernel.o",
             compiler, path, directory);
    assert_int_equal(system(command), 0);
}

static void test_the_structs_are_those_of_the_header(void **state)
{
    (void)state;
    translation t = translate("__kernel void k(__global int *p) { p[0] = 1; }");
    char checks[4096];
    snprintf(
        checks, sizeof checks,
        "\n#define AT(type, field, offset, bytes)\\\n"
        "    _Static_assert(__builtin_offsetof(type, field) == (offset) && "
        "sizeof(((type *)0)->field) == (bytes), #field);\n"
#define FIELD(type, field) "AT(" #type ", " #field ", %zu, %zu)\n"
        FIELD(accel_cpu_launch, grid) FIELD(accel_cpu_launch, block) FIELD(
            accel_cpu_launch,
            arguments) FIELD(accel_cpu_launch,
                             scratch) FIELD(accel_cpu_kernel,
                                            name) FIELD(accel_cpu_kernel,
                                                        function) FIELD(accel_cpu_kernel, params)
            FIELD(accel_cpu_kernel, param_count) FIELD(accel_cpu_kernel, required_block) FIELD(
                accel_cpu_kernel, scratch_fixed) FIELD(accel_cpu_kernel,
                                                       scratch_per_item) FIELD(accel_cpu_object,
                                                                               abi)
                FIELD(accel_cpu_object, kernel_count) FIELD(accel_cpu_object, kernels) FIELD(
                    accel_param,
                    name) FIELD(accel_param,
                                kind) FIELD(accel_param,
                                            type) FIELD(accel_param,
                                                        lanes) FIELD(accel_param,
                                                                     read_only) FIELD(accel_param,
                                                                                      size)
#undef FIELD
                    "_Static_assert(sizeof(accel_cpu_launch) == %zu && sizeof(accel_cpu_kernel) == "
                    "%zu && "
                    "sizeof(accel_cpu_object) == %zu && sizeof(accel_param) == %zu, \"sizes\");\n",
#define FIELD(type, field) offsetof(type, field), sizeof(((type *)0)->field)
        FIELD(accel_cpu_launch, grid), FIELD(accel_cpu_launch, block),
        FIELD(accel_cpu_launch, arguments), FIELD(accel_cpu_launch, scratch),
        FIELD(accel_cpu_kernel, name), FIELD(accel_cpu_kernel, function),
        FIELD(accel_cpu_kernel, params), FIELD(accel_cpu_kernel, param_count),
        FIELD(accel_cpu_kernel, required_block), FIELD(accel_cpu_kernel, scratch_fixed),
        FIELD(accel_cpu_kernel, scratch_per_item), FIELD(accel_cpu_object, abi),
        FIELD(accel_cpu_object, kernel_count), FIELD(accel_cpu_object, kernels),
        FIELD(accel_param, name), FIELD(accel_param, kind), FIELD(accel_param, type),
        FIELD(accel_param, lanes), FIELD(accel_param, read_only), FIELD(accel_param, size),
#undef FIELD
        sizeof(accel_cpu_launch), sizeof(accel_cpu_kernel), sizeof(accel_cpu_object),
        sizeof(accel_param));
    assert_true(t.good);
    if (!has_compiler("cc"))
        skip();
    compile("cc", t.text.data, checks);
    translation_release(&t);
}

static void test_both_compilers_take_it(void **state)
{
    (void)state;
    unsigned compiled = 0;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        size_t size = 0;
        char *source = test_kernel_text(files[i], &size);
        translation t = translate_bytes(source, size, i % 2 == 1);
        if (!t.good)
            fail_msg("%s: %s", files[i], accel__text_string(&t.diagnostics.log));
        const char *const compilers[] = {"gcc", "clang"};
        for (int c = 0; c < 2; c++)
            if (has_compiler(compilers[c])) {
                compile(compilers[c], t.text.data, "");
                compiled++;
            }
        translation_release(&t);
        free(source);
    }
    if (compiled == 0)
        skip();
}

/* Each way to spell a function of the table, for each type it takes. */
static void test_every_function_translates(void **state)
{
    (void)state;
    static const char *const floating[] = {
        "acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt ceil cos cosh cospi degrees "
        "erf "
        "erfc exp exp10 exp2 expm1 fabs floor lgamma log log10 log1p log2 logb radians rint round "
        "rsqrt sign sin sinh sinpi sqrt tan tanh tanpi tgamma trunc native_cos native_exp "
        "native_exp10 native_exp2 native_log native_log10 native_log2 native_recip native_rsqrt "
        "native_sin native_sqrt native_tan half_cos half_exp half_recip half_rsqrt half_sqrt "
        "length "
        "normalize fast_length fast_normalize",
        "atan2 atan2pi copysign fdim fmax fmin fmod hypot maxmag minmag nextafter pow powr "
        "remainder "
        "step native_divide native_powr half_divide half_powr max min dot distance",
        "bitselect clamp fma mad mix smoothstep"};
    static const char *const integer[] = {
        "abs clz ctz popcount", "abs_diff add_sat hadd max min mul_hi rhadd rotate sub_sat",
        "bitselect clamp mad_hi mad_sat"};
    static const char *const types[] = {"float",  "double", "char", "uchar", "short",
                                        "ushort", "int",    "uint", "long",  "ulong"};
    static const char *const widths[] = {"", "2", "3", "4", "8", "16"};
    accel__text source = {0};
    for (size_t width = 0; width < sizeof widths / sizeof widths[0]; width += 3)
        for (size_t type = 0; type < sizeof types / sizeof types[0]; type++) {
            char name[32];
            snprintf(name, sizeof name, "%s%s", types[type], widths[width]);
            accel__text_format(&source, "__kernel void k_%s(__global %s *p)\n{\n", name, name);
            for (unsigned count = 0; count < 3; count++) {
                char words[1024];
                snprintf(words, sizeof words, "%s", type < 2 ? floating[count] : integer[count]);
                for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " "))
                    accel__text_format(&source, "{ %s(%s); }\n", word,
                                       count == 0   ? "p[0]"
                                       : count == 1 ? "p[0], p[1]"
                                                    : "p[0], p[1], p[2]");
            }
            accel__text_append_string(&source, "}\n");
        }
    translation t = translate(source.data);
    if (!t.good)
        fail_msg("%s", accel__text_string(&t.diagnostics.log));
    if (has_compiler("cc"))
        compile("cc -fsyntax-only -Wno-unused-value", t.text.data, "");
    translation_release(&t);
    accel__text_release(&source);
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static const char *const pieces[] = {"(",           ")",
                                     "{",           "}",
                                     "[",           "]",
                                     ";",           ",",
                                     "*",           "&",
                                     "=",           "+=",
                                     "/",           "<<",
                                     ".x",          "->",
                                     "?",           ":",
                                     "if (1)",      "for (;;)",
                                     "while (0)",   "do",
                                     "else",        "return",
                                     "break;",      "continue;",
                                     "switch (1)",  "case 1:",
                                     "barrier(1);", "int",
                                     "float4",      "__local",
                                     "__global",    "const",
                                     "struct s",    "0",
                                     "1.5f",        "get_local_id(0)",
                                     "atomic_inc",  "typedef",
                                     "sizeof",      "++",
                                     "--",          "!",
                                     "x",           "y",
                                     "lid",         "data"};

/* Bytes lost, doubled, exchanged, and words put in at random. */
static size_t damage(char *text, size_t size, size_t capacity, uint32_t *state)
{
    const unsigned count = 1 + next_random(state) % 3;
    for (unsigned i = 0; i < count && size > 8; i++) {
        const size_t at = next_random(state) % (size - 4);
        const size_t length = 1 + next_random(state) % 12;
        const char *piece = pieces[next_random(state) % (sizeof pieces / sizeof pieces[0])];
        const size_t extra = strlen(piece);
        switch (next_random(state) % 4) {
        case 0: /* some bytes lost */
            if (at + length < size) {
                memmove(text + at, text + at + length, size - at - length);
                size -= length;
            }
            break;
        case 1: /* one changed */
            text[at] = "(){}[];,*&=+-<>!?:.0a \n"[next_random(state) % 23];
            break;
        case 2: /* some copied elsewhere */
            if (at + length < size)
                memmove(text + next_random(state) % (size - length), text + at, length);
            break;
        default: /* a word put in */
            if (size + extra < capacity) {
                memmove(text + at + extra, text + at, size - at);
                memcpy(text + at, piece, extra);
                size += extra;
            }
        }
    }
    return size;
}

static void test_damaged_sources(void **state)
{
    (void)state;
    uint32_t random = 1;
    char *text = malloc(1 << 18);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        size_t size = 0;
        char *source = test_kernel_text(files[i], &size);
        for (int round = 0; round < 300; round++) {
            memcpy(text, source, size);
            const size_t damaged = damage(text, size, (1 << 18) - 1, &random);
            translation t = translate_bytes(text, damaged, round % 2 == 1);
            assert_true(t.good || t.diagnostics.error_count > 0);
            translation_release(&t);
        }
        free(source);
    }
    free(text);
}

static unsigned countdown;

static bool fails_now(void)
{
    return countdown != 0 && --countdown == 0;
}

/* Every allocation fails once: an error that says so, and nothing lost (the leak checker looks). */
static void test_lack_of_memory(void **state)
{
    (void)state;
    static const char source[] =
        "struct s { float x; int a[3]; };\n__constant int t[3] = {1, 2, 3};\n"
        "int f(__local int *l, int v) { l[v] = v; barrier(CLK_LOCAL_MEM_FENCE); return l[0]; }\n"
        "float4 g(float4 v) { return v.wzyx * 2.0f; }\n"
        "__kernel void k(__global float4 *p, __local int *l, const int n)\n{\n"
        "  const int i = get_global_id(0); if (i >= n) return;\n"
        "  struct s v; v.x = p[i].x; int sum = 0;\n"
        "  for (int j = 0; j < n; j++) { sum += f(l, j); if (sum > i) break; }\n"
        "  switch (n) { case 1: barrier(1); sum++; break; default: sum = t[n % 3]; }\n"
        "  p[i] = g(p[i]) + (float4)(sum, v.x, sum / n, clamp(v.x, 0.0f, 1.0f)); }\n";
    accel__allocate_fault = fails_now;
    for (unsigned n = 1;; n++) {
        countdown = n;
        translation t = translate(source);
        const bool happened = countdown == 0;
        countdown = 0;
        assert_true(t.good || t.diagnostics.out_of_memory);
        translation_release(&t);
        if (!happened) {
            assert_true(n > 5);
            break;
        }
    }
    accel__allocate_fault = NULL;
    accepts(source);
}

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_structs_are_those_of_the_header),
        cmocka_unit_test(test_both_compilers_take_it),
        cmocka_unit_test(test_every_function_translates),
        cmocka_unit_test(test_damaged_sources),
        cmocka_unit_test(test_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
