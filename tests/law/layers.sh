#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Each layer of src includes only what is below it.  Our files and models do not know each other; models do no I/O and
# take no memory; reports know no hardware and no models.
status=0

fault() {
	echo "layers: $*"
	status=1
}

# allow LAYER NAME...: what files of this folder and those in it may include with quotes: a folder of src, one in it, or
# a file; FILE>NAME is for one file.
allow() {
	layer=$1
	shift
	allowed=$(printf '%s|' "$@")
	# shellcheck disable=SC2046 # names without blanks
	awk -v layer="$layer" -v allowed="|$allowed" '
	/^[ \t]*#[ \t]*include[ \t]*"/ {
		split($0, part, "\"")
		name = part[2]
		file = substr(FILENAME, 5)
		n = split(name, folder, "/")
		inner = n > 2 ? folder[1] "/" folder[2] : folder[1]
		if (!index(allowed, "|" name "|") && !index(allowed, "|" folder[1] "|") && !index(allowed, "|" inner "|") &&
			!index(allowed, "|" file ">" name "|") && !index(allowed, "|" file ">" folder[1] "|"))
			print "layers: " FILENAME ":" FNR ": " layer " must not include \"" name "\""
	}' $(find "src/$layer" -name '*.[ch]')
}

# Names after a backslash are exceptions, there until the code is changed.  ridge is the public headers; the Makefile
# writes commands.h for the program, paths.h and aliases.inc for what opens files.
all=$(
	allow base base ridge
	allow db base db ridge paths.h aliases.inc \
		'db/database.c>import/hf.h'
	allow import base db import ridge
	for domain in layer collective calc; do
		allow model/$domain base model/$domain ridge
	done
	for domain in kernel memory; do
		allow model/$domain base model/layer model/$domain ridge
	done
	for domain in train serve; do
		allow model/$domain base model ridge
	done
	allow search base model search ridge \
		'search/fit/calibrate_parts.h>db/tree.h'
	allow report base report ridge/sheet.h ridge/units.h
	allow ask base db import model search report ask ridge \
		cli/command.h cli/bounds.h cli/inputs.h cli/outputs.h cli/reads.h cli/values.h
	allow cli base report ask cli ridge commands.h paths.h \
		db/database.h db/schema.h db/tree.h 'cli/lines.c>import/json_in.h'
	allow cmd report ask cli cmd ridge \
		base/text.h db/database.h \
		'cmd/check.c>db' 'cmd/checkpoint.c>db/reliability.h' 'cmd/model.c>db/tree_write.h' \
		search/plan/memory_fit.h search/stats/rank.h search/stats/rounding.h search/stats/trend_fit.h
)
if [ -n "$all" ]; then
	echo "$all"
	status=1
fi

# pure functions: nothing of C that reads, writes or allocates
for header in stdio.h stdlib.h unistd.h errno.h; do
	found=$(grep -ln "#include <$header>" src/model/*/*.[ch])
	[ -z "$found" ] || fault "models do no I/O and take no memory, but <$header> is in: $found"
done
# headers in src/model are for models alone
found=$(grep -rl '#include "model/' src/base src/db src/import src/report src/ask src/cli src/cmd)
[ -z "$found" ] || fault "the headers of src/model are private to it, but are in: $found"
# public headers stand alone
found=$(grep -n '#include "' include/ridge/*.h | grep -v '#include "ridge/')
[ -z "$found" ] || fault "a public header includes a private one: $found"
found=$(grep -n '#include <' include/ridge/*.h | grep -Ev '<(math|stdbool|stddef|stdint)\.h>')
[ -z "$found" ] || fault "a public header needs more than C: $found"
# every folder of src is a layer of the table above, and none is too large to look through
for folder in src/*/; do
	case $folder in
	src/base/ | src/db/ | src/import/ | src/model/ | src/search/ | src/report/ | src/ask/ | src/cli/ | src/cmd/ | src/bench/) ;;
	*) fault "$folder is no layer" ;;
	esac
done
for folder in src/model/*/; do
	case $folder in
	*/layer/ | */collective/ | */calc/ | */kernel/ | */memory/ | */train/ | */serve/) ;;
	*) fault "$folder is no domain of models" ;;
	esac
done
# shellcheck disable=SC2044 # names without blanks
for folder in $(find src -type d ! -path src/bench); do
	files=$(find "$folder" -maxdepth 1 -type f | wc -l)
	[ "$files" -le 40 ] || fault "$folder has $files files, and a folder has 40 at most"
done
exit $status
