#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every key that a file of hwdb may have stands in ridge-hwdb(5).
page=${BUILD:-build}/man/ridge-hwdb.5 # with the rows of calibration.def
missing=0
for f in hardware calibration calibration_rates stack engine diagnosis; do
	keys=$(sed -n -E \
		-e 's/.*\.key = "([a-z0-9_-]+)".*/\1/p' \
		-e 's/^[[:space:]]*[A-Z_]+\((struct [a-z_]+, )?"([a-z0-9_-]+)".*/\2/p' "src/db/$f.c" | grep -v '_$' | sort -u)
	[ -n "$keys" ] || { echo "src/db/$f.c: no keys found"; missing=1; }
	for k in $keys; do
		grep -q -w -e "$k" "$page" || { echo "man/ridge-hwdb.5: says nothing of '$k' (src/db/$f.c)"; missing=1; }
	done
done
exit $missing
