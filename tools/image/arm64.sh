#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make image-arm64`: the image for arm64 on another machine, by Debian's cross compiler. Debian's musl for arm64 is
# unpacked below build/: the machine's own list of architectures stays as it is. The result has to print, under Debian's
# qemu-user, the ResourceSlices that the agent of this machine prints.
#
#   tools/image/arm64.sh BUILD_ID REVISION CREATED
set -eu

cd "$(dirname "$0")/../.."
work=$PWD/build/arm64
packages="gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"
# shellcheck disable=SC2086 # a list of words
if [ "$(dpkg-query -W -f '${db:Status-Status}\n' $packages 2>/dev/null | grep -cx installed)" != 3 ]; then
    [ "$(id -u)" = 0 ] || { echo "arm64.sh: run as root: apt-get install $packages" >&2; exit 1; }
    DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 install --no-install-recommends $packages
fi

# A list of packages of arm64 alone, checked by the machine's own keys.
mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/deb"
arm64_apt() {
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Acquire::Languages=none \
        -o Dir::State::Lists="$work/apt/lists" -o Dir::Cache="$work/apt/cache" -o APT::Sandbox::User=root "$@"
}
if ! ls "$work"/deb/musl-dev_*_arm64.deb >/dev/null 2>&1; then
    arm64_apt update
    (cd "$work/deb" && arm64_apt download musl-dev:arm64)
fi
deb=$(find "$work/deb" -name 'musl-dev_*_arm64.deb')
if [ "$(echo "$deb" | wc -l)" != 1 ]; then
    echo "arm64.sh: more than one musl-dev for arm64 lies in $work/deb: remove all but one" >&2
    exit 1
fi
dpkg-deb -x "$deb" "$work/root"

# The same compiler driver as musl-gcc, for the other machine.
machine=$(uname -m)
sed "s#/usr/lib/$machine-linux-musl#$work/root/usr/lib/aarch64-linux-musl#g
    s#/usr/include/$machine-linux-musl#$work/root/usr/include/aarch64-linux-musl#g" \
    "/usr/lib/$machine-linux-musl/musl-gcc.specs" >"$work/musl-gcc.specs"
printf '#!/bin/sh\nexec aarch64-linux-gnu-gcc "$@" -specs %s\n' "$work/musl-gcc.specs" >"$work/musl-gcc"
chmod +x "$work/musl-gcc"

# In a folder of its own: objects of two machines do not mix.
copy=$work/source
mkdir -p "$copy"
find "$copy" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} + # sources that are there no more
tools/image/copy.sh "$copy"
# The variables of this make are for C alone: Go would take CC for its own.
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$copy" build/neuron-dra-agent ARCH=aarch64 \
    CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-gcc-ar OBJCOPY=aarch64-linux-gnu-objcopy \
    MUSL_ROOT="$work/root" MUSL="$work/root/usr/lib/aarch64-linux-musl" MUSL_CC="$work/musl-gcc" "BUILD_ID=$1"

for board in trn2.48xlarge trn2u.48xlarge; do
    qemu-aarch64 "$copy/build/neuron-dra-agent" slices --board "$board" >"$work/slices"
    build/neuron-dra-agent slices --board "$board" | cmp - "$work/slices"
done
out=$PWD/build/image/arm64 root=$PWD
libgcc=$(aarch64-linux-gnu-gcc -print-libgcc-file-name)
(cd tools/image && go run . --root "$root" --out "$out" --binary "$copy/build/neuron-dra-agent" --machine aarch64 \
    --build "$1" --revision "$2" --created "$3" --musl "$(dpkg-deb -f "$deb" Version)" \
    --musl-file "$work/root/usr/lib/aarch64-linux-musl/libc.a" --libgcc-file "$libgcc" \
    --libgcc "$(dpkg-query -W -f '${Version}' "$(dpkg-query -S "$libgcc" | sed 's/: .*//')")")
echo "image: its agent prints under qemu what this machine's prints"
