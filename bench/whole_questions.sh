#!/usr/bin/env bash
# Whole questions, asked of two builds: CPU seconds and peak memory of each, as rows of docs/performance.md.
#   bench/whole_questions.sh BEFORE NOW      two trnplan programs; TRNPLAN_CATALOG names the catalogue of both
# Each question is asked once of each program. Answers must be the same; a row says so if they are not.
set -euo pipefail
before=$1 now=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

job() {  # NAME MODEL BATCH NODES
  printf 'model: %s\ntraining: {sequence: 8192, global_batch: %s, tokens: 15T, precision: mixed_precision}\n' \
    "$2" "$3" > "$work/$1.yaml"
  printf 'cluster: {instance: trn1.32xlarge, nodes: %s}\n' "$4" >> "$work/$1.yaml"
}
job one llama3-8b 1024 1
job big llama3.1-405b 2048 256
job most llama3.1-405b 2048 1875
job many llama3-70b 1024 16
job stages llama3-70b 1280 160
awk 'BEGIN {  # a progress bar of NxDT for each of a million steps
  for (i = 1; i <= 1e6; ++i) {
    s = 3 * i
    printf "\rEpoch 0:   1%%|# | %d/1000000 [%d:%02d:%02d<99:00:00,  3.01s/it, loss=%.3f, v_num=7, ", i, s / 3600, s / 60 % 60, s % 60, 4 - i / 1e6
    printf "lr=7.5e-9, gradient_norm=1.5%d, parameter_norm=1836.0, global_step=%d.0, consumed_samples=%d.0]", i % 7, i, 1024 * i
  }
}' > "$work/log"
types=trn1.32xlarge,trn1n.32xlarge,trn2.48xlarge,trn2.48xlarge-lnc1,trn2u-ultraserver
types=$types,p4d.24xlarge,p4de.24xlarge,p5.48xlarge,p5e.48xlarge,p5en.48xlarge

measure() {  # OUT PROGRAM WORDS...: "seconds MiB"
  local out=$1 code=0
  shift
  /usr/bin/time -o "$work/time" -f '%U %S %M' "$@" > "$out" 2> /dev/null || code=$?
  [ $code -eq 0 ] || [ $code -eq 3 ] || { echo "exit code $code: $*" >&2; exit 1; }
  tail -n 1 "$work/time" | awk '{printf "%.2f s, %.0f MiB", $1 + $2, $3 / 1024}'
}

echo '| question | before | now |'
echo '| --- | --- | --- |'
ask() {  # NAME WORDS...
  local name=$1 a b
  shift
  a=$(measure "$work/a" "$before" "$@")
  b=$(measure "$work/b" "$now" "$@")
  cmp -s "$work/a" "$work/b" || b="$b, another answer"
  echo "| $name | $a | $b |"
}
ask 'plan, 8B on 1 node' plan "$work/one.yaml"
ask 'plan, 405B on 1,875 nodes' plan "$work/most.yaml"
ask 'whatif, 70B on 1 to 1,875 nodes' whatif "$work/many.yaml" --nodes 1..1875
ask 'simulate, 70B, PP 40, 1F1B' simulate "$work/stages.yaml" --strategy tp=32,pp=40,recompute=full
ask 'simulate, 70B, PP 40, VPP 2' simulate "$work/stages.yaml" --strategy tp=32,pp=40,vpp=2,recompute=full
ask 'validate' validate
ask 'watch, 1,000,000 progress bars' watch "$work/log" --once
ask 'whatif, 405B, 10 types, 32 to 1,024 nodes' whatif "$work/big.yaml" --nodes 32..1024 --deadline 60d \
  --budget 100M --instances "$types"
