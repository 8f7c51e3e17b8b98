#!/bin/sh
# check-pictures on a small planted house: a true picture has nothing to say, and each false line is found.
set -eu
command -v python3 > /dev/null || { echo 'skipped: no python3'; exit 77; }
check=$SOURCE_DIR/tools/check-pictures
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
mkdir -p "$house/src/one" "$house/src/two"
cd "$house"

cat > src/one/caller.c << 'END'
/* missing(1) is named in a comment only. */
static int helper(int x)
{
    return callee(x) + table->group.entry(x);
}

__attribute__((noinline, cold)) static int shy(void (*visit)(int x),
                                               int x)
{
    return x;
}

int caller(int x)
{
    return helper(x);
}
END
cat > src/two/callee.c << 'END'
int callee(int x)
{
    return fourth(x);
}

int behind(int x)
{
    return x;
}

int fourth(int x)
{
    return behind(x);
}
END

fail() {
    echo "$1"
    exit 1
}

# expect STATUS WORDS: what check-pictures says of document.md.
expect() {
    status=0
    said=$("$check" document.md "$house" 2>&1) || status=$?
    [ "$status" = "$1" ] || fail "exit status $status, expected $1: $said"
    case $said in *"$2"*) ;; *) fail "expected '$2' in: $said" ;; esac
    [ -n "$2" ] || [ -z "$said" ] || fail "a true picture is no fault: $said"
}

# picture LINE…: a document with one picture.
picture() {
    { printf 'A page.\n\n```\nno picture here\n```\n\n```\n'; printf '%s\n' "$@"; printf '```\n'; } > document.md
}

picture 'caller      one/caller.c   what one should know' \
    ' ├─ callee   two/callee.c' ' │   └─ fourth   two/callee.c' '                and more of that' \
    ' └─ group.entry → behind   two/callee.c'
expect 0 ''
picture 'shy      one/caller.c'
expect 0 ''
picture 'caller      one/other.c'
expect 1 'document.md:8: there is no src/one/other.c'
picture 'called      one/caller.c'
expect 1 'src/one/caller.c defines no called'
picture 'caller      one/caller.c' ' └─ behind   two/callee.c'
expect 1 'document.md:9: caller (src/one/caller.c) calls no behind'
picture 'caller      one/caller.c' ' └─ group.other → behind   two/callee.c'
expect 1 'caller calls no group.other'
picture 'caller      one/caller.c' ' └─ Callee'
expect 1 'document.md:9: is no line of a picture'
picture 'caller      one/caller.c' ' └─ helper   one/caller.c' '     └─ callee   two/callee.c' \
    '         └─ fourth   two/callee.c' '             └─ behind   two/callee.c'
expect 1 'document.md:12: is 5 calls deep, 4 are allowed'
printf 'no picture\n' > document.md
expect 2 'there is no picture in it'
