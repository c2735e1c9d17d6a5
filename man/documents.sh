#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# documents.sh [--list] DOCUMENTS CLAIMS...: figures that documents print, beside the claims with the same ids: what is
# right, and the command line.  For ridge-documents(7); with --list as lines of: id, right, command line.
form=page
if [ "$1" = --list ]; then
	form=list
	shift
fi
documents=$1
shift
tab=$(printf '\t')
awk -F '\t' -v documents="$documents" '
/^#/ { next }
FILENAME == documents { if (NF == 6) { row[++n] = $0; ids[n] = $1 } next }
NF >= 5 {
	# ids stand in brackets before all else: [A-1] [B-2], [A-1, B-2]
	text = $5
	good = 1 + 2 * ($5 ~ /the documents? /) + ($2 !~ /^=/)
	right = $2 !~ /^=/ ? $3 : $3 == 2 ? "no answer: the request is refused" : $3 == 1 ? "no" : "yes"
	while (match(text, /^ *\[[^]]*\]/)) {
		k = split(substr(text, RSTART + 1, RLENGTH - 2), list, /[][, ]+/)
		for (i = 1; i <= k; i++)
			if (good > rank[list[i]]) {
				rank[list[i]] = good
				answer[list[i]] = right ($2 ~ /^=/ ? "" : " (" $2 ")")
				line[list[i]] = $1
			}
		text = substr(text, RSTART + RLENGTH)
	}
}
END {
	for (i = 1; i <= n; i++)
		printf "%s\t%s\t%s\n", row[i], rank[ids[i]] ? answer[ids[i]] : "-", rank[ids[i]] ? line[ids[i]] : "-"
}' "$documents" "$@" | {
	if [ $form = list ]; then
		cut -f 1,7,8
		exit
	fi
	# text that no macro reads
	plain() {
		printf '%s' "$1" | sed -e 's/\\/\\e/g' -e "s/^[.']/\\\\\&&/"
	}
	last=
	while IFS=$tab read -r id verdict where what printed why right line; do
		area=${id%%-*}
		if [ "$area" != "$last" ]; then
			[ -z "$last" ] || echo .El
			printf '.Ss %s\n.Bl -tag -width "STACK-123"\n' "$area"
			last=$area
		fi
		printf '.It %s\n%s\n' "$id" "$(plain "$what")"
		printf '(%s):\n%s, printed as\n' "$where" "$verdict"
		printf '%s;\n' "$(plain "$printed")"
		if [ "$line" = - ]; then
			echo 'no command answers it.'
		else
			printf 'right is\n%s.\n' "$(plain "$right")"
		fi
		[ "$why" = - ] || printf '.br\n%s.\n' "$(plain "$why" | sed 's/\. \([A-Z]\)/.\n\1/g')"
		[ "$line" = - ] || printf '.Bd -literal -compact\nridge %s\n.Ed\n' "$(plain "$line" | sed 's/-/\\-/g')"
	done
	[ -z "$last" ] || echo .El
}
