#!/usr/bin/env bash
# Every target against a real Slurm of four nodes on this machine: plan, launch, a node that dies in the
# middle, resuming as the target's script does, watch, calibrate. A program (stand_in/trainer) replaces
# torchrun and the scripts: it refuses words that they would refuse and prints the lines that they print.
# Skipped if Slurm cannot be started.
#   slurm_targets.sh TRNPLAN TRAINER SOURCE_DIR
# shellcheck disable=SC2016
set -euo pipefail

trnplan=$(realpath "$1")
trainer=$(realpath "$2")
source=$(cd "$3" && pwd)
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
prints() { check "$name: standard output does not hold: $1" grep -Eq -- "$1" "$out"; }

export COLUMNS=200   # what is looked for stands on one line
clone=$work/clone
for script in examples/training_orchestrator.py nemo/examples/nlp/language_modeling/megatron_gpt_pretraining.py \
  examples/training/llama/{tp_zero1_llama_hf_pretrain/tp_zero1_llama_hf_pretrain,tp_pp_llama_hf_pretrain/run_llama_nxd}.py \
  torch-neuronx/training/dp_bert_hf_pretrain/dp_bert_large_hf_pretrain_hdf5.py; do
  mkdir -p "$(dirname "$clone/$script")" && touch "$clone/$script"
done
mkdir "$work/meet" "$work/tokenizer" "$work/data" "$work/phase1"
touch "$work/data.bin" "$work/phase1/ckpt_28125.pt"
export STAND_IN_MEET=$work/meet STAND_IN_TRAINER=$trainer STAND_IN_HOLD=7

# plan NAME TARGET MODEL SEQUENCE BATCH PRECISION PIN: a filled-in folder of 400 steps on the four nodes, saved every 100
# where the target lets a job say so: a run of hours loses least when it saves at its end alone.
plan() {
  printf 'model: %s\ntraining: {sequence: %d, global_batch: %d, precision: %s, tokens: %d}\ncluster: {instance: trn1.32xlarge, nodes: 4}\nsoftware: {framework: %s}\npin: {%s}\n' \
    "$3" "$4" "$5" "$6" $((400 * $4 * $5)) "$2" "$7" >"$work/$1.yaml"
  [[ $2 == bert ]] || echo 'run: {checkpoint_steps: 100}' >>"$work/$1.yaml"
  run 0 plan "$work/$1.yaml" --top 1 --out "$work/$1"
  seconds=$(grep -o '"step_seconds": *[0-9.]*' "$work/$1/plan.json" | head -n 1 | sed 's/.*: *//')
  sed -i -e "s#^TRNPLAN_VENV=.*#TRNPLAN_VENV=$source/tests/launch/stand_in#" -e "s#^TRNPLAN_CODE=.*#TRNPLAN_CODE=$clone#" \
    -e "s#^TRNPLAN_DATA=.*#TRNPLAN_DATA=$work/data#" -e "s#^TRNPLAN_TOKENIZER=.*#TRNPLAN_TOKENIZER=$work/tokenizer#" \
    -e "s#^TRNPLAN_PHASE1=.*#TRNPLAN_PHASE1=$work/phase1#" -e 's#^TRNPLAN_PHASE1_STEP=.*#TRNPLAN_PHASE1_STEP=28125#' "$work/$1/settings.env"
}

# carry FORMAT LINE FIRST: launches the plan, kills a node seven steps behind the first checkpoint, and looks at what came of it.
# LINE is what the log says of a step, with STEP for its number; the first step is FIRST. Leaves the checkpoint's step in $saved.
carry() {
  local log train follower code=0
  rm -f "$work/meet/held"
  STAND_IN_STEP=$seconds run 0 launch "$work/$name"
  train=$(id_of train)
  log=$work/$name/train-$train.out
  check "$name: the training runs" until_true test -e "$work/meet/held"
  saved=$(($(cat "$work/meet/held") - 7))
  # What was printed reaches the log before the job is ended.
  check "$name: its log says so" until_true grep -Eq -- "${2/STEP/$((saved + 6 + $3))}" "$log"
  "$trnplan" watch "$train" --plan "$work/$name/plan.json" --interval 1 >"$work/followed" 2>&1 &
  follower=$!
  check "$name: watch sees it" until_true grep -q '/400 steps' "$work/followed"
  check "$name: the job is queued again" node_dies "$train"
  check "$name: it ends with the node back" reaches "$train" COMPLETED
  follows "$follower" || code=$?
  check "$name: watch follows until the end, exit $code" test "$code" -eq 0
  check "$name: it sees the last step" grep -Eq '(399|400)/400 steps' "$work/followed"
  tr '\r' '\n' <"$log" | sed -n '/^\[trnplan\] start 1/,$p' >"$work/second"
  check "$name: it goes on behind the checkpoint of step $saved" bash -c 'grep -Em 1 "^(step|LOG|Epoch) ?" "$0" | grep -Eq -- "$1"' \
    "$work/second" "${2/STEP/$((saved + $3))}"
  run 0 watch "$train" --plan "$work/$name/plan.json" --once --format json
  prints '"restarts":1'
  prints '"lost_steps":7'   # those behind the checkpoint
  prints '"finished":true'
  # By its own lines: with the noise of 1 % and clocks of whole seconds.
  check "$name: its steps take $seconds s" awk -v reported="$(sed -n 's/.*"step_seconds":\([0-9.]*\),"recent.*/\1/p' "$out")" -v true="$seconds" \
    'BEGIN { exit !(reported > 0.97 * true && reported < 1.03 * true) }'
  check "$name: nothing is called slow or fast" bash -c '! grep -Eq "\"kind\":\"(slower|faster|straggler|drift|missing-steps|gradient-norm)\"" "$0"' "$out"
  run 0 watch "$train" --plan "$work/$name/plan.json" --once --calibrate "$work/$name.json"
  prints 'restarts: 1'
  prints 'COMPLETED'
  prints "$name.json written: [0-9]+ steps of"
  run 0 calibrate "$log" --job "$work/$name.yaml"
  prints "$1"
  run 0 plan "$work/$name.yaml" --top 1 --profile "$work/$name.json"
}

name=nxdt
plan $name nxdt llama3-8b 8192 256 mixed_precision 'tensor_parallel: 8, pipeline_parallel: 1, recompute: CoreAttention+LlamaMLP'
carry 'progress bar' ' STEP/400 ' 1

name=nxd
plan $name nxd llama3-8b 8192 256 mixed_precision 'tensor_parallel: 8, pipeline_parallel: 1, recompute: CoreAttention'
carry 'LOG lines' '- \(0, STEP\) step_loss' 1
check "$name: two checkpoints are kept" test "$(find "$work/$name/run" -name 'step_*' -printf '%f ' | wc -w)" -eq 2

# Steps count from 0; the last stage prints, on another node than the first. Each start has logs of its own.
name=nxd-stages
plan $name nxd llama3-8b 8192 256 mixed_precision 'tensor_parallel: 8, pipeline_parallel: 2, virtual_pipeline: 1, recompute: full'
carry 'NxD step lines' 'step STEP step_time' 0
check "$name: logs of the first start are kept" test -e "$(echo "$work/$name"/run/tensorboard-*/events-from-0)"
check "$name: and those of the second" test -e "$(echo "$work/$name"/run/tensorboard-*/events-from-$saved)"

name=nemo
plan $name nemo-megatron llama2-7b 4096 256 bf16SR 'tensor_parallel: 8, pipeline_parallel: 1, recompute: full, flash_attention: false'
carry 'progress bar' ' STEP/400 ' 1

name=bert
plan $name bert bert-large 128 16384 bf16SR 'micro_batch: 16'
carry 'LOG lines' '- \(0, STEP\) step_loss' 1
check "$name: the checkpoint from before the restart stays" test -e "$work/$name/run/ckpt_$saved.pt"

# Phase 2 begins from phase 1, and goes on from a file of its own, whose name counts on from 28125.
name=bert-second
plan $name bert bert-large 512 32768 bf16SR 'micro_batch: 2'
carry 'LOG lines' '- \(0, STEP\) step_loss' 1
check "$name: its steps count on from phase 1" test -e "$work/$name/run/ckpt_28525.pt"

# A word that the script would refuse ends the compiling, and nothing trains.
name=refused
plan $name bert bert-large 128 16384 bf16SR 'micro_batch: 16'
sed -i 's/"--grad_accum_usteps"/"--grad_accum_steps"/' "$work/$name/node_run.sh"
code=0
bash "$work/$name/submit.sh" >"$out" 2>"$err" || code=$?
check "$name: submit.sh exits $code" test "$code" -eq 0
compile=$(id_of compile) train=$(id_of train)
check "$name: compiling fails" reaches "$compile" FAILED
check "$name: it says why" bash -c "grep -q -e '--grad_accum_steps: there is no such flag' '$work'/$name/compile-node*.log"
check "$name: training is cancelled" reaches "$train" CANCELLED

finish
