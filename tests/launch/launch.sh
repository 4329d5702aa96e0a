#!/usr/bin/env bash
# trnplan launch against stand-ins for sbatch, sinfo and kubectl: what is submitted, once, and what is refused.
#   launch.sh TRNPLAN SOURCE_DIR
# shellcheck disable=SC2016
set -euo pipefail

trnplan=$(realpath "$1")
source=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

launch() { run "$1" launch "${@:2}"; }  # launch CODE ARGUMENTS...
says() { check "standard error does not say: $1" grep -Fq -- "$1" "$err"; }
prints() { check "standard output does not hold: $1" grep -Fq -- "$1" "$out"; }

printf 'model: llama3-8b\ntraining: {sequence: 4096, global_batch: 128}\ncluster: {instance: trn1.32xlarge, nodes: 2}\npin: {tensor_parallel: 8, pipeline_parallel: 1, recompute: full}\n' >"$work/job.yaml"
plan=$work/plan
"$trnplan" plan "$work/job.yaml" --top 1 --out "$plan" >"$out" 2>&1

# Stand-ins: sbatch writes its arguments down and hands out ids, as the real one does with --parsable.
mkdir "$work/bin"
cat >"$work/bin/sbatch" <<'SH'
#!/bin/bash
[[ "${1:-}" == --version ]] && exit 0
printf '%s\n' "$@" --- >>"$LOG"
[[ "$*" == *train.sbatch* && -n "${REFUSE_TRAIN:-}" ]] && { echo "sbatch: error: Batch job submission failed: Invalid account" >&2; exit 1; }
[[ -n "${REFUSE:-}" ]] && { echo "sbatch: error: invalid partition specified" >&2; exit 1; }
sleep "${SLOW:-0}"
id=$((100 + $(grep -c '^---$' "$LOG")))
for word in "$@"; do [[ "$word" == --job-name=* ]] && echo "$id ${word#*=}" >>"$QUEUE"; done
[[ -n "${DIE:-}" && "$*" == *"$DIE.sbatch"* ]] && kill -9 "$PPID"   # the job is queued, and launch never hears of it
[[ -n "${GARBLE:-}" ]] && { printf 'no\n id\n'; exit 0; }
echo "$id;cluster"
SH
cat >"$work/bin/squeue" <<'SH'
#!/bin/bash
[[ -n "${NO_QUEUE:-}" ]] && { echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1; }
for word in "$@"; do [[ "$word" == --name=* ]] && sed -n "s/ ${word#*=}\$//p" "$QUEUE" 2>/dev/null; done
exit 0
SH
printf '#!/bin/bash\n[[ "$1" == -h ]] || printf "NODELIST STATE AVAIL_FEATURES PARTITION\\n"\nprintf "%%b" "${NODES:-n1 idle trn1.32xlarge q1*\\nn2 alloc trn1.32xlarge q1*\\n}"\n' >"$work/bin/sinfo"
printf '#!/bin/bash\necho "scancel $*" >>"$LOG"\n' >"$work/bin/scancel"
cat >"$work/bin/kubectl" <<'SH'
#!/bin/bash
printf '%s\n' "$*" >>"$LOG"
case $1 in
  apply) echo "mpijob.kubeflow.org/$(sed -n 's/^  name: //p' "$3")" ;;
  wait) [[ -z "${COMPILE_FAILS:-}" ]] ;;
  get) echo 'Created Running Failed' ;;
esac
SH
chmod +x "$work/bin/"*
plain=$PATH
export PATH=$work/bin:$PATH LOG=$work/log QUEUE=$work/queue

launch 2 "$work/nothing"
says 'is not a folder'
launch 2 "$plan"
says 'TRNPLAN_VENV: is not set'
says 'TRNPLAN_CODE: is not set'
says 'TRNPLAN_DATA: is not set'
says 'git clone https://github.com/aws-neuron/neuronx-distributed-training'

mkdir "$work/data"
sed -i -e "s#^TRNPLAN_VENV=.*#TRNPLAN_VENV=$source/tests/launch/stand_in#" -e "s#^TRNPLAN_CODE=.*#TRNPLAN_CODE=$source/tests/launch/stand_in/code#" \
  -e "s#^TRNPLAN_DATA=.*#TRNPLAN_DATA=$work/data#" "$plan/settings.env"
NODES='n1 idle trn1.32xlarge q1*\nn2 down* trn1.32xlarge q1*\n' launch 2 "$plan"
says 'partition q1 has 1 usable nodes, the plan needs 2'
NODES='\c' TRNPLAN_PARTITION=nope launch 2 "$plan"
says 'there is no partition nope'
NODES='n1 idle trn1n.32xlarge q1*\nn2 idle trn1n.32xlarge q1*\n' launch 2 "$plan"
says 'the nodes are trn1n.32xlarge, the plan is for trn1.32xlarge'
TRNPLAN_PARTITION='x; touch pwned' launch 2 "$plan" --dry-run   # settings.env: the environment goes first
says 'no partition with Trainium nodes is called'
launch 0 "$plan" --dry-run
prints "sbatch --parsable --chdir=$plan --job-name=trnplan-UNIQUE $plan/compile.sbatch $plan"
prints '--dependency=afterok:COMPILE_JOB_ID --kill-on-invalid-dep=yes'
check 'a dry run submits nothing' test ! -e "$LOG" -a ! -e "$plan/launch.json"
# Nothing in settings.env is executed, in a dry run or not.
cp "$plan/settings.env" "$work/settings.env"
sed -i "s#^TRNPLAN_PARTITION=.*#TRNPLAN_PARTITION=\$(touch $work/ran; echo q1)#" "$plan/settings.env"
launch 2 "$plan" --dry-run
says 'edited: settings.env: TRNPLAN_CODE, TRNPLAN_DATA, TRNPLAN_PARTITION, TRNPLAN_VENV'
says "no partition with Trainium nodes is called"
printf 'touch %q\n' "$work/ran" >>"$plan/settings.env"
launch 2 "$plan"
says 'is not a line NAME=VALUE'
check 'what was refused was run' test ! -e "$work/ran"
head -n 20 "$work/settings.env" | sed '/^TRNPLAN_RESTARTS/,$d' >"$plan/settings.env"
launch 2 "$plan" --dry-run
says 'TRNPLAN_SMOKE_STEPS: is not set anywhere'
prints 'When that is fixed, this runs:'
prints "$plan/train.sbatch"
cp "$work/settings.env" "$plan/settings.env"
# What is submitted is what was read.
cp -r "$plan" "$work/kept"
head -c 400 "$work/kept/nxdt.yaml" >"$plan/nxdt.yaml"
launch 2 "$plan" --dry-run
says "$plan/nxdt.yaml"
cp "$work/kept/nxdt.yaml" "$plan/"
: >"$plan/train.sbatch"
launch 2 "$plan" --dry-run
says 'train.sbatch: is empty'
cp "$work/kept/train.sbatch" "$plan/"
sed 's/"num_hidden_layers": 32/"num_hidden_layers": 80/' "$work/kept/plan.json" >"$plan/plan.json"
launch 2 "$plan" --dry-run
says 'config.json: num_hidden_layers: 32, but plan.json is for a model with 80'
cp "$work/kept/plan.json" "$plan/"
launch 0 "$plan" --dry-run
mv "$plan/node_run.sh" "$work/"
launch 2 "$plan"
says 'node_run.sh: is missing'
mv "$work/node_run.sh" "$plan/"

REFUSE=1 launch 4 "$plan"
says 'invalid partition specified'
check 'nothing is kept of a refusal' test ! -e "$plan/launch.json"
: >"$LOG"
REFUSE_TRAIN=1 launch 4 "$plan"
says 'Invalid account'
check 'the compile job is cancelled when training is refused' grep -qx 'scancel 101' "$LOG"
check 'nothing is kept then' test ! -e "$plan/launch.json"

: >"$LOG"
launch 0 "$plan" --format json
prints '"compile": "101"'
prints '"train": "102"'
check 'training waits for the compile job' grep -qx -e '--dependency=afterok:101' "$LOG"
check 'the folder is an argument' grep -qx "$plan" "$LOG"
launch 0 "$plan"
prints 'already submitted'
prints 'train 102'
check 'a second call submits nothing' test "$(grep -c '^---$' "$LOG")" -eq 2
# Killed between the two submissions: the next call submits training only.
: >"$LOG"
printf '{"schema_version": 1, "scheduler": "slurm", "jobs": {"compile": "77"}}\n' >"$plan/launch.json"
launch 0 "$plan"
check 'an interrupted launch is completed' grep -qx -e '--dependency=afterok:77' "$LOG"
check 'it submits no second compile job' test "$(grep -c compile.sbatch "$LOG")" -eq 0
rm "$plan/launch.json"

# Killed after sbatch queued a job and before its id was written down: the next call finds the job by its name.
submissions() { grep -c '^---$' "$LOG"; }
for what in compile train; do
  : >"$LOG"
  DIE=$what launch 137 "$plan"
  check "$what: the name was written down first" grep -q "\"begun\": {\"$what\": \"trnplan-$what-" "$plan/launch.json"
  before=$(submissions)
  NO_QUEUE=1 launch 4 "$plan"
  says 'squeue does not say whether the job'
  check "$what: without an answer nothing is submitted or forgotten" test "$(submissions)" -eq "$before" -a -s "$plan/launch.json"
  launch 0 "$plan"
  check "$what: nothing is submitted twice" test "$(submissions)" -eq 2
  check "$what: both ids are those of the queue" grep -q '"jobs": {"compile": "101", "train": "102"}}' "$plan/launch.json"
  rm "$plan/launch.json"
done
# Such a job may have ended so long ago that squeue forgot it: its output tells.
: >"$LOG"
DIE=compile launch 137 "$plan"
: >"$QUEUE"
: >"$plan/compile-4711.out"
launch 0 "$plan"
check 'a job that ended is found by its output' grep -qx -e '--dependency=afterok:4711' "$LOG"
rm "$plan/compile-4711.out" "$plan/launch.json"
# It was never queued: submitted anew.
: >"$LOG"
printf '{"schema_version": 1, "scheduler": "slurm", "jobs": {}, "begun": {"compile": "trnplan-compile-1-2"}}\n' >"$plan/launch.json"
launch 0 "$plan"
check 'a job that never came to be is submitted' test "$(submissions)" -eq 2
rm "$plan/launch.json"
# sbatch queues a job and prints no id.
: >"$LOG"
GARBLE=1 launch 0 "$plan"
prints 'train 102'
rm "$plan/launch.json"
printf '{"schema_version": 1, "scheduler": "slurm", "jobs": {}, "begun": {"compile": "x", "train": "y"}}\n' >"$plan/launch.json"
launch 2 "$plan"
printf '{"schema_version": 1, "scheduler": "slurm", "jobs": {"compile": "7; rm -rf x"}}\n' >"$plan/launch.json"
launch 2 "$plan"
says 'launch.json'
rm "$plan/launch.json"

# What was checked is what is submitted: the folder is resolved once, and its bytes are compared again.
evil=$work/evil
cp -r "$plan" "$evil"
echo 'touch pwned' >>"$evil/train.sbatch"
cp "$work/bin/sinfo" "$work/sinfo"
meanwhile() { printf '#!/bin/bash\n%s\nexec %q "$@"\n' "$1" "$work/sinfo" >"$work/bin/sinfo"; }  # while nodes are asked for
ln -s "$plan" "$work/link"
meanwhile "ln -sfn $evil $work/link"
: >"$LOG"
launch 0 "$work/link"
check 'a link that was changed meanwhile is not followed again' grep -qx "$plan/train.sbatch" "$LOG"
check 'nothing of another folder is submitted' bash -c '! grep -q evil "$0"' "$LOG"
rm "$plan/launch.json"
for file in train.sbatch node_run.sh settings.env nxdt.yaml; do
  cp "$plan/$file" "$work/$file"
  meanwhile "echo '# mine' >>$plan/$file"
  : >"$LOG"
  launch 2 "$plan"
  says "$plan/$file: was changed after it was checked, so it was not submitted"
  check "$file: nothing is submitted then" test ! -s "$LOG" -a ! -e "$plan/launch.json"
  cp "$work/$file" "$plan/$file"
done
mv "$plan" "$work/whole"
ln -s "$work/whole" "$plan"
meanwhile "mv $work/whole $work/aside && cp -r $evil $work/whole"
launch 2 "$plan"
says "$work/whole: another folder has replaced it after it was checked"
rm -rf "$plan" "$work/whole"
mv "$work/aside" "$plan"
cp "$work/sinfo" "$work/bin/sinfo"

# submit.sh does the same without trnplan.
: >"$LOG"
submit() {  # submit CODE [NAME=VALUE...]
  local wanted=$1 code=0
  env "${@:2}" bash "$plan/submit.sh" >"$out" 2>"$err" </dev/null || code=$?
  check "submit.sh exits $code instead of $wanted" test "$code" -eq "$wanted"
}
submit 2 NODES='n1 idle trn1.32xlarge q1*\nn2 down* trn1.32xlarge q1*\n'
submit 2 NODES=' '
says 'no node of the partition is usable, the plan needs 2'
submit 4 REFUSE=1
submit 4 REFUSE_TRAIN=1
check 'submit.sh: the compile job is cancelled when training is refused' grep -q '^scancel 10' "$LOG"
check 'submit.sh: nothing is kept then' test ! -e "$plan/launch.json"
: >"$LOG"
submit 137 DIE=compile
submit 4
says 'a submission was interrupted'
launch 0 "$plan"
check 'launch completes what submit.sh began' test "$(submissions)" -eq 2
submit 0
says 'already submitted'
rm "$plan/launch.json"
: >"$LOG"
(SLOW=0.3 submit 0) &
other=$!
SLOW=0.3 launch 0 "$plan"
wait "$other"
check 'submit.sh and launch at once submit once' test "$(submissions)" -eq 2
launch 0 "$plan"
prints 'already submitted'
rm "$plan/launch.json"

# Two at once.
: >"$LOG"
SLOW=0.3 "$trnplan" launch "$plan" >"$work/first" 2>&1 &
first=$!
SLOW=0.3 "$trnplan" launch "$plan" >"$work/second" 2>&1 &
second=$!
code=0
wait "$first" || code=$?
wait "$second" || code=$?
check "two launches at once: exit $code" test "$code" -eq 0
check 'two launches at once submit once' test "$(grep -c '^---$' "$LOG")" -eq 2
rm "$plan/launch.json"

odd="$work/o'dd \$(touch pwned)"
cp -r "$plan" "$odd"
launch 2 "$odd"
says 'the path contains characters'
check 'no shell ran the name of a folder' test ! -e pwned

# Kubernetes.
launch 2 "$plan" --scheduler eks
says 'eks-mpijob-compile.yaml:25:'
says 'eks-mpijob-train.yaml'
sed -i 's#SET-ME-image-with-software#registry/nxdt:2.28#' "$plan"/*.yaml
: >"$LOG"
COMPILE_FAILS=1 launch 4 "$plan" --scheduler eks
says 'compiling failed: mpijob.kubeflow.org/trnplan-llama3-8b-compile'
check 'nothing trains then' bash -c '! grep -q "apply.*-train.yaml" "$0"' "$LOG"
check 'it compiles again' test ! -e "$plan/launch.json"
for flavour in eks-mpijob eks-pytorchjob hyperpod-eks; do
  : >"$LOG"
  launch 0 "$plan" --scheduler eks --cluster-flavour "$flavour"
  prints 'train mpijob.kubeflow.org/trnplan-llama3-8b-train'
  prints '--selector=trnplan-job=trnplan-llama3-8b-train | trnplan watch - --plan'
  check "$flavour: compile, wait, train" test "$(grep -v version "$LOG")" = "apply -f $plan/$flavour-compile.yaml -o name
wait --for=condition=Succeeded --timeout=60s mpijob.kubeflow.org/trnplan-llama3-8b-compile
apply -f $plan/$flavour-train.yaml -o name"
  rm "$plan/launch.json"
done
echo '{"ClusterName": "c", "Orchestrator": {"Eks": {"ClusterArn": "arn:aws:eks:x"}}}' >"$work/hyperpod-eks.json"
launch 0 "$plan" --scheduler eks --cluster-file "$work/hyperpod-eks.json" --dry-run
prints 'hyperpod-eks-train.yaml'
launch 2 "$plan" --scheduler eks --cluster-file "$plan/hyperpod.json"
says 'Orchestrator.Eks: is missing'
launch 2 "$plan" --scheduler eks --cluster-flavour openshift
sed -i 's#^TRNPLAN_VENV=.*#TRNPLAN_VENV=#' "$plan/settings.env"
launch 2 "$plan" --scheduler eks
says 'TRNPLAN_VENV: is not set'
sed -i "s#^TRNPLAN_VENV=.*#TRNPLAN_VENV=$source/tests/launch/stand_in#" "$plan/settings.env"

# What one target asks for besides: a folder, and a number.
printf 'model: bert-large\ntraining: {sequence: 512, global_batch: 32768}\ncluster: {instance: trn1.32xlarge, nodes: 2}\nsoftware: {framework: bert}\n' >"$work/bert.yaml"
"$trnplan" plan "$work/bert.yaml" --top 1 --out "$work/bert" >"$out" 2>&1
launch 2 "$work/bert" --dry-run
says 'TRNPLAN_PHASE1: is not set'
says 'TRNPLAN_PHASE1_STEP: "" is not a whole number'
TRNPLAN_PHASE1=$work/data TRNPLAN_PHASE1_STEP=last launch 2 "$work/bert" --dry-run
says 'TRNPLAN_PHASE1_STEP: "last" is not a whole number'
check 'the folder is there' bash -c '! grep -q "TRNPLAN_PHASE1:" "$0"' "$err"

# One machine.
launch 2 "$plan" --scheduler local
says 'the plan needs 2 nodes'
sed -i 's/global_batch: 128/global_batch: 64/; s/nodes: 2/nodes: 1/' "$work/job.yaml"
"$trnplan" plan "$work/job.yaml" --top 1 --out "$work/small" >"$out" 2>&1
cp "$plan/settings.env" "$work/small/"
STAND_IN_STEP=10 launch 0 "$work/small" --scheduler local
prints '3/3 ['
STAND_IN_COMPILE_FAILS=1 STAND_IN_STEP=10 launch 4 "$work/small" --scheduler local
says 'node_run.sh ended with 1'
mkdir "$work/tools"
for tool in bash cat env; do ln -s "$(command -v "$tool")" "$work/tools/$tool"; done
PATH=$work/tools launch 2 "$plan"
says 'there is no sbatch here'
export PATH=$plain

finish
