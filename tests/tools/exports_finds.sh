#!/bin/sh
# Builds small libraries, one right and the others wrong in one way each; check-exports must tell.
set -eu
check=$SOURCE_DIR/tools/check-exports
cc=${CC:-cc}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree"
mkdir headers

cat > headers/one.h << 'END'
#define ACCEL_API __attribute__((visibility("default")))
/* ACCEL_API int accel_not_this(void); */ ACCEL_API int accel_one(void); /* a comment
over two lines */ ACCEL_API void
accel_two(int (*callback)(void *user), const char *text /* ; */)
    __attribute__((deprecated("use accel_one; really")));
END
printf 'ACCEL_0 {\n    global:\n        accel_one;\n        accel_two;\n    local:\n        *;\n};\n' > map
printf 'int accel_one(void) { return 1; }\nvoid accel_two(void) {}\nint accel__x(void) { return 0; }\n' \
    > one.c

# build LIBRARY FLAG…
build() {
    library=$1
    shift
    $cc -shared -fPIC -o "$library" one.c -Wl,-soname,libaccel.so.0 -Wl,-z,nodelete "$@"
}
same() {
    "$check" --headers headers --map map "$@"
}
# differs WORD ARGUMENT…: must be refused, with WORD in the message.
differs() {
    word=$1
    shift
    if "$check" --headers headers --map map "$@" 2> answer; then
        echo "not found: $word" >&2
        exit 1
    fi
    grep -q -- "$word" answer || { echo "not named: $word" >&2; cat answer >&2; exit 1; }
}

build good.so -Wl,--version-script=map
same
same --library good.so

build open.so
differs accel__x --library open.so
build needy.so -Wl,--version-script=map -Wl,--no-as-needed -lm
differs libm.so --library needy.so
build other.so -Wl,--version-script=map -Wl,-soname,libother.so
differs SONAME --library other.so
build deletable.so -Wl,--version-script=map -Wl,-z,now
$cc -shared -fPIC -o deletable.so one.c -Wl,-soname,libaccel.so.0 -Wl,--version-script=map
differs NODELETE --library deletable.so

sed '/accel_two/d' map > short && mv map whole && mv short map
differs accel_two
sed 's/accel_two/accel_three/' whole > map
differs accel_three
sed 's/\*;//' whole > map
differs 'lets symbols out'
sed 's/ACCEL_0/ACCEL_1/' whole > map
differs ACCEL_0
