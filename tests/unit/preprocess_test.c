/* preprocess_test.c: the preprocessor of portable source: macros by the standard's own examples, the
 * place of every token, files, and what each error says. */
#include <locale.h>

#include "unit/preprocess_support.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),     cmocka_unit_test(test_standard_examples),
        cmocka_unit_test(test_macros),     cmocka_unit_test(test_macro_errors),
        cmocka_unit_test(test_conditions), cmocka_unit_test(test_lines),
        cmocka_unit_test(test_defines),    cmocka_unit_test(test_unit_depends_on_includes),
        cmocka_unit_test(test_include),    cmocka_unit_test(test_non_ascii),
    };
    return cmocka_run_group_tests(tests, make_own_directory, remove_own_directory);
}
