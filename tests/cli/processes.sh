#!/usr/bin/env bash
# Several trnplan at once on the same files: nothing is lost, nothing is mixed.
#   processes.sh TRNPLAN SOURCE_DIR
set -euo pipefail

trnplan=$(realpath "$1")
source=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

# Eight runs record what they saw in one profile.
printf "[XCG815]  Estimated peak HBM usage (22.839451) exceeds 16GB. Neff won't be able to load on chip\n" >"$work/compile.log"
recorders=()
for n in 1 2 3 4 5 6 7 8; do
  printf 'model: llama3-8b\ntraining: {sequence: %d, global_batch: 64}\ncluster: {instance: trn1.32xlarge, nodes: 1}\n' \
    $((n * 1024)) >"$work/job-$n.yaml"
  "$trnplan" watch "$work/compile.log" --once --job "$work/job-$n.yaml" --strategy tp=8,recompute=full --record "$work/mine.json" \
    >"$work/said-$n" 2>&1 &
  recorders+=($!)
done
for id in "${recorders[@]}"; do
  code=0
  wait "$id" || code=$?
  check "a recorder exits $code" test "$code" -eq 3   # the run failed, and that was recorded
done
check 'all eight observations are there' test "$(grep -c '"sequence"' "$work/mine.json")" -eq 8
check 'nothing else is left' test -z "$(find "$work" -name '.trnplan-*')"

# Help that nobody gets is no success.
for words in --help --version 'plan --help'; do
  code=0
  # shellcheck disable=SC2086
  "$trnplan" $words >/dev/full 2>"$err" || code=$?
  check "$words into a full disk exits $code" test "$code" -eq 2
  check "$words into a full disk says so" grep -q 'No space left' "$err"
done

# Two plans into one folder.
for name in one two; do
  cp "$source/examples/llama3-8b-one-node/job.yaml" "$work/$name.yaml"
done
printf 'pin: {tensor_parallel: 32}\n' >>"$work/two.yaml"
for name in one two; do
  run 0 plan "$work/$name.yaml" --top 1 --out "$work/only-$name"
done
check 'the two differ' bash -c "! diff -r '$work/only-one' '$work/only-two'"
both() {  # both FOLDER OPTION...: their exit codes, added
  local first second a=0 b=0
  "$trnplan" plan "$work/one.yaml" --top 1 --out "$1" "${@:2}" >"$work/first" 2>&1 &
  first=$!
  "$trnplan" plan "$work/two.yaml" --top 1 --out "$1" "${@:2}" >"$work/second" 2>&1 &
  second=$!
  wait "$first" || a=$?
  wait "$second" || b=$?
  sum=$((a + b))
}
one_of() { diff -r "$work/only-one" "$1" || diff -r "$work/only-two" "$1"; }
for round in 1 2 3; do
  both "$work/shared-$round"
  check 'one of the two is refused' test "$sum" -eq 2
  check 'the folder is that of the other one' one_of "$work/shared-$round"
  both "$work/shared-$round" --force
  check 'with --force none is' test "$sum" -eq 0
  check 'the folder is that of one of them' one_of "$work/shared-$round"
done

finish
