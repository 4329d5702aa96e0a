#!/usr/bin/env bash
# Runs the `command` of every example from the source folder and compares what it prints with `expected-output`.
#   run.sh TRNPLAN SOURCE_DIR         TRNPLAN_UPDATE_GOLDEN=1 rewrites the expected-output files
set -euo pipefail
shopt -s nullglob

trnplan=$(realpath "$1")
source=$(cd "$2" && pwd)
. "$source/tests/normalise.sh"
export TRNPLAN_CATALOG=$source/catalog
unset COLUMNS  # text is as wide as it is without a terminal

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source"

checks=0 failed=0
for command in examples/*/command; do
  checks=$((checks + 1))
  folder=$(dirname "$command")
  read -ra words <"$command" || true
  code=0
  "$trnplan" "${words[@]}" >"$work/out" 2>"$work/err" </dev/null || code=$?
  if ((code != 0 && code != 3)); then  # 3: a refusal, an answer like any other
    printf 'FAIL: %s: trnplan %s: exit %d: %s\n' "$folder" "${words[*]}" "$code" "$(head -n 1 "$work/err")"
    failed=$((failed + 1))
    continue
  fi
  normalise "$source" <"$work/out" >"$work/now"
  compare "$folder/expected-output" "$work/now" "trnplan ${words[*]}" || failed=$((failed + 1))
done
# The README's first text block is what the first example prints.
checks=$((checks + 1))
awk '/^```text$/ { n++; inside = 1; next } /^```$/ { inside = 0 } inside && n == 1' README.md >"$work/readme"
if ! diff -u examples/llama3-8b-one-node/expected-output "$work/readme"; then
  printf 'FAIL: README.md does not show what examples/llama3-8b-one-node prints\n'
  failed=$((failed + 1))
fi
# docs/accuracy.md shows what the examples print, one text block each, in this order.
block=0
for example in collectives-by-data-sheet collectives-of-2023 memory-of-published-jobs uptime-of-published-jobs; do
  block=$((block + 1)) checks=$((checks + 1))
  awk -v wanted=$block '/^```text$/ { n++; inside = 1; next } /^```$/ { inside = 0 } inside && n == wanted' docs/accuracy.md >"$work/accuracy"
  if ! diff -u "examples/$example/expected-output" "$work/accuracy"; then
    printf 'FAIL: docs/accuracy.md does not show what examples/%s prints\n' "$example"
    failed=$((failed + 1))
  fi
done
# The catalogue holds the result of the fit.
checks=$((checks + 1))
read -ra words <examples/collectives-of-2023/command
profile=trn1-2023-04-fitted.json
if ! "$trnplan" "${words[@]}" --out "$work/$profile" >/dev/null 2>&1 ||
  ! diff -u "catalog/profiles/$profile" "$work/$profile"; then
  printf 'FAIL: catalog/profiles/%s is not what its command writes\n' "$profile"
  failed=$((failed + 1))
fi
printf 'examples: %d checks, %d failed\n' "$checks" "$failed"
((checks > 0 && failed == 0))
