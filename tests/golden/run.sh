#!/usr/bin/env bash
# Compares what trnplan prints with *.out: exit code, standard output, standard error of the arguments in *.cmd
# ({SRC} is the source folder; no shell), and the text of trace.json where they name one.
#   run.sh TRNPLAN SOURCE_DIR         TRNPLAN_UPDATE_GOLDEN=1 rewrites the .out files
set -euo pipefail
shopt -s nullglob

trnplan=$(realpath "$1")
source=$(cd "$2" && pwd)
here=$source/tests/golden
. "$source/tests/normalise.sh"
export TRNPLAN_CATALOG=$source/catalog
unset COLUMNS  # text is as wide as it is without a terminal

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ln -s "$source" src  # lines break at the same words wherever the source folder is

checks=0 failed=0
for command in "$here"/*.cmd; do
  checks=$((checks + 1))
  name=$(basename "$command" .cmd)
  read -ra words <"$command" || true
  code=0
  "$trnplan" "${words[@]//\{SRC\}/src}" >out 2>err </dev/null || code=$?
  {
    cat out
    if [[ -s err ]]; then printf '[standard error]\n' && cat err; fi
    if [[ -f trace.json ]]; then printf '[trace.json]\n' && cat trace.json && rm trace.json; fi
    printf '[exit %d]\n' "$code"
  } | normalise "$source" >now
  compare "$here/$name.out" now "trnplan ${words[*]}" || failed=$((failed + 1))
done
for out in "$here"/*.out; do
  [[ -f "${out%.out}.cmd" ]] && continue
  printf 'FAIL: %s has no .cmd\n' "$out"
  failed=$((failed + 1))
done
printf 'golden: %d checks, %d failed\n' "$checks" "$failed"
((checks > 0 && failed == 0))
