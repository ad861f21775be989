#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzz targets as OSS-Fuzz does, and checks what comes out (built_targets.py). OSS-Fuzz's images are not
# needed: a fresh Debian 13 stands in for its base-builder, with a compiler, engines and variables of the same names;
# the lines of tests/fuzz/Dockerfile run in it, and then tests/fuzz/build.sh.
#
#   tools/fuzz/elsewhere.sh [SANITIZER-ENGINE...]      address-libfuzzer undefined-libfuzzer memory-libfuzzer
#                                                      address-afl
#
#   FUZZ_ROOT    a folder with such a Debian from an earlier call, or to make one in; kept. Else one below /var/tmp
#
# Needs root and debootstrap. The mirror is that of the machine's own apt configuration. It differs from OSS-Fuzz:
# Debian's libFuzzer needs GNU's C++ library, so only the builds for AFL++ have CXXFLAGS with -stdlib=libc++. Either is
# linked as an archive, because OSS-Fuzz's own is one.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$(dirname "$here")")
# What base-builder has before the Dockerfile of a project runs.
packages=clang,llvm,lld,libclang-rt-19-dev,libc++-dev,libc++abi-dev,afl++
packages=$packages,make,python3,zip,g++,file,binutils,git,ca-certificates

say() { echo "elsewhere: $*"; }
fail() { say "$*" >&2; exit 1; }

[ "$(id -u)" = 0 ] || fail "run as root"
command -v debootstrap >/dev/null || fail "missing package: apt-get install debootstrap"
if [ "${NEURON_FUZZ_NAMESPACE:-}" != own ]; then
    NEURON_FUZZ_NAMESPACE=own exec unshare --mount --propagation private "$0" "$@"
fi

builds=${*:-address-libfuzzer undefined-libfuzzer memory-libfuzzer address-afl}
target=${FUZZ_ROOT:-$(mktemp -d /var/tmp/neuron-fuzz-XXXXXX)}
log=$root/build/fuzz/elsewhere.log
mkdir -p "$root/build/fuzz"
cleanup() {
    for place in "$target/proc" "$target/dev"; do
        umount -l "$place" 2>/dev/null || true
    done
    [ -n "${FUZZ_ROOT:-}" ] || rm -rf --one-file-system "$target"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

inside() {
    # shellcheck disable=SC2086 # a list of words
    chroot "$target" /usr/bin/env -i -C "$folder" PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive SRC=/src OUT=/out WORK=/work "$@" ||
        fail "failed in the build for ${build:-all}: $*"
}

make_system() {
    # shellcheck disable=SC1091
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    # shellcheck disable=SC2016 # apt's own variables
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk -v want="$codename" '$2 == want && $3 == "main" {print $1; exit}')
    [ -n "$mirror" ] || fail "no Debian mirror in the apt configuration of this machine"
    debootstrap --variant=minbase --include="$packages" trixie "$target" "$mirror" >"$log" 2>&1 ||
        fail "debootstrap failed: $log"
    cp /etc/resolv.conf "$target/etc/resolv.conf"
    apt-config dump | grep -E '^Acquire::(http|https|ftp|Check-Valid-Until|Check-Date)\b' \
        >"$target/etc/apt/apt.conf.d/90host" || true
}

# "COPY . PLACE" of the Dockerfile: the tree without what is made there.
copy_tree() {
    to=$target/src${1#\$SRC}
    mkdir -p "$to"
    (cd "$root" && git ls-files -z -co --exclude-standard |
        tar --null --ignore-failed-read -T - -cf - 2>/dev/null) | tar -C "$to" -xf -
}

# The lines of the Dockerfile, each joined with those that continue it.
run_dockerfile() {
    sed -e ':join' -e '/\\$/{N;s/\\\n//;b join' -e '}' "$root/tests/fuzz/Dockerfile" >"$target/lines"
    while read -r word rest; do
        case $word in
            '#' | ARG | FROM | '') ;;
            COPY)
                [ "${rest% *}" = . ] || fail "tests/fuzz/Dockerfile: COPY $rest: OSS-Fuzz has no such file"
                copy_tree "${rest##* }"
                ;;
            WORKDIR) folder=/src${rest#\$SRC} ;;
            RUN) inside sh -c "$rest" >>"$log" 2>&1 </dev/null ;;
            *) fail "tests/fuzz/Dockerfile: $word is not known here" ;;
        esac
    done <"$target/lines"
}

flags_of() {
    case $1 in
        address) echo "-fsanitize=address -fsanitize-address-use-after-scope" ;;
        memory) echo "-fsanitize=memory -fsanitize-memory-track-origins" ;;
        undefined)
            kinds=array-bounds,bool,builtin,enum,function,integer-divide-by-zero,null,object-size,return
            kinds=$kinds,returns-nonnull-attribute,shift,signed-integer-overflow,unreachable,vla-bound,vptr
            echo "-fsanitize=$kinds,unsigned-integer-overflow -fno-sanitize-recover=$kinds"
            ;;
        *) fail "$1: address, undefined or memory" ;;
    esac
}

# The variables that base-builder's scripts compile and compile_ENGINE set.
build_one() {
    sanitizer=${1%-*} engine=${1#*-}
    common="-O1 -fno-omit-frame-pointer -gline-tables-only -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION"
    cflags="$common $(flags_of "$sanitizer")"
    case $engine in
        libfuzzer)
            cflags="$cflags -fsanitize=fuzzer-no-link"
            set -- CC=clang CXX=clang++ CXXFLAGS="$cflags -static-libstdc++" LIB_FUZZING_ENGINE=-fsanitize=fuzzer
            ;;
        afl)
            cp "$target/usr/lib/afl/libAFLDriver.a" "$target/usr/lib/libFuzzingEngine.a"
            set -- CC=afl-clang-fast CXX=afl-clang-fast++ AFL_QUIET=1 \
                CXXFLAGS="$cflags -stdlib=libc++ -static-libstdc++" \
                ASAN_OPTIONS=detect_leaks=0:symbolize=0:detect_odr_violation=0:abort_on_error=1 \
                LIB_FUZZING_ENGINE=/usr/lib/libFuzzingEngine.a
            ;;
        *) fail "$engine: libfuzzer or afl" ;;
    esac
    rm -rf "$target/out"
    mkdir -p "$target/out" "$target/work"
    begin=$(date +%s)
    inside CFLAGS="$cflags" SANITIZER="$sanitizer" FUZZING_ENGINE="$engine" FUZZING_LANGUAGE=c ARCHITECTURE=x86_64 \
        UBSAN_OPTIONS=silence_unsigned_overflow=1 "$@" bash -eux /src/build.sh >>"$log" 2>&1 || {
        tail -n 30 "$log"
        fail "$build does not build"
    }
    say "$build: built in $(($(date +%s) - begin)) s"
    inside python3 /src/neuron-dra-agent/tools/fuzz/built_targets.py /out "$sanitizer" "$engine"
}

folder=/
[ -e "$target/usr/bin/clang" ] || make_system
mount -t proc proc "$target/proc"
mount --rbind /dev "$target/dev"
rm -rf "$target/src"
: >"$log"
run_dockerfile
for build in $builds; do
    build_one "$build"
done
say "ok: $builds"
