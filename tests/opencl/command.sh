#!/bin/bash
# command.sh: `accel run` and `accel build` on opencl:0, against cpu:0.   driver.sh CONFIGURATION command.sh
vendors=$OCL_ICD_VENDORS
. "$SOURCE_DIR/tests/cli/common.sh"
export OCL_ICD_VENDORS="$vendors"

cat > odd.cl << 'END'
int twice(int x)
{
    __constant int factors[2] = {2, 3};
    return x * factors[0];
}

inline int at(__global const int *from, size_t i)
{
    return from[i];
}

__kernel void odd(__global const int *a, __global const int b[], __global int (*quotients)[1],
                  __global int *all, const float f)
{
    const int i = get_global_id(0);
    quotients[i][0] = at(a, i) / b[i] + (int)f;
    all[i] = a[i];
    all[i] %= b[i];
    if (all != NULL) {
        __local int tile[8];
        tile[get_local_id(0)] = twice(all[i]);
        work_group_barrier(CLK_LOCAL_MEM_FENCE);
        all[i] = tile[get_local_size(0) - 1 - get_local_id(0)] + ctz((uchar)(i + 4));
    }
}
END
integers 4 5 4294967289 2147483647 2147483648 0 13 100 4294967196 | npy a.npy '<i4' '(8,)'
integers 4 2 0 4294967295 4294967295 0 5 7 4294967293 | npy b.npy '<i4' '(8,)'

# The same numbers from both, divisions by zero and overflowing ones among them.
run() {
    expect 0 "$ACCEL" run "$1" -d "$2" -g 8 -l 4 in:a.npy in:b.npy "out:$3q.npy:i32[8]" \
        "out:$3m.npy:i32[8]" f32:1.5
}
run odd.cl cpu:0 cpu
run odd.cl opencl:0 cl
cmp -s cpuq.npy clq.npy && cmp -s cpum.npy clm.npy || fail "cpu:0 and opencl:0 differ"

# An object of `accel build`, and nothing but a whole one.
expect 0 "$ACCEL" build odd.cl -d opencl:0 -o odd.o
rm clq.npy clm.npy
run odd.o opencl:0 cl
cmp -s cpuq.npy clq.npy && cmp -s cpum.npy clm.npy || fail "source and object differ"
head -c 1000 odd.o > cut.o
refused 1 "not whole" "$ACCEL" run cut.o -d opencl:0 -g 8
refused 1 "no ELF file" "$ACCEL" run odd.o -d cpu:0 -g 8
refused 2 "compiled already" "$ACCEL" run odd.o -d opencl:0 -g 8 -D X

# What the driver's compiler says names the user's file and line.
printf '\n__kernel void bad(__global int *x)\n{\n    __local struct { int a : 3; } s;\n    x[0] = s.a;\n}\n' > bad.cl
expect 1 "$ACCEL" run bad.cl -d opencl:0 -g 1 out:o.npy:i32[1]
says "bad.cl:4"

finish
