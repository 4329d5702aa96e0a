#!/usr/bin/env bash
# The folders of targets that compile nothing ahead, for GPUs and trn2, from settings.env to a run: prepare.sh, node_run.sh,
# submit.sh and trnplan launch with stand-ins for PyTorch, git and Slurm. The Python environment is a real one.
#   gpu_folders.sh TRNPLAN
# shellcheck disable=SC2016
set -euo pipefail

trnplan=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

launch() { run "$1" launch "${@:2}"; }  # launch CODE ARGUMENTS...
says() { check "standard error does not say: $1" grep -Fq -- "$1" "$err"; }
holds() { check "${1#"$work/"} holds: $2" grep -Fq -- "$2" "$1"; }
lacks() { check "${1#"$work/"} does not hold: $2" bash -c '! grep -Fq -- "$0" "$1"' "$2" "$1"; }

plan() {  # plan FOLDER TARGET MACHINE NODES BATCH [MORE]
  printf 'model: llama3-8b\ntraining: {sequence: 8192, global_batch: %d}\ncluster: {instance: %s, nodes: %d}\n%s\n' "$5" "$3" "$4" "${6:-}" >"$work/$1.yaml"
  run 0 plan "$work/$1.yaml" --top 1 --target "$2" --out "$work/$1"
  cp "$err" "$work/$1.said"
}
plan megatron megatron p5.48xlarge 2 128
plan megatron-one megatron p5.48xlarge 1 64
plan titan torchtitan p5.48xlarge 1 64
plan titan-trn2 torchtitan trn2.48xlarge 1 64

for script in "$work"/{megatron,megatron-one,titan,titan-trn2}/*.{sh,sbatch}; do
  check "bash -n ${script#"$work/"}" bash -n "$script"
  if command -v shellcheck >/dev/null; then check "shellcheck ${script#"$work/"}" shellcheck "$script"; fi
done

# A folder tells of its own machine and of what it does.
holds "$work/titan/torchtitan.toml" 'PyTorch with NCCL for GPUs'
holds "$work/titan/trnplan_config.py" 'Not read by node_run.sh'
lacks "$work/titan/trnplan_config.py" Trainium
lacks "$work/titan-trn2/trnplan_config.py" GPU
holds "$work/megatron/eks-pytorchjob-train.yaml" 'starts the training; by hand'
lacks "$work/megatron/eks-pytorchjob-train.yaml" compiles
lacks "$work/megatron/Dockerfile" TRNPLAN_PIP_INDEX
lacks "$work/megatron/README.md" 'No checkpoint is removed'
holds "$work/megatron/node_run.sh" '"--save-retain-interval"'
holds "$work/megatron/fsx-claim.yaml" 'holds 3 checkpoints of 90 GiB, of which one is being written'
lacks "$work/titan/README.md" 'No checkpoint is removed'
# measure.sh times the plan's own shapes, by a program that Python takes; a name that a shell would run stays a name.
holds "$work/megatron/measure.sh" 'PRODUCTS = [('
sed -n '/<<.PYTHON.$/,/^PYTHON$/p' "$work/megatron/measure.sh" | sed '1d;$d' >"$work/measure.py"
check 'its program is Python' python3 -m py_compile "$work/measure.py"
sly="$work/sly \$(touch $work/pwned) 'job'"
mkdir -p "$sly"
cp "$work/megatron.yaml" "$sly/job.yaml"
run 0 plan "$sly/job.yaml" --top 1 --target megatron --out "$sly/plan"
printf '#!/bin/bash\nexit 1\n' >"$work/no-torch"
chmod +x "$work/no-torch"
mkdir "$work/bare" && ln -s "$work/no-torch" "$work/bare/python3" && ln -s "$work/no-torch" "$work/bare/sbatch"
check 'measure.sh ends where Slurm refuses' bash -c '! PATH="$0:$PATH" bash "$1/plan/measure.sh"' "$work/bare" "$sly"
check 'nothing of the name was run' test ! -e "$work/pwned"
# health.sh, with stand-ins for dcgmi, all_reduce_perf and a Slurm of two nodes. The row is nccl-tests': size, count, type, redop,
# root, time, algbw, busbw, #wrong, and the same in place.
tools=$work/tools
mkdir "$tools"
cat >"$tools/dcgmi" <<'END'
#!/bin/bash
printf '%s\n' "$*" >>"$SAID"
word=Pass
[[ "${HANGS:-}" == "$SLURMD_NODENAME" ]] && exec sleep 60
[[ "${BROKEN:-}" == "$SLURMD_NODENAME" ]] && word=Fail
printf '|   Memory                  | %s                         |\n' "$word"
END
cat >"$tools/all_reduce_perf" <<'END'
#!/bin/bash
printf '%s\n' "$*" >>"$SAID"
rate=480.12
[[ "${SLOW:-}" == "$SLURMD_NODENAME" ]] && rate=300.00
printf '#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n'
printf '    67108864      16777216     float     sum      -1    400.1  167.73  293.53       0    399.0  168.19  294.34       0\n'
printf '  1073741824     268435456     float     sum      -1   3914.0  274.33  %s  %6s   3914.0  274.33  480.07       0\n' "$rate" "${WRONG:-0}"
END
printf '#!/bin/bash\nwhile [[ "$1" == --* ]]; do shift; done\nfor n in ${NODES:-n1 n2}; do SLURMD_NODENAME=$n "$@"; done\n[[ -z "${NODES:-}" ]]\n' >"$tools/srun"
chmod +x "$tools"/*
healthy() {  # healthy CODE NAME=VALUE...: health.sh of two nodes ends with CODE
  local code=$1 ended=0
  shift
  env PATH="$tools:$PATH" SAID="$work/said" SLURM_JOB_ID=7 "$@" bash "$work/megatron/health.sh" "$work/megatron" >"$work/health" 2>&1 || ended=$?
  ((ended == code))
}
check 'sound nodes are let go' healthy 0
check 'dcgmi: level 2' grep -qx 'diag -r 2' "$work/said"
check 'all_reduce_perf: flags of its README' grep -qx -e '-b 67108864 -e 1073741824 -f 4 -g 8' "$work/said"
check 'a slow node ends the job' healthy 3 SLOW=n2
check 'and is named' grep -q 'n2 is slow: 300.0 GB/s of all-reduce, the fastest node 480.1' "$work/health"
check 'the other is not' bash -c '! grep -q "n1 is slow" "$0"' "$work/health"
check 'a broken node ends the job' healthy 3 BROKEN=n1
check 'and is named, with what found it' grep -q 'n1 fails dcgmi diag -r 2' "$work/health"
check 'wrong sums end the job' healthy 3 WRONG=12
check 'TRNPLAN_HEALTH=no trains all the same' healthy 0 SLOW=n2 TRNPLAN_HEALTH=no
check 'a wider TRNPLAN_SLOW lets it go' healthy 0 SLOW=n2 TRNPLAN_SLOW=2
# Broken nodes that once passed: one that never answers, one on which dcgmi hangs, and every node of a factor that is no number.
check 'a node that says nothing ends the job' healthy 3 NODES=n1
check 'and the ones that answered are named' bash -c 'grep -q "1 of 2 nodes did not answer" "$0" && grep -qx "\[trnplan\]   n1" "$0"' "$work/health"
check 'no node says anything' healthy 3 NODES=' '
sed -i.kept 's/^seconds=900/seconds=1/' "$work/megatron/health.sh"
check 'a dcgmi that hangs ends the job' healthy 3 HANGS=n2
check 'and is named' grep -q 'n2 fails dcgmi diag -r 2, which did not end in 1 s' "$work/health"
mv -- "$work/megatron/health.sh.kept" "$work/megatron/health.sh"
for word in abc 0.5 '1; x'; do
  check "TRNPLAN_SLOW=$word is refused" healthy 2 TRNPLAN_SLOW="$word"
  check 'and no node is named' bash -c 'grep -q "TRNPLAN_SLOW is not a number of at least 1" "$0" && ! grep -q "is slow" "$0"' "$work/health"
done
rm -- "$tools/dcgmi" "$tools/all_reduce_perf"
check 'where neither tool is there nothing is said against a node' healthy 0
check 'but that it was left out' grep -q 'n1: no dcgmi' "$work/health"
check 'of trn2 no GPU is tested' test ! -e "$work/titan-trn2/health.sh"
# Only what a target has is offered, and asked for.
check 'megatron: modes' bash -c '! "$@" && grep -qx "prepare.sh: environment or data" "$0"' "$work/check" \
  env TRNPLAN_VENV=/v TRNPLAN_CODE=/c bash "$work/megatron/prepare.sh"
check 'torchtitan: modes' bash -c '! "$@" && grep -qx "prepare.sh: environment or tokenizer" "$0"' "$work/check" \
  env TRNPLAN_VENV=/v TRNPLAN_CODE=/c bash "$work/titan/prepare.sh"
holds "$work/megatron/settings.env" 'TRNPLAN_TEXT='
holds "$work/titan/settings.env" 'HF_TOKEN='
holds "$work/titan/settings.env" 'TRNPLAN_DATA='
for file in settings.env node_run.sh submit.sh README.md; do lacks "$work/titan-trn2/$file" TRNPLAN_DATA; done
for folder in megatron titan titan-trn2; do
  for name in TRNPLAN_VENV TRNPLAN_CODE TRNPLAN_TOKENIZER; do holds "$work/$folder/README.md" "| \`$name\` |"; done
  holds "$work/$folder/README.md" 'srun --nodes=1 bash prepare.sh environment'
  holds "$work/$folder/README.md" 'mkdir -p /shared/trnplan/trnplan-llama3-8b'
  # Every script and mode that it names is there.
  while read -r mode; do
    check "$folder: README.md: prepare.sh $mode is there" grep -q "^#   prepare.sh $mode " "$work/$folder/prepare.sh"
  done < <(grep -Eo '^ {7}.*prepare.sh (environment|tokenizer|data)' "$work/$folder/README.md" | sed 's/.*prepare.sh //' | sort -u)
done
holds "$work/megatron/README.md" 'prepare.sh data'
holds "$work/titan/README.md" 'prepare.sh tokenizer'

# PyTorch of the machine, git, and the programs of a clone.
mkdir -p "$work/site/torch/distributed" "$work/bin" "$work/tokenizer"
touch "$work/site/torch/__init__.py" "$work/site/torch/distributed/__init__.py" "$work/texts.json"
cat >"$work/site/torch/distributed/run.py" <<'PY'
import os, sys
with open(os.environ["ARGUMENTS"], "w") as f:
    print(sys.prefix, *sys.argv[1:], sep="\n", file=f)
PY
cat >"$work/bin/git" <<'SH'
#!/bin/bash
printf '%s\n' "git $*" >>"$LOG"
[[ "$1" == clone ]] || exit 0
clone=${!#}
mkdir -p "$clone/tools" "$clone/scripts"
touch "$clone/pretrain_gpt.py"
printf 'import sys\nopen(sys.argv[sys.argv.index("--output-prefix") + 1] + "_text_document.bin", "w")\n' >"$clone/tools/preprocess_data.py"
SH
chmod +x "$work/bin/git"
export LOG=$work/log ARGUMENTS=$work/arguments PATH=$work/bin:$PATH
: >"$LOG"
folder=$work/megatron-one
set_value() { sed -i "s#^$2=.*#$2=$3#" "$1/settings.env"; }  # set_value FOLDER NAME VALUE
set_value "$folder" TRNPLAN_VENV "$work/venv"
set_value "$folder" TRNPLAN_CODE "$work/clone"
set_value "$folder" TRNPLAN_TOKENIZER "$work/tokenizer"
if python3 -c 'import ensurepip' 2>/dev/null; then
  if ! python3 -c 'import torch' 2>/dev/null; then
    check 'an environment without PyTorch is refused' bash -c '! "$@" && grep -q "PyTorch cannot be imported with" "$0" && grep -q "^  fix: remove" "$0"' \
      "$work/check" bash "$folder/prepare.sh" environment
  fi
  check 'prepare.sh environment' env PYTHONPATH="$work/site" bash "$folder/prepare.sh" environment
  check 'it sees the packages of the image' grep -qx 'include-system-site-packages = true' "$work/venv/pyvenv.cfg"
  check 'the clone is at the commit that the flags are of' grep -Eqx "git -C $work/clone checkout [0-9a-f]+" "$LOG"
  check 'data: the texts are asked for' bash -c '! "$@" && grep -q "TRNPLAN_TEXT: fill in settings.env" "$0"' "$work/check" bash "$folder/prepare.sh" data
  set_value "$folder" TRNPLAN_TEXT "$work/texts.json"
  check 'prepare.sh data' bash "$folder/prepare.sh" data
  check 'what it made is what settings.env says' test -e "$folder/data_text_document.bin"
  # No torchrun is in this environment: PyTorch is the machine's.
  check 'no torchrun' test ! -e "$work/venv/bin/torchrun"
  check 'node_run.sh starts' env -u SLURM_JOB_ID PYTHONPATH="$work/site" bash "$folder/node_run.sh" "$folder" train
  check 'with the Python of the environment' grep -Fqx "$work/venv" "$ARGUMENTS"
  check 'a process a device' grep -qx -e '--nproc_per_node=8' "$ARGUMENTS"
  check 'the script' grep -qx pretrain_gpt.py "$ARGUMENTS"
  check 'the data set' grep -Fqx "$folder/data_text_document" "$ARGUMENTS"
  launch 0 "$folder" --scheduler local --dry-run
else
  skip 'Python environments of GPU folders' python3-venv
fi

# Slurm.
printf '#!/bin/bash\nexit 0\n' >"$work/bin/sbatch"
printf '#!/bin/bash\n[[ "$1" == -h ]] || printf "NODELIST STATE AVAIL_FEATURES PARTITION\\n"\nprintf "n1 down* p5.48xlarge q1*\\n"\n' >"$work/bin/sinfo"
chmod +x "$work/bin/"*
code=0
bash "$folder/submit.sh" >"$out" 2>"$err" || code=$?
check "submit.sh exits $code" test "$code" -eq 2
says 'no node of the partition is usable, the plan needs 1'
rm -f "$folder/data_text_document.bin"
bash "$folder/submit.sh" >"$out" 2>"$err" || true
says 'or make one: bash prepare.sh data'
lacks "$err" '--nodes 0'

# Kubernetes: what pods see is what the file says and what their volume holds.
printf '#!/bin/bash\necho kubectl\n' >"$work/bin/kubectl"
chmod +x "$work/bin/kubectl"
sed -i 's#SET-ME-image-with-software#registry/megatron#' "$work"/{megatron,titan-trn2}/*.yaml
pods() { launch "$1" "$work/${2:-megatron}" --scheduler eks --cluster-flavour eks-pytorchjob --dry-run; }
pods 2
says 'TRNPLAN_VENV: is not set'
TRNPLAN_VENV=$work/venv TRNPLAN_CODE=$work/clone TRNPLAN_TOKENIZER=$work/tokenizer pods 2
says 'TRNPLAN_VENV: is not set in it, and pods do not get it from this shell'
set_value "$work/megatron" TRNPLAN_VENV /opt/trnplan/venv
set_value "$work/megatron" TRNPLAN_CODE /opt/trnplan/code
set_value "$work/megatron" TRNPLAN_TOKENIZER /shared/tokenizer
TRNPLAN_RESULTS=$work/run pods 0
says "copy $work/megatron there first"
says 'at /shared/trnplan/trnplan-llama3-8b on their volume'
says 'TRNPLAN_VENV: /opt/trnplan/venv is not on the pods'\'' volume (/shared), so their image has to hold it'
lacks "$err" TRNPLAN_TOKENIZER:
lacks "$err" TRNPLAN_DATA   # below the folder, on the volume
set_value "$work/megatron" TRNPLAN_RESULTS /tmp/run
pods 2
says 'TRNPLAN_RESULTS: "/tmp/run" is not on the pods'\'' volume (/shared): checkpoints would be lost with the pod'
set_value "$work/megatron" TRNPLAN_RESULTS ./run
# Pods see the content of the file, not the variables that this shell exports.
set_value "$work/megatron" TRNPLAN_VENV ''
TRNPLAN_VENV=/shared/venv TRNPLAN_CODE=/shared/code launch 2 "$work/megatron" --scheduler eks --cluster-flavour eks-pytorchjob
says 'TRNPLAN_VENV: is not set in it'
# The volume may be mounted elsewhere.
sed -i 's#/shared#/data#g' "$work/titan-trn2/eks-pytorchjob-train.yaml"
set_value "$work/titan-trn2" TRNPLAN_VENV /data/venv
set_value "$work/titan-trn2" TRNPLAN_CODE /data/code
set_value "$work/titan-trn2" TRNPLAN_TOKENIZER /data/tokenizer
pods 0 titan-trn2
says 'at /data/trnplan/trnplan-llama3-8b on their volume'
lacks "$err" 'has to hold it'
sed -i 's#mountPath: /data#mountPath: /elsewhere#' "$work/titan-trn2/eks-pytorchjob-train.yaml"
pods 2 titan-trn2
says 'eks-pytorchjob-train.yaml: command: the pods look for this folder at /data/trnplan/trnplan-llama3-8b, and mount /elsewhere'

finish
