#!/usr/bin/env bash
# Packs files into the archives of corpus/, one a target; the same files give the same bytes.
#   pack.sh FOLDER [FILE...]   adds FILEs to corpus/FOLDER.tar.gz, and those of a folder corpus/FOLDER, which it then removes
#   tar -xzf tests/fuzz/corpus/FOLDER.tar.gz -C SOMEWHERE   unpacks one
set -euo pipefail
export LC_ALL=C

(($# >= 1)) || { sed -n '2,4s/^# //p' "$0" >&2 && exit 2; }
corpus=$(cd "$(dirname "${BASH_SOURCE[0]}")/corpus" && pwd)
archive=$corpus/$1.tar.gz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/files"
[[ ! -e "$archive" ]] || tar -xzf "$archive" -C "$work/files"
[[ ! -d "$corpus/$1" ]] || cp -- "$corpus/$1"/* "$work/files/"
(($# == 1)) || cp -- "${@:2}" "$work/files/"
(cd "$work/files" && printf '%s\0' *) |
  tar -C "$work/files" --null --files-from=- --format=ustar --mtime=@0 --mode=0644 --owner=0 --group=0 --numeric-owner -cf - |
  gzip -9n >"$work/packed"
cp "$work/packed" "$archive"
rm -rf "${corpus:?}/$1"
printf '%s: %d files, %d bytes\n' "$1" "$(tar -tzf "$archive" | wc -l)" "$(wc -c <"$archive")"
