#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# keys.sh ARRAY <src/db/FILE.c: the keys of one schema table with their help, as items of a list.  For splice.sh.
awk -v array="$1" '
# the next string literal of row, adjacent ones joined; "" at the end
function literal(    text) {
	if (!match(row, /"[^"]*"/))
		return ""
	do {
		text = text substr(row, RSTART + 1, RLENGTH - 2)
		row = substr(row, RSTART + RLENGTH)
	} while (match(row, /^[[:space:]]*"[^"]*"/) && match(row, /"[^"]*"/))
	return text
}
function item(    key, words, help, next_one) {
	key = literal()
	if (row_is_choice)
		words = literal()
	while ((next_one = literal()) != "")
		help = next_one
	if (key == "")
		return
	gsub(/\|/, " , ", words)
	sub(/^[.\047]/, "\\\\\\&&", help)
	print ".It Ic " key (words != "" ? " Pq Cm " words : "") "\n" help
}
$0 ~ "^static const struct field " array "\\[\\]" { inside = 1; next }
inside && (/^    [A-Z]+\(/ || /^    \{/ || /^};/) {
	item()
	row = ""
	row_is_choice = /^    CHOICE/
}
/^};/ { inside = 0 }
inside { row = row " " $0 }'
