# run_test.sh: `accel run` does what its help says.
. "$SOURCE_DIR/tests/cli/common.sh"

floats 1 2 3 4 | npy a.npy '<f4' '(4,)'
floats 10 20 30 -40 | npy b.npy '<f4' '(4,)'

# ---- in and out ----

expect 0 "$ACCEL" run add.cl -g 4 in:a.npy in:b.npy out:sum.npy:f32[4]
same "$(values f4 sum.npy)" "11 22 33 -36" "the sum"
same "$(dictionary sum.npy)" "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }" "its header"
[ ! -s .out ] || fail "run prints without --time"
says "-l 4 chosen"
only a.npy add.cl b.npy scale.cl sum.npy

# what the kernel leaves out is zero; -l that is given is not told
expect 0 "$ACCEL" run add.cl -g 2 -l 1 in:a.npy in:b.npy out:sum.npy:f32[2,2]
same "$(values f4 sum.npy)" "11 22 0 0" "a sum in part"
same "$(dictionary sum.npy)" "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }" "2-D header"
[ ! -s .err ] || fail "run says something although all went well"

# ---- inout: type, order, bytes of the header ----

for order in False True; do
    integers 4 1 2 3 4 5 6 | npy m.npy '<i4' '(2, 3)' $order
    cp m.npy before.npy
    expect 0 "$ACCEL" run scale.cl -g 6 -l 3 inout:m.npy i32:-2
    same "$(values d4 m.npy)" "-2 -4 -6 -8 -10 -12" "inout over its file"
    cmp -s -n 128 m.npy before.npy || fail "the header changed with fortran_order $order"
    expect 0 "$ACCEL" run scale.cl -g 6 -l 3 inout:before.npy:new.npy i32:3
    same "$(values d4 new.npy)" "3 6 9 12 15 18" "inout to another file"
    same "$(values d4 before.npy)" "1 2 3 4 5 6" "its input"
    cmp -s -n 128 new.npy before.npy || fail "the header of another file changed"
done

# versions 2.0 and 3.0 and strange white space come back byte for byte
for version in 2 3; do
    header="{ 'shape':(2,),'descr': \"<i4\" , 'fortran_order':False}"
    { printf '\x93NUMPY'; integers 1 $version 0; integers 4 ${#header}; printf '%s' "$header"; } > header
    { cat header; integers 4 5 6; } > v.npy
    expect 0 "$ACCEL" run scale.cl -g 2 inout:v.npy i32:2
    { cat header; integers 4 10 12; } > wanted
    cmp -s v.npy wanted || fail "version $version does not come back as it was"
done

# ---- every element type ----

copy() { # DESCR ACCEL_TYPE C_TYPE SIZE
    printf '__kernel void copy(__global const %s *from, __global %s *to)\n{\n' "$3" "$3" > copy.cl
    printf '    to[get_global_id(0)] = from[get_global_id(0)];\n}\n' >> copy.cl
    head -c $((5 * $4)) "$SOURCE_DIR/LICENSE" | npy from.npy "$1" '(5,)'
    expect 0 "$ACCEL" run copy.cl -g 5 in:from.npy "out:to.npy:$2[5]"
    cmp -s from.npy to.npy || fail "a copy of $2 differs"
}
copy '|i1' i8 char 1
copy '|u1' u8 uchar 1
copy '<i2' i16 short 2
copy '<u2' u16 ushort 2
copy '<i4' i32 int 4
copy '<u4' u32 uint 4
copy '<i8' i64 long 8
copy '<u8' u64 ulong 8
copy '<f4' f32 float 4
copy '<f8' f64 double 8
copy '|b1' bool uchar 1
copy '<f2' f16 ushort 2
copy '<c8' c64 float2 8
copy '<c16' c128 double2 16

# ---- every value type, at its limits ----

cat > take.cl << 'END'
__kernel void take(char a, uchar b, short c, ushort d, int e, uint f, long g, ulong h, float i,
                   double j, __global double *out, __global ulong *whole)
{
    out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e; out[5] = f;
    out[6] = i; out[7] = j;
    whole[0] = (ulong)g;
    whole[1] = h;
}
END
expect 0 "$ACCEL" run take.cl -g 1 i8:-128 u8:255 i16:-32768 u16:65535 i32:-2147483648 \
    u32:4294967295 i64:-9223372036854775808 u64:18446744073709551615 f32:2.5 f64:-1e300 \
    out:out.npy:f64[8] out:whole.npy:u64[2]
same "$(values f8 out.npy)" "-128 255 -32768 65535 -2147483648 4294967295 2.5 -1e+300" "values"
same "$(values u8 whole.npy)" "9223372036854775808 18446744073709551615" "64-bit values"
expect 0 "$ACCEL" run take.cl -g 1 i8:0x7f u8:+0 i16:0x7FFF u16:0 i32:2147483647 u32:-0 \
    i64:9223372036854775807 u64:0xffffffffffffffff f32:0x1p-149 f64:.5 \
    out:out.npy:f64[8] out:whole.npy:u64[2]
same "$(values u8 whole.npy)" "9223372036854775807 18446744073709551615" "hexadecimal values"
expect 0 "$ACCEL" run take.cl -g 1 i8:0 u8:0 i16:0 u16:0 i32:0 u32:0 i64:0 u64:0 f32:-inf f64:nan \
    out:out.npy:f64[8] out:whole.npy:u64[2]
same "$(values f8 out.npy)" "0 0 0 0 0 0 -inf nan" "infinity and NaN"
# the locale's comma is no decimal sign, and its point stays one
expect 0 env LC_ALL=de_DE.UTF-8 "$ACCEL" run take.cl -g 1 i8:0 u8:0 i16:0 u16:0 i32:0 u32:0 i64:0 \
    u64:0 f32:2.5 f64:2.5 out:out.npy:f64[8] out:whole.npy:u64[2]
same "$(values f8 out.npy)" "0 0 0 0 0 0 2.5 2.5" "a point in a locale with commas"

cat > vector.cl << 'END'
__kernel void vector(float4 v, __global float4 *out)
{
    out[get_global_id(0)] = v * (float)(get_global_id(0) + 1);
}
END
expect 0 "$ACCEL" run vector.cl -g 2 f32:1,2,3,-4 out:out.npy:f32[2,4]
same "$(values f4 out.npy)" "1 2 3 -4 2 4 6 -8" "a vector"

# ---- local memory and barriers ----

cat > total.cl << 'END'
__kernel void total(__global const int *data, __local int *part, __global int *out)
{
    int self = get_local_id(0);
    part[self] = data[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
        if (self < half_size)
            part[self] += part[self + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (self == 0)
        out[get_group_id(0)] = part[0];
}
END
integers 4 1 2 3 4 5 6 7 8 | npy data.npy '<i4' '(8,)'
expect 0 "$ACCEL" run total.cl -g 8 -l 4 in:data.npy local:16 out:out.npy:i32[2]
same "$(values d4 out.npy)" "10 26" "sums of two blocks"

# ---- shapes: two and three dimensions, one element, none ----

cat > where.cl << 'END'
__kernel void where(__global int *out)
{
    size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    out[(z * get_global_size(1) + y) * get_global_size(0) + x] = (int)(100 * z + 10 * y + x);
}
END
expect 0 "$ACCEL" run where.cl -g 3,2,2 -l 3,1,2 out:out.npy:i32[2,2,3]
same "$(values d4 out.npy)" "0 1 2 10 11 12 100 101 102 110 111 112" "three dimensions"
expect 0 "$ACCEL" run where.cl -g 2,2 out:out.npy:i32[2,2]
same "$(values d4 out.npy)" "0 1 10 11" "two dimensions"
expect 0 "$ACCEL" run where.cl -g 1 out:out.npy:i32
same "$(dictionary out.npy)" "{'descr': '<i4', 'fortran_order': False, 'shape': (), }" "one element"
expect 0 "$ACCEL" run where.cl -g 1 out:out.npy:i32[]
same "$(values d4 out.npy)" "0" "one element"
integers 4 21 | npy one.npy '<i4' '()'
expect 0 "$ACCEL" run scale.cl -g 1 inout:one.npy i32:2
same "$(values d4 one.npy)" "42" "0-d inout"
npy none.npy '<i4' '(0, 3)' < /dev/null
cp none.npy before.npy
expect 0 "$ACCEL" run scale.cl -g 0 inout:none.npy i32:2
cmp -s none.npy before.npy || fail "a zero-size array changed"
expect 0 "$ACCEL" run where.cl -g 0 out:out.npy:i32[3,0]
same "$(dictionary out.npy)" "{'descr': '<i4', 'fortran_order': False, 'shape': (3, 0), }" "zero size"
same "$(wc -c < out.npy)" 128 "bytes of a zero-size array"
expect 0 "$ACCEL" run where.cl -g 0,5,7 -l 4 out:out.npy:i32[2]
same "$(values d4 out.npy)" "0 0" "an empty grid runs nothing"

# the block that is picked divides the grid
for pair in 1000:250 1024:256 257:1 6:6 514:2; do
    expect 0 "$ACCEL" run where.cl -g "${pair%:*}" "out:out.npy:i32[${pair%:*}]"
    says "-l ${pair#*:} chosen"
done

# ---- the source: defines, includes, names ----

mkdir -p "sub/more headers"
echo '#define FACTOR 5' > "sub/more headers/factor.h"
echo '#include "factor.h"' > sub/middle.h
cat > sub/many.cl << 'END'
#include "middle.h"
#ifndef EXTRA
#define EXTRA 0
#endif
__kernel void first(__global int *out) { out[0] = FACTOR + EXTRA; }
__kernel void second(__global int *out) { out[0] = -FACTOR; }
END
expect 0 "$ACCEL" run sub/many.cl:first -I "sub/more headers" -g 1 out:out.npy:i32[1]
same "$(values d4 out.npy)" "5" "an include path"
expect 0 "$ACCEL" run sub/many.cl:second -I"sub/more headers" -g 1 out:out.npy:i32[1]
same "$(values d4 out.npy)" "-5" "the second kernel"
expect 0 "$ACCEL" run sub/many.cl:first -I "sub/more headers" -DEXTRA -g 1 out:out.npy:i32[1]
same "$(values d4 out.npy)" "6" "-D NAME"
expect 0 "$ACCEL" run sub/many.cl:first -I "sub/more headers" -D EXTRA='(2*50)' -g 1 out:out.npy:i32[1]
same "$(values d4 out.npy)" "105" "-D NAME=VALUE"
echo '#define FACTOR 6' > "sub/more headers/factor.h"
expect 0 "$ACCEL" run sub/many.cl:first -I "sub/more headers" -g 1 out:out.npy:i32[1]
same "$(values d4 out.npy)" "6" "a changed include"
refused 2 "first, second" "$ACCEL" run sub/many.cl -I "sub/more headers" -g 1 out:out.npy:i32[1]
refused 1 "it has first, second" "$ACCEL" run sub/many.cl:third -I "sub/more headers" -g 1 out:out.npy:i32[1]

# names with colons, blanks, other scripts
cp where.cl 'odd: né:x.cl'
expect 0 "$ACCEL" run 'odd: né:x.cl' -g 1 'out:o: né.npy:i32[1]'
expect 0 "$ACCEL" run 'odd: né:x.cl:where' -g 1 'out:o: né.npy:i32[1]'
cp one.npy 'o:n.npy'
expect 0 "$ACCEL" run scale.cl -g 1 'inout:o:n.npy:p:q' i32:2
same "$(values d4 p:q)" "84" "names with colons"
# a path that begins with a dash
expect 0 "$ACCEL" run -g 1 -- where.cl out:-x.npy:i32[1]
rm -- './-x.npy'
# a pipe as input
expect 0 sh -c "cat a.npy | '$ACCEL' run add.cl -g 4 in:/dev/stdin in:b.npy out:sum.npy:f32[4]"
same "$(values f4 sum.npy)" "11 22 33 -36" "an input from a pipe"

# ---- repeat, times, JSON ----

integers 4 3 | npy one.npy '<i4' '(1,)'
expect 0 "$ACCEL" run scale.cl -g 1 --repeat 5 inout:one.npy i32:2
same "$(values d4 one.npy)" "96" "five launches on the same memory"
[ ! -s .out ] || fail "--repeat prints without --time"

expect 0 "$ACCEL" run add.cl -g 4 --time in:a.npy in:b.npy out:sum.npy:f32[4]
for word in device shape compile copy kernel; do
    grep -q "^$word " .out || fail "--time does not tell $word"
done
grep -qE '^compile +[0-9]+\.[0-9]+ ms' .out || fail "compile time"
expect 0 "$ACCEL" run add.cl -g 4 --time --repeat 7 in:a.npy in:b.npy out:sum.npy:f32[4]
has "fastest of 7; median"

expect 0 "$ACCEL" run add.cl:add -g 4 -l 2 --json --repeat 3 in:a.npy in:b.npy out:sum.npy:f32[4]
same "$(json device)" "cpu:0" "JSON device"
same "$(json kernel)" add "JSON kernel"
same "$(json file)" add.cl "JSON file"
same "$(json work_items.0) $(json grid.0) $(json block.0) $(json grid.2)" "4 2 2 1" "JSON shape"
same "$(json repeat)" 3 "JSON repeat"
same "$(json times.clock)" events "JSON clock"
for key in compile_ns copy_in_ns copy_out_ns kernel_min_ns kernel_median_ns kernel_total_ns; do
    [ "$(json times.$key)" -ge 0 ] || fail "JSON $key"
done
[ "$(json times.kernel_min_ns)" -le "$(json times.kernel_median_ns)" ] || fail "min above median"
[ "$(json times.kernel_median_ns)" -le "$(json times.kernel_total_ns)" ] || fail "median above total"
same "$(json outputs)" 1 "JSON outputs"
same "$(json outputs.0.file) $(json outputs.0.type) $(json outputs.0.shape.0)" "sum.npy f32 4" output
# --time adds nothing to a document
expect 0 "$ACCEL" run add.cl -g 4 --json --time in:a.npy in:b.npy out:sum.npy:f32[4]
same "$(json outputs.0.file)" sum.npy "JSON with --time"

# a time that is real: a slow kernel takes longer than a fast one
cat > slow.cl << 'END'
__kernel void slow(uint rounds, __global uint *out)
{
    uint x = 1;
    for (uint i = 0; i < rounds; i++)
        x = x * 1664525u + (x >> 7) + out[0];
    out[0] = x;
}
END
expect 0 "$ACCEL" run slow.cl -g 1 --json u32:30000000 out:out.npy:u32
slow=$(json times.kernel_total_ns)
expect 0 "$ACCEL" run slow.cl -g 1 --json u32:3 out:out.npy:u32
[ "$slow" -gt "$(json times.kernel_total_ns)" ] && [ "$slow" -gt 1000000 ] || fail "times are not real"

# ---- what an object or driver prints is no result ----

chatty=$BUILD_DIR/tests/cli/libchatty_kernel.so
expect 0 "$ACCEL" run "$chatty" -g 2 out:out.npy:i32[2]
same "$(values d4 out.npy)" "42 42" "a chatty kernel"
[ ! -s .out ] || fail "a kernel's words on standard output"
says "printf: loaded"
says "write: running"
says "printf: ending"
expect 0 "$ACCEL" run "$chatty" -g 2 --json out:out.npy:i32[2]
same "$(json kernel)" chat "the one document beside a chatty kernel"
expect 1 "$ACCEL" run "$chatty:nosuch" -g 2 --json out:out.npy:i32[2]
case $(json error) in *"it has chat"*) ;; *) fail "the document of a failure" ;; esac

# ---- with numpy, where it is there: it reads what we write, and we read what it writes ----

if python3 -c 'import numpy' 2> /dev/null; then
    python3 -c 'import numpy; numpy.save("n.npy", numpy.arange(6, dtype="<i4").reshape(2, 3, order="F"))'
    expect 0 "$ACCEL" run scale.cl -g 6 inout:n.npy i32:2
    expect 0 python3 -c 'import numpy
assert (numpy.load("n.npy") == 2 * numpy.arange(6).reshape(2, 3, order="F")).all()
assert numpy.load("sum.npy").tolist() == [11, 22, 33, -36]'
fi

finish
