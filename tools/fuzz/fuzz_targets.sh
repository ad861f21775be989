#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds every fuzz target into a folder, for any fuzzing engine; called by `make fuzz-targets OUT=folder`.
#
#   CC                  compiler (clang-19)
#   CFLAGS              flags of all code (-O1 -g, ASan and UBSan)
#   LIB_FUZZING_ENGINE  what is linked as the engine: a flag or an archive (-fsanitize=fuzzer)
#   CXX, CXXFLAGS       linker, if an engine wants one of C++ (CC, CFLAGS)
#   NANOPB_DIR          unpacked source of nanopb (fetched as tools/build/pins says)
#   FUZZ_SOURCES        what every target is linked with, from tools/make/fuzz.mk
#
# Leaves TARGET, TARGET_seed_corpus.zip, TARGET.options and TARGET.dict for each, and targets.txt, which
# says of each target what it compares with. Installs nothing and needs no root. A library that a
# target compares with is linked as an archive, so that the program runs elsewhere; without it, or
# under the memory sanitizer, that comparison is left out: "alone" in targets.txt.
set -eu

out=${1:-}
[ -n "$out" ] || { echo "fuzz-targets: say where to: make fuzz-targets OUT=folder" >&2; exit 1; }
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "$0")/../.."

CC=${CC:-clang-19}
own='-O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all'
CFLAGS=${CFLAGS-$own}
LIB_FUZZING_ENGINE=${LIB_FUZZING_ENGINE:--fsanitize=fuzzer}
NANOPB_DIR=${NANOPB_DIR:-$(tools/build/deps.sh nanopb)}
flags="-std=gnu11 -D_GNU_SOURCE -DPB_VALIDATE_UTF8 -Isrc -I. -isystem $NANOPB_DIR"
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT

sources="$FUZZ_SOURCES $NANOPB_DIR/pb_common.c $NANOPB_DIR/pb_encode.c $NANOPB_DIR/pb_decode.c"
for source in $sources; do
    echo "$source $objects/$(echo "$source" | tr / _).o"
done >"$objects/list"
# shellcheck disable=SC2086,SC2016 # lists of words; the inner shell expands
xargs -P "$(nproc)" -L 1 sh -c '
    source=$1 object=$2; shift 2; exec "$@" -DBUILD_ID=\"fuzz\" -c "$source" -o "$object"' \
    compile <<END
$(sed "s|\$| $CC $CFLAGS $flags|" "$objects/list")
END
ar rcs "$objects/libagent.a" "$objects"/*.o

# What file $1 says behind the word $2 in its head.
head_line() { sed -n "s/^ \* $2: //p" "$1"; }

# jansson calls two functions as the agent does: the archive is copied, with other names for them, which
# tests/fuzz/json_oracle.h knows too.
mkdir "$objects/others"
jansson=$($CC -print-file-name=libjansson.a)
[ ! -e "$jansson" ] || objcopy --redefine-sym json_string=jansson_string \
    --redefine-sym json_integer=jansson_integer "$jansson" "$objects/others/libjansson.a"

# What links the libraries that the target of file $1 compares with, if it may have any.
libraries() {
    wanted=$(head_line "$1" Links)
    case "$wanted/$CFLAGS" in /* | *sanitize=*memory*) return ;; esac
    echo "-L$objects/others -Wl,-Bstatic $wanted -Wl,-Bdynamic"
}

# The part of the target of file $1 that is C++, without sanitizers, as the library that it calls is. It
# and its target are linked with the C++ library that Debian's and Ubuntu's archives were made for.
# shellcheck disable=SC2086 # lists of words
build_other() {
    case " ${CXXFLAGS:-} " in *" -stdlib="*) standard=-stdlib=libstdc++ ;; *) standard= ;; esac
    ${CXX:-clang++-19} -std=c++17 -O2 -g $standard -I. -c "tests/fuzz/$1" -o "$objects/other.o" &&
        other="$objects/other.o" links="$standard -static-libstdc++"
}

# Target $1 from file $2 with the flag $3, the libraries $4 and the part $5 that is C++.
# shellcheck disable=SC2086 # lists of words
build_target() {
    other='' links=''
    $CC $CFLAGS $flags $3 -c "$2" -o "$objects/target.o" &&
        { [ -z "$5" ] || build_other "$5"; } &&
        ${CXX:-$CC} ${CXXFLAGS:-$CFLAGS} -o "$out/$1" "$objects/target.o" $other "$objects/libagent.a" \
            $LIB_FUZZING_ENGINE $4 $links
}

: >"$out/targets.txt"
for source in tests/fuzz/fuzz_*.c; do
    target=$(basename "$source" .c)
    libs=$(libraries "$source")
    compares=${libs:+$(head_line "$source" Links)}
    if [ -z "$libs" ] ||
        ! build_target "$target" "$source" "" "$libs" "$(head_line "$source" With)" 2>"$objects/log"; then
        [ -z "$libs" ] || { compares=alone; sed 's/^/  /' "$objects/log" >&2; }
        build_target "$target" "$source" -DFUZZ_ALONE "" ""
    fi
    [ -n "$compares" ] || [ -z "$(head_line "$source" Links)" ] || compares=alone
    echo "$target ${compares:--}" >>"$out/targets.txt"
    /usr/bin/env python3 tools/fuzz/corpus.py --zip "${target#fuzz_}" "$out/${target}_seed_corpus.zip"
    for file in "tests/fuzz/$target.options" "tests/fuzz/$target.dict"; do
        [ ! -e "$file" ] || cp "$file" "$out/"
    done
    echo "$out/$target"
done
