#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Types of numbers are listed in src/model/hw/dtype.def alone: no list of their names stands in another source.
found=$(grep -rnE '"[^"]*\b(bf16|fp16|nvfp4|mxfp8)\|' src --include='*.[ch]' | grep -v 'src/bench/\| \* ')
if [ -n "$found" ]; then
	echo "types: a list of types that DTYPE_CHOICE should make:"
	echo "$found" | sed 's/^/    /'
	exit 1
fi
