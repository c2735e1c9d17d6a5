#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# schema.sh SCHEMA <answers.def: the schema with a property for each answer in place of its mark.
sh man/answers.sh | awk -F '\t' '
	FNR == NR {
		type = $1 == "WORD" ? "\"string\"" : "[\"number\", \"null\"]"
		rows[++n] = sprintf("\t\t\t\t\"%s\": {\"title\": \"%s\", \"description\": \"%s\", \"type\": %s}", $2, $3, $4, type)
		next
	}
	/"@ANSWERS@"/ { for (i = 1; i <= n; i++) print rows[i] (i < n ? "," : ""); next }
	{ print }' - "$1"
