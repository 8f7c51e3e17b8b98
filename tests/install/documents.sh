#!/bin/sh
# Who has the installation alone has every page that headers, messages and README.md send him to, and the
# examples, which compile as they lie there.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "documents: $*" >&2
    exit 1
}

cmake --install "$BUILD_DIR" --prefix "$work/prefix" > /dev/null
prefix=$work/prefix
library=$(find "$prefix" -name 'libaccel.so.0')
documents=$(dirname "$(find "$prefix" -name README.md -not -path '*/docs/*')")
grep -rhoaE 'docs/[a-z0-9-]+\.md' "$prefix/include" "$prefix/bin" "$library" "$documents" |
    sort -u > "$work/named"
[ "$(wc -l < "$work/named")" -ge 8 ] || fail "hardly any page is named: $(cat "$work/named")"
while read -r page; do
    [ -f "$documents/$page" ] || fail "$page is named, and not installed"
done < "$work/named"

PKG_CONFIG_PATH=$(dirname "$library")/pkgconfig
export PKG_CONFIG_PATH
for folder in "$documents"/examples/*/; do
    case $folder in
        */sunspots/) sources=$folder/sunspots.c ;; # its text_to_npy.c is a program of its own
        *) sources=$(echo "$folder"*.c) ;;
    esac
    # shellcheck disable=SC2086
    ${CC:-cc} -Wall -Wextra -Werror $sources -o "$work/example" $(pkg-config --cflags --libs accel) -lm ||
        fail "$folder does not compile"
done
