#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# answers.sh <answers.def: a line for each answer, tabs between ANSWER or WORD, id, label and meaning.
tr '\n' ' ' | sed -E 's/(ANSWER|WORD)\( *[a-z]/\n&/g' |
	sed -n -E 's/^(ANSWER|WORD)\( *([a-z0-9_]+), *"([^"]*)", *"([^"]*)"\).*/\1\t\2\t\3\t\4/p'
