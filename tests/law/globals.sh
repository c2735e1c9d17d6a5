#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# No variables outside functions but constant ones: the linked program has none of ours in .data or .bss.
RIDGE=${RIDGE:-$PWD/${BUILD:-build}/ridge}

if ! command -v objdump >/dev/null 2>&1; then
	echo "globals: objdump is not installed: it comes with binutils"
	exit 1
fi
if objdump -t "$RIDGE" | grep -q __asan_init; then
	exit 0 # sanitizers add their own
fi
# what the C runtime puts there
found=$(objdump -t "$RIDGE" | awk '
	/ O \.(data|bss|tbss|tdata)[ \t]/ && $NF !~ /^(completed|__dso_handle|__TMC_END__|std(in|out|err)(@.*)?|environ|optarg)/ {
		print "    " $NF
	}')
if [ -n "$found" ]; then
	echo "globals: variables outside functions that are not constant:"
	echo "$found"
	exit 1
fi
