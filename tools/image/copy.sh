#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The files of the repository in another folder: those that are not committed too, and nothing that was built. A copy
# that this program made has no .git, and can be copied like the repository.
#
#   tools/image/copy.sh FOLDER
set -eu

target=$1
mkdir -p "$target"
target=$(cd "$target" && pwd)
cd "$(dirname "$0")/../.."
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; then
    # A file that was removed and not committed is still listed.
    git ls-files -z -co --exclude-standard | xargs -0 sh -c 'for f; do [ ! -e "$f" ] || printf "%s\0" "$f"; done' sh
else
    find . \( -path ./build -o -name __pycache__ \) -prune -o ! -type d -print0
fi | tar --null -T - -cf - | tar -xf - -C "$target"
