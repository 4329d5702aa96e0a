#!/usr/bin/env bash
# Unpacks Debian's libraries of another architecture into OUT/sysroot. It asks apt with lists and folders of its own, so that nothing
# of this system changes and no rights are needed.
#   sysroot.sh ARCHITECTURE OUT PACKAGE...   of these, those that differ between architectures, and the libraries they name
set -euo pipefail

architecture=$1 out=$2
shift 2
wanted=()
for package in "$@"; do
  [[ $package == *lib*-dev && "$(dpkg-query -W -f='${Architecture}' "$package")" != all ]] && wanted+=("$package")
done
[[ -e $out/sysroot && "$(cat "$out/sysroot.of" 2>/dev/null)" == "${wanted[*]}" ]] && exit
rm -rf "$out/apt" "$out/debs" "$out/sysroot"
mkdir -p "$out"/apt/{lists,archives}/partial "$out/debs" "$out/sysroot"
apt=(-o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture" -o "Dir::State::Lists=$out/apt/lists"
  -o "Dir::Cache=$out/apt" -o "APT::Sandbox::User=$(id -un)")
# A source of this system may know no other architecture; what is missing then is said by the download.
apt-get "${apt[@]}" -qq update || true
# CMake's files of a library want the shared one beside the archive. The C library is the compiler's own.
mapfile -t named < <(apt-cache "${apt[@]}" depends --no-pre-depends --no-recommends --no-suggests --no-conflicts --no-breaks \
  --no-replaces --no-enhances "${wanted[@]}" | sed -nE 's/^ +Depends: (z?lib.*)/\1/p' | grep -v '^libc6' | sort -u)
(cd "$out/debs" && apt-get "${apt[@]}" -qq download "${wanted[@]}" "${named[@]}")
for deb in "$out"/debs/*.deb; do dpkg-deb -x "$deb" "$out/sysroot"; done
# Some of CMake's files name their library from the root of its system on.
grep -rlZ '"/usr/' "$out/sysroot/usr/lib" --include='*.cmake' | xargs -0r sed -i "s|\"/usr/|\"$out/sysroot/usr/|g"
rm -rf "$out/apt" "$out/debs"
printf '%s\n' "${wanted[*]}" >"$out/sysroot.of"
