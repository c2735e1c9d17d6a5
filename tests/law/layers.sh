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

# Names after a backslash are exceptions, there until the code is changed.  The Makefile writes commands.h for the program,
# paths.h and aliases.inc for what opens files.
all=$(
	allow base base paths.h
	allow db base db model paths.h aliases.inc \
		'db/database.c>import/import.h' 'db/entry.c>bench/gpu_names.def'
	allow import base db import model/hw/measurement.def \
		model/hw/hw.h model/layer/layer.h search/simulate/simulate.h
	allow model/hw base model/hw
	allow model/calc base model/calc model/hw \
		'model/calc/calc.h>model/layer/layer.h' 'model/calc/latency.c>model/layer/layer.h'
	for domain in layer collective measured; do
		allow model/$domain base model/$domain model/hw
	done
	for domain in kernel memory; do
		allow model/$domain base model/hw model/layer model/$domain 'model/memory/capacity.c>model/calc/calc.h'
	done
	for domain in train serve; do
		allow model/$domain base model
	done
	allow search base model search \
		'search/fit/calibrate.c>db/tree.h' 'search/fit/calibrate_write.c>db/tree.h'
	allow report base report
	allow ask base db import model search report ask cli/cli.h
	allow cli base report ask cli commands.h paths.h \
		db/db.h db/tree.h 'cli/library.c>import/import.h' \
		'cli/cli.h>model/hw/hw.h' 'cli/cli.h>model/layer/layer.h'
	allow cmd report ask cli cmd model/hw/dtype.def \
		base db/db.h db/tree.h model/calc/calc.h model/measured/measured.h model/collective/collective.h model/layer/layer.h \
		model/memory/memory.h model/hw/hw.h model/kernel/kernel.h model/serve/serve.h model/train/train.h 'cmd/check.c>db' 'cmd/compare.c>import/import.h' search/plan/plan.h search/stats/stats.h
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
# the public header stands alone
found=$(grep -Hn '#include' include/ridge/*.h | grep -Ev '<(stdbool|stddef)\.h>')
[ -z "$found" ] || fault "the public header includes more than bool and size_t: $found"
# a folder has one header for others, and parts.h for itself
found=$(grep -rn '#include "[a-z_/]*/parts\.h"' src | while IFS=: read -r file _ line; do
	folder=$(echo "$line" | sed 's/.*"\(.*\)\/parts.h".*/\1/')
	case $file in
	src/$folder/*) ;;
	*) echo "$file: $line" ;;
	esac
done)
[ -z "$found" ] || fault "parts.h is private to its folder: $found"
# every folder of src is a layer of the table above, and none is too large to look through
for folder in src/*/; do
	case $folder in
	src/base/ | src/db/ | src/import/ | src/model/ | src/search/ | src/report/ | src/ask/ | src/cli/ | src/cmd/ | src/bench/ | src/tools/) ;;
	*) fault "$folder is no layer" ;;
	esac
done
for folder in src/model/*/; do
	case $folder in
	*/hw/ | */layer/ | */collective/ | */calc/ | */measured/ | */kernel/ | */memory/ | */train/ | */serve/) ;;
	*) fault "$folder is no domain of models" ;;
	esac
done
# shellcheck disable=SC2044 # names without blanks
for folder in $(find src -type d ! -path src/bench); do
	files=$(find "$folder" -maxdepth 1 -type f | wc -l)
	[ "$files" -le 40 ] || fault "$folder has $files files, and a folder has 40 at most"
done
exit $status
