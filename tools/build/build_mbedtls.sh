#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the configured part of mbedTLS into an archive of the cache; used by the Makefile.
#
#   tools/build/build_mbedtls.sh ARCHIVE SOURCE_DIR JOBS COMPILER FLAGS...
#
# All of library/ is compiled: what cfg/mbedtls/mbedtls_config.h leaves out compiles to nothing. The archive appears
# whole or not at all, and is never replaced: with -flto the linker reads it several times, by name and offset, and two
# builds of the same sources differ in their offsets. Of the builds that share a cache, one compiles and the others
# wait for it.
set -eu

archive=$1 source=$2 jobs=$3
shift 3
mkdir -p "$(dirname "$archive")"
# The compilers inherit the lock: it is free when the last process of a build has ended, killed or not.
exec 9>"$archive.lock"
flock -n 9 || {
    echo "waiting for another build of mbedTLS that uses this cache"
    flock 9
}
[ ! -e "$archive" ] || exit 0
work=$archive.new
# What a killed build left.
rm -rf "$work"
mkdir "$work"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

echo "building mbedTLS with $1 (kept in the cache)"
# Warnings are upstream's business.
printf '%s\0' "$source"/library/*.c | xargs -0 -P "$jobs" -I'{}' sh -c '
    out=$1/$(basename "$2" .c).o
    source=$3
    file=$2
    shift 3
    exec "$@" -w -I. -I"$source/include" -I"$source/library" \
        "-DMBEDTLS_CONFIG_FILE=\"cfg/mbedtls/mbedtls_config.h\"" -c "$file" -o "$out"
' compile "$work" '{}' "$source" "$@"
gcc-ar rcs "$work/archive.a" "$work"/*.o
mv "$work/archive.a" "$archive"
