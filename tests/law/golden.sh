#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# golden.sh TABLES: every row of the recomputed worked examples (golden.csv, golden_derived.csv) is a claim, or is argued
# away in tests/claims/argued.tsv; and whatever the documents got wrong is told in ridge-documents(7), and nothing else.
tables=${1:?golden.sh TABLES}
[ -r "$tables/golden.csv" ] || {
	echo "golden: no $tables/golden.csv"
	exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# one field per line of a quoted CSV: id, stated value, verdict
awk '
function fields(line, out,    n, c, i, quoted, text) {
	n = 1; text = ""
	for (i = 1; i <= length(line); i++) {
		c = substr(line, i, 1)
		if (c == "\"") quoted = !quoted
		else if (c == "," && !quoted) { out[n++] = text; text = "" }
		else text = text c
	}
	out[n] = text
	return n
}
FNR > 1 { n = fields($0, f); if (n == 7) print f[1] "\t" f[5] "\t" f[7]; else print "unreadable\t" FILENAME ":" FNR "\t" }
' "$tables/golden.csv" "$tables/golden_derived.csv" | tr -d '\r' >"$work/rows"
cut -f 1 "$work/rows" | sort >"$work/ids"

# ids stand in brackets before all else in the citation, the last field: [A-1] [B-2], [A-1, B-2]
grep -hv '^#' tests/claims/*.tsv | cut -f 5 | grep -oE '\[[A-Z]+-[0-9]+(, *[A-Z]+-[0-9]+)*\]' | grep -oE '[A-Z]+-[0-9]+' |
	sort -u >"$work/claimed"
grep -v '^#' tests/claims/argued.tsv | awk -F '\t' 'NF == 2 && $2 != "" { print $1 }' | sort >"$work/argued"

bad=$(grep -v '^#' tests/claims/argued.tsv | awk -F '\t' 'NF != 2 || $2 == ""')
[ -z "$bad" ] || { echo "golden: argued.tsv: a line is 'id TAB reason': $bad"; status=1; }
for id in $(comm -12 "$work/claimed" "$work/argued"); do
	echo "golden: $id is claimed and argued away"
	status=1
done
for id in $(comm -13 "$work/ids" "$work/argued"); do
	echo "golden: argued.tsv: there is no row $id"
	status=1
done
sort -u "$work/claimed" "$work/argued" >"$work/done"
open=$(comm -23 "$work/ids" "$work/done")
if [ -n "$open" ]; then
	# shellcheck disable=SC2086 # one id per word
	echo "golden: $(echo $open | wc -w) rows are no claims:" $open
	status=1
fi
# ids that nobody knows are slips
if [ -r "$tables/facts.md" ]; then
	grep -oE '\b[A-Z]+-[0-9]+\b' "$tables/facts.md" | sort -u - "$work/ids" >"$work/known"
	for id in $(comm -23 "$work/claimed" "$work/known"); do
		echo "golden: [$id] is no row of the worked examples"
		status=1
	done
fi
# what is wrong or rounded is in the manual, and nothing else: id, verdict, the very figure
tab=$(printf '\t')
grep -E "$tab(wrong|rounded)\$" "$work/rows" | cut -f 1,3 | sort >"$work/mistaken"
grep -v '^#' man/documents.tsv | cut -f 1,2 | sort >"$work/told"
diff "$work/mistaken" "$work/told" >"$work/differ" || {
	echo "golden: man/documents.tsv has other rows (>) than the tables (<):"
	grep '^[<>]' "$work/differ"
	status=1
}
while IFS=$tab read -r id stated verdict; do
	printed=$(grep "^$id$tab" man/documents.tsv | cut -f 5 | tr -d '$')
	case $id in
	COMM-29 | ROOF-14 | ROOF-15 | STACK-17 | STACK-123 | COMP-03) ;; # said in other words: 50 % for 2, above 1, ...
	*)
		case $verdict$tab$printed in
		ok* | derived* | *"$tab$stated" | *"$tab$stated"[!0-9.]*) ;;
		*)
			echo "golden: $id: the document prints $stated, man/documents.tsv says $printed"
			echo "$id" >>"$work/slips"
			;;
		esac
		;;
	esac
done <"$work/rows"
[ ! -s "$work/slips" ] || status=1
[ "$(wc -l <"$work/ids")" -ge 400 ] || { echo "golden: the tables are shorter than they were"; status=1; }
exit $status
