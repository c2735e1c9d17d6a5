#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# No unfinished work, no paths of one machine, and the words of the field, in American spelling.
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

# old PATTERN INSTEAD [FLAGS]: in texts and comments of the program and the manual; names of options and of keys of
# files (quantisation:, --utilisation) stay
old() {
	# shellcheck disable=SC2086 # names without blanks
	found=$(grep -InE $3 -e "$1" -- $texts /dev/null |
		grep -vE '"[a-z_]*(quantis|optimis|utilis)[a-z_]*"|(--|\\\\-)[a-z-]*utilis|\b(quantis|utilis)[a-z]*_|\.(It )?(Ic|Li|Cm) ')
	if [ -n "$found" ]; then
		printf '%s\n' "$found" | sed "s/^/words: write $2: /"
		status=1
	fi
}
texts=$(printf '%s\n' "$files" | grep -E '^(src|include|man)/.*\.([ch]|def|[157])$|^(README|HACKING)\.md$')
old '\bmodelled\b' 'modeled'
old '\b(neighbour|colour)(s|ing|ed)?\b' 'neighbor, color'
old '\b[Oo]ptimis(e[ds]?|ing|ations?)\b' 'optimize'
old '\bmatrix products?\b' 'GEMM' -i
old '\bhidden width\b' 'hidden size'
old '\b(key and value|key/value) heads\b' 'KV heads'
old '\bso many\b' 'n, or what is counted'
old '\b(are|is) two questions\b' 'cannot be combined with'
old '"[^"]*\b(so many|of its own|of their own|at most so|nobody|whoever|stands? in|lies? between)\b[^"]*"' 'it in plain words'
old '"[^"]*\b(users each|a whole answer|to the first token|at the roof|must be more than|is more than 0)\b[^"]*"' 'the name of the quantity'
exit $status
