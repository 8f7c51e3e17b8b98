#!/bin/sh
# Installs into an empty prefix, moves it, and builds and runs a C and a C++ program against it, with
# find_package and with pkg-config; and reads from every installed binary what it is linked with.
set -eu
here=$SOURCE_DIR/tests/install
cc=${CC:-cc}
cxx=${CXX:-c++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "consumers: $*" >&2
    exit 1
}

cmake --install "$BUILD_DIR" --prefix "$work/first" > /dev/null
mv "$work/first" "$work/prefix"
prefix=$work/prefix
library=$(find "$prefix" -name 'libaccel.so.0')
libdir=$(dirname "$library")
[ -f "$prefix/include/accel/accel.h" ] && [ -f "$libdir/libaccel.a" ] || fail "files are missing"
unset LD_LIBRARY_PATH

# No vendor's library, and for the library itself none but libc (tools/check-exports): B127.
find "$prefix" -type f \( -perm -u+x -o -name '*.so*' \) > "$work/binaries"
while read -r file; do
    readelf -d "$file" | sed -n "s|.*(NEEDED).*\[\(.*\)\]|$(basename "$file") \1|p"
done < "$work/binaries" > "$work/needed"
[ -s "$work/needed" ] || fail "no binary was found"
grep -vE ' (libaccel|libc|libpthread|libdl|ld-linux[-a-z0-9_]*|libm|libjansson|libsmartcols)\.so' \
    "$work/needed" && fail "linked with the libraries above"

# The command finds its library from where it was moved to.
if [ -x "$prefix/bin/accel" ]; then
    "$prefix/bin/accel" --version > "$work/version" || fail "the installed command does not run"
fi

runs() {
    [ "$("$@")" = 'consumer: right' ] || fail "$* does not run"
}

# pkg-config, shared and static
PKG_CONFIG_PATH=$libdir/pkgconfig
export PKG_CONFIG_PATH
[ "$(pkg-config --modversion accel)" = "$(sed -n 's/^Version: //p' "$libdir/pkgconfig/accel.pc")" ]
flags=$(pkg-config --cflags --libs accel)
$cc -std=c11 "$here/consumer.c" -o "$work/c" $flags
runs env LD_LIBRARY_PATH="$libdir" "$work/c"
$cc -std=c11 "$here/consumer.c" -o "$work/c_static" $(pkg-config --cflags accel) \
    "$libdir/libaccel.a" -pthread -ldl
runs "$work/c_static"
have_cxx=yes
command -v "${cxx%% *}" > /dev/null || have_cxx=no
if [ $have_cxx = yes ]; then
    $cxx -std=c++17 -x c++ "$here/consumer.c" -o "$work/cxx" $flags
    runs env LD_LIBRARY_PATH="$libdir" "$work/cxx"
fi

# find_package
for language in C CXX; do
    [ $language = CXX ] && [ $have_cxx = no ] && continue
    cmake -S "$here/cmake_consumer" -B "$work/$language" -DLANGUAGE=$language \
        -DCMAKE_PREFIX_PATH="$prefix" > "$work/log" 2>&1 || { cat "$work/log" >&2; fail configure; }
    cmake --build "$work/$language" > "$work/log" 2>&1 || { cat "$work/log" >&2; fail build; }
    runs "$work/$language/with_accel"
    runs "$work/$language/with_accel_static"
done

if [ $have_cxx = no ]; then
    echo "skipped: no C++ compiler, only C consumers were built"
    exit 77
fi
