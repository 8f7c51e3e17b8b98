#!/usr/bin/env bash
# users.sh: two users on one machine. One plants what he can where the other one runs, loads, reads or
# writes: nothing of it may be run, loaded or written through, and accel must say why.
#
# Needs ACCEL (the command), ACCEL_LIBRARY, ACCEL_HELPER, DISK_WRITER (disk_writer.c) and a C compiler. Only
# root can be two users: exit status 77 else.
set -u
export LC_ALL=C
[ "$(id -u)" = 0 ] && command -v setpriv > /dev/null || exit 77
victim=40001 other=40002
work=$(mktemp -d /tmp/accel-users-XXXXXX)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
failures=0
checks=0
unset ACCEL_CC ACCEL_PROBE CC TMPDIR XDG_CACHE_HOME LD_PRELOAD OCL_ICD_VENDORS ACCEL_CACHE

fail() {
    failures=$((failures + 1))
    echo "FAILED: $*" >&2
    sed 's/^/  said: /' "$work/out" | head -5 >&2
}

as() {
    user=$1
    shift
    (cd /; setpriv --reuid="$user" --regid="$user" --clear-groups env HOME="$work/home-$user" "$@")
}

# What is run: a copy of root's, which both may read.
mkdir "$work/app" "$work/app/bin" "$work/app/lib"
cp "$ACCEL" "$ACCEL_HELPER" "$DISK_WRITER" "$work/app/bin"
cp "$ACCEL_LIBRARY" "$work/app/lib/$(objdump -p "$ACCEL_LIBRARY" | sed -n 's/ *SONAME *//p')"
accel=$work/app/bin/$(basename "$ACCEL")
writer=$work/app/bin/$(basename "$DISK_WRITER")
export LD_LIBRARY_PATH=$work/app/lib
for user in "$victim" "$other"; do
    mkdir "$work/home-$user"
    chown "$user:$user" "$work/home-$user"
done
home=$work/home-$victim his=$work/home-$other
mkdir -m 1777 "$work/sticky"
mkdir -m 777 "$work/open"
export ACCEL_BACKENDS=cpu ACCEL_CACHE_DIR=$home/cache
as "$victim" "$writer" kernel 7 > "$work/out" 2>&1 || exit 77 # the tree's file system may be closed to others

kernel() {
    as "$victim" "$@" "$writer" kernel 7 2> "$work/out"
}

# ---- the kernel cache ----

# refuses_cache WHAT: the kernel works all the same.
refuses_cache() {
    checks=$((checks + 1))
    [ "$(kernel)" = 7 ] || fail "kernel cache, $1"
}

entry_of() {
    rm -rf "$home/cache"
    as "$victim" "$writer" kernel "$1" > "$work/out" 2>&1
    find "$home/cache" -name '*.bin'
}

# An entry of kernel 7 that holds the code of kernel 8: key of the one, data and checksum of the other.
entry=$(entry_of 8)
cp "$entry" "$work/eight"
entry=$(entry_of 7)
cp "$entry" "$work/seven"
{ head -c 40 "$work/seven"; tail -c +41 "$work/eight"; } > "$work/poison"

plant() {
    rm -rf "$entry"
    cp "$work/poison" "$entry"
    chown "$1" "$entry"
    chmod "$2" "$entry"
}

plant "$victim" 600
[ "$(kernel)" = 8 ] || fail "the poison has no effect: nothing is shown here"
plant "$other" 644 && refuses_cache "an entry of another user"
plant "$victim" 666 && refuses_cache "an entry that others may write to"
plant "$victim" 600 && ln "$entry" "$home/link" && refuses_cache "an entry with a second name"
plant "$victim" 600 && mv "$entry" "$home/moved" && ln -s "$home/moved" "$entry" &&
    refuses_cache "a link in place of an entry"
rm -f "$entry" && mkfifo -m 666 "$entry" && refuses_cache "a pipe in place of an entry"
plant "$victim" 600 && chmod 777 "$home/cache" && refuses_cache "a directory that others may write to"
plant "$victim" 600 && chmod 770 "$home/cache" && refuses_cache "a directory that a group may write to"
plant "$victim" 600 && chmod 777 "$home/cache" && chown "$other" "$home/cache" &&
    refuses_cache "a directory of another user"
chown "$victim" "$home/cache" && chmod 700 "$home/cache" && plant "$victim" 600
ACCEL_CACHE_DIR=$work/sticky/cache
as "$other" ln -s "$home/cache" "$work/sticky/cache" && refuses_cache "a link in place of the directory"
rm "$work/sticky/cache"
ACCEL_CACHE_DIR=$home/cache
rm -rf "$home/cache"

# ---- programs that are run, libraries that are loaded ----

mark=$work/sticky/mark
wrong=$work/wrong
printf '#!/bin/sh\n: > %s\nexit 1\n' "$mark" > "$wrong"
chmod 755 "$wrong"

# each_place FUNCTION: calls it with the path of a program that somebody else could have written, and what is
# wrong with it.
each_place() {
    program=$his/program
    install -o "$other" -m 755 "$wrong" "$program" && "$1" "$program" "another user"
    program=$home/program
    install -o "$victim" -m 777 "$wrong" "$program" && "$1" "$program" "others may write"
    install -o "$victim" -g "$other" -m 775 "$wrong" "$program" && "$1" "$program" "others may write"
    install -o "$victim" -m 755 "$wrong" "$his/program" && "$1" "$his/program" "another user"
    install -o "$victim" -m 755 "$wrong" "$work/open/program" &&
        "$1" "$work/open/program" "others may write"
    install -o "$victim" -m 755 "$wrong" "$program" && rm -f "$work/sticky/program" &&
        as "$other" ln -s "$program" "$work/sticky/program" &&
        "$1" "$work/sticky/program" "another user"
    rm -f "$work/open/program" "$work/sticky/program" "$his/program"
}

# not_run WHAT REASON: after a run whose output is in $work/out.
not_run() {
    checks=$((checks + 1))
    [ ! -e "$mark" ] || fail "$1 was run"
    rm -f "$mark"
    [ -z "$2" ] || grep -q "$2" "$work/out" || fail "$1: nothing says \"$2\""
}

compiler() {
    as "$victim" ACCEL_CC="$1" "$writer" kernel 11 > "$work/out" 2>&1
    not_run "ACCEL_CC=$1" "$2"
    as "$victim" ACCEL_CC="$1 -O1" "$writer" kernel 11 > "$work/out" 2>&1
    not_run "ACCEL_CC=$1 with an option" "$2"
    mkdir -p "$(dirname "$1")/bin"
    chmod --reference="$(dirname "$1")" "$(dirname "$1")/bin"
    chown --reference="$(dirname "$1")" "$(dirname "$1")/bin"
    mv "$1" "$(dirname "$1")/bin/gcc"
    [ "$(as "$victim" PATH="$(dirname "$1")/bin:$PATH" "$writer" kernel 12 2> "$work/out")" = 12 ] ||
        fail "a gcc of another user in PATH is in the way"
    not_run "gcc in PATH for $1" ""
    rm -rf "$(dirname "$1")/bin"
}
each_place compiler
checks=$((checks + 1))
printf '#!/bin/sh\necho "$TMPDIR" >> %s\nexec gcc "$@"\n' "$home/seen" > "$home/mine"
chmod 755 "$home/mine" && chown "$victim" "$home/mine"
[ "$(kernel ACCEL_CC="$home/mine")" = 7 ] && [ -s "$home/seen" ] || fail "a compiler of one's own is not run"

# ---- temporary files ----

# not_there WHAT: compiles with that TMPDIR, and elsewhere than there.
not_there() {
    checks=$((checks + 1))
    rm -rf "$home/seen" "$home/cache"
    [ "$(kernel ACCEL_CC="$home/mine" TMPDIR="$1")" = 7 ] || fail "TMPDIR=$1 is in the way"
    grep -q "^$1/" "$home/seen" && fail "TMPDIR=$1 is used"
}
not_there "$work/open"
chmod 1777 "$his" && not_there "$his"
chmod 755 "$his"
as "$other" ln -s "$home" "$work/sticky/temporary" && not_there "$work/sticky/temporary"
rm -rf "$home/cache" "$home/seen"
[ "$(kernel ACCEL_CC="$home/mine" TMPDIR="$work/sticky")" = 7 ] && grep -q "^$work/sticky/" "$home/seen" ||
    fail "a sticky TMPDIR is not used"

# ---- the helper, and drivers ----

mkdir "$home/vendors"
export ACCEL_BACKENDS=opencl,cpu OCL_ICD_VENDORS=$home/vendors
printf 'int main;\n__attribute__((constructor)) static void run(void) { extern int creat(const char *, int); creat("%s", 438); }\n' \
    "$mark" > "$work/driver.c"
gcc -w -shared -fPIC -o "$work/driver.so" "$work/driver.c" || exit 77
cp "$work/driver.so" "$home/driver.so"
echo "$home/driver.so" > "$home/vendors/one.icd"
chown -R "$victim" "$home/vendors" "$home/driver.so"
doctor() {
    as "$victim" "$@" "$accel" doctor > "$work/out" 2>&1
}
doctor ACCEL_CACHE=0
[ -e "$mark" ] || fail "a driver of one's own is not asked"
rm -f "$mark"

helper() {
    doctor ACCEL_PROBE="$1"
    not_run "ACCEL_PROBE=$1" "$2"
}
each_place helper
chmod 777 "$work/app/bin/accel-probe"
doctor ACCEL_CACHE=0
not_run "a helper that others may write to, beside the library" "others may write"
chmod 755 "$work/app/bin/accel-probe"
chmod 777 "$work/app/bin"
doctor ACCEL_CACHE=0
not_run "a helper in a folder that others may write to" "others may write"
chmod 755 "$work/app/bin"

cp "$work/driver.so" "$wrong"
driver() {
    echo "$1" > "$home/vendors/one.icd"
    doctor ACCEL_CACHE=0
    not_run "the driver $1" "$2"
    as "$victim" OCL_ICD_FILENAMES="$1" "$accel" list > "$work/out" 2>&1
    not_run "the driver $1 of OCL_ICD_FILENAMES" ""
}
each_place driver
echo "$home/driver.so" > "$home/vendors/one.icd"
chown "$other" "$home/vendors/one.icd"
doctor ACCEL_CACHE=0
not_run "a driver that a file of another user names" "another user"
export ACCEL_BACKENDS=cpu

# ---- files that are written ----

precious=$home/precious

# writes WHAT STATUS FUNCTION: what the three writers do with $target, where FUNCTION put something.
writes() {
    for kind in random snapshot dump; do
        checks=$((checks + 1))
        echo precious > "$precious" && chown "$victim" "$precious"
        "$3"
        case $kind in
            random) as "$victim" timeout 20 "$accel" random 'raw:u32[100]' -o "$target" > "$work/out" 2>&1 ;;
            *) as "$victim" timeout 20 "$writer" "$kind" "$target" > "$work/out" 2>&1 ;;
        esac
        status=$?
        [ "$(cat "$precious" 2> /dev/null)" = precious ] || fail "$kind over $1: the user's own file is lost"
        [ "$status" = "$2" ] || fail "$kind over $1: exit status $status"
        [ "$status" = 0 ] || grep -q "another user\|regular file" "$work/out" || fail "$kind over $1: no reason"
        if [ "$status" = 0 ]; then
            [ "$(stat -c %u:%a "$target")" = "$victim:644" ] ||
                fail "$kind over $1: $(stat -c '%u:%a' "$target") afterwards"
        fi
        rm -rf "$target"
    done
}
umask 022

linked() { as "$other" ln -s "$precious" "$target"; }
dangling() { as "$other" ln -s "$home/unborn" "$target"; }
piped() { as "$other" mkfifo -m 666 "$target"; }
hard() { ln "$precious" "$target"; chmod 644 "$precious"; }
writable() { as "$other" touch "$target"; chmod 4777 "$target"; }
aside() { rm -rf "${target%/*}"; as "$other" ln -s "$home" "${target%/*}"; }
for place in "$work/sticky" "$work/open" "$his"; do
    target=$place/out.json
    [ "$place" != "$his" ] || chmod 777 "$his"
    writes "a link in $place" 1 linked
    writes "a link to nowhere in $place" 1 dangling
    [ ! -e "$home/unborn" ] || fail "a link to nowhere in $place: followed"
    writes "a pipe in $place" 1 piped
    [ "$place" = "$work/sticky" ] || writes "a file for all in $place" 0 writable
    writes "a second name in $place" 0 hard
    target=$place/way/precious
    writes "a link on the way, in $place" 1 aside
    rm -rf "$place/way"
done
target=$home/own.json
checks=$((checks + 1))
as "$victim" touch "$home/data.json" && as "$victim" ln -s "$home/data.json" "$target" && as "$victim" "$writer" dump "$target" && [ -L "$target" ] && [ -s "$home/data.json" ] ||
    fail "a link of one's own is not followed"

echo "$checks checks, $failures failures"
[ "$failures" = 0 ]
