# SPDX-License-Identifier: GPL-3.0-or-later
# fish completion for ridge: the program knows its words, this only asks.

function __ridge_words
	set -l before (commandline -opc)
	set -l typed (commandline -ct)
	$before[1] __complete $before[2..-1] "$typed" 2>/dev/null
end

function __ridge_knows
	count (__ridge_words) >/dev/null
end

# what the program does not know is a file
complete -c ridge -n __ridge_knows -f -a '(__ridge_words)'
