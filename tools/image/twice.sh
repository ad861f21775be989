#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make image` in a second folder, from nothing: its archive and its SBOM have to be those of the first, byte for byte.
#
#   tools/image/twice.sh BUILD_ID REVISION CREATED
set -eu

cd "$(dirname "$0")/../.."
copy=build/image-twice/a/folder/with/another/name
rm -rf build/image-twice
mkdir -p "$copy"
git ls-files -z -co --exclude-standard | xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' sh |
    tar --null -T - -cf - | tar -xf - -C "$copy"
# Flags and job server of the make that called stay out.
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$copy" image "BUILD_ID=$1" "REVISION=$2" "CREATED=$3" \
    >build/image-twice/log
for file in neuron-dra-agent.tar neuron-dra-agent.spdx.json; do
    cmp "build/image/$file" "$copy/build/image/$file"
done
rm -rf build/image-twice
echo "image: the same bytes from two folders"
