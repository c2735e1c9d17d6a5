#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every command line of ridge-decisions(7) is answered.
RIDGE=${RIDGE:-$PWD/${BUILD:-build}/ridge}
status=0
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT

sed -n 's/^ridge //p' man/ridge-decisions.7 >"$lines"
while read -r line; do
	said=$(sh -c "'$RIDGE' $line" 2>&1 >/dev/null </dev/null)
	got=$?
	if [ "$got" -gt 1 ]; then
		echo "decisions: ridge $line"
		echo "    exits with $got: $said"
		status=1
	fi
done <"$lines"
# every command that answers a decision stands there
for command in $("$RIDGE" __names); do
	case $command in
	check | hw | model | bench | calibrate | validate | train | plan) continue ;; # the database and what measures it; whole runs
	esac
	grep -q "^$(printf '%s' "$command" | tr - ' ') " "$lines" || {
		echo "decisions: man/ridge-decisions.7 has no line of 'ridge $command'"
		status=1
	}
done
[ "$(wc -l <"$lines")" -ge 25 ] || {
	echo "decisions: too few lines"
	status=1
}
exit $status
