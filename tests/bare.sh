#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# bare.sh [RELEASE:USER...]: the two commands of the README, `make demo` and `make test`, on a bare Debian: debootstrap's
# smallest variant in a folder, git and make, a fresh clone of HEAD.  USER is root, or user: an ordinary one with sudo.
# Default: bookworm:user; all: bookworm and trixie, as both.  Needs root and debootstrap; packages come from the mirror and
# through the proxy of this machine's own apt (MIRROR=URL says another mirror).
set -eu
[ "$(id -u)" -eq 0 ] || {
	echo "bare.sh: must run as root"
	exit 1
}
command -v debootstrap >/dev/null || {
	echo "bare.sh: debootstrap is not installed: apt-get install debootstrap"
	exit 1
}
[ "$*" != all ] || set -- bookworm:root bookworm:user trixie:root trixie:user
[ $# -gt 0 ] || set -- bookworm:user
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/ridge-bare.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' INT TERM

# The first Debian archive of this machine's sources, in either form of the file; else the public one.
mirror() {
	cat /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list /etc/apt/sources.list 2>/dev/null |
		sed -n -E 's/^(URIs:|deb( \[[^]]*\])?) *(https?:[^ ]*\/debian)\/?( .*)?$/\3/p' | head -n 1 | grep . ||
		echo http://deb.debian.org/debian
}

# system RELEASE FOLDER: a bare system with what the README asks for, git and make, and with sudo
system() {
	# certificates are in the way of a mirror with https only
	extra=
	case $mirror in https:*) extra=--include=ca-certificates ;; esac
	debootstrap --variant=minbase $extra "$1" "$2" "$mirror" >"$work/log" 2>&1 || {
		tail -n 20 "$work/log" "$2/debootstrap/debootstrap.log" 2>/dev/null
		return 1
	}
	apt-config dump | grep -E '^Acquire::(http|https|Check-[A-Za-z-]*|Retries)\b.* "[^"]+";$' >"$2/etc/apt/apt.conf.d/90host" || :
	cp /etc/resolv.conf /etc/hosts "$2/etc/"
	inside "$2" 'apt-get update -qq && apt-get install -y -qq --no-install-recommends git make sudo >/dev/null 2>&1' || return 1
	inside "$2" 'useradd -m -s /bin/bash user && echo "user ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/user'
}

# inside FOLDER COMMAND: run it there with an environment of its own; what it mounts and starts ends with it
inside() {
	# shellcheck disable=SC2016 # for the shell inside
	env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb HOME=/root DEBIAN_FRONTEND=noninteractive \
		${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
		unshare --mount --pid --fork --kill-child sh -c '
			mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/dev/shm" 2>/dev/null
			mkdir -p "$1/dev/pts" && mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$1/dev/pts" &&
				rm -f "$1/dev/ptmx" && ln -s pts/ptmx "$1/dev/ptmx"
			exec chroot "$1" sh -c "$2"' sh "$1" "$2"
}

# try FOLDER USER: clone and run
try() {
	home=/root
	[ "$2" = root ] || home=/home/$2
	git clone -q --no-local "$here" "$1$home/ridge"
	inside "$1" "chown -R $2: $home/ridge"
	for what in demo test; do
		start=$(date +%s)
		inside "$1" "su - $2 -c 'cd ridge && make $what'" >"$work/log" 2>&1 || {
			cat "$work/log"
			return 1
		}
		[ $what = demo ] || tail -n 1 "$work/log"
		echo "bare.sh: make $what: $(($(date +%s) - start)) s"
	done
}

mirror=${MIRROR:-$(mirror)}
failed=0
passed=0
for pair; do
	release=${pair%:*}
	user=${pair#*:}
	case $user in
	root | user) ;;
	*)
		echo "bare.sh: '$pair' should be RELEASE:root or RELEASE:user"
		exit 2
		;;
	esac
	start=$(date +%s)
	echo "bare.sh: $release as $user"
	if system "$release" "$work/$release" && echo "bare.sh: system: $(($(date +%s) - start)) s" && try "$work/$release" "$user"; then
		passed=$((passed + 1))
	else
		echo "bare.sh: $pair FAILED"
		failed=$((failed + 1))
	fi
	rm -rf --one-file-system "${work:?}/$release"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
