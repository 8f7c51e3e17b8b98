# refusals_test.sh: what `accel run` must not do: each refusal has its status, one line that says what
# and what to do, and leaves no file.
. "$SOURCE_DIR/tests/cli/common.sh"

floats 1 2 3 4 | npy a.npy '<f4' '(4,)'
integers 4 1 2 3 4 | npy i.npy '<i4' '(4,)'
cat > mixed.cl << 'END'
__kernel void mixed(__global const float *from, float factor, __local float *part,
                    __global float4 *to)
{
    part[get_local_id(0)] = from[get_global_id(0)];
    to[get_global_id(0)] = part[get_local_id(0)] * factor;
}
END
files="a.npy add.cl i.npy mixed.cl scale.cl"

# ---- arguments that are none ----

for bad in x in: in out: inout: local: local:0 local:-1 local:1k local:99999999999999999999 \
    f32: f32 f32:x f32:1e39 f32:1x "f32: 1" f32:1, f32:,1 f64:1e309 u8:256 u8:-1 u32:4294967296 \
    i8:128 i8:-129 i32:2147483648 i64:9223372036854775808 u64:18446744073709551616 i32:1.5 i32:0x \
    u32: f16:1 bf16:1 c64:1 q8:1 :1 f33:1 f32:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17 \
    out:o.npy out:o.npy: out::f32[1] out:o.npy:f32[ out:o.npy:f32[1 out:o.npy:f32[-1] \
    out:o.npy:f32[1,] out:o.npy:f32[1]x out:o.npy:f32[1.5] out:o.npy:q8[1] out:o.npy:bf16[1] \
    out:o.npy:f32[4294967296,4294967296] out:o.npy:f32[9223372036854775808] inout:a.npy:; do
    refused 2 "argument" "$ACCEL" run scale.cl -g 1 "$bad"
done

# ---- .npy files ----

bad_npy() { # WORD FILE
    refused 1 "$1" "$ACCEL" run scale.cl -g 1 "inout:$2" i32:1
    refused 1 "$2" "$ACCEL" run scale.cl -g 1 "inout:$2:o.npy" i32:1
    rm -f "$2"
}
integers 4 1 2 | npy bad.npy '>i4' '(2,)' && bad_npy big-endian bad.npy
integers 4 1 2 | npy bad.npy '|O' '(1,)' && bad_npy objects bad.npy
integers 4 1 2 | npy bad.npy '<M8[ns]' '(1,)' && bad_npy datetime bad.npy
integers 4 1 2 | npy bad.npy '<m8[s]' '(1,)' && bad_npy datetime bad.npy
integers 4 1 2 | npy bad.npy '<U2' '(1,)' && bad_npy text bad.npy
integers 4 1 2 | npy bad.npy '|S8' '(1,)' && bad_npy text bad.npy
integers 4 1 2 | npy bad.npy '|V8' '(1,)' && bad_npy structured bad.npy
integers 4 1 2 | npy bad.npy "', 'x" '(1,)' && bad_npy "does not know" bad.npy
integers 4 1 2 | npy bad.npy '<i4' '(3,)' && bad_npy "too short" bad.npy
integers 4 1 2 | npy bad.npy '<i4' '(1,)' && bad_npy "too long" bad.npy
integers 4 1 2 | npy bad.npy '<i4' '(4611686018427387904, 4)' && bad_npy overflows bad.npy
integers 4 1 2 | npy bad.npy '<i4' '(1099511627776,)' && bad_npy "too short" bad.npy
integers 4 1 2 | npy bad.npy '<i4' '(-2,)' && bad_npy negative bad.npy
integers 4 1 2 | npy bad.npy '<i4' '(2)' && bad_npy tuple bad.npy
integers 4 1 2 | npy bad.npy '<i4' '(2,)' Maybe && bad_npy fortran_order bad.npy
printf 'no array\n' > bad.npy && bad_npy "not a .npy file" bad.npy
: > bad.npy && bad_npy "not a .npy file" bad.npy
head -c 60 a.npy > bad.npy && bad_npy "inside its .npy header" bad.npy
{ printf '\x93NUMPY\x09\x00'; cat a.npy; } > bad.npy && bad_npy "version 9.0" bad.npy
mkdir folder.npy
refused 1 "folder.npy" "$ACCEL" run scale.cl -g 1 in:folder.npy i32:1
rmdir folder.npy
refused 1 "No such file" "$ACCEL" run scale.cl -g 1 in:none.npy i32:1
if [ "$(id -u)" != 0 ]; then
    cp a.npy secret.npy
    chmod 000 secret.npy
    refused 1 "Permission denied" "$ACCEL" run scale.cl -g 1 in:secret.npy i32:1
    rm -f secret.npy
fi

# ---- arguments against the kernel ----

run() { refused 1 "$1" "$ACCEL" run mixed.cl -g 4 -l 4 "$2" "$3" "$4" "$5"; }
out='out:o.npy:f32[4,4]'
run '"from"' in:i.npy f32:1 local:16 "$out"
run '"from"' f32:1 f32:1 local:16 "$out"
run '"from"' local:16 f32:1 local:16 "$out"
run '"from"' inout:a.npy f32:1 local:16 "$out"
run '"factor"' in:a.npy in:a.npy local:16 "$out"
run '"factor"' in:a.npy f64:1 local:16 "$out"
run '"factor"' in:a.npy i32:1 local:16 "$out"
run '"factor"' in:a.npy f32:1,2 local:16 "$out"
run '"factor"' in:a.npy local:4 local:16 "$out"
run '"part"' in:a.npy f32:1 in:a.npy "$out"
run '"part"' in:a.npy f32:1 f32:1 "$out"
run '"part"' in:a.npy f32:1 local:15 "$out"
run '"to"' in:a.npy f32:1 local:16 out:o.npy:f64[4,4]
run '"to"' in:a.npy f32:1 local:16 out:o.npy:i32[4,4]
run '"to"' in:a.npy f32:1 local:16 out:o.npy:f32[15]
run '"to"' in:a.npy f32:1 local:16 f32:1
refused 2 "4 parameters, but 3 arguments are given" \
    "$ACCEL" run mixed.cl -g 4 -l 4 in:a.npy f32:1 local:16
refused 2 "4 parameters, but 0 arguments are given" "$ACCEL" run mixed.cl -g 4 -l 4
refused 2 "2 parameters, but 3 arguments are given" \
    "$ACCEL" run scale.cl -g 4 -l 4 inout:i.npy i32:1 i32:1
same "$(values d4 i.npy)" "1 2 3 4" "an inout array after refusals"

# ---- shapes ----

refused 2 "multiple of -l" "$ACCEL" run scale.cl -g 5 -l 2 inout:i.npy i32:1
refused 2 "in y" "$ACCEL" run scale.cl -g 4,3 -l 2,2 inout:i.npy i32:1
refused 2 "in z" "$ACCEL" run scale.cl -g 4,4,1 -l 2,2,2 inout:i.npy i32:1
refused 1 "-l 4294967296" "$ACCEL" run scale.cl -g 4294967296 -l 4294967296 inout:i.npy i32:1

# ---- kernels ----

refused 1 "No such file" "$ACCEL" run nosuch.cl -g 1
refused 1 "has no kernel \"nosuch\"" "$ACCEL" run scale.cl:nosuch -g 1 inout:i.npy i32:1
refused 1 "." "$ACCEL" run . -g 1
: > empty.cl
expect 1 "$ACCEL" run empty.cl -g 1
printf '__kernel void bad(__global int *x)\n{\n    x[0] = nosuch;\n}\n' > bad.cl
refused 1 "bad.cl:3" "$ACCEL" run bad.cl -g 1 out:o.npy:i32[1]
printf '__kernel void bad(__global int *x)\n{\n    x[0] = nosuch;\n    x[1] = norsuch;\n}\n' > bad.cl
expect 1 "$ACCEL" run bad.cl -g 1 out:o.npy:i32[1]
says "bad.cl:3"
same "$(grep -c '^accel run: ' .err)" 1 "lines of our own beside the compiler's log"
printf '__kernel void good(__global int *x) { x[0] = 1; }\0' > nul.cl
expect 1 "$ACCEL" run nul.cl -g 1 out:o.npy:i32[1]
printf '\177ELF and nothing else' > broken.o
refused 1 "broken.o" "$ACCEL" run broken.o -g 1
refused 2 "compiled already" "$ACCEL" run broken.o -D X -g 1
refused 2 "compiled already" "$ACCEL" build broken.o -o x.o
rm -f empty.cl bad.cl nul.cl broken.o

# ---- outputs ----

refused 1 "No such file" "$ACCEL" run scale.cl -g 4 inout:i.npy:nodir/o.npy i32:1
refused 1 "not a regular file" "$ACCEL" run scale.cl -g 4 inout:i.npy:/dev/null i32:1
mkdir folder
refused 1 "not a regular file" "$ACCEL" run scale.cl -g 4 inout:i.npy:folder i32:1
refused 1 "not the name of a file" "$ACCEL" run scale.cl -g 4 inout:i.npy:folder/ i32:1
rmdir folder
ln -s nowhere link
refused 1 "link to nowhere" "$ACCEL" run scale.cl -g 4 inout:i.npy:link i32:1
rm link
cat > two.cl << 'END'
__kernel void two(__global int *a, __global int *b)
{
    a[get_global_id(0)] = 1;
    b[get_global_id(0)] = 2;
}
END
refused 2 "written twice" "$ACCEL" run two.cl -g 4 out:o.npy:i32[4] out:./o.npy:i32[4]
refused 2 "written twice" "$ACCEL" run two.cl -g 4 inout:i.npy "inout:$PWD/i.npy"
ln -s i.npy link
refused 2 "written twice" "$ACCEL" run two.cl -g 4 inout:i.npy out:link:i32[4]
rm link
same "$(values d4 i.npy)" "1 2 3 4" "an inout array after refusals"
rm two.cl

# shellcheck disable=SC2086
only $files
finish
