#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What leaving runs out says of the constants of stacks, as src/ask/validate/cross.def has it (`make refit` writes it): a
# fitted constant that deviates from its class earns at least 0.1 points of the left-out error, or is not there; what
# deviates is in the table; and errors with a GPU or a source left out keep their limits.
# CROSS_DEF and STACKS: other files, for the test of this test.
def=${CROSS_DEF:-src/ask/validate/cross.def}
stacks=${STACKS:-hwdb/stacks}
status=0

faults=$(sed -n 's/^TRAIT("\(.*\)", "\(.*\)", "\(.*\)", "\(.*\)", \(.*\), true)$/\1 \2 \5/p' "$def" |
	while read -r stack key effect; do
		awk -v e="$effect" 'BEGIN { exit !(e < 0.1) }' && grep -q "[{ ]$key: " "$stacks/$stack.yaml" &&
			echo "cross: $stack: $key is worth $effect points of the left-out error: leave it out, its class has one"
	done)
[ -z "$faults" ] || {
	echo "$faults"
	status=1
}

for f in "$stacks"/*.yaml; do
	grep -q '^extends:' "$f" || continue
	stack=$(basename "$f" .yaml)
	# shellcheck disable=SC2013
	for key in $(sed -n '/^time:/,/^[a-z]*: *$/p' "$f" | grep -o '[a-z0-9_]*: \[[^]]*, steps\]' | cut -d: -f1); do
		grep -q "^TRAIT(\"$stack\", \"$key\"" "$def" || {
			echo "cross: $stack: $key is fitted, and $def does not say what it is worth: make refit"
			status=1
		}
	done
done

# each fitted constant states its rows, its groups and its effect on the left-out error
for rows in sigma counters network; do
	grep -q "^CONSTANT(.*, \"[a-z]*[.]*${rows}[^\"]*\", .*, [1-9][0-9]*, [1-9][0-9]*, -*[0-9.]*)$" "$def" || {
		echo "cross: $def has no constants of $rows: make refit"
		status=1
	}
done

# A fabric left out goes by the others of its transport, with the interval of a fabric that nobody measured.
# rows, what was left out, and the most that the mean and the median may be
while read -r rows how mean median; do
	sed -n "s/^CROSS(\"$rows\", \"$how left out\", \(.*\))$/\1/p" "$def" |
		awk -F, -v mean="$mean" -v median="$median" '{ n++; bad = $3 > mean || $4 > median } END { exit !(n == 1 && !bad) }' || {
		echo "cross: $rows, $how left out: above $mean % mean or $median % median, or missing"
		status=1
	}
done <<EOT
train gpu 8.5 6.5
train source 9 7
train model 8 6
train group 8 6
memory gpu 6.3 4
memory source 6.3 4
memory model 6.3 4
memory group 6.3 4
comm gpu 11 7
comm source 9 5
comm model 12 8
comm group 9 5
EOT

# intervals of what was left out: share of rows and of groups inside, least and most; half-width at most
while read -r rows how low high group wide; do
	sed -n "s/^CROSS(\"$rows\", \"$how\", \(.*\))$/\1/p" "$def" | tr '_' ' ' |
		awk -F, -v l="$low" -v h="$high" -v g="$group" -v w="$wide" \
			'{ n++; bad = $5 < l || $5 > h || $6 < g || $7 > w } END { exit !(n == 1 && !bad) }' || {
		echo "cross: $rows, $how: not $low to $high % of rows and $group % of groups inside, or wider than $wide %"
		status=1
	}
done <<EOT
train source.left.out 75 85 70 15
train model.left.out 75 85 70 15
train gpu.left.out 75 85 70 15
train group.left.out 75 85 70 15
train no.match 75 90 70 60
memory no.match 75 90 60 90
memory source.left.out 75 85 70 12
memory model.left.out 75 85 70 12
memory gpu.left.out 75 85 70 12
memory group.left.out 75 85 70 12
comm source.left.out 75 90 70 16
comm model.left.out 75 85 70 16
comm gpu.left.out 75 85 70 16
comm group.left.out 75 90 70 16
EOT

sh man/cross.sh "$def" | while read -r line; do
	grep -qxF "$line" README.md || echo "cross: README.md lacks: $line"
done | grep . && status=1

# the program runs on the rows that are shipped, every tenth of them; what it finds there is no limit
refit=${BUILD:-build}/refit
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
if [ -x "$refit" ]; then
	for rows in train memory; do
		mkdir -p "$dir/rows"
		awk 'NR == 1 || NR % 10 == 0' "tests/corpus/$rows.csv" >"$dir/rows/$rows.csv"
		n=$(RIDGE_HWDB=${RIDGE_HWDB:-.} "$refit" "$dir/rows" "$rows" --leave-out gpu 2>/dev/null | grep '"gpu left out"' | grep -vc nan)
		[ "$n" = 1 ] || {
			echo "cross: $refit $rows: every tenth row of tests/corpus was not refitted"
			status=1
		}
	done
fi

# a fabric that is left out is predicted by the others: what its own file says does not count
left_out() { RIDGE_HWDB=$1 "$refit" tests/corpus comm 2>/dev/null | sed -n 's/^CROSS("comm", "\(.* left out\)", [0-9]*, [0-9]*, \([^,]*\), \([^,]*\),.*/\1,\2,\3/p'; }
if [ -x "$refit" ]; then
	scaled=$dir/scaled
	mkdir "$scaled"
	cp -r "${RIDGE_HWDB:-.}/hwdb" "$scaled"
	for f in gcp-rdma efa-p6-b200; do
		awk '/^  (all_reduce|all_gather): / { match($0, /hop: [0-9.]+/); v = substr($0, RSTART + 5, RLENGTH - 5) * 1.3
			$0 = substr($0, 1, RSTART + 4) v substr($0, RSTART + RLENGTH) } { print }' "hwdb/calibration/$f.yaml" >"$scaled/hwdb/calibration/$f.yaml"
	done
	left_out "${RIDGE_HWDB:-.}" >"$scaled/as-is"
	left_out "$scaled" | paste -d, "$scaled/as-is" - |
		awk -F, '{ n++; bad = bad || $2 - $5 > 0.3 || $5 - $2 > 0.3 || $3 - $6 > 0.3 || $6 - $3 > 0.3 } END { exit !(n == 4 && !bad) }' || {
		echo "cross: comm: a fabric's own latency moves the error with that fabric left out"
		status=1
	}
fi

# half as wide, the intervals of published values are too narrow: the limit tells
RIDGE=${RIDGE:-$PWD/${BUILD:-build}/ridge}
mkdir -p "$dir/uncertainty" "$dir/calibration"
for f in memory-train memory-infer collective network; do
	awk '/^([a-z]*_)?sigma:|^q[19]0:/ { $2 /= 2 } { print }' "hwdb/uncertainty/$f.yaml" >"$dir/uncertainty/$f.yaml"
done
awk '/^conformal:/ { $2 /= 2 } { print }' hwdb/uncertainty/train.yaml >"$dir/uncertainty/train.yaml"
for f in hwdb/calibration/*.yaml; do
	awk -f tests/law/halve.awk "$f" >"$dir/calibration/${f##*/}"
done
inside() { "$RIDGE" validate "tests/corpus/$1.csv" --worst 0 -q --get groups.0.coverage_frac ${2:+--hwdb "$2"}; }
for rows in train memory comm; do
	whole=$(inside $rows)
	half=$(inside $rows "$dir")
	awk -v w="$whole" -v h="$half" 'BEGIN { exit !(w >= 0.75 && h < 0.72) }' || {
		echo "cross: $rows: $whole inside their intervals, $half inside half of them (0.75 at least, 0.72 at most)"
		status=1
	}
done
exit $status
