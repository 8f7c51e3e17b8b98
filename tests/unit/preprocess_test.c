/* preprocess_test.c: the preprocessor of portable source: macros by the standard's own examples, the
 * place of every token, files and their errors, limits, damaged sources and lack of memory. Every
 * accepted source is also printed and read again, which must give the same tokens. */
#include <locale.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocate.h"
#include "kernel/preprocess.h"
#include "kernel/preprocess_internal.h"
#include "support/check.h"

/* ---- helpers ---- */

typedef struct run {
    bool good;
    accel__unit unit;
    accel__diagnostics diagnostics;
    accel__text text; /* the unit, printed */
} run;

static run preprocess_bytes(const char *source, size_t size, const accel_module_options *options)
{
    static const accel_define predefined[] = {{"__OPENCL_VERSION__", "120"}};
    run result = {0};
    result.good = accel__preprocess(source, size, options, predefined, 1, &result.diagnostics,
                                    &result.unit);
    if (result.good)
        accel__unit_print(&result.unit, &result.text);
    return result;
}

static void release(run *result)
{
    accel__unit_release(&result->unit);
    accel__diagnostics_release(&result->diagnostics);
    accel__text_release(&result->text);
}

static bool same_token(const accel__unit *left, const accel__unit *right, size_t index)
{
    const accel__token *a = &left->tokens[index];
    const accel__token *b = &right->tokens[index];
    if (a->kind == ACCEL__TOKEN_END)
        return b->kind == ACCEL__TOKEN_END;
    return a->kind == b->kind && a->size == b->size && memcmp(a->text, b->text, a->size) == 0 &&
           a->line == b->line && strcmp(left->files[a->file], right->files[b->file]) == 0;
}

/* Printing and reading again changes nothing. */
static void check_round_trip(const run *first)
{
    run second = preprocess_bytes(accel__text_string(&first->text), first->text.size, NULL);
    if (!second.good)
        print_error("%s\n---\n%s", first->text.data, accel__text_string(&second.diagnostics.log));
    assert_true(second.good);
    assert_int_equal(second.unit.token_count, first->unit.token_count);
    for (size_t i = 0; i < first->unit.token_count; i++)
        if (!same_token(&first->unit, &second.unit, i)) {
            const accel__token *token = &first->unit.tokens[i];
            fail_msg("token %zu (%.*s) differs in:\n%s", i, (int)token->size, token->text,
                     first->text.data);
        }
    release(&second);
}

/* The tokens with one blank between them. */
static void spell(const accel__unit *unit, accel__text *out_text)
{
    for (size_t i = 0; i + 1 < unit->token_count; i++) {
        if (i != 0)
            accel__text_append_char(out_text, ' ');
        if (unit->tokens[i].kind == ACCEL__TOKEN_PRAGMA)
            accel__text_append_string(out_text, "@");
        accel__text_append(out_text, unit->tokens[i].text, unit->tokens[i].size);
    }
}

static void gives_with(const char *source, const accel_module_options *options, const char *wanted)
{
    run result = preprocess_bytes(source, strlen(source), options);
    if (!result.good)
        fail_msg("%s\n---\n%s", source, accel__text_string(&result.diagnostics.log));
    accel__text spelled = {0};
    spell(&result.unit, &spelled);
    assert_string_equal(accel__text_string(&spelled), wanted);
    check_round_trip(&result);
    accel__text_release(&spelled);
    release(&result);
}

static void gives(const char *source, const char *wanted)
{
    gives_with(source, NULL, wanted);
}

/* The source is refused, and `message` is a line of the log. */
static void fails_with(const char *source, size_t size, const accel_module_options *options,
                       const char *message)
{
    run result = preprocess_bytes(source, size, options);
    if (result.good || strstr(accel__text_string(&result.diagnostics.log), message) == NULL)
        fail_msg("%s\n--- wanted: %s\n--- got: %s", source, message,
                 accel__text_string(&result.diagnostics.log));
    assert_true(result.diagnostics.error_count > 0);
    assert_null(result.unit.tokens);
    assert_null(result.unit.storage);
    release(&result);
}

static void fails(const char *source, const char *message)
{
    fails_with(source, strlen(source), NULL, message);
}

static char directory[] = "/tmp/accel_pp_test-XXXXXX";

static void write_file(const char *name, const char *content)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    assert_int_equal(fclose(file), 0);
}

static void make_directory(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static int make_own_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static int remove_own_directory(void **state)
{
    (void)state;
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command);
}

/* ---- tokens ---- */

static void test_tokens(void **state)
{
    (void)state;
    gives("", "");
    gives("a+++++b", "a ++ ++ + b");
    gives("x<<=1>>=2 ...x->4", "x <<= 1 >>= 2 ... x -> 4");
    gives("1.5e+3f 0x1p-3 .5 1..2 08z_ 1e+", "1.5e+3f 0x1p-3 .5 1..2 08z_ 1e+");
    gives("a<:1:> <%%>", "a [ 1 ] { }");
    gives("\"a\\\"b\" '\\'' 'x'", "\"a\\\"b\" '\\'' 'x'");
    gives("a/* b\n */c // d\ne", "a c e");
    gives("a\\\nb\\\r\nc \\  \nd", "abc d");
    gives("a\r\nb\rc", "a b c");
    gives("\xEF\xBB\xBF"
          "a",
          "a");
    gives("a\\", "a");
    gives("/ * a // b \\\n c", "/ * a");
    fails("int \xC3\xA9;", "source:1: error: \"\xC3\xA9\": only ASCII");
    fails("a\n/*\n", "source:2: error: comment without end");
    fails("a\nb 'c\n", "source:2: error: the closing ' is missing");
    fails("a\n\"c\n", "source:2: error: the closing \" is missing");
    fails("a @", "source:1: error: stray byte 0x40: @");
    fails("a \x01", "source:1: error: stray byte 0x01");
    fails("a #b", "stray \"#\"");
    fails_with("a\nb\0c", 5, NULL, "source:2: error: a NUL byte");
    /* what is skipped may be anything but an open comment */
    gives("#if 0\n don't \xC3\xA9 @ \"\n#frob\n#elif 1\nx\n#endif", "x");
    fails("#if 0\n/*\n#endif", "source:2: error: comment without end");
}

/* ---- macros ---- */

/* C17 6.10.3.5, examples 3 to 7. */
static void test_standard_examples(void **state)
{
    (void)state;
#define EXAMPLE_3                                                                                  \
    "#define x 3\n#define f(a) f(x * (a))\n#undef x\n#define x 2\n#define g f\n#define z z[0]\n"   \
    "#define h g(~\n#define m(a) a(w)\n#define w 0,1\n#define t(a) a\n#define p() int\n"           \
    "#define q(x) x\n#define r(x,y) x ## y\n#define str(x) # x\n"
    gives(
        EXAMPLE_3 "f(y+1) + f(f(z)) % t(t(g)(0) + t)(1);",
        "f ( 2 * ( y + 1 ) ) + f ( 2 * ( f ( 2 * ( z [ 0 ] ) ) ) ) % f ( 2 * ( 0 ) ) + t ( 1 ) ;");
    gives(EXAMPLE_3 "g(x+(3,4)-w) | h 5) & m\n(f)^m(m);",
          "f ( 2 * ( 2 + ( 3 , 4 ) - 0 , 1 ) ) | f ( 2 * ( ~ 5 ) ) & f ( 2 * ( 0 , 1 ) ) ^ m ( 0 , "
          "1 ) ;");
    gives(EXAMPLE_3 "p() i[q()] = { q(1), r(2,3), r(4,), r(,5), r(,) };",
          "int i [ ] = { 1 , 23 , 4 , 5 , } ;");
    gives(EXAMPLE_3 "char c[2][6] = { str(hello), str() };",
          "char c [ 2 ] [ 6 ] = { \"hello\" , \"\" } ;");
#define EXAMPLE_4                                                                                  \
    "#define str(s) # s\n#define xstr(s) str(s)\n#define glue(a, b) a ## b\n"                      \
    "#define debug(s, t) printf(\"x\" # s \"= %d, x\" # t \"= %s\", \\\n x ## s, x ## t)\n"        \
    "#define xglue(a, b) glue(a, b)\n#define HIGHLOW \"hello\"\n#define LOW LOW \", world\"\n"
    gives(EXAMPLE_4 "debug(1, 2);",
          "printf ( \"x\" \"1\" \"= %d, x\" \"2\" \"= %s\" , x1 , x2 ) ;");
    gives(EXAMPLE_4 "fputs(str(strncmp(\"abc\\0d\", \"abc\", '\\4') // this goes away\n"
                    "== 0) str(: @\\n), s);",
          "fputs ( \"strncmp(\\\"abc\\\\0d\\\", \\\"abc\\\", '\\\\4') == 0\" \": @\\n\" , s ) ;");
    gives(EXAMPLE_4 "xglue(HIGH, LOW) glue(HIGH, LOW)", "\"hello\" \", world\" \"hello\"");
    gives("#define t(x,y,z) x ## y ## z\nt(1,2,3), t(,4,5), t(6,,7), t(8,9,), t(10,,), t(,11,), "
          "t(,,12), t(,,)",
          "123 , 45 , 67 , 89 , 10 , 11 , 12 ,");
    gives("#define hash_hash # ## #\n#define mkstr(a) # a\n#define in_between(a) mkstr(a)\n"
          "#define join(c, d) in_between(c hash_hash d)\njoin(x, y);",
          "\"x ## y\" ;");
    gives("#define showlist(...) puts(#__VA_ARGS__)\n"
          "#define report(test, ...) ((test)?puts(#test): printf(__VA_ARGS__))\n"
          "showlist(The first, second, and third items.); report(x>y, \"%d\", x, y);",
          "puts ( \"The first, second, and third items.\" ) ; "
          "( ( x > y ) ? puts ( \"x>y\" ) : printf ( \"%d\" , x , y ) ) ;");
}

static void test_macros(void **state)
{
    (void)state;
    gives("#define A B\n#define B A\nA B", "A B");
    gives("#define f(x) x f\nf(1)(2)", "1 f ( 2 )");
    gives("#define f(a) a*g\n#define g(a) f(a)\nf(2)(9)", "2 * 9 * g");
    gives("#define f(x) x\nf\n(\n1\n)\nf + f", "1 f + f");
    gives("#define N -x\n-N - -N", "- - x - - - x");
    gives("#define E(f, ...) p(f, ## __VA_ARGS__)\nE(1) E(1,2) E(1,2,3) E(1,)",
          "p ( 1 ) p ( 1 , 2 ) p ( 1 , 2 , 3 ) p ( 1 )");
    gives("#define E(f, r...) p(f, ## r) #r\nE(1) E(1,2, 3)",
          "p ( 1 ) \"\" p ( 1 , 2 , 3 ) \"2, 3\"");
    gives("#define f(x) x\n#define e\nf e (1)", "f ( 1 )");
    gives("#define f(a,b) a|b\nf((1,2),[3)", "( 1 , 2 ) | [ 3");
    gives("#define f (x)\nf(1)", "( x ) ( 1 )");
    gives("#define f(x) #x\nf( a  +\n b/**/c \"q\\n\" ) f()", "\"a + b c \\\"q\\\\n\\\"\" \"\"");
    gives("#define c(a,b) a ## b\nc(<,<=) c(x,c(1,2)) c(.,5)", "<<= xc ( 1 , 2 ) .5");
    gives("__OPENCL_VERSION__", "120");
    gives("__LINE__\n\n__FILE__ __LINE__", "1 \"source\" 3");
    gives("#define L __LINE__\n#define f(x) x L\n\nf(\n__LINE__\n)", "5 4");
    gives("_Pragma(\"unroll  (\\\"4\\\")\") x", "@unroll (\"4\") x");
    gives("#define P(x) _Pragma(#x) y\nP(a  b)", "@a b y");
    gives("a\n#pragma  OPENCL  EXTENSION x : enable // c\nb", "a @OPENCL EXTENSION x : enable b");
}

static void test_macro_errors(void **state)
{
    (void)state;
    fails("#define", "source:1: error: a macro's name is missing");
    fails("\n#define 3", "source:2: error: a macro's name is missing");
    fails("#define f(", "\")\" is missing");
    fails("#define f(a b) c", "\",\" or \")\" is missing");
    fails("#define f(a,a) x", "two parameters");
    fails("#define f(a,) x", "a parameter must be a name");
    fails("#define f(...,a) x", "is missing in the parameters");
    fails("#define f(a) #b", "\"#\" must stand before a parameter");
    fails("#define f ## a", "\"##\" at an end");
    fails("#define f a ##", "\"##\" at an end");
    fails("#define defined 3", "cannot be defined");
    fails("#undef __LINE__", "cannot be defined");
    fails("#define f __VA_ARGS__", "__VA_ARGS__ outside");
    fails("#define f(a,b) a\nf(1)", "source:2: error: macro f takes 2 arguments, 1 given");
    fails("#define f(a,b) a\nf(1,2,3)", "macro f takes 2 arguments, 3 given");
    fails("#define f() a\nf(1)", "macro f takes 0 arguments, 1 given");
    fails("#define f(a) a\n\nf(1", "source:3: error: the call of macro f has no \")\"");
    fails("#define f(a,b) a ## b\n\nf(+,1)", "source:3: error: pasting \"+\" and \"1\"");
    fails("#define f(a,b) a ## b\nf(/,/)", "error: pasting");
    fails("_Pragma", "_Pragma needs");
    fails("_Pragma(\"x\\\\\")", "no text of a #pragma");
    run result = preprocess_bytes("#define A 1\n#define A  1\n#define A 2\nA", 38, NULL);
    assert_true(result.good);
    assert_int_equal(result.diagnostics.warning_count, 1);
    assert_string_equal(accel__text_string(&result.diagnostics.log),
                        "source:3: warning: macro A is redefined; it was defined at source:2\n");
    release(&result);
}

/* ---- conditionals ---- */

static void is_true(const char *expression)
{
    char source[512];
    snprintf(source, sizeof source,
             "#define ONE 1\n#define ID(x) x\n#if %s\nyes\n#else\nno\n#endif", expression);
    gives(source, "yes");
}

static void test_conditions(void **state)
{
    (void)state;
    is_true("1");
    is_true("!0 && ~0 == -1 && - 1 < 0 && +1");
    is_true("defined ONE && defined(ID) && !defined TWO");
    is_true("ID(defined)(ONE) && ID(2) == 2");
    is_true("1 + 2 * 3 == 7 && (1 + 2) * 3 == 9 && 7 / 2 == 3 && -7 / 2 == -3 && -7 % 3 == -1");
    is_true("1 << 3 == 8 && -8 >> 1 == -4 && (6 & 3) == 2 && (6 | 3) == 7 && (6 ^ 3) == 5");
    is_true("-1 > 0u && -1 < 0 && (1 ? -1 : 0u) > 0");
    is_true("0 ? 1 / 0 : 1 ? 2 : 3");
    is_true("1 || 1 / 0");
    is_true("!(0 && 1 / 0)");
    is_true("0x10 == 16 && 010 == 8 && 0b11 == 3 && 10LU == 10 && 1ull");
    is_true("18446744073709551615 == -1");
    is_true(
        "'a' == 97 && '\\n' == 10 && '\\x41' == 65 && '\\101' == 65 && '\\'' == 39 && '\\0' == 0");
    is_true("'\\xff' < 0");
    is_true("true == 0 && unknown == 0");
    is_true("(-9223372036854775807 - 1) / -1 == (-9223372036854775807 - 1)");
    is_true("__LINE__ == 3");
    gives("#ifdef A\n1\n#elif 1\n2\n#elif 1/0\n3\n#else\n4\n#endif\n#ifndef A\n5\n#endif", "2 5");
    gives("#if 0\n#if 1\na\n#else\nb\n#endif\nc\n#else\nd\n#endif\n#\n# /* x */\n", "d");
    fails("#if", "source:1: error: #if: an operand is missing");
    fails("#if 1 +\n#endif", "operand is missing");
    fails("#if (1\n#endif", "\")\" is missing");
    fails("#if 1 2\n#endif", "something stands behind the expression");
    fails("#if 1.0\n#endif", "a number is no integer");
    fails("#if 0x\n#endif", "a number is no integer");
    fails("#if 08\n#endif", "a number is no integer");
    fails("#if 1lul\n#endif", "a number is no integer");
    fails("#if 18446744073709551616\n#endif", "a number is too large");
    fails("#if 1 / 0\n#endif", "division by zero");
    fails("#if 1 % 0\n#endif", "division by zero");
    fails("#if 1 << 64\n#endif", "a shift");
    fails("#if 'ab'\n#endif", "must be one character");
    fails("#if \"a\"\n#endif", "no integer expression");
    fails("#if 1, 2\n#endif", "something stands behind");
    fails("#if 1 ? 2\n#endif", "\"?\" without \":\"");
    fails("#if defined\n#endif", "\"defined\" needs a name");
    fails("#if defined(A\n#endif", "\"defined\" needs a name");
    fails("a\n#if 1", "source:2: error: #if without #endif");
    fails("#endif", "#endif without #if");
    fails("#else", "#else without #if");
    fails("#if 1\n#else\n#else\n#endif", "source:3: error: #else behind #else");
    fails("#if 1\n#else\n#elif 1\n#endif", "#elif behind #else");
    fails("#ifdef\n#endif", "#ifdef needs a macro's name");
}

/* ---- other directives and places ---- */

static void test_lines(void **state)
{
    (void)state;
    gives("#line 100\n__LINE__ __FILE__\n#line 7 \"a\\\\b\\\"c\"\n__LINE__ __FILE__",
          "100 \"source\" 7 \"a\\\\b\\\"c\"");
    gives("# 33 \"x.h\" 1 3\n__LINE__ __FILE__", "33 \"x.h\"");
    gives("#define N 50\n#line N\n__LINE__\n\\\n__LINE__", "50 52");
    gives("/*\n\n*/ __LINE__ /* \\\n */ __LINE__ \\\n __LINE__", "3 4 5");
    fails("#line", "#line needs a number");
    fails("#line 2147483648", "#line needs a number");
    fails("#line 0x3", "#line needs a number");
    fails("#line 3 x", "only a file name");
    fails("#line 40 \"q.cl\"\n\n@", "q.cl:41: error: stray byte");
    fails("#frob", "source:1: error: unknown directive #frob");
    fails("\n#error no \"luck\"  today", "source:2: error: #error no \"luck\" today");
    run result = preprocess_bytes("a\n#define F x\\\ny\n\nb F\n c", 24, NULL);
    assert_true(result.good);
    const uint32_t lines[] = {1, 5, 5, 6};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(result.unit.tokens[i].line, lines[i]);
    assert_int_equal(result.unit.tokens[1].space_before, 1);
    release(&result);
    result = preprocess_bytes("#warning mind\nx", 15, NULL);
    assert_true(result.good);
    assert_string_equal(result.diagnostics.log.data, "source:1: warning: #warning mind\n");
    release(&result);
}

static void test_defines(void **state)
{
    (void)state;
    const accel_define defines[] = {
        {"A", NULL}, {"B", "2 + 3"}, {"F(x)", "[x]"}, {"E", ""}, {"__OPENCL_VERSION__", "200"}};
    accel_module_options options = {
        .struct_size = sizeof options, .define_count = 5, .defines = defines};
    gives_with("A B F(1) E __OPENCL_VERSION__", &options, "1 2 + 3 [ 1 ] 200");
    const accel_define wrong[] = {{"A\n#define B", "1"}, {"3", "1"}, {"C", "1\n2"}, {NULL, "1"}};
    for (size_t i = 0; i < 4; i++) {
        options.define_count = 1;
        options.defines = &wrong[i];
        fails_with("x", 1, &options, "error: a ");
    }
}

/* ---- files ---- */

static accel_module_options file_options(const char *const *paths, uint32_t count)
{
    static char name[512];
    snprintf(name, sizeof name, "%s/main.cl", directory);
    return (accel_module_options){.struct_size = sizeof(accel_module_options),
                                  .include_paths = paths,
                                  .include_path_count = count,
                                  .file_name = name};
}

/* B111: everything that changes what is compiled changes the printed unit, which the cache's key is
 * made of; and going back gives the old one. */
static void test_unit_depends_on_includes(void **state)
{
    (void)state;
    char one[512];
    char two[512];
    snprintf(one, sizeof one, "%s/one", directory);
    snprintf(two, sizeof two, "%s/two", directory);
    make_directory("one");
    make_directory("two");
    write_file("one/a.h", "#include \"b.h\"\n");
    write_file("two/b.h", "int b_in_two = 1 + N;\n");
    const char *const paths[] = {one, two};
    const char *const swapped[] = {two, one};
    const accel_define n_is_7[] = {{"N", "7"}};
    const accel_define n_is_8[] = {{"N", "8"}};
    accel__text texts[6] = {{0}};
    for (int i = 0; i < 6; i++) {
        accel_module_options options = file_options(i == 4 ? swapped : paths, 2);
        options.defines = i == 5 ? n_is_8 : n_is_7;
        options.define_count = 1;
        if (i == 1)
            write_file("two/b.h", "int b_in_two = 2 + N;\n"); /* changed */
        if (i == 2)
            write_file("two/b.h", "int b_in_two = 1 + N;\n"); /* and back */
        if (i == 3)
            write_file("one/b.h", "int b_in_one = 1 + N;\n"); /* shadows the other */
        if (i == 4)
            write_file("two/a.h", "int a_in_two;\n#include \"b.h\"\n");
        run result = preprocess_bytes("#include <a.h>\n", 15, &options);
        assert_true(result.good);
        check_round_trip(&result);
        texts[i] = result.text;
        result.text = (accel__text){0};
        release(&result);
    }
    assert_string_equal(texts[0].data, texts[2].data);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < i; j++)
            if (!(i == 2 && j == 0))
                assert_string_not_equal(texts[i].data, texts[j].data);
    for (int i = 0; i < 6; i++)
        accel__text_release(&texts[i]);
}

static void test_include(void **state)
{
    (void)state;
    char sub[512];
    char broken[600];
    snprintf(sub, sizeof sub, "%s/sub", directory);
    make_directory("sub");
    write_file("once.h", "#pragma once\nonce\n");
    write_file("guard.h", "#ifndef G\n#define G\nguarded __LINE__\n#endif\n");
    write_file("sub/deep.h", "deep\n#include \"next.h\"\n");
    write_file("sub/next.h", "next");
    write_file("next.h", "wrong");
    write_file("self.h", "#include \"self.h\"\n");
    write_file("open.h", "#if 1\n");
    write_file("half.h", "f(1");
    write_file("error.h", "\n@\n");
    const char *const paths[] = {sub};
    const accel_module_options options = file_options(paths, 1);
    gives_with("#include \"once.h\"\n#include \"./once.h\"\n#include \"guard.h\"\n"
               "#include \"guard.h\"\nx",
               &options, "once guarded 3 x");
    gives_with("#include <deep.h>\n#include \"sub/deep.h\"", &options, "deep next deep next");
    gives_with("#define D <deep.h>\n#define N(x) #x\n#include D\n#include N(next.h)", &options,
               "deep next wrong");
    snprintf(broken, sizeof broken, "#include \"%s/next.h\"\n__LINE__", sub);
    gives(broken, "next 2"); /* an absolute path needs no search */
    fails_with("\n#include \"nope.h\"", 18, &options,
               "main.cl:2: error: cannot find the file \"nope.h\"");
    fails_with("#include <once.h>", 17, &options, "cannot find the file <once.h>");
    fails("#include \"once.h\"", "cannot find"); /* unnamed text lies in no directory */
    fails_with("#include \"sub\"", 14, &options, "/sub: Is a directory");
    fails("#include \"/dev/null\"", "cannot include /dev/null: not a regular file");
    fails("#include \"/proc/self/mem\"", "cannot include /proc/self/mem: Input/output error");
    fails("#include \"\"", "empty name");
    fails("#include", "#include needs");
    fails("#include x", "#include needs");
    fails_with("#include \"self.h\"", 17, &options,
               "self.h:1: error: #include nested deeper than 64");
    fails_with("#include \"open.h\"", 17, &options, "open.h:1: error: #if without #endif");
    fails_with("#include \"error.h\"", 18, &options, "error.h:2: error: stray byte");
    fails_with("#define f(x) x\n#include \"half.h\"\n)", 34, &options,
               "half.h:1: error: the call of macro f has no");
    fails_with("#define f(x) x\nf(\n#include \"next.h\"\n)", 37, &options,
               "#include inside the arguments");
}

/* B114: bytes are bytes, whatever the locale. */
static void test_non_ascii(void **state)
{
    (void)state;
    const char *const locales[] = {"C", "C.UTF-8", ""};
    make_directory("\xC3\xBC\xE2\x82\xAC");
    write_file("\xC3\xBC\xE2\x82\xAC/\xC3\xA9.h", "in // \xC3\xA9\n");
    char path[512];
    snprintf(path, sizeof path, "%s/\xC3\xBC\xE2\x82\xAC", directory);
    const char *const paths[] = {path};
    const accel_module_options options = file_options(paths, 1);
    for (size_t i = 0; i < 3; i++) {
        if (setlocale(LC_ALL, locales[i]) == NULL)
            continue; /* not on this machine; "C" always is */
        gives_with("#include <\xC3\xA9.h>\n/* \xE6\xBC\xA2 */ \"\xC3\xA9\\n\" '\xC3\xA9'", &options,
                   "in \"\xC3\xA9\\n\" '\xC3\xA9'");
        fails("a\n\xC3\xA9", "source:2: error: \"\xC3\xA9\": only ASCII");
        fails_with("#error \xC3\xA9", 9, &options, "#error \xC3\xA9\n");
    }
    setlocale(LC_ALL, "C");
}

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
        cmocka_unit_test(test_tokens),     cmocka_unit_test(test_standard_examples),
        cmocka_unit_test(test_macros),     cmocka_unit_test(test_macro_errors),
        cmocka_unit_test(test_conditions), cmocka_unit_test(test_lines),
        cmocka_unit_test(test_defines),    cmocka_unit_test(test_unit_depends_on_includes),
        cmocka_unit_test(test_include),    cmocka_unit_test(test_non_ascii),
        cmocka_unit_test(test_limits),     cmocka_unit_test(test_damaged_sources),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, make_own_directory, remove_own_directory);
}
