# random_test.sh: `accel random` does what its help says, and the known answers hold.
. "$SOURCE_DIR/tests/cli/common.sh"

# ---- files ----

expect 0 "$ACCEL" random 'raw:u32[8]' -o words.npy
same "$(values x4 words.npy)" "64a3e0f6 d72e25ab 0be1367b 53eccf2d 252d372a d70d580d 15614e1c 0dfa50b9" \
    "the first words of the default seed"
same "$(dictionary words.npy)" "{'descr': '<u4', 'fortran_order': False, 'shape': (8,), }" "its header"
[ ! -s .out ] || fail "random prints without --json"
expect 0 "$ACCEL" random 'raw:u32[4]' --seed 0 -o zero.npy
same "$(values x4 zero.npy)" "6627e8d5 e169c58d bc57ac4c 9b00dbd8" "seed 0"
expect 0 "$ACCEL" random 'raw:u32[2,2]' --seed=-1 --offset 4 -o a.npy
expect 0 "$ACCEL" random 'raw:u32[2,2]' --seed 18446744073709551615 --offset 4 -o b.npy
cmp -s a.npy b.npy || fail "-1 is not the seed 2^64 - 1"
same "$(dictionary a.npy)" "{'descr': '<u4', 'fortran_order': False, 'shape': (2, 2), }" "2-D header"
expect 0 "$ACCEL" random 'integers(-2,2):i8[1000]' -o i.npy
same "$(values d1 i.npy | tr ' ' '\n' | sort -n | uniq | tr '\n' ' ')" "-2 -1 0 1 2 " "all integers"
expect 0 "$ACCEL" random 'bernoulli(1):bool[3]' -o t.npy
same "$(values u1 t.npy)" "1 1 1" "certain trials"
expect 0 "$ACCEL" random 'uniform:f64[0]' -o empty.npy
same "$(values f8 empty.npy)" "" "an empty array"
only a.npy add.cl b.npy empty.npy i.npy scale.cl t.npy words.npy zero.npy

# ---- hashes: docs/random.md has the same ----

sed -n 's/^| `\([^`]*\)` | `\([0-9a-f]\{16\}\)` | `\([0-9a-f]\{16\}\)` |$/\1 \2 \3/p' \
    "$SOURCE_DIR/docs/random.md" > answers
[ "$(wc -l < answers)" -ge 20 ] || fail "docs/random.md has fewer than 20 known answers"
while read -r draw large small; do
    expect 0 "$ACCEL" random "$draw[16777216]" --hash
    same "$(cat .out)" "$large" "$draw"
    expect 0 "$ACCEL" random "$draw[100003]" --offset 17179868672 --hash
    same "$(cat .out)" "$small" "$draw near a carry"
done < answers

# ---- JSON ----

expect 0 "$ACCEL" random 'normal:f32[10,3]' --seed 5 --offset 8 --hash --json
same "$(json distribution) $(json type) $(json shape.1) $(json device)" "normal f32 3 cpu:0" "JSON"
same "$(json seed) $(json offset) $(json next_offset) $(json file)" "5 8 40 null" "its numbers"
expect 0 "$ACCEL" random 'normal:f32[10,3]' --seed 5 --offset 8 --hash
hash=$(cat .out)
expect 0 "$ACCEL" random 'normal:f32[10,3]' --seed 5 --offset 8 -d cpu:0 -o n.npy --json
same "$(json hash) $(json file)" "$hash n.npy" "JSON with a file"

# ---- refusals: nothing is written ----

rm -f ./*.npy answers
refused 2 "give one DIST" "$ACCEL" random --hash
refused 2 "one of -o and --hash" "$ACCEL" random 'raw:u32[4]'
refused 2 "one of -o and --hash" "$ACCEL" random 'raw:u32[4]' -o x.npy --hash
refused 2 "unknown distribution" "$ACCEL" random 'poisson:f32[4]' --hash
refused 2 "unknown type" "$ACCEL" random 'raw:u99[4]' --hash
for shape in '' '[]' '[4' '[4,]' '[-4]' '[4]x' '[4][4]'; do
    refused 2 "shape" "$ACCEL" random "raw:u32$shape" --hash
done
refused 2 "overflows" "$ACCEL" random 'raw:u32[4294967296,4294967296]' --hash
refused 2 "tells no type" "$ACCEL" random 'raw' --hash
refused 2 "bounds" "$ACCEL" random 'integers:i8[4]' --hash
refused 2 "bounds" "$ACCEL" random 'integers(1):i8[4]' --hash
refused 2 "probability" "$ACCEL" random 'bernoulli(x):u8[4]' --hash
refused 2 "parameters" "$ACCEL" random 'normal(1):f32[4]' --hash
for seed in 18446744073709551616 -9223372036854775809 1.0 '' x; do
    refused 2 "--seed" "$ACCEL" random 'raw:u32[4]' --seed="$seed" --hash
done
for offset in 1 2 3 5 -4 18446744073709551616; do
    refused 2 "--offset" "$ACCEL" random 'raw:u32[4]' --offset="$offset" --hash
done
refused 2 ".npy files do not have" "$ACCEL" random 'normal:bf16[4]' -o x.npy
expect 1 "$ACCEL" random 'uniform:u32[4]' -o x.npy
says "it takes f16"
expect 1 "$ACCEL" random 'integers(0,300):u8[4]' -o x.npy
says "no range of that type"
expect 1 "$ACCEL" random 'raw:u32[8]' --offset 18446744073709551608 -o x.npy
says "would not stay below 2^64"
expect 1 "$ACCEL" random 'raw:u32[4]' -o missing/x.npy
only add.cl scale.cl

finish
