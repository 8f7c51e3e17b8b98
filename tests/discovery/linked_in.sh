# linked_in.sh: a program with libaccel.a in it finds accel-probe beside itself, from any directory, under
# any name, and through a relative path; never in the current directory.
set -u
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/vendors" "$work/other" "$work/links"
cp "$program" "$work/bin/program"
cp "$BUILD_DIR/bin/accel-probe" "$work/bin/"
ln -s "$BUILD_DIR/tests/drivers/libhostile.so" "$work/healthy-.so"
echo "$work/healthy-.so" > "$work/vendors/healthy.icd"
printf '#!/bin/sh\ntouch %s/wrong\n' "$work" > "$work/other/accel-probe"
chmod +x "$work/other/accel-probe"
ln -s ../bin/program "$work/links/program"
export OCL_ICD_VENDORS="$work/vendors"
unset ACCEL_PROBE OCL_ICD_FILENAMES
wanted="1
healthy ok "
failures=0

check() { # WHAT OUTPUT
    [ "$2" = "$wanted" ] || { echo "FAILED: $1: $2"; failures=$((failures + 1)); }
}

cd "$work/other" || exit 1
check "an absolute path" "$("$work/bin/program")"
check "a relative path" "$(../bin/program)"
check "through PATH" "$(PATH="$work/bin:$PATH" program)"
check "through PATH, relative" "$(PATH="../bin:$PATH" program)"
check "a symbolic link" "$("$work/links/program")"
check "another argv[0]" "$(exec -a "$work/other/program" "$work/bin/program")"
rm "$work/bin/accel-probe"
case $("$work/bin/program") in
*helper-missing*) ;;
*) [ -x "$INSTALLED_PROBE" ] || { echo "FAILED: without helper"; failures=$((failures + 1)); } ;;
esac
[ ! -e "$work/wrong" ] || { echo "FAILED: a helper of the current directory ran"; exit 1; }
[ "$failures" = 0 ]
