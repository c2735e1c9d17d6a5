#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bad_input.sh [-v]: the cases of cases.sh, in as many lots at a time as there are processors (JOBS).  A violated case is
# printed with what is wrong (-v: and what the program said).  Cases that known.txt names may be violated; one that is not
# any more must leave that list, which only shrinks.
R=${RIDGE:-$PWD/${BUILD:-build}/ridge}
D=$PWD
export R D
here=$D/tests/robust
jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN)}
asan=
limit=10
! readelf -sW "$R" | grep -q __asan_init || asan=1 limit=60

# judge MODE STATUS COMMAND: one line to the results: held or what is violated, and the command
judge() {
	n=$((n + 1))
	[ $((n % lots)) -eq "$lot" ] || return
	# sanitizers take more address space than that
	[ -z "$asan" ] || [[ $3 != *"ulimit -v"* ]] || return
	why=
	timeout $limit bash -c "$3" >"$W/.out" 2>"$W/.err" </dev/null
	s=$?
	err=$(<"$W/.err")
	[ $s -lt 124 ] || why="$why CRASH-OR-HANG"
	[ $s -eq "$2" ] || why="$why status=$s"
	[[ ! $err =~ AddressSanitizer|runtime\ error|LeakSanitizer ]] || why="$why SANITIZER"
	if [ "$1" = T ]; then
		:
	elif [ $s = 2 ] || [ $s = 3 ] || [ "$1" = L ]; then
		[ "$1" != t ] || [ ! -s "$W/.out" ] || why="$why stdout-not-empty"
		[[ $err =~ error:|usage: ]] || why="$why no-error-text"
		[[ $err =~ hint:\ |usage: ]] || why="$why no-hint"
	else
		[[ $err != *error:* ]] || why="$why error-text"
		! grep -qwE -e '-?nan|-?inf|unlimited' "$W/.out" || why="$why nan-or-inf"
	fi
	if [ -z "$why" ]; then
		printf 'held\t\t%s\n' "$3"
	else
		printf 'violated\texpected %d:%s\t%s\n' "$2" "$why" "$3"
		[ -z "$verbose" ] || head -c 300 "$W/.err" | sed 's/^/    /' >&2
	fi
}
t() { judge t "$1" "$2"; }
S() { judge S "$1" "$2"; }
# one line of --jsonl is refused: an error, and the status of an answer that says no
L() { judge L "$1" "$2"; }
T() { judge T "$1" "$2"; }

# run_lot LOT LOTS FOLDER
run_lot() {
	lot=$1 lots=$2 W=$3 n=0
	export W HOME=$3/home XDG_DATA_HOME=$3/xdg RIDGE_HWDB=$D
	mkdir "$W" && cd "$W" || exit 3
	# shellcheck source=/dev/null
	. "$here/files.sh" && . "$here/cases.sh"
}

verbose=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for ((i = 0; i < jobs; i++)); do
	(run_lot $i "$jobs" "$work/$i" >"$work/$i.results") &
done
wait
awk -F '\t' '
FILENAME ~ /known\.txt$/ { if ($0 !~ /^#/ && $0 != "") known[$0]; next }
{
	n++
	if ($1 == "violated" && $3 in known)
		n_known++
	else if ($1 == "violated") {
		print "VIOLATED: " $2 "\n    " $3
		bad++
	} else if ($3 in known) {
		print "held: remove it from tests/robust/known.txt\n    " $3
		bad++
	}
	seen[$3]
}
END {
	for (k in known)
		if (!(k in seen)) {
			print "no such case: remove it from tests/robust/known.txt\n    " k
			bad++
		}
	printf "bad input: %d cases, %d known violations, %d faults\n", n, n_known, bad
	exit bad > 0 || n < 300
}' "$here/known.txt" "$work"/*.results
