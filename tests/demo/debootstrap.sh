#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make demo` as a stranger types it: on a fresh Debian with nothing but git and make.
#
#   tests/demo/debootstrap.sh [--work-tree] [--e2e] [bookworm] [trixie]
#
# For each suite (both by default) makes a minimal Debian in a folder of its own, clones HEAD into it
# (--work-tree: what lies in the tree now), and there runs, each of which must exit with 0:
#   make e2e      with --e2e, and nothing else: the commands of all pages, typed on a real cluster. Kubernetes' programs
#                 are copies of those that this machine has built already.
#   make demo     with everything that it installs and fetches
#   make demo     with packages and sources there, everything built anew
#   make demo     again, twice at the same time, as a user without rights
# Prints the seconds of each; those of the processors tell a busy machine from a slow build.
# Needs root and debootstrap. Mounts are in a mount namespace of its own and the folder is removed, so
# nothing is left behind. The mirror is that of the machine's own apt configuration.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$(dirname "$here")")

say() { echo "debootstrap: $*"; }
fail() { say "$*" >&2; exit 1; }

[ "$(id -u)" = 0 ] || fail "run as root"
command -v debootstrap >/dev/null || fail "missing package: apt-get install debootstrap"
if [ "${NEURON_DEMO_NAMESPACE:-}" != own ]; then
    NEURON_DEMO_NAMESPACE=own exec unshare --mount --propagation private "$0" "$@"
fi

work_tree=
e2e=
suites=
for word in "$@"; do
    case $word in
        --work-tree) work_tree=yes ;;
        --e2e) e2e=yes ;;
        bookworm | trixie) suites="$suites $word" ;;
        *) fail "$word: bookworm, trixie, --work-tree or --e2e" ;;
    esac
done
suites=${suites:-bookworm trixie}

# shellcheck disable=SC1091
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
# shellcheck disable=SC2016 # apt's own variables
mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v want="$codename" '$2 == want && $3 == "main" {print $1; exit}')
[ -n "$mirror" ] || fail "no Debian mirror in the apt configuration of this machine"

folder=$(mktemp -d /var/tmp/neuron-debian-XXXXXX)
# The namespace unmounts what is below when its last process ends; lazily, in case one still runs.
cleanup() {
    for place in "$folder"/*/proc "$folder"/*/sys "$folder"/*/dev "$folder"/*/run "$folder"/*; do
        umount -l "$place" 2>/dev/null || true
    done
    rm -rf --one-file-system "$folder"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

# How this machine reaches package registries: mirrors, proxies, and the authorities that sign for them. The paths of
# authorities are those of Debian's ca-certificates, which the new system installs too.
names='https?_proxy|no_proxy|GOPROXY|GONOSUMDB|GOSUMDB|NODE_EXTRA_CA_CERTS|PIP_CERT|PIP_INDEX_URL|SSL_CERT_FILE'
reach=$(env | grep -E "^($names)=" | xargs)

# Runs a command in the new system, as the root of a mount namespace: `make e2e` enters namespaces by nsenter, which
# goes to the root of a namespace, and would leave that of chroot.
# shellcheck disable=SC2016 # variables of that shell
enter='cd "$1" && pivot_root . . && umount -l . && cd / && shift && exec "$@"'
inside() {
    # shellcheck disable=SC2086 # lists of words
    unshare --mount --propagation private sh -c "$enter" sh "$target" \
        chroot $user / /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$home" \
        LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive $reach "$@"
}

system_make() {
    log=$folder/$suite.log
    debootstrap --variant=minbase --include=git,make "$suite" "$target" "$mirror" >"$log" 2>&1 || {
        tail -n 20 "$log"
        fail "$suite: debootstrap failed"
    }
    cp /etc/resolv.conf "$target/etc/resolv.conf"
    # How this machine reaches its mirror: proxies, and whether the mirror may be an old copy.
    apt-config dump | grep -E '^Acquire::(http|https|ftp|Check-Valid-Until|Check-Date)\b' \
        >"$target/etc/apt/apt.conf.d/90host" || true
    # As an installed Debian has it; the containers of `make e2e` get a copy.
    printf '127.0.0.1 localhost\n::1 localhost\n' >"$target/etc/hosts"
    mkdir -p "$target/usr/local/share/ca-certificates"
    cp -r /usr/local/share/ca-certificates/. "$target/usr/local/share/ca-certificates/" 2>/dev/null || true
    mount --bind "$target" "$target" # the root of a system is a mount, which private mounts rely on
    mount -t proc proc "$target/proc"
    if [ -n "$e2e" ]; then
        mount --rbind /sys "$target/sys" # with the cgroups, which containers need
        mount -t tmpfs tmpfs "$target/run"
        mkdir -p "$target$home/.cache/neuron-dra-agent"
        cp -a "$HOME/.cache/neuron-dra-agent/programs" "$target$home/.cache/neuron-dra-agent/" || true
    else
        mount -t sysfs sysfs "$target/sys"
    fi
    mount --rbind /dev "$target/dev"
}

clone() {
    if [ -n "$work_tree" ]; then
        mkdir -p "$target$tree"
        (cd "$root" && git ls-files -z -co --exclude-standard |
            tar --null --ignore-failed-read -T - -cf - 2>/dev/null) | tar -C "$target$tree" -xf -
    else
        git clone -q --no-local "$root" "$target$tree"
    fi
    chown -R 0:0 "$target$tree"
}

# Seconds of the processors in all children so far. No subshell: it would have children of its own.
processor_seconds() {
    times >"$folder/times"
    processor=$(awk 'NR == 2 {for (i = 1; i <= 2; i++) {split($i, t, /[ms]/); s += t[1] * 60 + t[2]}}
        END {printf "%.1f", s}' "$folder/times")
}

# Runs `make e2e` as a whole, with everything that it installs, fetches and builds.
end_to_end() {
    begin=$(date +%s)
    inside make --no-print-directory -C "$tree" e2e >"$folder/$suite.log" 2>&1 || {
        tail -n 200 "$folder/$suite.log"
        fail "$suite: make e2e failed"
    }
    say "$suite: make e2e: $(($(date +%s) - begin)) s, $(grep -c '^--- PASS' "$folder/$suite.log") tests passed"
}

# Runs `make demo`, which must end well and say so; $1 says under what circumstances.
demo() {
    processor_seconds
    before=$processor
    begin=$(date +%s.%N)
    inside make --no-print-directory -C "$tree" demo >"$folder/$suite.log" 2>&1 || {
        tail -n 60 "$folder/$suite.log"
        fail "$suite: make demo failed ($1)"
    }
    seconds=$(awk -v begin="$begin" -v end="$(date +%s.%N)" 'BEGIN {printf "%.1f", end - begin}')
    processor_seconds
    last=$(tail -n 1 "$folder/$suite.log")
    case $last in
        "demo: "*" facts checked"*) ;;
        *) fail "$suite: make demo ended with: $last" ;;
    esac
    say "$suite: $1: $seconds s," \
        "$(awk -v a="$before" -v b="$processor" 'BEGIN {printf "%.1f", b - a}') s of processors ($last)"
}

# Two at the same time, by somebody without rights, to whom tree and home are given.
demo_unprivileged() {
    chown -R 65534:65534 "$target$tree" "$target$home"
    user="--userspec=65534:65534"
    pids=
    for number in 1 2; do
        inside make --no-print-directory -C "$tree" demo >"$folder/$suite.$number.log" 2>&1 &
        pids="$pids $!"
    done
    number=0
    for pid in $pids; do
        number=$((number + 1))
        wait "$pid" || {
            tail -n 60 "$folder/$suite.$number.log"
            fail "$suite: make demo failed without rights, beside another"
        }
    done
    say "$suite: two at the same time, without rights: $(tail -n 1 "$folder/$suite.2.log")"
    user=
}

check_leftovers() {
    left=$(find "$target/tmp" -mindepth 1 -maxdepth 1 | head -n 5)
    [ -z "$left" ] || fail "$suite: left behind in /tmp: $left"
    for process in /proc/[0-9]*; do
        if [ "$(stat -L -c %d:%i "$process/root" || true)" = "$(stat -c %d:%i "$target")" ]; then
            fail "$suite: still running: $(tr '\0' ' ' <"$process/cmdline")"
        fi
    done
    say "$suite: nothing is left in /tmp, nothing runs"
}

for suite in $suites; do
    target=$folder/$suite
    tree=/srv/neuron-dra-agent
    user=
    home=/srv/home
    system_make
    mkdir -p "$target$home"
    clone
    if [ -n "$e2e" ]; then
        end_to_end
        cleanup
        mkdir -p "$folder"
        continue
    fi
    demo "everything, packages and sources included"
    rm -rf "$target$tree/build" "$target$home/.cache/neuron-dra-agent/lib"
    # What was fetched stays; the build starts from nothing.
    demo "packages and sources there, all built"
    demo "again"
    demo_unprivileged
    check_leftovers
    cleanup
    mkdir -p "$folder"
done
say "ok: $suites"
