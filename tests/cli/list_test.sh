# list_test.sh: `accel list`: the devices of this machine, and of machines that no test has.
. "$SOURCE_DIR/tests/cli/common.sh"

# ---- the real ones ----

expect 0 "$ACCEL" list
head -1 .out | grep -qE '^DEVICE +NAME +KIND +MEMORY +UNITS +DRIVER' || fail "the head of the table"
grep -qE '^cpu:0 .* cpu +[0-9.]+ .iB +[0-9]+' .out || fail "no cpu:0"
[ ! -s .err ] || fail "list says something on standard error"
grep -q "$(printf '\033')" .out && fail "control codes without a terminal"
names=$(awk 'NR > 1 { print $1 }' .out)

expect 0 "$ACCEL" list --json
same "$(json devices)" "$(echo "$names" | wc -l)" "devices in JSON and in the table"
same "$(json devices.0.device)" "$(echo "$names" | head -1)" "the first device"
same "$(json devices.0.kind)" cpu kind
same "$(json devices.0.bus_address)" null "bus address of the cpu"
same "$(json problems)" 0 problems
[ "$(json devices.0.capability.compute_units)" -ge 1 ] || fail "compute_units"
[ "$(json devices.0.total_memory)" -ge 1048576 ] || fail "total_memory"

# two devices; the most there can be
expect 0 env ACCEL_CPU_DEVICES=2 "$ACCEL" list
has "cpu:1 "
expect 0 env ACCEL_CPU_DEVICES=2 "$ACCEL" list --json
same "$(json devices)" 2 "ACCEL_CPU_DEVICES=2"
[ "$(json devices.0.uuid)" != "$(json devices.1.uuid)" ] || fail "two devices of one UUID"

expect 0 env ACCEL_CPU_DEVICES=64 "$ACCEL" list
has "cpu:63 "
same "$(grep -c '^cpu:' .out)" 64 "64 devices"

# none, and why
for setting in ACCEL_CPU_DEVICES=65 ACCEL_CPU_DEVICES=0 ACCEL_CPU_DEVICES=x ACCEL_BACKENDS=nosuch; do
    expect 0 env $setting "$ACCEL" list
    same "$(cat .out)" "DEVICE NAME KIND MEMORY UNITS DRIVER" "an empty list"
    says "${setting%=*}"
    expect 0 env $setting "$ACCEL" list --json
    same "$(json devices)" 0 "devices with $setting"
    same "$(json backends.0.name) $(json backends.0.device_count)" "cpu 0" "the backend with $setting"
    case $(json backends.0.detail) in *${setting%=*}*) ;; *) fail "no reason" ;; esac
    expect 1 env $setting "$ACCEL" run scale.cl -g 1
done
# A mistyped variable is told beside the devices of others, too, by doctor as a problem.
expect 0 env ACCEL_CPU_DEVICES=x ACCEL_BACKENDS=cpu,opencl "$ACCEL" list
says "cpu: none: 'cpu' has no device: ACCEL_CPU_DEVICES is 'x'"
expect 0 env ACCEL_CPU_DEVICES=x "$ACCEL" list --json
same "$(json backends.0.reason) $(json backends.0.variable)" "bad-setting ACCEL_CPU_DEVICES" "reason"
expect 1 env ACCEL_CPU_DEVICES=x "$ACCEL" doctor
has "PROBLEM: an environment variable has no valid value: ACCEL_CPU_DEVICES is 'x'"
refused 1 "ACCEL_BACKEND" env ACCEL_BACKEND=nosuch "$ACCEL" run scale.cl -g 1

# everything listed can be opened, and nothing else
printf '__kernel void nothing(void)\n{\n}\n' > nothing.cl
for name in $names; do
    expect 0 "$ACCEL" run nothing.cl -d "$name" -g 1 -l 1
done
expect 0 env ACCEL_CPU_DEVICES=64 "$ACCEL" run nothing.cl -d cpu:63 -g 1 -l 1 --json
same "$(json device)" cpu:63 "the last of many devices"
expect 0 env ACCEL_CPU_DEVICES=2 "$ACCEL" run nothing.cl -d cpu:1 -g 1 -l 1 --json
same "$(json device)" cpu:1 "the device that ran"
expect 0 "$ACCEL" run nothing.cl -d cpu -g 1 -l 1 --json
same "$(json device)" cpu:0 "a device without index"
refused 1 "cpu:0" "$ACCEL" run nothing.cl -g 1 -d cpu:1
refused 1 "cpu:0 to cpu:1" env ACCEL_CPU_DEVICES=2 "$ACCEL" run nothing.cl -g 1 -d cpu:2
refused 1 "valid here: cpu:0" "$ACCEL" run nothing.cl -g 1 -d nosuch:0
refused 1 "valid here: cpu:0" "$ACCEL" build nothing.cl -o x -d nosuch
for index in 127 128 255 256 2147483647; do
    refused 1 "cpu:$index" "$ACCEL" run nothing.cl -g 1 -d "cpu:$index"
done
for index in 2147483648 4294967296 18446744073709551616; do
    refused 1 "cpu:$index" "$ACCEL" run nothing.cl -g 1 -d "cpu:$index"
done
for name in "" : : cpu: cpu:01 "cpu: 1" cpu:1:2 CPU:0 cpu:-1 cpu:+1 cpu:-129 "cpu:0 " cpu:0x0 :0; do
    refused 2 "valid here: cpu:0" "$ACCEL" run nothing.cl -g 1 -d "$name"
done
long=$(head -c 10240 /dev/zero | tr '\0' x)
for name in "$long" "$long:0"; do
    "$ACCEL" run nothing.cl -g 1 -d "$name" > .out 2> .err
    case $? in 1 | 2) ;; *) fail "a name of 10 KiB" ;; esac
    says "valid here: cpu:0"
    [ "$(wc -c < .err)" -lt 400 ] || fail "a name of 10 KiB is told in full"
done

# ---- strange ones ----

strange() {
    env LD_PRELOAD="$strange" ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" "$@"
}

for count in 0 1 2 9 16 64 200; do
    expect 0 strange STRANGE_COUNT=$count "$ACCEL" list
    same "$(grep -c '^odd:' .out)" "$count" "rows of $count devices"
    head -1 .out | grep -q '^DEVICE' || fail "no head with $count devices"
    expect 0 strange STRANGE_COUNT=$count "$ACCEL" list --json
    same "$(json devices)" "$count" "JSON of $count devices"
done

for field in name vendor driver uuid bus memory kind capability all; do
    expect 0 strange STRANGE_MISSING=$field "$ACCEL" list
    has "odd:0"
    expect 0 strange STRANGE_MISSING=$field "$ACCEL" list --json
    case $field in
    bus) key=bus_address ;;
    memory) key=total_memory ;;
    all) key=name ;;
    *) key=$field ;;
    esac
    same "$(json devices.0.$key)" null "$key where it is missing"
done

# 2^64 - 1 is more than JSON readers agree on
expect 0 strange "$ACCEL" list --json
same "$(json devices.0.capability.max_allocation)" null "a number above 2^63"

name=$(printf 'q" b\\ \001\t\n \303\251 \346\274\242 \377\300\257 end')
for locale in C C.UTF-8 de_DE.UTF-8; do
    expect 0 strange LC_ALL=$locale STRANGE_NAME="$name" "$ACCEL" list --json
    same "$(json devices.0.name)" "$(printf 'q" b\\ \001\t\n \303\251 \346\274\242 \357\277\275\357\277\275\357\277\275 end')" \
        "a strange name in $locale"
    expect 0 strange LC_ALL=$locale STRANGE_NAME="$name" "$ACCEL" list
    has "odd:0"
    same "$(wc -l < .out)" 2 "lines with a strange name in $locale"
    grep -q "$(printf '\001')" .out && fail "a control character in the table"
done

long="A long name of a device that goes on and on and does not come to an end for a while"
for width in "" 0 1 20 80 10000 -5 x; do
    expect 0 strange COLUMNS=$width TERM=dumb STRANGE_COUNT=3 STRANGE_NAME="$long" "$ACCEL" list
    has "$long"
done

# on a terminal of every width: readable, and it ends
if script -qec true /dev/null > /dev/null 2>&1; then
    for width in 0 1 20 80 10000; do
        checks=$((checks + 1))
        strange STRANGE_COUNT=16 STRANGE_NAME="$long" TERM=dumb timeout 20 \
            script -qec "stty cols $width; exec '$ACCEL' list" /dev/null > .out 2> .err < /dev/null
        same $? 0 "status on a terminal $width wide"
        same "$(grep -c '^odd:' .out)" 16 "rows on a terminal $width wide"
        grep -q "$(printf '\033')" .out && fail "control codes on a dumb terminal"
    done
fi

# what cannot be told is said, with its reason, and what is certain is listed
expect 0 strange STRANGE_CANNOT_TELL="the driver hangs" STRANGE_COUNT=1 "$ACCEL" list
has "odd:0"
says "odd: cannot tell: the driver hangs"
expect 0 strange STRANGE_CANNOT_TELL="the driver hangs" STRANGE_COUNT=0 "$ACCEL" list --json
same "$(json devices)" 0 "certain devices"
same "$(json problems.0.device)" odd "who cannot tell"
same "$(json problems.0.status)" ACCEL_ERROR_CANNOT_TELL "status"
same "$(json problems.0.reason)" "the driver hangs" "reason"

# one of two is broken: the other has its own name, whichever it is
for broken in 0 1; do
    expect 0 strange STRANGE_BROKEN=$broken STRANGE_COUNT=2 "$ACCEL" list --json
    same "$(json devices)" 1 "devices beside a broken one"
    same "$(json devices.0.device)" odd:$((1 - broken)) "the one that works"
    same "$(json problems.0.device)" odd:$broken "the broken one"
    says "odd:$broken: failed: device $broken is gone"
done

finish
