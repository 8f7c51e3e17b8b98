# build_test.sh: `accel build`, and running what it made.
. "$SOURCE_DIR/tests/cli/common.sh"

integers 4 1 2 3 4 | npy i.npy '<i4' '(4,)'

expect 0 "$ACCEL" build scale.cl -o scale.o
[ ! -s .out ] && [ ! -s .err ] || fail "build says something although all went well"
same "$(head -c 4 scale.o | od -An -t x1)" " 7f 45 4c 46" "an ELF object"
only add.cl i.npy scale.cl scale.o

expect 0 "$ACCEL" run scale.o -g 4 -l 4 inout:i.npy:o.npy i32:5
same "$(values d4 o.npy)" "5 10 15 20" "a run of an object"
expect 0 "$ACCEL" run scale.o:scale -g 4 -l 4 inout:i.npy:o.npy i32:6
same "$(values d4 o.npy)" "6 12 18 24" "a run of an object by name"
refused 1 '"factor"' "$ACCEL" run scale.o -g 4 -l 4 inout:i.npy:o.npy f32:6
refused 1 'it has scale' "$ACCEL" run scale.o:nosuch -g 4 -l 4 inout:i.npy:o.npy i32:6
refused 2 "compiled already" "$ACCEL" run scale.o -g 4 -I . inout:i.npy:o.npy i32:6

# an object needs no compiler
expect 0 env ACCEL_CC=/nonexistent/cc CC=/nonexistent/cc PATH=/nonexistent ACCEL_CACHE_DIR="$work/cache" \
    "$ACCEL" run scale.o -g 4 -l 4 inout:i.npy:o.npy i32:7
same "$(values d4 o.npy)" "7 14 21 28" "a run without a compiler"

# source does
for command in "build scale.cl -o x.o" "run scale.cl -g 4 inout:i.npy:x.npy i32:7"; do
    # shellcheck disable=SC2086
    expect 1 env ACCEL_CC=/nonexistent/cc ACCEL_CACHE_DIR="$work/cache" "$ACCEL" $command
    says "ACCEL_CC"
    # shellcheck disable=SC2086
    expect 1 env -u CC -u ACCEL_CC PATH=/nonexistent ACCEL_CACHE_DIR="$work/cache" "$ACCEL" $command
    says "compiler"
done
rm -rf cache
only add.cl i.npy o.npy scale.cl scale.o

# defines and includes
mkdir headers
echo '#define BASE 40' > headers/base.h
printf '#include "base.h"\n__kernel void answer(__global int *out) { out[0] = BASE + MORE; }\n' > answer.cl
expect 0 "$ACCEL" build answer.cl -o answer.o -I headers -D MORE=2
expect 0 "$ACCEL" run answer.o -g 1 out:o.npy:i32[1]
same "$(values d4 o.npy)" "42" "an object with -D and -I"

# an object can be overwritten while nothing of the old one stays
cp scale.o before.o
expect 0 "$ACCEL" build scale.cl -o answer.o
expect 0 "$ACCEL" run answer.o -g 4 -l 4 inout:i.npy:o.npy i32:2
cmp -s scale.o before.o || fail "another object changed"

# errors: file and line; no object, and the old one stays
printf '__kernel void bad(__global int *x)\n{\n    x[0] = nosuch;\n}\n' > bad.cl
expect 1 "$ACCEL" build bad.cl -o bad.o
says "bad.cl:3"
expect 1 "$ACCEL" build bad.cl -o scale.o
cmp -s scale.o before.o || fail "an old object changed"
printf '#include "bad.cl"\n' > outer.cl
expect 1 "$ACCEL" build outer.cl -o bad.o
says "bad.cl:3"
refused 2 "leave out :scale" "$ACCEL" build scale.cl:scale -o bad.o
refused 1 "No such file" "$ACCEL" build nosuch.cl -o bad.o
refused 1 "No such file" "$ACCEL" build scale.cl -o nodir/bad.o
only add.cl answer.cl answer.o bad.cl before.o i.npy o.npy outer.cl scale.cl scale.o

# damaged objects: cut short, and changed in the middle
size=$(wc -c < scale.o)
for part in 4 64 1000 $((size / 2)) $((size - 1)); do
    head -c "$part" scale.o > cut.o
    expect 1 "$ACCEL" run cut.o -g 4 -l 4 inout:i.npy:x.npy i32:2
    says "cut.o"
done
[ ! -e x.npy ] || fail "a damaged object gave a result"

finish
