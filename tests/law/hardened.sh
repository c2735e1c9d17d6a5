#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# hardened.sh [FILE...]: the program and the shared library are hardened: stack protector, fortified C library calls,
# full RELRO, position independent, no executable stack, and on x86 the notes of control-flow enforcement.
BUILD=${BUILD:-build}
[ $# -gt 0 ] || set -- "$BUILD/ridge" "$BUILD/libridge.so"
status=0

command -v readelf >/dev/null 2>&1 || {
	echo "hardened: readelf is not installed: it comes with binutils"
	exit 1
}

# has FILE WHAT TEXT PATTERN
has() {
	printf '%s\n' "$3" | grep -Eq -e "$4" || {
		echo "hardened: $1: no $2"
		status=1
	}
}

for file in "$@"; do
	[ -r "$file" ] || {
		echo "hardened: no $file"
		status=1
		continue
	}
	head=$(readelf -hW "$file")
	segments=$(readelf -lW "$file")
	dynamic=$(readelf -dW "$file")
	names=$(readelf -sW --dyn-syms "$file")
	has "$file" "position-independent code" "$head" 'Type: +DYN'
	has "$file" "RELRO segment" "$segments" 'GNU_RELRO'
	has "$file" "immediate binding: RELRO is partial" "$dynamic" 'BIND_NOW|FLAGS_1.*NOW'
	has "$file" "segment that makes the stack not executable" "$segments" 'GNU_STACK .* RW +0x'
	has "$file" "stack protector" "$names" '__stack_chk_fail'
	case $file in
	*.so) ;;
	*) has "$file" "mark of a position-independent program" "$dynamic" 'FLAGS_1.*PIE' ;;
	esac
	# sanitizers check these calls themselves
	case $names in
	*__asan_init*) ;;
	*) has "$file" "fortified call (__*_chk)" "$names" '__[a-z]+_chk(@|$)' ;;
	esac
	case $head in
	*X86-64* | *"Intel 80386"*)
		notes=$(readelf -nW "$file")
		has "$file" "note of indirect branch tracking" "$notes" 'x86 feature:.*IBT'
		has "$file" "note of a shadow stack" "$notes" 'x86 feature:.*SHSTK'
		;;
	esac
done
exit $status
