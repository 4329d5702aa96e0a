#!/usr/bin/env bash
# plan, launch, jobs that run, failures: against a real Slurm of four nodes on this machine. A stand-in takes the place of
# the training (stand_in/bin/torchrun). Skipped, with the reason, where Slurm cannot be started.
#   slurm.sh TRNPLAN SOURCE_DIR
set -euo pipefail

trnplan=$(realpath "$1")
source=$(cd "$2" && pwd)
# shellcheck source=tests/launch/slurm_cluster.sh
. "$source/tests/launch/slurm_cluster.sh"
work=$(mktemp -d)
trap 'stop_slurm; rm -rf "$work"' EXIT
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

if ! start_slurm "$work/slurm"; then
  skip "no Slurm here: $no_slurm" "${slurm_packages[@]}"
  exit 0
fi

prints() { check "standard output does not hold: $1" grep -Eq -- "$1" "$out"; }

export COLUMNS=200   # what is looked for stands on one line
printf 'model: llama3-8b\ntraining: {sequence: 8192, global_batch: 256}\ncluster: {instance: trn1.32xlarge, nodes: 4}\npin: {tensor_parallel: 8, pipeline_parallel: 1, recompute: CoreAttention+LlamaMLP}\n' >"$work/job.yaml"
plan() {  # plan NAME: a filled-in folder
  "$trnplan" plan "$work/job.yaml" --top 1 --out "$work/$1" >"$out" 2>"$err"
  sed -i -e "s#^TRNPLAN_VENV=.*#TRNPLAN_VENV=$source/tests/launch/stand_in#" \
    -e "s#^TRNPLAN_CODE=.*#TRNPLAN_CODE=$source/tests/launch/stand_in/code#" -e "s#^TRNPLAN_DATA=.*#TRNPLAN_DATA=$work/data#" "$work/$1/settings.env"
}
mkdir "$work/data"
export STAND_IN_BATCH=256

# It runs: compile on all four nodes, then train.
plan good
STAND_IN_STEP=100 run 0 launch "$work/good"
compile=$(id_of compile) train=$(id_of train)
check 'the training job ends' reaches "$train" COMPLETED
check 'the compile job ends well' is "$compile" COMPLETED
check 'every node compiled' test "$(find "$work/good" -name 'compile-node*.log' | wc -l)" -eq 4
check 'the log shows the last step' grep -q '30/30 \[' "$work/good/train-$train.out"
run 0 launch "$work/good"
prints 'already submitted'
# Steps of 100 s where 31 are predicted are learnt only if the user insists.
run 3 watch "$train" --plan "$work/good/plan.json" --once --calibrate "$work/mine.json"
prints "mine.json is not written"
run 0 watch "$train" --plan "$work/good/plan.json" --once --calibrate "$work/mine.json" --force
prints '30/30 steps, [0-9.]+ s a step \(predicted'
prints 'goodput 9[0-9]\.'
prints 'COMPLETED'
prints 'mine.json written: 29 steps of'
run 0 plan "$work/job.yaml" --top 1 --profile "$work/mine.json"
run 2 watch 4711 --once
check 'an unknown job is said to be unknown' grep -q 'Slurm does not know this job' "$err"

# Without trnplan: the folder's own script.
plan alone
code=0
STAND_IN_STEP=100 bash "$work/alone/submit.sh" >"$out" 2>"$err" || code=$?
check "submit.sh exits $code" test "$code" -eq 0
train=$(id_of train)
check 'its training job ends' reaches "$train" COMPLETED
run 0 launch "$work/alone"
prints 'already submitted'
prints "train $train"

# The story of examples/close-the-loop: 30 steps that take 30 % longer than the example's plan says.
predicted=$("$trnplan" plan "$source/examples/close-the-loop/job.yaml" --top 1 --format json 2>/dev/null | sed -n 's/.*"step_seconds": *\([0-9]*\).*/\1/p' | head -n 1)
code=0
TRNPLAN=$trnplan TRNPLAN_VENV=$source/tests/launch/stand_in TRNPLAN_CODE=$source/tests/launch/stand_in/code TRNPLAN_DATA=$work/data \
  STAND_IN_STEP=$((predicted * 13 / 10)) bash "$source/examples/close-the-loop/story.sh" "$work/story" >"$out" 2>"$err" || code=$?
check "the story ends with $code" test "$code" -eq 0
check 'its job ends well' reaches "$(sed -n 's/^train //p' "$work/story/launched")" COMPLETED
prints '30/30 steps'
prints 'mine.json written: 29 steps'
prints 'is now the best plan|the same plan stays the best'
prints '^Best '

# A graph that does not compile: training never starts.
plan broken
STAND_IN_COMPILE_FAILS=1 STAND_IN_STEP=100 run 0 launch "$work/broken"
compile=$(id_of compile) train=$(id_of train)
check 'the compile job fails' reaches "$compile" FAILED
check 'training is cancelled with it' reaches "$train" CANCELLED
check 'training never started' test ! -e "$work/broken/train-$train.out"
check 'the log says why' bash -c "grep -q 'not every graph compiled' '$work'/broken/compile-node*.log"
# The first node that fails ends the others, so not every log has the line.
said=$(grep -l 'not every graph compiled' "$work"/broken/compile-node*.log | head -n 1)
run 3 watch "$said" --once
prints 'failure: compile-failed'

# The training itself fails once: queued again under its id, it goes on from the last checkpoint.
plan fails
STAND_IN_FAIL_AT=13 STAND_IN_STEP=100 run 0 launch "$work/fails"
train=$(id_of train)
check 'a job that failed is queued again and ends' reaches "$train" COMPLETED
log=$work/fails/train-$train.out
check 'the log says so' grep -q 'queued again' "$log"
check 'it started twice' test "$(grep -c '^\[trnplan\] start' "$log")" -eq 2
check 'it went on from the checkpoint of step 10' bash -c "tr '\r' '\n' <'$log' | sed -n '/start 1/,\$p' | grep -m 1 'Epoch' | grep -q ' 11/30 '"
run 0 watch "$train" --plan "$work/fails/plan.json" --once --format json
prints '"restarts":1'
prints '"lost_steps":2'   # 11 and 12 came after the checkpoint of step 10
prints '"kind":"hardware".*"run_went_on":true'

# A node dies: Slurm queues the job again.
plan dies
STAND_IN_HOLD=1 STAND_IN_STEP=100 run 0 launch "$work/dies"
train=$(id_of train)
log=$work/dies/train-$train.out
"$trnplan" watch "$train" --plan "$work/dies/plan.json" --interval 1 >"$work/followed" 2>&1 &
follower=$!
# The first run stops after step 7 until it is ended, so that no machine is too slow to see it.
check 'the training runs' until_true grep -q ' 7/30 ' "$log"
check 'watch sees it' until_true grep -q '7/30 steps' "$work/followed"
check 'the job is queued again' node_dies "$train"
check 'and ends with the node back' reaches "$train" COMPLETED
code=0
follows "$follower" || code=$?
check "watch follows until the end, exit $code" test "$code" -eq 0
check 'and the last step' grep -q '30/30 steps' "$work/followed"
run 0 watch "$train" --plan "$work/dies/plan.json" --once
prints 'restarts: 1'
prints 'node-failure'

finish
