#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make GOAL` in a second folder, from nothing: the files that it wrote have to be those of the first, byte for byte.
#
#   tools/image/twice.sh GOAL "FILE..." BUILD_ID REVISION CREATED
set -eu

cd "$(dirname "$0")/../.."
goal=$1
work=build/$goal-twice
copy=$work/a/folder/with/another/name
rm -rf "$work"
tools/image/copy.sh "$copy"
# Flags and job server of the make that called stay out.
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$copy" "$goal" "BUILD_ID=$3" "REVISION=$4" "CREATED=$5" \
    >"$work/log" || { tail -n 20 "$work/log" >&2; exit 1; }
for file in $2; do
    cmp "$file" "$copy/$file" || { diff "$file" "$copy/$file" >&2; exit 1; }
done
rm -rf "$work"
echo "$goal: the same bytes from two folders"
