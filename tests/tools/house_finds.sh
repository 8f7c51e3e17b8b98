#!/bin/sh
# measure-house on a small planted house: a clean one has nothing to say, lengths are those that were
# planted, and each fault is found by its name.
set -eu
command -v python3 > /dev/null || { echo 'skipped: no python3'; exit 77; }
measure=$SOURCE_DIR/tools/measure-house
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
mkdir -p "$house/include/accel" "$house/src/base" "$house/src/core" "$house/src/backends/one" \
    "$house/tests" "$house/tools"
cd "$house"

# lines COUNT: so many lines of C.
lines() {
    yes '    x++;' | head -n "$1"
}
# c_function NAME LINES: a function of so many lines in all.
c_function() {
    printf 'static void %s(void)\n{\n' "$1"
    lines $(($2 - 3))
    printf '}\n\n'
}

cat > include/accel/status.h << 'END'
/* status.h: the list. */
#define ACCEL_STATUS_LIST(X) \
    X(ACCEL_ERROR_NOT_FOUND, 6, "no such")
/* accel_name (question): its name; NULL for another. Any thread. */
ACCEL_API const char *accel_name(int number);
END
cat > include/accel/thing.h << 'END'
/* thing.h: things. */
typedef struct accel_thing accel_thing; /* counted; any thread */

/* accel_thing_create (question): one.
 * Errors: NOT_FOUND. Any thread. */
ACCEL_API accel_status accel_thing_create(const char *name,
                                          accel_thing **out_thing);
ACCEL_API void accel_thing_release(accel_thing *thing);

/* Questions about a thing. Errors of all: ACCEL_ERROR_NOT_FOUND. */
ACCEL_API accel_status accel_thing_get_size(accel_thing *thing, size_t *out_size);
/* How many. */
ACCEL_API accel_status accel_thing_get_count(accel_thing *thing, size_t *out_count);

/* ---- more ---- */

/* All of them (use). Errors as accel_thing_create. */

/* Forward. */
ACCEL_API accel_status accel_thing_move(accel_thing *thing);
END
cat > tests/thing_test.c << 'END'
static void names_all(void)
{
    accel_name(accel_thing_create(0, 0)), accel_thing_release(0);
    accel_thing_get_size(0, 0), accel_thing_get_count(0, 0), accel_thing_move(0);
}
END

# Every way to lay out a function, with the length it must be found to have; and what is none.
cat > src/base/forms.c << 'END'
struct point {
    int x;
};
static const int table[] =
{
    1,
    2
};
/* static int in_a_comment(void)
{
} */
#define MACRO(x)                                                                                   \
    do {                                                                                           \
    } while (0)
static int four(void)
{
    return '{' + sizeof "}\n{";
}
static __attribute__((noinline, target("avx2"))) int six(int a, /* of
                                     two lines */ int b)
{
    /*
} */
    return a;
}
static void (*seven(int which))(void)
{
    if (which)
    {
        return 0;
    }
    return 0;
}
static int empty(void) {}
int one_more(void) {
    return 1;
}
END
cat > tools/script << 'END'
#!/bin/sh
one() { echo; }
text() {
    cat << 'TEXT'
}
int not_a_function(void) {
TEXT
    echo
}
END
printf 'function fold(x) {\n    return x\n}\n' > tools/fold.awk
printf '#!/usr/bin/env python3\ndef outer():\n    def inner():\n        pass\n    return inner\n' > tools/snake

"$measure" --check . || { echo 'a clean house was refused' >&2; exit 1; }
"$measure" . > answer
for function in '   4 four (src/base/forms.c:15)' '   7 six (src/base/forms.c:19)' \
    '   8 seven (src/base/forms.c:26)' '   3 one_more (src/base/forms.c:35)' \
    '   1 empty (src/base/forms.c:34)' '   1 one (tools/script:2)' '   7 text (tools/script:3)' \
    '   3 fold (tools/fold.awk:1)' '   4 outer (tools/snake:2)' '   2 inner (tools/snake:3)'; do
    grep -qF "$function" answer || { echo "not measured: $function" >&2; cat answer >&2; exit 1; }
done
grep -q '^  include, src  *5  *4 ' answer || { echo 'another count or median' >&2; cat answer >&2; exit 1; }
if grep -qE 'table|in_a_comment|not_a_function|point' answer; then
    echo 'took for a function what is none' >&2
    exit 1
fi
grep -q '^Public functions: 6$' answer

# finds WORDS: the house must be refused, in these words and no others; then it is put right again.
finds() {
    if "$measure" --check . > answer; then
        echo "not found: $1" >&2
        exit 1
    fi
    grep -qF -- "$1" answer || { echo "not named: $1" >&2; cat answer >&2; exit 1; }
    [ "$(wc -l < answer)" = 1 ] || { echo "more than: $1" >&2; cat answer >&2; exit 1; }
}

c_function fits 60 > src/base/long.c
"$measure" --check .
c_function too_long 61 > src/base/long.c
for i in $(seq 40); do c_function "short_$i" 4; done > src/base/short.c
finds 'src/base/long.c:1: too_long has 61 lines'
rm src/base/long.c src/base/short.c

for i in $(seq 97); do c_function "short_$i" 4; done > tests/short.c
for i in 1 2 3; do c_function "long_$i" 61; done > tests/long.c
"$measure" --check .
c_function long_4 61 >> tests/long.c
finds 'tests: 3.9% of the functions have over 60 lines'
rm tests/short.c tests/long.c

for i in $(seq 6); do c_function "thirteen_$i" 13; done > src/base/median.c
finds 'include, src: the median function has 13 lines'
rm src/base/median.c

lines 600 > tests/full.h
"$measure" --check .
lines 601 > tests/full.h
finds 'tests/full.h: 601 lines'
rm tests/full.h

printf '#include "core/device.h"\n' > src/base/edge.c
finds 'src/base/edge.c:1: base must not include core/device.h'
"$measure" . | grep -q '^against the design: 1$'
rm src/base/edge.c

# A public function that nothing tests: a comment does not count.
sed -i 's|accel_thing_move(0)|0 /* accel_thing_move(0) */|' tests/thing_test.c
finds 'accel_thing_move: no test names it'
sed -i 's|0 /\* accel_thing_move(0) \*/|accel_thing_move(0)|' tests/thing_test.c

# changes FILE SED-SCRIPT WORDS: so changed the house is refused in these words.
changes() {
    cp "$1" before
    sed -i "$2" "$1"
    ! cmp -s "$1" before || { echo "no change: $2" >&2; exit 1; }
    finds "$3"
    cp before "$1"
}
thing=include/accel/thing.h
changes $thing 's/Errors as accel_thing_create/Errors/' 'accel_thing_move: no error is documented'
changes $thing '/---- more/d; s/All of them (use)/All (use)/; s/Errors as accel_thing_create\.//' \
    'accel_thing_move: no error is documented'
changes $thing 's/All of them (use)/All of them/' 'accel_thing_move: no class, so nothing about fork'
changes include/accel/status.h 's/; NULL for another//' 'accel_name: no error is documented'
changes include/accel/status.h 's/ (question)//' 'accel_name: no class, so nothing about fork'
changes include/accel/status.h 's/ Any thread\.//' 'accel_name: nothing about threads'
sed -i 's/; any thread//' $thing
"$measure" --check . > answer && exit 1
[ "$(grep -c 'nothing about threads' answer)" = 3 ]

# What is not laid out so that it can be measured is said, not passed over.
printf 'int open(void)\n{\n    return 0;\n' > src/base/open.c
"$measure" --check . 2> answer && exit 1
grep -q 'src/base/open.c:2: this body has no closing brace' answer
rm src/base/open.c
! "$measure" src 2> answer
grep -q '^usage: ' answer
