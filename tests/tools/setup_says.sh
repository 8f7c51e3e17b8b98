#!/bin/sh
# tools/setup on a machine that lacks something: it must print the command and run just that one.
# The package tools are doubles that only write down how they were called.
set -eu
setup=$SOURCE_DIR/tools/setup
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/bin"
for name in sh sed tr cat env dirname; do
    ln -s "$(command -v $name)" "$tree/bin/$name"
done

# double NAME BODY
double() {
    printf '#!/bin/sh\n%s\n' "$2" > "$tree/bin/$1"
    chmod +x "$tree/bin/$1"
}
double apt-get "echo \"apt-get \$*\" >> '$tree/calls'"
double sudo "echo \"sudo \$*\" >> '$tree/calls'"
double id 'echo 0'
double dpkg-query 'exit 1'

# try ARGUMENT…: runs setup with only the doubles on the path.
try() {
    : > "$tree/calls"
    env -i PATH="$tree/bin" "$@" > "$tree/out" 2>&1
}
expect() {
    grep -q -- "$2" "$tree/$1" || { echo "$1 lacks: $2" >&2; cat "$tree/$1" >&2; exit 1; }
}

try "$setup" demo
expect out 'apt-get install .*cmake'
expect calls '^apt-get .*install .*libjansson-dev'

double id 'echo 1000'
try "$setup" demo
expect out 'sudo apt-get install'
expect calls '^sudo .*apt-get .*install .*cmake'

try ACCEL_NO_SETUP=1 "$setup" demo
[ ! -s "$tree/calls" ] || { echo "ran although ACCEL_NO_SETUP=1" >&2; exit 1; }

double dpkg-query 'echo "install ok installed"'
try "$setup" test
[ ! -s "$tree/calls" ] || { echo "ran although nothing was missing" >&2; exit 1; }

double dpkg-query 'exit 1'
double id 'echo 0'
double apt-get "echo \"apt-get \$*\" >> '$tree/calls'; exit 100"
if try "$setup" demo; then
    echo "a failed install went by unseen" >&2
    exit 1
fi
expect calls 'apt-get .*update'

if try "$setup" nonsense; then
    echo "an unknown purpose was accepted" >&2
    exit 1
fi
