#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# seeds.sh FUZZER BUILD: folders that hold further seeds of a fuzzer
case $1 in
hub) echo tests/fixtures/hf ;;
measurement) echo tests/fixtures/measurement ;;
database) echo hwdb/calibration hwdb/diagnoses hwdb/engines hwdb/reliability hwdb/stacks hwdb/systems hwdb/transfers hwdb/uncertainty ;;
program) echo "$2/tests/examples" ;;
esac
