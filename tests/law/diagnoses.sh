#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The command line of every cause is answered, with the examples that stand in it.
RIDGE=${RIDGE:-$PWD/${BUILD:-build}/ridge}
status=0
n=0
for file in hwdb/diagnoses/*.yaml; do
	line=$(sed -n -E 's/^command: "(.*)"$/\1/p' "$file" | sed -E 's/\{[a-z0-9_]+\|([^}]*)\}/\1/g')
	if [ -z "$line" ]; then
		echo "diagnoses: $file has no line 'command: \"...\"'"
		status=1
		continue
	fi
	n=$((n + 1))
	said=$(sh -c "'$RIDGE' $line" 2>&1 >/dev/null </dev/null)
	got=$?
	if [ "$got" -gt 1 ]; then
		echo "diagnoses: $file: ridge $line"
		echo "    exits with $got: $said"
		status=1
	fi
done
# what a program prints is what can be typed: the first cause's line, with the figures of a question
line=$("$RIDGE" diagnose --gpu-util 42% --step 1s --parts comm=450ms --get causes.0.command) || exit 1
sh -c "'$RIDGE' ${line#ridge }" >/dev/null || [ $? -eq 1 ] || {
	echo "diagnoses: '$line' is refused"
	status=1
}
[ "$n" -gt 10 ] || {
	echo "diagnoses: only $n causes"
	status=1
}
exit $status
