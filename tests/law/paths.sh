#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every file and folder that HACKING.md and ridge-internals(7) name exists: words between backquotes, or after .Pa, that
# have a slash or the ending of a file.  A part in capitals (NAME, GPU-ENGINE) stands for any, `*` too; a name without a
# folder may be in any.
status=0
list=$(mktemp)
trap 'rm -f "$list"' EXIT
files=$(find . \( -name .git -o -name 'build*' \) -prune -o -type f -print)

exists() {
	case $1 in
	build/* | build-asan/*) return 0 ;; # what make writes
	*/*)
		# shellcheck disable=SC2086 # the pattern is to be filled in
		set -- $1
		[ -e "$1" ]
		;;
	*) printf '%s\n' "$files" | grep -q "/$(printf %s "$1" | sed 's/\./\\./g; s/\*/[^\/]*/g')\$" ;;
	esac
}

for page in HACKING.md man/ridge-internals.7; do
	{
		# shellcheck disable=SC2016 # backquotes of Markdown
		grep -o '`[^` ]*`' "$page" | tr -d '`'
		sed -n 's/^\.\(It \|Pq \)\{0,1\}Pa //p' "$page" | tr ' ' '\n'
	} | grep -E '^[A-Za-z0-9_.*/-]+$' |
		grep -E '^(src|include|hwdb|workloads|tests|man|completions|\.ci)/|\.(c|h|def|sh|tsv|md|csv|yaml|bats|mk)$' |
		sort -u >"$list"
	while read -r path; do
		pattern=$path
		case $path in *.md) ;; *) pattern=$(printf %s "$path" | sed 's/[A-Z][A-Z-]*\([/._]\|$\)/*\1/g') ;; esac
		exists "$pattern" || {
			echo "$page: there is no $path"
			status=1
		}
	done <"$list"
done
exit "$status"
