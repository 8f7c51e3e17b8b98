#!/bin/sh
# Plants one violation of each kind and sees check-layers name it; a clean tree must pass.
set -eu
check=$SOURCE_DIR/tools/check-layers
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/base" "$tree/platform" "$tree/core" "$tree/kernel" "$tree/cli" "$tree/memory" \
    "$tree/backends/one" "$tree/backends/two"

# A clean tree: everything that is allowed, and things that only look like a violation.
printf '#include <accel/status.h>\n#include "base/text.h"\n' > "$tree/base/text.c"
printf '#include "base/text.h"\n/* #include "core/device.h" */\n' > "$tree/platform/thread.c"
printf '#include "accel_backend_list.h"\n// names "one"\nconst char *s = "one of";\n' \
    > "$tree/core/registry.c"
printf '#include "core/device.h"\n#include "kernel/lex/token.h"\n' > "$tree/kernel/token.c"
printf '#include "backends/one/pool.h"\n#include "platform/thread.h"\n' > "$tree/backends/one/pool.c"
"$check" "$tree" || { echo "a clean tree was refused" >&2; exit 1; }

# Its arrows, one line an include; what is in a comment is none.
"$check" --edges "$tree" | LC_ALL=C sort > "$tree/answer"
printf 'backends/one backends/one\nbackends/one platform\nbase accel\nbase base\n' > "$tree/wanted"
printf 'core accel_backend_list.h\nkernel core\nkernel kernel\nplatform base\n' >> "$tree/wanted"
cmp "$tree/answer" "$tree/wanted" || { echo "other arrows" >&2; cat "$tree/answer" >&2; exit 1; }

# finds FILE LINE: with that line FILE must be refused, and by its name.
finds() {
    printf '\n%s\n' "$2" > "$tree/$1"
    if "$check" "$tree" > "$tree/answer"; then
        echo "not found: $2 in $1" >&2
        exit 1
    fi
    grep -q "^$1:2: " "$tree/answer" || { echo "not named: $1:2" >&2; cat "$tree/answer"; exit 1; }
    rm "$tree/$1"
}
finds base/bad.c '#include "platform/thread.h"'
finds platform/bad.c '#include "core/device.h"'
finds core/bad.c '#include "kernel/lex/token.h"'
finds core/bad.h '  #  include "backends/one/pool.h"'
finds core/bad.c 'static const char *name = "one";'
finds core/bad.c 'const accel_backend_table *table = accel__backend_cpu();'
finds core/bad.c '/* fine */ static const char *name = "cuda"; /* "" */'
finds memory/bad.c '#include "kernel/lex/token.h"'
finds backends/one/bad.c '#include "backends/two/pool.h"'
finds backends/one/bad.c '#include "core/device.h"'
finds backends/one/bad.c '#include "accel_backend_list.h"'
finds cli/bad.c '#include "base/text.h"'
finds base/bad.c '#include "../core/device.h"'
finds base/bad.c '#include "text.h"'
finds base/bad.c '#include "accel/status.h"'

# A folder that is no known layer.
mkdir "$tree/elsewhere"
echo 'int x;' > "$tree/elsewhere/bad.c"
! "$check" "$tree" > "$tree/answer"
grep -q '^elsewhere/bad.c:1: ' "$tree/answer"
