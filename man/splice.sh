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
	'.\" COMMANDS') "$ridge" __commands ;;
	'.\" DOCUMENTS') sh man/documents.sh man/documents.tsv tests/claims/*.tsv ;;
	*) printf '%s\n' "$line" ;;
	esac
done <"$page"
