#!/usr/bin/env bash
# trnplan sweep: here, in parts, and as a job array of a real Slurm of which one task is killed. The tables must be the
# same to the byte. The part with Slurm is skipped, with the reason, where Slurm cannot be started.
#   sweep.sh TRNPLAN SOURCE_DIR [POINTS]
set -euo pipefail

trnplan=$(realpath "$1")
source=$(cd "$2" && pwd)
# shellcheck source=tests/launch/slurm_cluster.sh
. "$source/tests/launch/slurm_cluster.sh"
points=${3:-200}
work=$(mktemp -d)
trap 'stop_slurm; rm -rf "$work"' EXIT
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

sweep() { run "$1" sweep "${@:2}"; }  # sweep CODE ARGUMENTS...

printf 'model: llama3-8b\ntraining: {sequence: 4096, global_batch: 1024}\ncluster: {instance: trn1.32xlarge, nodes: 1}\npin: {pipeline_parallel: 1, context_parallel: 1, tensor_parallel: 8, micro_batch: 1, recompute: CoreAttention+LlamaMLP}\n' >"$work/job.yaml"
batches=$(seq -s ', ' 256 256 $((64 * points)))   # a quarter of the points, for each of four clusters
printf 'job: job.yaml\ntokens: 1T\nnodes: [1, 2, 4, 8]\nglobal_batch: [%s]\n' "$batches" >"$work/grid.yaml"

sweep 0 "$work/grid.yaml" --out "$work/here"
table=$work/here/sweep.csv
check "the table has $points rows and a header" test "$(wc -l <"$table")" -eq $((points + 1))
check 'a batch that does not divide says why, the others have days' test "$(grep -c '^[^,]*,trn1.32xlarge,[^,]*,4096,[^,]*,nxdt,"TP 8' "$table")" -ge $((points * 3 / 4))
if command -v sqlite3 >/dev/null; then
  check 'the database holds the same rows' test "$(sqlite3 "$work/here/sweep.sqlite" 'select count(*) from sweep')" -eq "$points"
  check 'numbers are numbers' test "$(sqlite3 "$work/here/sweep.sqlite" 'select distinct typeof(nodes) || typeof(days) from sweep where days is not null')" = integerreal
else
  skip 'what the database of a sweep holds' sqlite3
fi

# In parts, by hand; what is there is not computed again.
sweep 0 "$work/grid.yaml" --out "$work/parts" --task 1/2
sweep 3 "$work/grid.yaml" --out "$work/parts" --collect
check 'it says what is missing' grep -q "$((points / 2)) of $points points are missing, the first is 0" "$err"
touch -d '2001-01-01' "$work/parts/point-000001.csv"
sweep 0 "$work/grid.yaml" --out "$work/parts"
check 'what was there stayed' test "$(date -r "$work/parts/point-000001.csv" +%Y)" -eq 2001
check 'in parts: the same table' cmp "$table" "$work/parts/sweep.csv"
check 'in parts: the same database' cmp "$work/here/sweep.sqlite" "$work/parts/sweep.sqlite"

# Another grid does not use old shards, nor half a one.
sed 's/tokens: 1T/tokens: 2T/' "$work/grid.yaml" >"$work/other.yaml"
sweep 3 "$work/other.yaml" --out "$work/parts" --collect
head -c 30 "$work/here/point-000000.csv" >"$work/parts/point-000000.csv"
sweep 3 "$work/grid.yaml" --out "$work/parts" --collect

# Nor those of a profile that differs in anything.
limits='"mesh_below": {"value": %d, "unit": "B", "source": "test"}'
# shellcheck disable=SC2059
for bytes in 1024 2048; do printf "{\"name\": \"mine\", \"base\": \"trn1\", \"parameters\": {}, \"algorithms\": {$limits}}\n" "$bytes" >"$work/$bytes.json"; done
sweep 0 "$work/grid.yaml" --out "$work/mine" --profile "$work/1024.json"
sweep 0 "$work/grid.yaml" --out "$work/mine" --profile "$work/1024.json" --collect
sweep 3 "$work/grid.yaml" --out "$work/mine" --profile "$work/2048.json" --collect

printf 'job: job.yaml\ntokens: 1T\nnode: [1]\ninstances: [trn1.32xlarg]\nglobal_batch: [0]\n' >"$work/bad.yaml"
sweep 2 "$work/bad.yaml"
check 'every fault of a grid is reported' test "$(grep -c '^  fix:' "$err")" -eq 3

if start_slurm "$work/slurm"; then
  sweep 0 "$work/grid.yaml" --out "$work/array" --scheduler slurm --tasks 6
  id=$(sed -n 's/^sweep \([0-9]*\):.*/\1/p' "$out")
  scancel "${id}_2"
  until_true ended "$id"
  # It may have been quick: killed half-way it would have left the first half of its points.
  for ((point = 2; point < points; point += 6)); do
    ((2 * point < points)) || rm -f "$work/array/point-$(printf '%06d' "$point").csv"
  done
  touch -d '2001-01-01' "$work"/array/point-*.csv
  sweep 3 "$work/grid.yaml" --out "$work/array" --collect
  sweep 0 "$work/grid.yaml" --out "$work/array" --scheduler slurm --tasks 6
  again=$(sed -n 's/^sweep \([0-9]*\):.*/\1/p' "$out")
  check 'only the task that was killed is run again' test "$(scontrol show job "$again" | grep -c '^JobId')" -eq 1
  until_true ended "$again"
  check 'it computes what was missing and nothing else' bash -c \
    "for f in '$work'/array/point-*.csv; do n=\${f##*-}; n=\$((10#\${n%.csv})); [[ \$(date -r \"\$f\" +%Y) -eq 2001 ]] || ((n % 6 == 2)) || exit 1; done"
  sweep 0 "$work/grid.yaml" --out "$work/array" --collect
  check 'job array: the same table' cmp "$table" "$work/array/sweep.csv"
  check 'job array: the same database' cmp "$work/here/sweep.sqlite" "$work/array/sweep.sqlite"
else
  skip "as a job array: no Slurm here: $no_slurm" "${slurm_packages[@]}"
fi

finish
