#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Finds the source of a library and unpacks it into the cache. Read by tools/build/deps.sh, which sets cache and deps,
# reads tools/build/pins, where the order of the search stands, and holds the lock of the cache.
#
# What is taken has a pinned checksum, or else the signature of a Debian suite that has not expired. What cannot be
# used is passed over, with one line each. A source that is not pinned is recorded in its folder, in the file
# .unpinned, as name and version.
# shellcheck disable=SC2154 # cache and deps come from tools/build/deps.sh

# A release that is not pinned is looked for again after this time, in minutes.
FALLBACK_MINUTES=1440

setting() { eval "printf '%s' \"\${${prefix}_$1:-}\""; }
sum_of() { sha256sum "$1" | cut -d ' ' -f 1; }
at_least() { [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# The version that the checksum $1 is pinned for.
pinned_version() {
    for entry in $accept; do
        if [ "${entry#*:}" = "$1" ]; then echo "${entry%%:*}"; fi
    done
}

# The error that apt reports.
reason() {
    { grep -m 1 '^E:' "$work/log" || grep -v '^ *$' "$work/log" | tail -n 1; } | cut -c 1-200
}

# The Debian mirror of this machine's own configuration, whether or not its lists were ever fetched.
mirror() {
    # shellcheck disable=SC1091
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    # shellcheck disable=SC2016 # apt's own variables
    apt-get indextargets --no-release-info --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk -v want="$codename" '$3 == "main" && ($2 == want || $2 ~ /^(stable|oldstable|testing|sid|unstable)$/) \
            {print $1; exit}'
}

keyring() {
    for file in "${NEURON_DRA_KEYRING:-}" /usr/share/keyrings/debian-archive-keyring.pgp \
        /usr/share/keyrings/debian-archive-keyring.gpg; do
        if [ -n "$file" ] && [ -e "$file" ]; then
            echo "$file"
            return
        fi
    done
}

# apt with sources, lists and cache of its own. Nothing in this machine's configuration can turn its checks of
# signatures off.
own_apt() {
    apt-get -q -o Dir::Etc::sourcelist="$state/src.sources" -o Dir::Etc::sourceparts=- \
        -o Dir::State::lists="$state/lists" -o Dir::Cache="$state/cache" -o APT::Sandbox::User=root \
        -o Acquire::AllowInsecureRepositories=false -o Acquire::AllowWeakRepositories=false \
        -o Acquire::AllowDowngradeToInsecureRepositories=false -o APT::Get::AllowUnauthenticated=false \
        -o Acquire::Retries=1 -o Acquire::http::Timeout=15 -o Acquire::https::Timeout=15 "$@"
}

# Fetches the archive of the suite $1 into the folder $2, with further options of apt: it checks the signature of the
# suite and the checksum of the file.
download() {
    suite=$1 to=$2
    shift 2
    rm -rf "$to"
    mkdir -p "$to" "$state/lists/partial" "$state/cache/archives/partial"
    printf 'Types: deb-src\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' \
        "$base" "$suite" "$ring" >"$state/src.sources"
    (own_apt "$@" update --error-on=any && cd "$to" &&
        own_apt "$@" source --download-only --tar-only "$name/$suite") >"$work/log" 2>&1 || {
        cat "$work/log" >>"$deps/$name.log"
        return 1
    }
}

# An expired suite gives pinned bytes, and only on a machine whose own apt takes expired suites.
download_expired() {
    grep -qE 'is expired|not valid yet' "$work/log" &&
        [ "$(apt-config shell check Acquire::Check-Valid-Until/b)" = "check='false'" ] &&
        download "$@"
}

# Sets `found` to an archive with a pinned checksum; `others` are the releases that fresh suites have instead.
search_suites() {
    state=$cache/apt
    base=$(mirror 2>/dev/null || true)
    ring=$(keyring)
    [ -n "$base" ] || { say "$name: no Debian mirror in the apt configuration of this machine"; return 1; }
    [ -n "$ring" ] || { say "$name: no Debian keys: apt-get install debian-archive-keyring"; return 1; }
    for suite in $(setting SUITES); do
        fresh=yes
        download "$suite" "$work/$suite" -o Acquire::Check-Valid-Until=true -o Acquire::Check-Date=true || {
            fresh=
            download_expired "$suite" "$work/$suite"
        } || {
            say "$name: suite $suite is passed over: $(reason)"
            continue
        }
        for file in "$work/$suite/${name}"_*.orig.tar.*; do
            sum=$(sum_of "$file")
            version=$(basename "$file" | sed 's/^[^_]*_//; s/\.orig\.tar\..*//')
            if [ -n "$(pinned_version "$sum")" ]; then
                found=$file
                return 0
            fi
            say "$name: suite $suite has $version, which is not pinned (sha256 $sum)"
            if [ -n "$fresh" ]; then others="$others $version:$suite:$file"; fi
        done
    done
    return 1
}

# The archives of upstream's releases, by way of apt: it knows this machine's proxies.
search_upstream() {
    for entry in $accept; do
        version=${entry%%:*}
        found=$work/upstream-$version
        url=$(setting UPSTREAM | sed "s/VERSION/$version/g")
        if ! /usr/lib/apt/apt-helper -o APT::Sandbox::User=root -o Acquire::Retries=1 -o Acquire::http::Timeout=15 \
            -o Acquire::https::Timeout=15 download-file "$url" "$found" >"$work/log" 2>&1; then
            say "$name: upstream is passed over: $(reason)"
            cat "$work/log" >>"$deps/$name.log"
        elif [ -z "$(pinned_version "$(sum_of "$found")")" ]; then
            say "$name: upstream is passed over: $url has sha256 $(sum_of "$found"), not the pinned one"
        else
            say "$name: $version is taken from upstream, by its pinned checksum"
            return 0
        fi
    done
    return 1
}

# The highest release that is good enough, of those that fresh suites signed for.
search_others() {
    best=
    for entry in $others; do
        version=${entry%%:*}
        case $version in "$(setting SERIES)".*) ;; *) continue ;; esac
        at_least "$(setting OLDEST)" "$version" || continue
        if [ -z "$best" ] || ! at_least "$version" "$best"; then
            best=$version
            found=${entry#*:}
        fi
    done
    [ -n "$best" ] || return 1
    suite=${found%%:*}
    found=${found#*:}
    warning="$name: $best of Debian $suite is used in place of $wanted; the build id shows it"
    [ -z "$(setting OTHER)" ] || warning="$warning; $(setting OTHER)"
    at_least "$wanted" "$best" || [ -z "$(setting OLDER)" ] || warning="$warning; $(setting OLDER)"
}

# Unpacks the archive $1 and then gives it its name $2 in the cache, in which others may be reading: what appears
# there is whole. $3: name and version of what is not pinned.
keep() {
    mkdir "$work/new"
    tar -C "$work/new" --strip-components=1 --no-same-owner -xf "$1" 2>"$work/log" ||
        fail "$name: $1 cannot be unpacked: $(tail -n 1 "$work/log")"
    [ -z "$3" ] || echo "$3" >"$work/new/.unpinned"
    sum_of "$1" >"$work/new/.sha256"
    [ ! -e "$2" ] || mv -T "$2" "$work/old"
    mv -T "$work/new" "$2"
}

# Keeps the pinned archive $1; the folder is printed.
keep_pinned() {
    sum=$(sum_of "$1")
    folder=$cache/src/$name-$(pinned_version "$sum")
    [ "$(cat "$folder/.sha256" 2>/dev/null)" = "$sum" ] || keep "$1" "$folder" ""
    echo "$folder"
}

# Keeps the archive `found` of the release `best`, and remembers that this was the best there is; the folder is printed.
keep_fallback() {
    sum=$(sum_of "$found")
    folder=$cache/src/$name-$best-$(echo "$sum" | cut -c 1-8)
    [ "$(cat "$folder/.sha256" 2>/dev/null)" = "$sum" ] || keep "$found" "$folder" "$name-$best"
    printf '%s\n%s\n' "$folder" "$warning" >"$work/fallback"
    mv "$work/fallback" "$fallback"
}

# The fallback that was remembered, if it is still there; the folder is printed.
kept_fallback() {
    folder=$(sed -n 1p "$fallback" 2>/dev/null) || return 1
    [ -e "$folder/.sha256" ] || return 1
    say "$(sed -n 2p "$fallback")"
    echo "$folder"
}

# The archive that NAME_ARCHIVE gives: this one or none.
given_archive() {
    [ -r "$given" ] || fail "$name: ${prefix}_ARCHIVE=$given: there is no such file to read"
    [ -n "$(pinned_version "$(sum_of "$given")")" ] ||
        fail "$name: ${prefix}_ARCHIVE=$given has sha256 $(sum_of "$given"), which ${prefix}_ACCEPT in" \
            "tools/build/pins does not list: get $wanted, or look at what it is and add it there"
    keep_pinned "$given"
}

search() {
    say "fetching the source of $name"
    found='' others='' best='' warning=''
    : >"$deps/$name.log"
    if search_suites || search_upstream; then
        keep_pinned "$found"
    elif search_others; then
        keep_fallback
        kept_fallback
    elif kept_fallback; then
        touch "$fallback"
    else
        fail "$name: nothing usable: $wanted is in none of the suites $(setting SUITES) and not at upstream," \
            "and no other $(setting SERIES) from $(setting OLDEST) on is there. Get $(setting UPSTREAM |
                sed "s/VERSION/$wanted/g") elsewhere, then: make ${prefix}_ARCHIVE=FILE"
    fi
}

# Makes sure of the unpacked source of $1; its folder is printed. To be called in a subshell.
source_folder() {
    name=$1
    prefix=$(echo "$name" | tr '[:lower:]' '[:upper:]')
    accept=$(setting ACCEPT)
    wanted=${accept%%:*}
    given=$(setting ARCHIVE)
    # Another list of what is accepted is another search.
    fallback=$cache/src/$name.fallback-$(echo "$accept $(setting SUITES) $(setting OLDEST)" | sha256sum | cut -c 1-8)
    if [ -z "$given" ]; then
        for entry in $accept; do
            folder=$cache/src/$name-${entry%%:*}
            if [ "$(cat "$folder/.sha256" 2>/dev/null)" = "${entry#*:}" ]; then
                echo "$folder"
                return
            fi
        done
        if [ -n "$(find "$fallback" -mmin -$FALLBACK_MINUTES 2>/dev/null)" ] && kept_fallback; then return; fi
    fi
    mkdir -p "$cache/src"
    # What a killed call left.
    find "$cache/src" -maxdepth 1 -name '.work-*' -mmin +$FALLBACK_MINUTES -exec rm -rf {} +
    work=$(mktemp -d "$cache/src/.work-XXXXXX")
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' INT TERM HUP
    if [ -n "$given" ]; then given_archive; else search; fi
}
