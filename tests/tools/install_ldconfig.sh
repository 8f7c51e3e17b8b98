#!/bin/sh
# `make install` by root tells the loader of the new library, so that a program linked with it starts; not
# into a DESTDIR, nor by somebody else. cmake, id and ldconfig are doubles that write down how they are called.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"

# double NAME BODY
double() {
    printf '#!/bin/sh\n%s\n' "$2" > "$work/bin/$1"
    chmod +x "$work/bin/$1"
}
double cmake "echo cmake \$* >> '$work/calls'"
double ldconfig "echo ldconfig >> '$work/calls'"

# count WHO ARGUMENT…: how often ldconfig was called
count() {
    double id "echo $1"
    shift
    : > "$work/calls"
    env -u DESTDIR -u MAKEFLAGS PATH="$work/bin:$PATH" ACCEL_NO_SETUP=1 \
        make -s -C "$SOURCE_DIR" install PREFIX=/nowhere "$@"
    grep -q 'cmake --install .* --prefix /nowhere' "$work/calls" || { echo 'nothing was installed' >&2; exit 1; }
    grep -c ldconfig "$work/calls" || true
}
[ "$(count 0)" = 1 ] || { echo 'root: ldconfig was not called' >&2; exit 1; }
[ "$(count 1000)" = 0 ] || { echo 'not root: ldconfig was called' >&2; exit 1; }
[ "$(count 0 DESTDIR=/elsewhere)" = 0 ] || { echo 'DESTDIR: ldconfig was called' >&2; exit 1; }
