#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What leaving runs out says of serving, as src/ask/serve/support.def has it (`make support` writes it): errors of what was
# left out keep their limits; 80 % intervals hold 75 to 85 % of groups, intervals half as wide do not; and an answer names
# the error of its combination, or that nobody measured it.
# SUPPORT_DEF: another file, for the test of this test.
def=${SUPPORT_DEF:-src/ask/serve/support.def}
RIDGE=${RIDGE:-$PWD/${BUILD:-build}/ridge}
status=0
fail() {
	echo "support: $*"
	status=1
}

# quantity, what was left out, and the most that mean and median of groups may be
while read -r quantity how mean median; do
	sed -n "s/^CROSS(\"serving, $quantity\", \"$how left out\", \(.*\))$/\1/p" "$def" |
		awk -F, -v mean="$mean" -v median="$median" '{ n++; bad = $3 > mean || $4 > median } END { exit !(n == 1 && !bad) }' ||
		fail "$quantity, $how left out: above $mean % mean or $median % median, or missing"
done <<EOT
throughput source 14.8 10.0
throughput model 13.5 9.0
throughput gpu 14.5 9.0
TPOT source 13.4 9.8
TPOT model 13.5 9.6
TPOT gpu 13.4 9.6
TTFT source 33.2 25.0
TTFT model 33.2 26.5
TTFT gpu 33.6 28.2
EOT

# the line below a score has what half the width would hold
for quantity in throughput TPOT TTFT; do
	for how in source model gpu group; do
		awk -F'[,)]' -v q="\"serving, $quantity\"" -v how="\"$how left out\"" '
		index($0, "CROSS(" q) && index($0, how) { found = 1; inside = $9; next }
		found == 1 { split($0, w, " "); half = w[10]; found = 2 }
		END { exit !(found && inside >= 74 && inside <= 86 && half < 71) }' "$def" ||
			fail "$quantity, $how left out: not 75 to 85 % of groups inside, or more than 70 % inside half of it"
	done
done

# published runs lie inside their intervals, which the rows they are shipped with helped to choose; half the width tells
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/hwdb/uncertainty"
sed 's/^conformal: 1$/conformal: 0.5/' hwdb/uncertainty/serve.yaml >"$dir/hwdb/uncertainty/serve.yaml"
inside() { "$RIDGE" validate tests/corpus/serve.csv --worst 0 -q --get groups.0.coverage_frac "$@"; }
whole=$(inside)
half=$(inside --hwdb "$dir")
awk -v w="$whole" -v h="$half" 'BEGIN { exit !(w >= 0.75 && h < w - 0.1) }' ||
	fail "$whole of the runs inside their intervals, $half inside half of them (0.75 at least, 0.1 less)"

# a combination that runs were published of, and one of which none was
ask() { "$RIDGE" serve llama3.3-70b --isl 1000 --osl 1000 --layout tp=2 "$@" 2>&1; }
known=$(ask --gpu h200 --engine trtllm-1.0 --dtype fp8)
case $known in
*"no published run of"*) fail "TensorRT-LLM on H200 in fp8 was published" ;;
*"typical error"*" % on "*" runs of "*) ;;
*) fail "TensorRT-LLM on H200 in fp8: no typical error" ;;
esac
ask --gpu h200 --engine trtllm --dtype fp8 | grep -q "no published run of trtllm on hopper with fp8 weights" ||
	fail "TensorRT-LLM 1.2 on H200 in fp8: runs of 1.0 alone were published, and the answer does not say so"
ask --gpu gb200 --engine vllm --dtype nvfp4 | grep -q "no published run of vllm on blackwell with nvfp4 weights" ||
	fail "vLLM on GB200 in nvfp4: nobody measured it, and the answer does not say so"
wide() {
	ask "$@" --json | tr -d ' \t\n' |
		sed 's/.*"output_token_per_s":{"low":\([0-9.e+]*\),"high":\([0-9.e+]*\),.*/\2 \1/' | awk '{ print $1 / $2 }'
}
awk -v k="$(wide --gpu h200 --engine trtllm-1.0 --dtype fp8)" -v u="$(wide --gpu gb200 --engine vllm --dtype nvfp4)" \
	'BEGIN { exit !(k > 1 && u > k) }' || fail "the interval of what nobody measured is not the wider one"
exit $status
