#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every command has a page with its lists in it, every page mentions only what exists, and its examples run.
BUILD=${BUILD:-build}
RIDGE=${RIDGE:-$PWD/$BUILD/ridge}
status=0

fault() {
	echo "manuals: $*"
	status=1
}

commands=$("$RIDGE" __names)
for page in ridge.1 ridge-hwdb.5 ridge-workload.5 ridge-json.5 ridge-measurement.5 ridge-models.7 ridge-internals.7 ridge-glossary.7 ridge-accuracy.7 libridge.3; do
	[ -f "man/$page" ] || fault "man/$page is missing"
done
for command in $commands; do
	page=man/ridge-$command.1
	if [ ! -f "$page" ]; then
		fault "$page is missing"
		continue
	fi
	for mark in OPTIONS EXAMPLES; do
		grep -qx "\.\\\\\" $mark" "$page" || fault "$page has no line '.\\\" $mark'"
	done
	for section in NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES 'EXIT STATUS' 'SEE ALSO'; do
		grep -qx "\.Sh $section" "$page" || fault "$page has no section $section"
	done
	# every option and example of the program, and no page from before the last change
	built=$BUILD/man/ridge-$command.1
	if [ -f "$built" ]; then
		for option in $("$RIDGE" "$command" --help | awk -v built="$built" '
			BEGIN {
				while ((getline line <built) > 0)
					if (line ~ /^\.It .*Fl /) {
						sub(/.*Fl ../, "", line)
						sub(/ .*/, "", line)
						listed[line]
					}
			}
			match($0, /^ *(-[a-zA-Z], )?--[a-z0-9-]*/) {
				option = substr($0, 1, RLENGTH)
				sub(/.*--/, "", option)
				if (!(option in listed))
					print option
			}'); do
			fault "$built does not list --$option"
		done
	fi
done

# words of every --help; --old is of `ridge help answers`
options=$(for command in $commands; do "$RIDGE" "$command" --help; done | grep -oE -- '--[a-z0-9][a-z0-9-]*' | sort -u)
options=$(printf '%s\n' "$options" --help --version --old)
# unknown WORDS: lines of standard input that are no line of WORDS
unknown() {
	words=$1 awk 'BEGIN { n = split(ENVIRON["words"], w, "\n"); for (i = 1; i <= n; i++) known[w[i]] } !($0 in known) && !said[$0]++'
}
for page in man/*.[1-9]; do
	name=$(basename "$page")
	case $name in
	ridge-*.1)
		command=${name#ridge-}
		command=${command%.1}
		printf '%s\n' "$commands" | grep -qx -- "$command" || fault "$page: there is no command '$command'"
		;;
	esac
	# long options: .Fl \-name, .Fl -name, \-\-name, --name
	for option in $(sed -e 's/\\-/-/g' "$page" | grep -oE -- '(Fl -|--)[a-z0-9][a-z0-9-]*' | sed -e 's/^Fl -/--/' | unknown "$options"); do
		fault "$page mentions $option, which no command has"
	done
	# commands: .Ic ridge NAME, .Nm ridge NAME, $ ridge NAME
	for command in $(grep -oE '(Ic|Nm|\$) ridge [a-z]+' "$page" | sed 's/.* //' | unknown "$commands
help"); do
		fault "$page mentions 'ridge $command', but there is no such command"
	done
	# pages of ours that it refers to
	# shellcheck disable=SC2013 # words are lines
	for other in $(sed -n 's/^\.Xr \(ridge[a-z-]*\) \([0-9]\).*/\1.\2/p' "$page" | sort -u); do
		[ -f "man/$other" ] || fault "$page refers to $other, which does not exist"
	done
	# lines of examples in its text, except those that measure, write, or read files that only users have
	sed -n 's/^\.Dl \$ ridge //p' "$page" | grep -v -E '^bench|[|>]|--install|(^|[ /])(mine|steps|base|new|config)\.(jsonl|csv|json)' >"$BUILD/manuals.tmp"
	while read -r line; do
		said=$(sh -c "'$RIDGE' $line" 2>&1 >/dev/null </dev/null)
		[ $? -le 1 ] || fault "$page: ridge $line: $said"
	done <"$BUILD/manuals.tmp"
	rm -f "$BUILD/manuals.tmp"
	[ ! -d "$BUILD/man" ] || [ -f "$BUILD/man/$name" ] || fault "$BUILD/man/$name was not made"
done

exit $status
