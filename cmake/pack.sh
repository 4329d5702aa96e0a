#!/usr/bin/env bash
# Packs a program with all it needs into OUT/trnplan-VERSION-linux-MACHINE.tar.gz and prints that name. Unpacked anywhere,
# bin/trnplan finds share/trnplan/catalog beside it.
#   pack.sh SOURCE_DIR PROGRAM OUT
set -euo pipefail

source=$1 program=$2 out=$3
version=$("$program" --version)
name=trnplan-${version#trnplan }-linux-$(uname -m)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage/$name"/{bin,share/trnplan,share/man/man1,share/bash-completion/completions}
strip -o "$stage/$name/bin/trnplan" "$program"
cp -r "$source/catalog" "$source/examples" "$stage/$name/share/trnplan/"
cp "$source/cli/completion.bash" "$stage/$name/share/bash-completion/completions/trnplan"
"$program" help --man >"$stage/$name/share/man/man1/trnplan.1"
cp "$source/LICENSE" "$source/README.md" "$stage/$name/"
# The same sources give the same bytes.
tar -C "$stage" --sort=name --mtime='2000-01-01 00:00Z' --owner=0 --group=0 --numeric-owner -cf - "$name" |
  gzip -n >"$out/$name.tar.gz"
printf '%s\n' "$out/$name.tar.gz"
