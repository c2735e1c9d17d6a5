#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# splice.sh RIDGE PAGE: the page with the lists that the program prints in place of its marks.
ridge=$1
page=$2
command=$(basename "$page" | sed -e 's/^ridge-//' -e 's/\.[0-9]$//')
while IFS= read -r line; do
	case $line in
	'.\" OPTIONS') "$ridge" __options "$command" ;;
	'.\" EXAMPLES') "$ridge" __examples "$command" ;;
	'.\" OUTPUT '*)
		words=${line#* OUTPUT }
		echo '.Bd -literal'
		printf '$ ridge %s\n' "$words" | sed 's/-/\\-/g'
		# an answer may be no (1)
		# shellcheck disable=SC2086 # the words of a command line
		COLUMNS=76 RIDGE_HWDB=${RIDGE_HWDB:-$PWD} "$ridge" $words 2>/dev/null | sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\&&/"
		echo .Ed
		;;
	'.\" COMMANDS') "$ridge" __commands ;;
	'.\" ALIASES') "$ridge" __aliases ;;
	'.\" KINDS') sh man/columns.sh MEASUREMENT <src/model/hw/measurement.def ;;
	'.\" DIMENSIONS') sh man/columns.sh DIMENSION <src/model/hw/measurement.def ;;
	'.\" FIGURES') sh man/columns.sh FIGURE <src/model/hw/measurement.def ;;
	'.\" LABELS') sh man/columns.sh LABEL <src/model/hw/measurement.def ;;
	'.\" CALIBRATION '*)
		sed -nE 's/^'"${line##* }"'\("([^"]*)",.*, "(.*)"\)$/.It Ic \1\n\2/p' src/model/hw/calibration.def
		;;
	'.\" KEYS '*) list=${line#* KEYS } && sh man/keys.sh "${list#* }" <"src/db/${list% *}.c" ;;
	'.\" ALGORITHMS') sed -nE 's/^ALGORITHM\([A-Z_]+, "([^"]*)",.*, "(.*)"\)$/.It \1 Ta \2/p' src/model/collective/algorithm.def ;;
	'.\" EXAMPLE') sed -e '/^\/\*.*\*\/$/d' -e 's/\\/\\e/g' -e "s/^[.']/\\\\\&&/" tests/example/example.c ;;
	'.\" ANSWERS') sh man/glossary.sh <src/base/answers.def ;;
	'.\" DOCUMENTS') sh man/documents.sh man/documents.tsv tests/claims/*.tsv ;;
	'.\" ACCURACY '*) echo "${line#* ACCURACY }" | sh man/accuracy.sh "$ridge" ;;
	*) printf '%s\n' "$line" ;;
	esac
done <"$page"
