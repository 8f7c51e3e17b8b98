# output_test.sh: output files appear whole or not at all.
. "$SOURCE_DIR/tests/cli/common.sh"

integers 4 1 2 3 4 | npy i.npy '<i4' '(4,)'
cat > two.cl << 'END'
__kernel void two(__global int *a, __global int *b)
{
    size_t i = get_global_id(0);
    a[i] = (int)i;
    b[i] = -(int)i;
}
END

# ---- an old file stays until the new one is whole; its rights, and links to it, stay after that ----

echo old > o.npy
chmod 640 o.npy
ln -s o.npy link
expect 0 "$ACCEL" run scale.cl -g 4 inout:i.npy:link i32:2
same "$(values d4 o.npy)" "2 4 6 8" "written through a link"
[ -L link ] || fail "the link was replaced"
same "$(stat -c %a o.npy)" 640 "rights of a replaced file"
rm link
for mask in 022 077; do
    rm -f o.npy
    expect 0 sh -c "umask $mask; '$ACCEL' run scale.cl -g 4 inout:i.npy:o.npy i32:2"
    same "$(stat -c %a o.npy)" "$([ $mask = 022 ] && echo 644 || echo 600)" "rights with umask $mask"
done
only add.cl i.npy o.npy scale.cl two.cl

# another name of the same file keeps the old content: a rename, not an overwrite
ln i.npy hard
expect 0 "$ACCEL" run scale.cl -g 4 inout:i.npy i32:3
same "$(values d4 hard)" "1 2 3 4" "the old file under its other name"
same "$(values d4 i.npy)" "3 6 9 12" "the new file"
rm hard o.npy

# ---- a limit on the size of files, at every size: both files whole, or no file at all ----

size=$((4 * 100000 + 128))
two() { # BLOCKS of 1024 bytes that a file may have
    bash -c "ulimit -f $1; exec '$ACCEL' run two.cl -g 100000 -l 100 out:a.npy:i32[100000] \
        out:b.npy:i32[100000]"
}
expect 0 two unlimited
same "$(wc -c < a.npy) $(wc -c < b.npy)" "$size $size" "sizes"
rm a.npy b.npy
for blocks in 0 1 64 256 390; do
    echo old > b.npy
    # The smallest limits already stop the compiled kernel from being loaded.
    [ $blocks -lt 64 ] || refused 1 "cannot be written" two $blocks
    expect 1 two $blocks
    same "$(cat b.npy)" old "an old file after a failure"
    rm b.npy
    only add.cl i.npy scale.cl two.cl
done

# ---- a full disk ----

mkdir disk
if mount -t tmpfs -o size=64k accel-test disk 2> /dev/null; then
    trap 'umount "$work/disk"; rm -rf "$work"' EXIT
    refused 1 "No space left" "$ACCEL" run two.cl -g 10000 -l 100 \
        out:disk/a.npy:i32[10000] out:disk/b.npy:i32[10000]
    same "$(ls -A disk)" "" "what is left on a full disk"
    refused 1 "free some space" "$ACCEL" run two.cl -g 20000 -l 100 \
        out:disk/a.npy:i32[20000] out:b.npy:i32[20000]
    same "$(ls -A disk)" "" "what is left on a full disk"
    head -c 60000 /dev/zero > disk/filler
    refused 1 "disk/x.o" "$ACCEL" build two.cl -o disk/x.o
    same "$(ls -A disk)" filler "what build leaves on a full disk"
    umount disk
    trap 'rm -rf "$work"' EXIT
else
    echo "no right to mount: the full disk is not tried"
fi
rmdir disk

# ---- a directory that cannot be written ----

mkdir closed
chmod 555 closed
if [ "$(id -u)" != 0 ]; then
    refused 1 "Permission denied" "$ACCEL" run two.cl -g 4 -l 4 out:closed/a.npy:i32[4] out:b.npy:i32[4]
fi
chmod 755 closed
rmdir closed

# ---- a report that nobody can read is a failure, and a failure leaves no files ----

for option in --time --json; do
    checks=$((checks + 1))
    "$ACCEL" run two.cl -g 4 -l 4 $option out:a.npy:i32[4] out:b.npy:i32[4] > /dev/full 2> .err
    same $? 1 "status with $option into a full device"
done
only add.cl i.npy scale.cl two.cl

# ---- a signal that ends the command leaves no files ----

cat > long.cl << 'END'
__kernel void endless(__global volatile uint *out)
{
    for (uint i = 0; i < 4000000000u; i++)
        out[0] += i;
}
END
for signal in INT TERM HUP; do
    checks=$((checks + 1))
    # A background command of a script ignores SIGINT: env undoes that.
    env --default-signal=INT "$ACCEL" run long.cl -g 1 out:a.npy:u32[1] 2> .err &
    child=$!
    # Its temporary file tells that it is at work.
    for _ in $(seq 300); do
        [ -z "$(find . -name '.accel-*')" ] || break
        sleep 0.1
    done
    [ -n "$(find . -name '.accel-*')" ] || fail "no temporary file while the kernel runs"
    sleep 0.2
    kill -s $signal $child
    for _ in $(seq 100); do
        [ -n "$(jobs -pr)" ] || break
        sleep 0.1
    done
    kill -s KILL $child 2> /dev/null # where the signal did not end it
    wait $child
    status=$?
    [ $status -gt 128 ] && [ $status -ne 137 ] || fail "SIG$signal: exit status $status"
    only add.cl i.npy long.cl scale.cl two.cl
done

finish
