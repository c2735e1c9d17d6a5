#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# targets.sh NVCC: options that build for every GPU that this compiler can build for, of those that matter.
# targets.sh --said NVCC [OPTION...]: what is built, in words: for those options, or for all and what to install for the
# others.
said=
[ "${1:-}" != --said ] || {
	said=yes
	shift
}
nvcc=${1:-nvcc}
[ $# -eq 0 ] || shift
given=$*
known=$("$nvcc" --list-gpu-code 2>/dev/null | tr '\n' ' ')
release=$("$nvcc" --version 2>/dev/null | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1\2/p')

options=
names=
missing=
add() { # virtual real
	options="$options -gencode arch=compute_$1,code=$2"
	names="$names $2"
}
for target in 70 75 80 86 89 90 100 120; do
	case " $known " in
	*" sm_$target "*) ;;
	*)
		missing="$missing $target"
		continue
		;;
	esac
	# the matrix instructions of Hopper are in a target of its own, since CUDA 12.0
	if [ "$target" = 90 ] && [ "${release:-0}" -ge 120 ]; then
		add 90a sm_90a
	else
		add "$target" "sm_$target"
	fi
done
# what the driver translates for GPUs that have no code of their own here
case " $known " in
*" sm_80 "*) add 80 compute_80 ;;
esac
if [ -z "$said" ]; then
	echo "$options"
	exit 0
fi
if [ -n "$given" ] && [ "$given" != "${options# }" ]; then
	echo "ridge-bench: built for$(printf '%s\n' "$given" | tr ' ,' '[\n*]' | sed -n 's/^code=/ /p' | tr -d '\n')"
	exit 0
fi
echo "ridge-bench: built for$names"
for target in $missing; do
	case $target in
	70) echo "ridge-bench: this nvcc has no Volta (sm_70): for a V100 install CUDA 12.x, and say make bench NVCC=/path/to/its/nvcc" ;;
	75) echo "ridge-bench: this nvcc has no Turing (sm_75): install CUDA 12.x or 13.x" ;;
	*) echo "ridge-bench: this nvcc has no sm_$target: a newer CUDA toolkit has it; code of compute_80 is translated for it" ;;
	esac
done
