#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# glossary.sh <answers.def: an item for each answer, its id, label and meaning.
tr '\n' ' ' | sed 's/ANSWER(/\n&/g' | sed -n -E 's/^ANSWER\( *([a-z0-9_]+), *"([^"]*)", *"([^"]*)"\).*/\1\t\2\t\3/p' |
	awk -F '\t' '{ printf ".It Li %s\n.Em %s :\n%s.\n", $1, $2, $3 }'
