# SPDX-License-Identifier: GPL-3.0-or-later
# Compare the loops of one source for one target (-v source= -v target=) with loops.txt, which comes first; what is wrong
# is printed.  A kernel has a loop of its operation, and none without: the compiler may have split a loop and emptied a
# part of it.  Loops of a few instructions are jumps that synchronize; those that store to shared memory fill tiles.
function fault(text) {
	print source ", target " target ", " text
	bad = 1
}
BEGIN { FS = "\t" }
NR == FNR {
	if ($1 == source && ($6 == "*" || index(" " $6 " ", " " target " "))) {
		kernel[++n] = $2
		operation[n] = $3
		least[n] = $4
		most[n] = $5
	}
	next
}
FNR == 1 { FS = " " }
{
	$0 = $0
	split("", count)
	for (i = 3; i <= NF; i++) {
		split($i, part, "=")
		count[part[1]] = part[2]
	}
	for (k = 1; k <= n; k++) {
		if (!index($1, kernel[k]))
			continue
		if (count[operation[k]] >= least[k] && $2 <= most[k] * count[operation[k]])
			found[k] = 1
		if ($2 > 8 && !count[operation[k]] && !("STS" in count))
			fault(kernel[k] ": a loop of " $2 " instructions without " operation[k] ": " $0)
	}
}
END {
	for (k = 1; k <= n; k++)
		if (!found[k])
			fault(kernel[k] ": no loop of " least[k] " " operation[k] " in at most " most[k] " instructions each")
	if (!n)
		fault("nothing is known of it")
	exit bad
}
