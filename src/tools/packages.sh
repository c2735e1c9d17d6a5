#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# packages.sh build|test: install what is missing to build (and to test) ridge; says what; does nothing when all is there.
set -eu
what=${1:-build}

have_library() { command -v pkg-config >/dev/null 2>&1 && pkg-config --exists "$1"; }
have_program() { command -v "$1" >/dev/null 2>&1; }

missing=
need() { # kind name apt dnf brew
	case $1 in
	library) have_library "$2" && return 0 ;;
	program) have_program "$2" && return 0 ;;
	esac
	case $manager in
	apt) missing="$missing $3" ;;
	dnf) missing="$missing $4" ;;
	brew) missing="$missing $5" ;;
	none) missing="$missing $2" ;;
	esac
}

if have_program apt-get; then
	manager=apt
elif have_program dnf; then
	manager=dnf
elif have_program brew; then
	manager=brew
else
	manager=none
fi

have_program cc || have_program gcc || need program gcc gcc gcc gcc
[ -e /usr/include/stdio.h ] || [ "$manager" != apt ] || missing="$missing libc6-dev"
need program pkg-config pkg-config pkgconf-pkg-config pkg-config
need library gsl libgsl-dev gsl-devel gsl
need library yaml-0.1 libyaml-dev libyaml-devel libyaml
need library libcjson libcjson-dev cjson-devel cjson
if [ "$what" = test ]; then
	need library check check check-devel check
	need program gnuplot gnuplot-nox gnuplot-minimal gnuplot
	need program valgrind valgrind valgrind valgrind
	need program script bsdutils util-linux-script util-linux
	[ -e /usr/share/i18n/locales/de_DE ] || [ "$manager" != apt ] || missing="$missing locales"
	[ -e /usr/share/i18n/locales/de_DE ] || [ "$manager" != dnf ] || missing="$missing glibc-locale-source"
fi
if [ "$what" = lint ]; then
	need program clang-format clang-format clang-tools-extra clang-format
	need program clang-tidy clang-tidy clang-tools-extra llvm
	need program cppcheck cppcheck cppcheck cppcheck
	need program shellcheck shellcheck ShellCheck shellcheck
	need program mandoc mandoc mandoc mandoc
fi
[ -n "$missing" ] || exit 0

if [ "$manager" = none ]; then
	echo "ridge needs:$missing; install them with your package manager" >&2
	exit 1
fi
root=
if [ "$manager" != brew ] && [ "$(id -u)" -ne 0 ]; then
	have_program sudo || {
		echo "ridge needs:$missing; install them as root" >&2
		exit 1
	}
	root=sudo
fi
echo "installing:$missing"
# shellcheck disable=SC2086 # a list of package names
case $manager in
apt) $root apt-get update -qq && $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null ;;
dnf) $root dnf install -y -q $missing ;;
brew) brew install $missing ;;
esac
