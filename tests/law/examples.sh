#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every example of every command runs, as a shell would run it, and exits with the status that its row says.
RIDGE=${RIDGE:-$PWD/${BUILD:-build}/ridge}
status=0
n=0
tab=$(printf '\t')
lines=$(mktemp)
said=$(mktemp)
trap 'rm -f "$lines" "$said"' EXIT

# examples call the program by its name
folder=$(dirname "$RIDGE")
PATH=$folder:$PATH
export PATH

"$RIDGE" __lines >"$lines" || exit 1
while IFS=$tab read -r wanted line; do
	n=$((n + 1))
	case $line in
	"ridge "*)
		echo "examples: '$line' must not begin with the program's name"
		status=1
		continue
		;;
	esac
	sh -c "ridge $line" >/dev/null 2>"$said" </dev/null
	got=$?
	if [ "$got" -ne "$wanted" ]; then
		echo "examples: ridge $line"
		echo "    exits with $got, its row says $wanted"
		sed 's/^/    /' "$said"
		status=1
	fi
done <"$lines"
# jobs are examples too: each is answered by the command that it names
names=$("$RIDGE" __names)
for job in workloads/jobs/*.yaml; do
	command=$(sed -n 's/^command: *//p' "$job")
	printf '%s\n' "$names" | grep -qx -- "$command" || continue
	"$RIDGE" "$command" "$job" >/dev/null 2>"$said"
	got=$?
	if [ "$got" -gt 1 ]; then
		echo "examples: ridge $command $job"
		echo "    exits with $got"
		sed 's/^/    /' "$said"
		status=1
	fi
done
for command in $names; do
	words=$(printf '%s' "$command" | tr - ' ')
	if ! grep -q "^[0-3]$tab$words\( \|\$\)" "$lines"; then
		echo "examples: 'ridge $command' has no example"
		status=1
	fi
done
[ "$n" -gt 0 ] || status=1
exit $status
