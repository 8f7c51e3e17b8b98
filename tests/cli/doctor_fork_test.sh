# doctor_fork_test.sh: `accel doctor` as a new user meets it: without drivers, with PoCL, with a broken
# driver. Each remedy is carried out, and doctor run again.
. "$SOURCE_DIR/tests/cli/common_doctor.sh" || exit 1

pocl_icd=/etc/OpenCL/vendors/pocl.icd
hostile=$BUILD_DIR/tests/drivers/libhostile.so

# ---- no driver; then one ----

doctor 0 no_driver
expect 0 "$ACCEL" doctor --json
same "$(json problem_count)" 0 problems
same "$(json backends.0.name) $(json backends.0.state)" "cpu ok" "the cpu backend"
same "$(json backends.0.live.ask_fork_use.outcome)" works "the live check"
same "$(json backends.0.live.use_fork_use.outcome)" works "the reverse, which cpu survives"
same "$(json backends.1.state) $(json backends.1.report.reason)" "none no-driver" "no driver"
same "$(json device_files.state)" none "device files"
same "$(json fork.verdict)" clean "the doctor itself"
expect 0 "$ACCEL" list --json
same "$(json backends.1.reason)" no-driver "the reason in the list"
[ "$(json backends.1.remedy)" != null ] || fail "no remedy in the list"

have_pocl=
if [ -e "$pocl_icd" ]; then
    have_pocl=1
    cp "$pocl_icd" vendors/pocl.icd
    doctor 0 pocl
    expect 0 "$ACCEL" doctor --json
    same "$(json backends.1.live.ask_fork_use.outcome)" works "a child of a process that asked"
    same "$(json backends.1.live.use_fork_use.outcome)" refused "a child of a process that used it"
    same "$(json backends.1.report.drivers.0.name)" pocl "the driver's name"
    same "$(json backends.1.report.drivers.0.source)" "$work/vendors/pocl.icd" "the driver's file"
    same "$(json fork.verdict)" clean "the doctor itself beside PoCL"
else
    echo "without PoCL: the part with a healthy driver is left out"
fi

# ---- broken drivers, beside a healthy one ----

# broken NAME FILE: the golden output with that .icd file; its remedy is to remove it.
broken() {
    [ -n "$have_pocl" ] || return
    echo "$2" > "vendors/$1.icd"
    doctor 1 "$1"
    expect 1 "$ACCEL" doctor --json --timeout 60000
    same "$(json backends.1.state)" problem "$1"
    same "$(json backends.1.live.ask_fork_use.outcome)" works "PoCL beside $1"
    expect 0 "$ACCEL" list
    has "opencl:0"
    case $1 in
    missing_library) [ ! -s .err ] || fail "a missing library leaves nothing uncertain" ;;
    *) says "opencl: cannot tell" ;;
    esac
    rm "vendors/$1.icd"
    doctor 0 pocl
}

broken missing_library libnosuch.so.1
if [ -e "$hostile" ]; then
    for act in devices-abort platform-exit-3 devices-hang load-print; do
        cp "$hostile" "$act.so"
    done
    broken crashing "$work/devices-abort.so"
    broken exiting "$work/platform-exit-3.so"
    export ACCEL_PROBE_TIMEOUT_MS=1500
    echo "$work/devices-hang.so" > vendors/hanging.icd
    expect 1 "$ACCEL" doctor --json --timeout 60000
    hung=0
    for i in 0 1; do
        [ "$(json backends.1.report.drivers.$i.reason)" != hung ] || hung=1
    done
    [ "$hung" = 1 ] || [ -z "$have_pocl" ] || fail "a hanging driver is not told"
    rm vendors/hanging.icd
    export ACCEL_PROBE_TIMEOUT_MS=20000

    # One that prints, and one that answers questions but cannot be used: still one document.
    echo "$work/load-print.so" > vendors/printing.icd
    "$ACCEL" doctor --json > .out 2> .err < /dev/null
    checks=$((checks + 1))
    case $(json backends.1.name) in opencl) ;; *) fail "a driver that prints" ;; esac
    case $(json backends.1.live.ask_fork_use.outcome) in
    works) fail "a driver without functions works" ;;
    esac
    rm vendors/printing.icd
fi

# ---- usage ----

refused 2 "--timeout" "$ACCEL" doctor --timeout
refused 2 "0" "$ACCEL" doctor --timeout 0
refused 2 "x" "$ACCEL" doctor --timeout x
refused 2 "600001" "$ACCEL" doctor --timeout 600001
refused 2 "given twice" "$ACCEL" doctor --timeout 1 --timeout 2
refused 2 "cpu" "$ACCEL" doctor cpu
expect 0 "$ACCEL" doctor --help
has "Exit status"
if [ -e /dev/full ]; then
    checks=$((checks + 1))
    "$ACCEL" doctor > /dev/full 2> .err
    [ $? = 1 ] || fail "a full standard output goes unnoticed"
    says "cannot be written"
fi

finish
