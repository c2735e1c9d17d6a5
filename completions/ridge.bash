# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# bash completion for ridge: the program knows its words, this only asks.

_ridge()
{
	local i piece candidate typed=${COMP_WORDS[COMP_CWORD]} last
	local -a words=()

	# readline cuts words at '=' and ':': put them together again
	for ((i = 1; i <= COMP_CWORD; i++)); do
		piece=${COMP_WORDS[i]}
		last=$((${#words[@]} - 1))
		if ((last >= 0)) && [[ $piece == [=:] || ${COMP_WORDS[i - 1]} == [=:] ]]; then
			words[last]+=$piece
		else
			words+=("$piece")
		fi
	done
	if [[ $typed == [=:] ]]; then
		typed=
	fi
	last=${words[${#words[@]} - 1]}
	COMPREPLY=()
	while IFS= read -r candidate; do
		# readline wants the last piece only
		COMPREPLY+=("${candidate#"${last%"$typed"}"}")
		if [[ $candidate == *= ]]; then
			compopt -o nospace 2>/dev/null || :
		fi
	done < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null)
}

# what the program does not know is a file
complete -o default -F _ridge ridge
