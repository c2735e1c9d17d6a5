#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# glossary.sh <answers.def: an item for each answer, its id, label and meaning.
# A meaning that begins with a quote or a full stop would be read as a request: \& before it.
sh man/answers.sh | awk -F '\t' '{ printf ".It Li %s\n.Em %s :\n\\&%s.\n", $2, $3, $4 }'
