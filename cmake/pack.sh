#!/usr/bin/env bash
# Packs the static program with all it needs, or the wheel, and prints the name of the file. The same build gives the same bytes.
#   pack.sh tar SOURCE_DIR BUILD_DIR OUT     OUT/trnplan-VERSION-linux-MACHINE.tar.xz; unpacked anywhere, bin/trnplan finds its catalogue
#   pack.sh deb SOURCE_DIR BUILD_DIR OUT     OUT/trnplan_VERSION_ARCHITECTURE.deb
#   pack.sh wheel SOURCE_DIR BUILD_DIR OUT   OUT/trnplan-VERSION-PYTHON-PLATFORM.whl
# A program for another machine is run by qemu-MACHINE-static, since the manual page is what the program says of itself.
set -euo pipefail
umask 022

kind=$1 source=$(realpath "$2") build=$(realpath "$3") out=$(realpath "$4")
program=$build/cli/trnplan-static
export SOURCE_DATE_EPOCH=946684800   # 2000-01-01, the date of every file
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
version=$(sed -nE 's/^project\(trnplan VERSION ([0-9.]+).*/\1/p' "$source/CMakeLists.txt")

# look_at_program: sets what its ELF header says of the machine, and who strips and runs it.
look_at_program() {
  runner=() strip=strip
  case $(od -An -tu2 -j18 -N2 "$program" | tr -d ' ') in
    62) machine=x86_64 architecture=amd64 ;;
    183) machine=aarch64 architecture=arm64 ;;
    *) printf '%s: for a machine without a name here\n' "$program" >&2 && exit 1 ;;
  esac
  [[ $machine == "$(uname -m)" ]] || runner=("qemu-$machine-static") strip=$machine-linux-gnu-strip
}

# fill FOLDER ZSH: what both packages hold, as below /usr; zsh looks for completions in share/zsh/ZSH.
fill() {
  mkdir -p "$1"/bin "$1"/share/{trnplan,man/man1,bash-completion/completions,"zsh/$2",fish/vendor_completions.d}
  "$strip" -o "$1/bin/trnplan" "$program"
  cp -r "$source/catalog" "$source/examples" "$1/share/trnplan/"
  rm -rf "$1"/share/trnplan/examples/*/__pycache__   # left by whoever ran them
  "${runner[@]}" "$program" help --man >"$1/share/man/man1/trnplan.1"
  cp "$source/cli/completion.bash" "$1/share/bash-completion/completions/trnplan"
  cp "$source/cli/completion.zsh" "$1/share/zsh/$2/_trnplan"
  cp "$source/cli/completion.fish" "$1/share/fish/vendor_completions.d/trnplan.fish"
}

pack_tar() {
  look_at_program
  local name=trnplan-$version-linux-$machine
  fill "$stage/$name" site-functions
  cp "$source/LICENSE" "$source/README.md" "$stage/$name/"
  cp -r "$build/cli/licenses" "$stage/$name/"
  tar -C "$stage" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -cf - "$name" |
    xz -T1 >"$out/$name.tar.xz"
  printf '%s\n' "$out/$name.tar.xz"
}

# copyright: ours, and of each library that the program has inside.
copyright() {
  local file
  cat "$source/LICENSE"
  for file in "$build"/cli/licenses/*.txt; do
    printf '\n%s\nThe program has %s inside:\n\n' "$(printf '=%.0s' {1..80})" "$(basename "$file" .txt)"
    cat "$file"
  done
}

pack_deb() {
  look_at_program
  local root=$stage/root name=trnplan_${version}_$architecture.deb
  fill "$root/usr" vendor-completions
  gzip -9n "$root/usr/share/man/man1/trnplan.1"
  mkdir -p "$root/DEBIAN" "$root/usr/share/doc/trnplan"
  copyright >"$root/usr/share/doc/trnplan/copyright"
  cp "$source/README.md" "$root/usr/share/doc/trnplan/"
  ln -s ../../trnplan/examples "$root/usr/share/doc/trnplan/examples"
  local size
  size=$(find "$root/usr" -type f -printf '%s\n' | awk '{ kib += int(($1 + 1023) / 1024) } END { print kib }')
  cat >"$root/DEBIAN/control" <<END
Package: trnplan
Version: $version
Architecture: $architecture
Maintainer: trnplan maintainers <noreply@trnplan.invalid>
Installed-Size: $size
Section: science
Priority: optional
Description: performance simulator and parallelism planner for LLM training
 trnplan says, before anyone reserves a machine, which parallelism trains a
 large language model fastest on AWS Trainium or GPUs, and writes the configs
 and scripts that run it. The program needs no library of the system.
END
  (cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  chmod -R u=rwX,go=rX "$root"
  dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$root" "$out/$name" >/dev/null
  printf '%s\n' "$out/$name"
}

# The wheel is made of a copy, where setuptools leaves what it makes on the way.
pack_wheel() {
  cp -r "$source/python" "$stage/python"
  rm -rf "$stage"/python/{build,trnplan/__pycache__}
  cp "$source/CMakeLists.txt" "$stage/"   # has the version
  chmod -R u=rwX,go=rX "$stage"
  (cd "$stage/python" && TRNPLAN_BUILD_DIR=$build /usr/bin/python3 setup.py -q bdist_wheel -d "$stage/wheels")
  mv "$stage"/wheels/trnplan-*.whl "$out/"
  printf '%s\n' "$out"/trnplan-"$version"-*.whl
}

case $kind in
  tar | deb | wheel) "pack_$kind" ;;
  *) printf 'pack.sh: unknown kind %s\n' "$kind" >&2 && exit 2 ;;
esac
