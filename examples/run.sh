#!/usr/bin/env bash
# Runs the `command` of every example from the source folder, and story.sh where there is an expected-output, and compares what is printed.
#   run.sh TRNPLAN SOURCE_DIR [ANSWERS]         TRNPLAN_UPDATE_GOLDEN=1 rewrites the expected-output files
# ANSWERS is a folder of tests/digest/answers.sh: what stands there is not run again.
set -euo pipefail
shopt -s nullglob

trnplan=$(realpath "$1")
source=$(cd "$2" && pwd)
answers=${3:-}
. "$source/tests/normalise.sh"
export TRNPLAN_CATALOG=$source/catalog
unset COLUMNS  # text is as wide as it is without a terminal

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source"

fitted=examples/collectives-of-2023 profile=trn1-2023-04-fitted.json  # an example's fit that the catalogue has
checks=0 failed=0
for command in examples/*/command; do
  checks=$((checks + 1))
  folder=$(dirname "$command")
  read -ra words <"$command" || true
  code=0 out=()
  if [[ $folder == "$fitted" ]]; then out=(--out "$work/$profile"); fi
  if answer=$(answered "$answers" "${words[*]}"); then
    cp "$answer.text" "$work/out"
    code=$(<"$answer.exit")
  else
    "$trnplan" "${words[@]}" "${out[@]}" >"$work/out" 2>"$work/err" </dev/null || code=$?
  fi
  if ((code != 0 && code != 3)); then  # 3: a refusal, an answer like any other
    printf 'FAIL: %s: trnplan %s: exit %d: %s\n' "$folder" "${words[*]}" "$code" "$(head -n 1 "$work/err")"
    failed=$((failed + 1))
    continue
  fi
  normalise "$source" <"$work/out" >"$work/now"
  compare "$folder/expected-output" "$work/now" "trnplan ${words[*]}" || failed=$((failed + 1))
done
# Stories with stand-ins for what they need besides the program.
for expected in examples/*/expected-output; do
  folder=$(dirname "$expected")
  if [[ ! -f "$folder/story.sh" ]]; then continue; fi
  checks=$((checks + 1))
  code=0
  TRNPLAN=$trnplan bash "$folder/story.sh" "$work/$folder" >"$work/out" 2>"$work/err" </dev/null || code=$?
  normalise "$(realpath "$work")/$folder" <"$work/out" >"$work/now"
  if ((code != 0)); then
    printf 'FAIL: %s/story.sh: exit %d: %s\n' "$folder" "$code" "$(tail -n 1 "$work/err")"
    failed=$((failed + 1))
  else
    compare "$expected" "$work/now" "$folder/story.sh" || failed=$((failed + 1))
  fi
done
# The catalogue holds the result of the fit.
checks=$((checks + 1))
if ! diff -u "catalog/profiles/$profile" "$work/$profile"; then
  printf 'FAIL: catalog/profiles/%s is not what its command writes\n' "$profile"
  failed=$((failed + 1))
fi
printf 'examples: %d checks, %d failed\n' "$checks" "$failed"
((checks > 0 && failed == 0))
