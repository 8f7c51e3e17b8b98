#!/bin/sh
# docs/settings.md has every environment variable that the sources read, and no other.
set -eu
cd "$SOURCE_DIR"
list=$(mktemp -d)
trap 'rm -rf "$list"' EXIT
grep -rhoE '(environment_[a-z]+|getenv|value_of|get_variable)\("ACCEL_[A-Z_]+"' src | grep -oE 'ACCEL_[A-Z_]+' |
    sort -u > "$list/read"
grep -oE '^\| `ACCEL_[A-Z_]+`' docs/settings.md | grep -oE 'ACCEL_[A-Z_]+' | sort -u > "$list/told"
[ "$(wc -l < "$list/read")" -ge 10 ] || { echo "hardly any variable was found in src/" >&2; exit 1; }
diff "$list/read" "$list/told" >&2 ||
    { echo "< is read in src/ and not in docs/settings.md; > the other way round" >&2; exit 1; }
