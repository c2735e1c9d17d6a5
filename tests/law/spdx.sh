#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Each file that can carry one has an SPDX line near its top, with the licence of its part.

if [ -e .git ] && command -v git >/dev/null 2>&1; then
	files=$(git ls-files --cached --others --exclude-standard)
else
	files=$(find . -type f ! -path './build*' ! -path './.git/*' | sed 's|^\./||')
fi
[ -n "$files" ] || {
	echo "spdx: no files: is this another user's clone?"
	exit 1
}
checked=
for f in $files; do
	case $f in
	*.c | *.h | *.def | *.inc | *.cu | *.cuh | *.sh | *.bash | *.fish | *.bats | *.yaml | *.yml | *.[1-9] | *.in | *.tsv) ;;
	Makefile | completions/* | .clang-format | .ci/run) ;;
	*) continue ;;
	esac
	[ ! -f "$f" ] || checked="$checked $f"
done
# src/bench is a program of its own, which does not link GSL
# shellcheck disable=SC2086 # names without blanks
awk '
FNR <= 5 && /SPDX-License-Identifier: / {
	licence = FILENAME ~ /^src\/bench\// ? "Apache-2.0" : "GPL-3.0-or-later"
	if (index($0, "SPDX-License-Identifier: " licence))
		seen[FILENAME]
}
END {
	for (i = 1; i < ARGC; i++)
		if (!(ARGV[i] in seen)) {
			print "spdx: " ARGV[i] ": no line with its licence in the first five"
			bad = 1
		}
	exit bad
}' $checked
