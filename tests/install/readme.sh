#!/bin/sh
# The C program of README.md, compiled as the README says and run: it prints what its comment promises.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '/^```c$/ { in_program = 1; next } /^```/ { in_program = 0 } in_program' \
    "$SOURCE_DIR/README.md" > "$work/scale.c"
lines=$(sed -n '/^int main/,$p' "$work/scale.c" | wc -l)
[ "$lines" -ge 15 ] && [ "$lines" -le 25 ] ||
    { echo "readme: a main of $lines lines, about 20 are promised" >&2; exit 1; }
promised=$(sed -n 's|.*printf(.*/\* \(.*\) \*/.*|\1|p' "$work/scale.c")
[ -n "$promised" ] || { echo "readme: the program promises no output" >&2; exit 1; }

cmake --install "$BUILD_DIR" --prefix "$work/prefix" > /dev/null
library=$(find "$work/prefix" -name 'libaccel.so.0')
libdir=$(dirname "$library")
PKG_CONFIG_PATH=$libdir/pkgconfig
LD_LIBRARY_PATH=$libdir
export PKG_CONFIG_PATH LD_LIBRARY_PATH
${CC:-cc} -Wall -Wextra -Werror "$work/scale.c" -o "$work/scale" $(pkg-config --cflags --libs accel)
printed=$("$work/scale")
[ "$printed" = "$promised" ] ||
    { echo "readme: printed '$printed', promised '$promised'" >&2; exit 1; }
