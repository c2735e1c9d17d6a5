#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Writes one C row per alias of the given database files: {"gpus", "h100", "h100-sxm5-80gb"},
awk '
FNR == 1 {
	n = split(FILENAME, part, "/")
	folder = part[n - 1]
	id = part[n]
	sub(/\.yaml$/, "", id)
	open = 0
}
/^aliases:/ { open = 1; text = "" }
open {
	line = $0
	sub(/^aliases:/, "", line)
	sub(/[ \t]#.*$/, "", line)
	text = text line
	if (text ~ /\]/) {
		gsub(/[\[\]"\047]/, "", text)
		m = split(text, alias, ",")
		for (i = 1; i <= m; i++) {
			gsub(/^[ \t]+|[ \t]+$/, "", alias[i])
			if (alias[i] != "")
				printf "{\"%s\", \"%s\", \"%s\"},\n", folder, alias[i], id
		}
		open = 0
	}
}' "$@"
