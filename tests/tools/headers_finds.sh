#!/bin/sh
# A header that leans on another, or that is no C++, must be refused by its name.
set -eu
check=$SOURCE_DIR/tools/check-headers
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/accel"
rc=0
printf '#ifndef G\n#define G\nstruct good { int x; };\n#endif\n' > "$tree/accel/good.h"
"$check" "$tree" || rc=$?
[ $rc = 0 ] || exit $rc # 77 where there is no C++ compiler

# finds NAME TEXT
finds() {
    printf "$2" > "$tree/accel/$1.h"
    if "$check" "$tree" 2> "$tree/answer"; then
        echo "not found: $1" >&2
        exit 1
    fi
    grep -q "accel/$1.h does not compile alone" "$tree/answer"
    ! grep -q 'accel/good.h does not' "$tree/answer"
    rm "$tree/accel/$1.h"
}
finds leans '#ifndef L\n#define L\nsize_t size;\n#endif\n'
finds unguarded 'struct twice { int x; };\n'
finds only_c '#ifndef C\n#define C\nint class;\n#endif\n'
finds warns '#ifndef W\n#define W\nstatic inline int f(int x) { int y; return x; }\n#endif\n'
