#!/usr/bin/env bash
# disk.sh: a process that dies, or a disk that fails, at each step of everything that is written to disk.
#
#   disk.sh few | all | SECONDS     some steps; each step; each step again until the time is over
#
# Needs ACCEL (the command), DISK_WRITER and SABOTEUR (disk_writer.c, saboteur.c). What must hold:
#   - what stands under a file's name is what stood there before, or whole and right;
#   - only a killed process leaves anything beside it, and that is in nobody's way;
#   - a failure is told with the file's name; where the file is only a cache, the work goes on;
#   - the next run works. It clears what a killed one left in the kernel cache, an hour later.
# Exit status 77 where the library cannot be preloaded.
set -u
export LC_ALL=C ACCEL_BACKENDS=cpu
unset ACCEL_CACHE LD_PRELOAD
extent=${1:-few}
work=$(mktemp -d -p /dev/shm 2> /dev/null || mktemp -d) # there syncing costs nothing
trap 'rm -rf "$work"' EXIT
mkdir "$work/temporary" "$work/folder"
export TMPDIR=$work/temporary ACCEL_CACHE_DIR=$work/warm
failures=0
runs=0

fail() {
    failures=$((failures + 1))
    echo "FAILED: $*" >&2
    sed 's/^/  said: /' "$work/err" >&2
    ls -lA "$work/folder" "$work/temporary" "$work/warm" >&2
}

cat > "$work/kernel.cl" << 'END'
__kernel void twice(__global const float *in, __global float *out)
{
    out[get_global_id(0)] = in[get_global_id(0)] * 2.0f;
}
END

# ---- what writes, and how its outcome is known to be right ----

target=
write() {
    case $1 in
        random.npy) "$ACCEL" random 'uniform:f32[40000]' --seed 7 -o "$target" ;;
        build.so) "$ACCEL" build "$work/kernel.cl" -o "$target" ;;
        run.npy) "$ACCEL" run "$work/kernel.cl" -g 40000 "in:$work/good-random.npy" "out:$target:f32[40000]" ;;
        inout.npy) "$ACCEL" run "$work/kernel.cl" -g 40000 "in:$work/good-random.npy" \
            "inout:$work/good-random.npy:$target" ;;
        *) "$DISK_WRITER" "${1%.*}" "$target" ;;
    esac
}

is_right() {
    case $1 in
        *.npy) cmp -s "$target" "$work/good-$1" ;;
        build.so) "$ACCEL" run "$target" -g 40000 "in:$work/good-random.npy" "out:$work/again.npy:f32[40000]" \
            > /dev/null && cmp -s "$work/again.npy" "$work/good-run.npy" ;;
        snapshot.*) "$ACCEL" memory report "$target" > /dev/null ;;
        dump.json) "$ACCEL" graph "$target" > /dev/null ;;
        dump.dot) cmp -s "$target" "$work/good-$1" ;;
    esac
}

# sabotaged WHAT:N FUNCTION…: status of the function, whose programs have the saboteur.
sabotaged() {
    rm -f "$work/mark"
    runs=$((runs + 1))
    plan=$1
    shift
    (LD_PRELOAD=$SABOTEUR SABOTAGE=$plan SABOTAGE_MARK=$work/mark "$@") > "$work/out" 2> "$work/err"
}

next_step() {
    if [ "$extent" = few ]; then step=$((step + step / 2 + 3)); else step=$((step + 1)); fi
}

# ---- a file ----

# is_clean: nothing lies beside the target, nor where compilers work.
is_clean() {
    rest=$(find "$work/folder" "$TMPDIR" -mindepth 1 ! -path "$target")
    [ -z "$rest" ]
}

# judge WHAT NAME STATUS: the one run is over.
judge() {
    what=$1 name=$2 status=$3
    case $what:$status in
        kill:137) ;;
        short:0 | EINTR:0) ;;
        ENOSPC:1 | EDQUOT:1 | EIO:1)
            grep -q "$target\|TMPDIR" "$work/err" || fail "$name, $what at $step: no file is named" ;;
        EIO:0 | ENOSPC:0 | EDQUOT:0) # a cache's, or a removal's
            is_right "$name" || fail "$name, $what at $step: success without the file" ;;
        *) fail "$name, $what at $step: exit status $status" ;;
    esac
    [ "$what" = kill ] || is_clean || fail "$name, $what at $step: left $rest"
    if [ "$(cat "$target" 2> /dev/null | tr -d '\0')" != "what was there" ] && [ -e "$target" ]; then
        is_right "$name" || fail "$name, $what at $step: half a file"
    elif [ "$status" = 0 ]; then
        fail "$name, $what at $step: success, and the old file"
    fi
}

attack() {
    what=$1 name=$2
    target=$work/folder/target.${name#*.}
    for ((step = 1; step < 400; )); do
        rm -rf "$work/folder" "$TMPDIR"
        mkdir "$work/folder" "$TMPDIR"
        [ $((step % 2)) = 0 ] || echo "what was there" > "$target"
        sabotaged "$what:$step" write "$name"
        status=$?
        if [ -e "$work/mark" ]; then
            judge "$what" "$name" "$status"
        elif [ "$status" != 0 ]; then
            fail "$name, $what, not at $step: exit status $status"
        fi
        [ "$what" != kill ] || [ -e "$work/mark" ] || break
        [ "$what" = kill ] || [ "$step" -lt "${steps_of[$name]}" ] || break
        next_step
    done
    [ "$what" != kill ] || steps_of[$name]=$step
    [ "${steps_of[$name]}" -gt 4 ] || fail "$name: no step was met"
    write "$name" > "$work/out" 2> "$work/err" || fail "$name: the run after $what fails"
    is_right "$name" || fail "$name: the run after $what makes something wrong"
}

# ---- the cache ----

kernel() {
    "$DISK_WRITER" kernel "$1"
}

count() {
    find "$ACCEL_CACHE_DIR" -name "$1" 2> /dev/null | wc -l
}

attack_cache() {
    what=$1
    warm=$ACCEL_CACHE_DIR
    export ACCEL_CACHE_DIR=$work/deep/cache
    for ((step = 1; step < 400; )); do
        rm -rf "$work/deep" "$TMPDIR"
        mkdir "$TMPDIR"
        sabotaged "$what:$step" kernel 7
        status=$?
        [ -e "$work/mark" ] || [ "$status" = 0 ] || fail "kernel, $what, not at $step: $status"
        case $what:$status in
            kill:137 | *:0) ;;
            ENOSPC:1 | EIO:1 | EDQUOT:1)
                grep -q 'cannot be written for the compiler' "$work/err" ||
                    fail "kernel, $what at $step: the cache's failure is the program's" ;;
            *) fail "kernel, $what at $step: exit status $status" ;;
        esac
        [ "$status" != 0 ] || [ "$(cat "$work/out")" = 7 ] || fail "kernel, $what at $step: wrong kernel"
        [ "$what" = kill ] || [ -z "$(ls -A "$TMPDIR")" ] || fail "kernel, $what at $step: left a folder"
        [ "$(kernel 7 2> "$work/err")" = 7 ] || fail "kernel, after $what at $step: fails"
        [ "$(count '*.bin')" = 1 ] || fail "kernel, after $what at $step: not one entry"
        if [ "$(count 'new-*')" != 0 ]; then
            [ "$what" = kill ] || fail "kernel, $what at $step: left an entry half written"
            touch -d '2 hours ago' "$ACCEL_CACHE_DIR"/new-*
            [ "$(kernel 8 2> "$work/err")" = 8 ] || fail "kernel, cleaning after $what at $step: fails"
            [ "$(count 'new-*')" = 0 ] || fail "kernel, after $what at $step: nobody cleans up"
        fi
        [ -e "$work/mark" ] || [ "$what" != kill ] || break
        [ "$what" = kill ] || [ "$step" -lt "${steps_of[cache]}" ] || break
        next_step
    done
    [ "$what" != kill ] || steps_of[cache]=$step
    [ "${steps_of[cache]}" -gt 4 ] || fail "kernel: no step was met"
    export ACCEL_CACHE_DIR=$warm
}

# ---- a small disk, and a small limit ----

# Each writer where there is room for a part of what it writes. Runs in a mount namespace of its own.
fill_disk() {
    mount -t tmpfs -o size=32k tmpfs "$work/folder" || exit 77
    for name in $names; do
        target=$work/folder/target.${name#*.}
        echo "what was there" > "$target"
        write "$name" > "$work/out" 2> "$work/err"
        status=$?
        case $name:$status in
            build.so:0) ;; # an object may be small enough
            *:1) grep -q "space" "$work/err" || fail "$name: a full disk is not named" ;;
            *) fail "$name: exit status $status on a full disk" ;;
        esac
        [ "$status" = 0 ] || [ "$(cat "$target")" = "what was there" ] || fail "$name: half on a full disk"
        is_clean || fail "$name: left $rest on a full disk"
        rm "$target"
    done
    dd if=/dev/zero of="$work/folder/filler" bs=1k count=30 2> "$work/err"
    [ "$(ACCEL_CACHE_DIR=$work/folder/cache kernel 9 2> "$work/err")" = 9 ] ||
        fail "kernel: a full disk under the cache is the program's failure"
    exit "$failures"
}

limit_files() {
    ulimit -f 64
    write "$1"
}

# ---- all of it ----

declare -A steps_of
whats="kill ENOSPC EDQUOT EIO short EINTR"
names="random.npy run.npy inout.npy build.so snapshot.pickle snapshot.json dump.json dump.dot"
[ "$(LD_PRELOAD=$SABOTEUR "$ACCEL" --version 2>&1)" = "$("$ACCEL" --version)" ] || exit 77
for name in $names; do
    target=$work/good-$name
    write "$name" > "$work/out" 2> "$work/err" || fail "$name"
    is_right "$name" || fail "$name: not right without any sabotage"
done
[ "$failures" = 0 ] || exit 1
if [ "$extent" = few ]; then
    names="inout.npy snapshot.pickle dump.json"
    whats="kill ENOSPC EIO short EINTR"
fi

once() {
    for name in $names; do
        for what in $whats; do
            attack "$what" "$name"
        done
    done
    for what in $whats; do
        attack_cache "$what"
    done
    rm -rf "$work/folder" "$TMPDIR"
    mkdir "$work/folder" "$TMPDIR"
    for name in $names; do
        target=$work/folder/target.${name#*.}
        (limit_files "$name") > "$work/out" 2> "$work/err"
        status=$?
        [ "$status" = 1 ] && grep -q "$target" "$work/err" || [ "$name:$status" = build.so:0 ] ||
            fail "$name: exit status $status under a limit on file sizes"
        is_clean || fail "$name: left $rest under a limit on file sizes"
        rm -f "$target"
    done
}

case $extent in
    few | all) once ;;
    *)
        end=$((SECONDS + extent))
        while [ "$SECONDS" -lt "$end" ] && [ "$failures" = 0 ]; do once; done ;;
esac
export -f fill_disk write is_right is_clean kernel fail
export work names
if unshare -m true 2> /dev/null; then
    # shellcheck disable=SC2016
    unshare -m bash -c 'failures=0; fill_disk'
    status=$?
    [ "$status" = 77 ] && echo "no small disk can be mounted here" || failures=$((failures + status))
else
    echo "no mount namespace is to be had here: no small disk"
fi
echo "$runs runs, $failures failures"
[ "$failures" = 0 ]
