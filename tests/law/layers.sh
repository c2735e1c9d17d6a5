#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Each layer of src includes only what is below it.  Data and models do not know each other; models do no I/O and take no
# memory; reports know no hardware and no models.
status=0

fault() {
	echo "layers: $*"
	status=1
}

# allow LAYER FOLDER...: what files of this layer may include with quotes
allow() {
	layer=$1
	shift
	allowed=$(printf '%s|' "$@")
	grep -n '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "src/$layer"/*.[ch] | while IFS= read -r line; do
		name=$(printf '%s\n' "$line" | sed 's/^[^"]*"\([^"]*\)".*/\1/')
		case "|$allowed" in
		*"|${name%%/*}|"* | *"|$name|"*) ;;
		*) echo "layers: ${line%%:#*}: $layer must not include \"$name\"" ;;
		esac
	done
}

# files that the Makefile writes: commands.h for the program, paths.h and aliases.inc for what opens files
all=$(
	allow base base ridge
	allow data base data ridge paths.h aliases.inc
	allow model base model ridge
	allow engine base data model engine ridge
	allow report base report ridge/sheet.h ridge/units.h
	allow cli base data model engine report cli ridge commands.h paths.h
	allow cmd base data model engine report cli cmd ridge
)
if [ -n "$all" ]; then
	echo "$all"
	status=1
fi

# pure functions: nothing of C that reads, writes or allocates
for header in stdio.h stdlib.h unistd.h errno.h; do
	found=$(grep -ln "#include <$header>" src/model/*.[ch])
	[ -z "$found" ] || fault "models do no I/O and take no memory, but <$header> is in: $found"
done
# src/model/*.h are for models alone
found=$(grep -ln '#include "model/' src/base/*.[ch] src/data/*.[ch] src/report/*.[ch] src/cli/*.[ch] src/cmd/*.[ch])
[ -z "$found" ] || fault "the headers of src/model are private to it, but are in: $found"
# public headers stand alone
found=$(grep -n '#include "' include/ridge/*.h | grep -v '#include "ridge/')
[ -z "$found" ] || fault "a public header includes a private one: $found"
found=$(grep -n '#include <' include/ridge/*.h | grep -Ev '<(math|stdbool|stddef|stdint)\.h>')
[ -z "$found" ] || fault "a public header needs more than C: $found"
# every folder of src is a layer of the table above
for folder in src/*/; do
	case $folder in
	src/base/ | src/data/ | src/model/ | src/engine/ | src/report/ | src/cli/ | src/cmd/ | src/bench/) ;;
	*) fault "$folder is no layer" ;;
	esac
done
exit $status
