#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs CBMC into the cache and prints its folder, which has the programs cbmc, goto-cc and goto-instrument in bin.
#
# Debian 12 has no CBMC of this release. Its packages of Debian 13 are unpacked beside the machine's own libraries, with
# the C library that they were built for; nothing of the machine changes. The package cbmc has a pinned checksum, its
# libraries the signature of their suite. As any user; idempotent.
set -eu

version=6.6.0-4
suite=trixie
amd64=02560859a17049c976961c232c4fc58f0747b57f9b751a466b1f368a438b0e41

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$(dirname "$here")")
deps=$root/build/deps
cache=${NEURON_DRA_CACHE:-${HOME:+$HOME/.cache/neuron-dra-agent}}
cache=${cache:-$root/build/cache}
folder=$cache/cbmc-$version

say() { echo "proofs: $*" >&2; }
fail() { say "$*"; exit 1; }
. "$root/tools/build/deps_source.sh"

# A wrapper for the program $1: it runs under the unpacked C library, and its children under the machine's own.
wrapper() {
    cat >"$work/new/bin/$1" <<END
#!/bin/sh
root=\$(dirname "\$(dirname "\$(readlink -f "\$0")")")
exec "\$root/usr/lib64/ld-linux-x86-64.so.2" --library-path "\$root/usr/lib/x86_64-linux-gnu:\$root/usr/lib" \\
    --argv0 "$1" "\$root/usr/bin/$1" "\$@"
END
    chmod +x "$work/new/bin/$1"
}

[ "$(uname -m)" = x86_64 ] || fail "CBMC is pinned for x86_64 alone"
mkdir -p "$cache" "$deps"
exec 8>"$cache/cbmc.lock"
flock 8
if [ ! -e "$folder/.complete" ]; then
    say "installing CBMC $version of Debian $suite"
    work=$(mktemp -d "$cache/.cbmc-XXXXXX")
    trap 'rm -rf "$work"' EXIT
    state=$work/apt
    base=$(mirror)
    ring=$(keyring)
    [ -n "$base" ] || fail "no Debian mirror in the apt configuration of this machine"
    [ -n "$ring" ] || fail "no Debian keys: apt-get install debian-archive-keyring"
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$work/debs" "$work/new/bin"
    : >"$state/status"
    printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' \
        "$base" "$suite" "$ring" >"$state/src.sources"
    {
        own_apt -o Dir::State::status="$state/status" update --error-on=any &&
            cd "$work/debs" &&
            own_apt -o Dir::State::status="$state/status" download \
                "cbmc=$version" kissat minisat libc6 libstdc++6 libgcc-s1
    } >"$deps/cbmc.log" 2>&1 || fail "the packages could not be fetched: $(tail -n 1 "$deps/cbmc.log")"
    found=$(sum_of "$work/debs/cbmc_${version}_amd64.deb")
    [ "$found" = "$amd64" ] || fail "cbmc $version has sha256 $found, not the pinned one"
    for package in "$work"/debs/*.deb; do dpkg-deb -x "$package" "$work/new"; done
    for program in cbmc goto-cc goto-instrument kissat; do wrapper "$program"; done
    "$work/new/bin/cbmc" --version >&2
    touch "$work/new/.complete"
    rm -rf "$folder"
    mv -T "$work/new" "$folder"
fi
echo "$folder"
