#!/bin/bash
# PyTorch's own reader of snapshots, _memory_viz.py, accepts ours: each view that it has, and it checks
# sums while it draws them. viewer.sh SCENARIO FOLDER
#
# The reader is the file $ACCEL_MEMORY_VIZ, else that of the torch which python3 imports, else the one kept
# in FOLDER. Where ACCEL_TEST_DOWNLOADS is set, it is taken from the smallest wheel of torch that pip
# finds (64 MB; the file is the same on every platform) and kept in FOLDER.
set -eu
scenario=$1
folder=$2
release=2.5.1
command -v python3 > /dev/null || { echo 'skipped: no python3'; exit 77; }

reader=${ACCEL_MEMORY_VIZ:-}
if [ -z "$reader" ]; then
    reader=$(python3 -c 'import importlib.util as u
found = u.find_spec("torch")
print(found.submodule_search_locations[0] + "/cuda/_memory_viz.py" if found else "")' 2> /dev/null) || reader=
fi
[ -n "$reader" ] || reader=$folder/_memory_viz-$release.py

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ ! -f "$reader" ] && [ -n "${ACCEL_TEST_DOWNLOADS:-}" ]; then
    if timeout 200 python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-cache-dir \
        --only-binary=:all: --platform macosx_11_0_arm64 --python-version 3.11 \
        --dest "$work" "torch==$release" > "$work/log" 2>&1; then
        mkdir -p "$folder"
        python3 - "$work"/torch-*.whl "$reader" << 'END'
import sys
import zipfile
text = zipfile.ZipFile(sys.argv[1]).read('torch/cuda/_memory_viz.py')
with open(sys.argv[2], 'wb') as file:
    file.write(text)
END
    else
        echo "skipped: pip cannot get torch $release: $(tail -n 1 "$work/log")"
        exit 77
    fi
fi
if [ ! -f "$reader" ]; then
    echo 'skipped: no _memory_viz.py: set ACCEL_MEMORY_VIZ to one, install torch, or set ACCEL_TEST_DOWNLOADS'
    exit 77
fi

"$scenario" "$work"
python3 "$(dirname "$0")/viewer.py" "$reader" "$work/snapshot.pickle"
python3 "$reader" trace "$work/snapshot.pickle" > "$work/trace" # the program as people run it
[ -s "$work/trace" ]
echo "accepted by $reader"
