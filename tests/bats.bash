#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bats.bash FILE.bats [PATTERN]: the tests of a file (or those whose name has PATTERN in it), each in a subshell with
# errexit.  It has what the files use of bats, which can run them too: @test, setup, setup_file, load, run, skip,
# BATS_TEST_DIRNAME, BATS_TEST_TMPDIR.  A test costs a process here, and a quarter of a second of a processor there.

load() {
	# shellcheck disable=SC1090
	. "$BATS_TEST_DIRNAME/$1.bash"
}

# run COMMAND...: status, output and lines hold what it said
run() {
	status=0
	output=$("$@" 2>&1) || status=$?
	mapfile -t lines <<<"$output"
}

# skip WHY: the test ends here, and is not a failure
skip() {
	echo "$1" >"$skipped"
	exit 0
}

setup() { :; }
setup_file() { :; }

# the calls that led to a failure, by their lines of the file: not printed, which a command substitution would take
where() {
	local i
	for ((i = 1; i < ${#FUNCNAME[@]}; i++)); do
		[ "${BASH_SOURCE[i]}" = "$source" ] || continue
		echo "line ${BASH_LINENO[i - 1]}, in ${FUNCNAME[i]}"
	done >"$work/where"
}

file=$1
pattern=${2:-}
BATS_TEST_DIRNAME=$(cd "${file%/*}" && pwd)
work=$(mktemp -d)
touch "$work/where"
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
skipped=$work/skipped
source=$work/${file##*/}

# functions test_1, test_2, ... in the same lines as in the file
names=()
header='^@test "(.*)" \{$'
while IFS= read -r line; do
	if [[ $line =~ $header ]]; then
		eval "names+=(\"${BASH_REMATCH[1]}\")"
		line="test_${#names[@]}() {"
	fi
	printf '%s\n' "$line"
done <"$file" >"$source"
# shellcheck disable=SC1090
. "$source"

n=${#names[@]}
eval "mkdir \"\$work\"/{1..$n}"
echo "1..$n"
status=0
setup_file || exit
failed=0
for ((i = 1; i <= n; i++)); do
	name=${names[i - 1]}
	[[ $name == *"$pattern"* ]] || continue
	(
		BATS_TEST_TMPDIR=$work/$i
		set -eE
		trap where ERR
		setup
		"test_$i"
	) >"$work/log" 2>&1 </dev/null
	if [ $? -ne 0 ]; then
		echo "not ok $i $name"
		sed 's/^/# /' "$work/where" "$work/log"
		failed=1
	elif [ -e "$skipped" ]; then
		echo "ok $i $name # skip $(<"$skipped")"
		rm "$skipped"
	else
		echo "ok $i $name"
	fi
done
exit $failed
