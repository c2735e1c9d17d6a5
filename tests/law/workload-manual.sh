#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every key that a file of workloads may have, and every operator with its dimensions, stands in ridge-workload(5); the
# models and jobs that the page shows are right.
RIDGE=${RIDGE:-$PWD/${BUILD:-build}/ridge}
page=man/ridge-workload.5
status=0

fault() {
	echo "workload-manual: $*"
	status=1
}

# rows of the schema tables: .key = "name", MACRO("name", ...) and MACRO(struct type, "name", ...)
sources=
for f in workload layers mixers storage; do
	[ ! -f "src/db/$f.c" ] || sources="$sources src/db/$f.c"
	[ ! -f "src/db/$f.h" ] || sources="$sources src/db/$f.h"
done
# shellcheck disable=SC2086 # several names
keys=$(cat $sources | tr '\n' ' ' | grep -oE '(\.key = |[A-Z_]+\( *(struct [a-z_]+, *)?)"[a-z0-9_]+"' | sed 's/.*"\(.*\)"/\1/' | sort -u)
[ "$(printf '%s\n' "$keys" | wc -l)" -gt 40 ] || fault "$sources: few keys found: $keys"
for key in $keys; do
	grep -qwE "^\.(It )?Ic .*$key" "$page" || fault "$page says nothing of '$key'"
done

# one line for each operator, continued lines joined
operators=$(sed -e '/^\/\*/,/\*\/$/d' -e '/^\/\*.*\*\/$/d' src/model/layer/op.def | tr '\n' ' ' | sed 's/OP(/\
/g' | sed -n 's/^\([a-z0-9_]*\), .*/&/p')
[ -n "$operators" ] || fault "src/model/layer/op.def: no operators found"
printf '%s\n' "$operators" | while IFS= read -r operator; do
	kind=${operator%%,*}
	entry=$(sed -n "/^\.It Cm .*$kind/,/^\.\(It\|El\)/p" "$page" | tr '\n' ' ')
	[ -n "$entry" ] || echo "the operator '$kind'"
	for dim in $(printf '%s\n' "$operator" | grep -oE 'DIM(_OR)?\([a-z]+' | sed 's/.*(//'); do
		case " $entry " in
		*" $dim "*) ;;
		*) [ -z "$entry" ] || echo "the dimension '$dim' of '$kind'" ;;
		esac
	done
done >"${TMPDIR:-/tmp}/ridge-law.$$"
while IFS= read -r what; do
	fault "$page says nothing of $what"
done <"${TMPDIR:-/tmp}/ridge-law.$$"
rm -f "${TMPDIR:-/tmp}/ridge-law.$$"

# the displays of the page that are whole files
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
awk -v folder="$folder" '
	/^\.Bd / { n++; show = 1; next }
	/^\.Ed/ { show = 0 }
	show { print > (folder "/shown" n ".yaml") }' "$page"
n=0
for file in "$folder"/*.yaml; do
	grep -q '^format: 1$' "$file" || continue
	n=$((n + 1))
	command=$(sed -n 's/^command: //p' "$file")
	if [ -n "$command" ]; then
		said=$("$RIDGE" "$command" "$file" 2>&1)
	else
		said=$("$RIDGE" model show "$file" 2>&1)
	fi
	[ $? -le 1 ] || fault "an example of $page is refused: $said"
done
[ "$n" -eq 3 ] || fault "$page shows $n whole files, not 3"
exit $status
