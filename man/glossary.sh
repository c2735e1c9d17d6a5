#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# glossary.sh <answers.def: an item for each answer, its id, label and meaning.
sh man/answers.sh | awk -F '\t' '{ printf ".It Li %s\n.Em %s :\n%s.\n", $2, $3, $4 }'
