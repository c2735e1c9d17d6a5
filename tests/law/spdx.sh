#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Each file that can carry one has an SPDX line near its top, with the licence of its part.
status=0

if [ -e .git ] && command -v git >/dev/null 2>&1; then
	files=$(git ls-files --cached --others --exclude-standard)
else
	files=$(find . -type f ! -path './build*' ! -path './.git/*' | sed 's|^\./||')
fi
for f in $files; do
	[ -f "$f" ] || continue
	case $f in
	*.c | *.h | *.def | *.inc | *.cu | *.cuh | *.sh | *.bash | *.fish | *.bats | *.yaml | *.yml | *.[1-9] | *.in | *.tsv) ;;
	Makefile | completions/* | .clang-format | .ci/run) ;;
	*) continue ;;
	esac
	licence='GPL-3.0-or-later'
	case $f in
	src/bench/*) licence='Apache-2.0' ;; # a program of its own, which does not link GSL
	esac
	if ! head -n 5 "$f" | grep -q "SPDX-License-Identifier: $licence"; then
		echo "spdx: $f: no line 'SPDX-License-Identifier: $licence' in the first five"
		status=1
	fi
done
exit $status
