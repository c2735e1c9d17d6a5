#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A header of somebody else is included by the files that are named here, and by no other.
status=0

# only PATTERN FILE...
only() {
	pattern=$1
	shift
	found=$(grep -rlE "#[[:space:]]*include[[:space:]]*[<\"]$pattern" src include tests --include='*.[ch]' | sort | tr '\n' ' ')
	wanted=$(printf '%s\n' "$@" | sort | tr '\n' ' ')
	if [ "$found" != "$wanted" ]; then
		echo "includers: $pattern must be included by $wanted, and is by ${found:-no file}"
		status=1
	fi
}

only 'yaml\.h' src/db/tree.c
only '(cjson/)?cJSON\.h' src/import/json_in.c tests/law/random_forms.c tests/tools/json.c tests/unit/json_schema.h tests/unit/test_one_question.c
only 'gsl/' src/base/num.c
exit $status
