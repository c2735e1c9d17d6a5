# SPDX-License-Identifier: GPL-3.0-or-later
# Halve the quantiles and spreads of a calibration's residuals.
{
	out = ""
	while (match($0, /(q10|q90|sd|mean): -?[0-9.]+/)) {
		split(substr($0, RSTART, RLENGTH), p, ": ")
		out = out substr($0, 1, RSTART - 1) p[1] ": " p[2] / 2
		$0 = substr($0, RSTART + RLENGTH)
	}
	print out $0
}
