#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Nothing that is not finished, and no paths of the machine that it was written on, in what is published.
status=0

if [ -e .git ] && command -v git >/dev/null 2>&1; then
	files=$(git ls-files --cached --others --exclude-standard | grep -v '^tests/law/words\.sh$')
else
	files=$(find . -type f ! -path './build*' ! -path './.git/*' ! -name words.sh | sed 's|^\./||')
fi

# no WHAT PATTERN [FLAGS]
no() {
	# shellcheck disable=SC2086 # names without blanks
	found=$(grep -InE $3 -e "$2" -- $files /dev/null)
	if [ -n "$found" ]; then
		printf '%s\n' "$found" | sed "s/^/words: $1: /"
		status=1
	fi
}

no 'not finished' '\b(TODO|FIXME|XXX|HACK|TBD)\b'
no 'not finished' '\b(not (yet )?implemented|placeholder|coming soon|lorem ipsum|stubbed|stub (function|for now))\b' -i
no 'a path of one machine' '(^|[^A-Za-z0-9._$}])/(home|root|work|Users|mnt)/[A-Za-z0-9]'
no 'a conflict of versions' '^(<<<<<<<|>>>>>>>) '
no 'blanks at the end of a line' '[[:blank:]]$'
exit $status
