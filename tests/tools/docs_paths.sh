#!/bin/sh
# Every file that the documents name must exist: `dir/file` in backquotes, and the targets of links.
set -eu
cd "$SOURCE_DIR"
bad=0
for document in README.md CONTRIBUTING.md CHANGELOG.md bench/README.md docs/*.md; do
    named=$( { grep -o '`[A-Za-z_.]*/[A-Za-z0-9_./-]*`' "$document" | tr -d '`'
               grep -o '](\([^):#]*\)[)#]' "$document" | sed 's/^](//; s/[)#]$//'; } |
        grep -E '^(\.ci|include|src|base|platform|core|kernel|memory|tests|tools|docs|cmake|examples|bench|[A-Z]+\.md)' | sort -u) || true
    for path in $named; do
        [ -e "$path" ] || [ -e "src/$path" ] || [ -e "${document%/*}/$path" ] || { echo "$document names $path, which is not there" >&2; bad=1; }
    done
done
exit $bad
