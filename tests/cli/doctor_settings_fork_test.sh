# doctor_settings_fork_test.sh: `accel doctor` where settings, the compiler, the kernel cache or rights on
# device files are wrong. Each remedy is carried out, and doctor run again.
. "$SOURCE_DIR/tests/cli/common_doctor.sh" || exit 1

# ---- settings ----

expect_golden 0 hidden env ACCEL_VISIBLE_DEVICES= "$ACCEL" doctor
expect_golden 1 visible env ACCEL_CPU_DEVICES=2 ACCEL_VISIBLE_DEVICES=cpu:7,nosuch:0,cpu:1,1234 \
    "$ACCEL" doctor
expect_golden 0 visible_right env ACCEL_CPU_DEVICES=2 ACCEL_VISIBLE_DEVICES=cpu:1 "$ACCEL" doctor
expect_golden 1 backend env ACCEL_BACKEND=nosuch ACCEL_BACKENDS=cpu,unheard "$ACCEL" doctor
expect_golden 0 masked env ACCEL_MASK=cpu:timing ACCEL_BACKENDS=cpu "$ACCEL" doctor
expect_golden 1 mask env ACCEL_MASK=cpu:nosuch "$ACCEL" doctor

# Whoever starts doctor may ignore SIGCHLD, have closed everything, or allow few files.
for around in "trap '' CHLD" "exec 0<&-" "exec 2>&-" "ulimit -n 16"; do
    expect 0 bash -c "$around; exec \"\$ACCEL\" doctor"
    has "use, fork, use: works"
done

# ---- kernels ----

expect_golden 1 no_compiler env PATH=/nonexistent ACCEL_CACHE=0 "$ACCEL" doctor
expect_golden 0 no_cache env ACCEL_CACHE=0 "$ACCEL" doctor # with a compiler again
chmod 777 cache
rm -rf cache/*
expect_golden 1 bad_cache "$ACCEL" doctor
chmod 700 cache
doctor 0 no_driver

# A compiler that hangs holds nothing up, and is gone afterwards.
printf '#!/bin/sh\necho $$ >> %s/compilers\nexec sleep 60\n' "$work" > compiler
chmod 755 compiler
rm -rf cache/*
start=$(date +%s)
expect_golden 1 hung env ACCEL_CC="$work/compiler" "$ACCEL" doctor --timeout 1500
[ $(($(date +%s) - start)) -lt 30 ] || fail "a compiler that hangs holds doctor up"
for process in $(cat compilers); do
    kill -0 "$process" 2> /dev/null && fail "doctor leaves process $process behind"
done

# ---- device files ----

mkdir -p root/dev/dri root/sys/class/drm/renderD131
: > root/dev/dri/renderD130
ln -s nowhere root/dev/kfd
doctor 1 strange_files
rm root/dev/dri/renderD130 root/dev/kfd
mkdir root/dev/nvidia-caps
doctor 0 missing_file
rmdir root/sys/class/drm/renderD131 root/dev/nvidia-caps

# as_user GROUPS COMMAND…: without any right of root's.
as_user() {
    groups=$1
    shift
    setpriv --reuid=65534 --regid=65534 "$groups" "$@"
}

# That takes root, to make device files and to put them away.
mkdir -m 700 user-cache
if [ "$(id -u)" = 0 ] && mknod root/dev/dri/renderD128 c 226 128 2> /dev/null &&
    mknod root/dev/dri/renderD129 c 226 129 && chown 65534:65534 user-cache &&
    as_user --clear-groups test -x "$ACCEL" && as_user --clear-groups test -x "$BUILD_DIR/lib"; then
    export ACCEL_CACHE_DIR="$work/user-cache"
    chgrp 39 root/dev/dri/renderD128 && chmod 660 root/dev/dri/renderD128
    chmod 666 root/dev/dri/renderD129
    user() {
        expect "$1" as_user "$2" "$ACCEL" doctor --json
    }
    user 1 --clear-groups
    same "$(json device_files.items)" 2 "files"
    same "$(json device_files.items.0.what) $(json device_files.items.0.state)" \
        "/dev/dri/renderD128 problem" "the one without right"
    case $(json device_files.items.0.says) in
    "no right: it belongs to user root and group "*", mode 0660; this is user "*", in the groups "*) ;;
    *) fail "the words for a missing right" ;;
    esac
    same "$(json device_files.items.1.state)" ok "the one beside it"
    user 0 --groups=39 # the remedy
    same "$(json device_files.items.0.state)" ok "after the remedy"
    chmod 600 root/dev/dri/renderD128
    user 1 --groups=39
    case $(json device_files.items.0.remedy) in
    *"udev rule"*) ;;
    *) fail "no group has the right, and the remedy is another" ;;
    esac
    chmod 700 root/dev/dri
    user 1 --groups=39
    same "$(json device_files.items.0.what)" /dev/dri "a directory that cannot be read"
    chmod 755 root/dev/dri
    chmod 660 root/dev/dri/renderD128
    expect 0 env ACCEL_CACHE_DIR="$work/cache" "$ACCEL" doctor # root may
    has "/dev/dri/renderD128: can be opened"
    # No right is no reason to fail for who only lists.
    expect 0 as_user --clear-groups "$ACCEL" list
else
    echo "without root, setpriv, or rights on the build: missing rights are left out"
fi

finish
