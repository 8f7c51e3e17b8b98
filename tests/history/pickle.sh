#!/bin/bash
# Python reads the pickle, and finds in it what is in the JSON. pickle.sh SCENARIO
set -eu
command -v python3 > /dev/null || { echo 'skipped: no python3'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" "$work"
python3 "$(dirname "$0")/same.py" "$work/snapshot.json" "$work/snapshot.pickle"
