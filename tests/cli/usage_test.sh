# usage_test.sh: what every sub-command does with its options, its output and wrong usage.
. "$SOURCE_DIR/tests/cli/common.sh"

expect 0 "$ACCEL" --version
grep -qE '^accel [0-9]+\.[0-9]+\.[0-9]+$' .out || fail "--version"
expect 0 "$ACCEL" --help
for command in list run build graph; do
    has "  $command "
done
for command in list run build graph; do
    expect 0 "$ACCEL" "$command" --help
    has "Usage: accel $command"
    [ ! -s .err ] || fail "$command --help says something on standard error"
    cp .out help
    expect 0 "$ACCEL" "$command" -h
    cmp -s .out help || fail "$command -h differs from --help"
    refused 2 "--frobnicate" "$ACCEL" "$command" --frobnicate
    refused 2 "-Z" "$ACCEL" "$command" -Z
    refused 2 "--help" "$ACCEL" "$command" --help=yes
done

# wrong usage
expect 2 "$ACCEL"
[ ! -s .out ] && grep -q '^Usage' .err || fail "no arguments"
refused 2 "use one of list, run, build" "$ACCEL" lst
refused 2 "--nope" "$ACCEL" --nope
refused 2 "stands alone" "$ACCEL" --version list
refused 2 "stands alone" "$ACCEL" --help --json
refused 2 "extra" "$ACCEL" list extra
refused 2 "no kernel" "$ACCEL" run -g 1
refused 2 "-g" "$ACCEL" run add.cl
refused 2 "wants a value" "$ACCEL" run add.cl -g
refused 2 "wants a value" "$ACCEL" run add.cl --repeat
refused 2 "-o" "$ACCEL" build add.cl
refused 2 "not 2" "$ACCEL" build add.cl scale.cl -o x
refused 2 "not 0" "$ACCEL" build -o x
refused 2 "--json" "$ACCEL" build add.cl -o x --json

# odd pairs: the same thing twice
refused 2 "twice" "$ACCEL" run add.cl -g 1 -g 2
refused 2 "twice" "$ACCEL" run add.cl -g 1 -l 1 -l 1
refused 2 "twice" "$ACCEL" run add.cl -g 1 -d cpu:0 -d cpu:0
refused 2 "twice" "$ACCEL" run add.cl -g 1 --repeat 2 --repeat 3
refused 2 "twice" "$ACCEL" build add.cl -o x -o y
refused 2 "twice" "$ACCEL" build add.cl -o x -d cpu:0 -d cpu:0

# values of options
for value in 0 -1 1.5 1e3 " 1" 1x "" 1000001 99999999999999999999; do
    refused 2 "--repeat" "$ACCEL" run add.cl -g 1 "--repeat=$value"
done
for value in "" , 1, ,1 1,,1 1,1,1,1 -1 1.5 0x10 " 1" 1x 18446744073709551616; do
    refused 2 "-g" "$ACCEL" run add.cl "-g$value"
    refused 2 "-l" "$ACCEL" run add.cl -g 1 "-l$value"
done
for value in 0 0,1 1,0 1,1,0; do
    refused 2 "-l" "$ACCEL" run add.cl -g 1 -l "$value"
done
for value in 1X "" =1 "A B" -x; do
    refused 2 "-D" "$ACCEL" run add.cl -g 1 -D "$value"
done

# with --json a failure, too, leaves one document
expect 2 "$ACCEL" list --json extra
case $(json error) in *extra*) ;; *) fail "no error in the document" ;; esac
expect 1 "$ACCEL" run --json nothing.cl -g 1
case $(json error) in *nothing.cl*) ;; *) fail "no error in the document" ;; esac

# output that cannot be written
for command in "list" "list --json" "list --help" "run --help" "--help" "--version"; do
    checks=$((checks + 1))
    # shellcheck disable=SC2086
    "$ACCEL" $command > /dev/full 2> .err
    same $? 1 "status of $command into a full device"
    [ "$(wc -l < .err)" = 1 ] || fail "$command into a full device: not one line"
    # shellcheck disable=SC2086
    "$ACCEL" $command >&- 2> .err
    same $? 1 "status of $command with standard output closed"
    exec 3> >(:)
    wait $! # the reader is gone
    # shellcheck disable=SC2086
    "$ACCEL" $command >&3 2> .err
    same $? 1 "status of $command into a pipe that nobody reads"
    exec 3>&-
done

# closed standard files: no file of ours gets their numbers
integers 4 7 | npy i.npy '<i4' '(1,)'
checks=$((checks + 1))
"$ACCEL" run scale.cl -g 1 inout:i.npy:o.npy i32:6 <&- >&- 2>&-
same $? 0 "status with all standard files closed"
same "$(values d4 o.npy)" 42 "the result with all standard files closed"
"$ACCEL" run scale.cl -g 1 --json inout:i.npy:o.npy i32:5 <&- >&- 2>&-
same $? 1 "status of --json with all standard files closed"
same "$(values d4 o.npy)" 42 "the old result after a failure"
rm i.npy o.npy

# a message stays one line whatever a name has in it
refused 1 "two?lines" "$ACCEL" run "$(printf 'two\nlines')" -g 1

only add.cl scale.cl help
finish
