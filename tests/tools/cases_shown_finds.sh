#!/bin/bash
# cases_shown_finds.sh: cases_shown.sh on rows with a planted fault, which it must find.
# The backquotes are those of the document.
# shellcheck disable=SC2016
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# row CELL [WORD]: a document with that last cell is refused, with WORD in the message; without WORD it is right.
row() {
    {
        echo '| case | kind of fault | what accel does | shown by |'
        echo "| [B01](https://example.org) | a kind | what is done | $1 |"
    } > "$work/cases.md"
    ACCEL_SHARED=$work "$SOURCE_DIR/tests/tools/cases_shown.sh" "$work/cases.md" > "$work/said" 2>&1
    status=$?
    if [ $# = 1 ]; then
        [ $status = 0 ] || { echo "refused: $1"; cat "$work/said"; failures=1; }
    elif [ $status = 0 ] || ! grep -q -- "$2" "$work/said"; then
        echo "not found: $1 ($2)"
        cat "$work/said"
        failures=1
    fi
}

good='`tests/unit/visible_test.c` (`test_grammar`)'
row "$good"
row "$good, \`tests/conformance/memory.c\` (\`\"memory/nothing\"\`), \`tests/cli/list_test.sh\` (\`an empty list\`)"
row "–" "names no test"
row '`tests/unit/visible_test.c`' "but no test in it"
row "$good, \`tests/unit/no_test.c\` (\`test_grammar\`)" "which is not there"
row '`tests/unit/visible_test.c` (`test_grammar`, `test_nothing`)' "names test_nothing"
row '`tests/unit/visible_test.c` (`grammar`)' "names grammar"
row '`tests/conformance/memory.c` (`"memory/noth"`)' 'names "memory/noth"'
row '`tests/cli/list_test.sh` (`no such words`)' "no such words"
row '`tests/cli/common.sh` (`expect`)' "does not run"

mkdir "$work/cases"
printf '## B01 a\n' > "$work/cases/some.md"
row "$good"
printf '## B01 a\n\n## B02 b\n' > "$work/cases/some.md"
row "$good" "B02 has no row"
exit $failures
