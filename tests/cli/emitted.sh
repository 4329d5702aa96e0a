#!/usr/bin/env bash
# The folder that plan --out writes: its files and scripts, kept and overwritten, with names that a shell would run.
#   emitted.sh TRNPLAN SOURCE_DIR
# shellcheck disable=SC2012,SC2016
set -euo pipefail

trnplan=$(realpath "$1")
source=$(cd "$2" && pwd)
export TRNPLAN_CATALOG=$source/catalog
example=$source/examples/llama3-8b-one-node/job.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
mkdir "$work/here"
cd "$work/here"

says() { check "standard error does not say: $1" grep -Eq -- "$1" "$err"; }
refuse() {  # refuse REGEX ARGUMENTS...: exit 2, a message, a fix, nothing written
  run 2 "${@:2}"
  says "$1"
  says '^  fix: .'
  check 'left files behind' test -z "$(ls -A)"
}

bundle=$work/bundle
run 0 plan "$example" --risk fastest --out "$bundle"
check "wrote $(ls -A "$bundle" | tr '\n' ' ')" \
  test "$(cd "$bundle" && ls -A | LC_ALL=C sort | tr '\n' ' ')" = \
  'Dockerfile README.md compile.sbatch config.json eks-mpijob-compile.yaml eks-mpijob-train.yaml eks-pytorchjob-compile.yaml eks-pytorchjob-train.yaml fsx-claim.yaml health.sh hyperpod-eks-compile.yaml hyperpod-eks-train.yaml hyperpod-eks.json hyperpod.json install_neuron.sh measure-1 measure-2 measure.sh measure_machine.sh mpi_launch.sh node_run.sh nxdt.yaml parallelcluster.yaml plan.json prepare.sh provisioning_parameters.json settings.env setup_env.sh submit.sh train.sbatch '
for script in "$bundle"/*.sbatch "$bundle"/*.sh; do
  check "bash -n $(basename "$script")" bash -n "$script"
done
if command -v shellcheck >/dev/null; then
  check 'shellcheck of the scripts' shellcheck --severity=style "$bundle"/*.sbatch "$bundle"/*.sh
else
  skip 'shellcheck of the scripts' shellcheck
fi
# For GPUs and for TorchTitan on Trainium 2: one job, scripts that bash and shellcheck take, a module that Python does.
while read -r instance target; do
  printf 'model: llama3-8b\ntraining: {sequence: 8192, global_batch: 128}\ncluster: {instance: %s, nodes: 2}\n' "$instance" >"$work/other.yaml"
  run 0 plan "$work/other.yaml" --target "$target" --top 1 --out "$work/$instance-$target"
  check "$instance $target: no job that compiles" test ! -e "$work/$instance-$target/compile.sbatch"
  for script in "$work/$instance-$target"/*.sbatch "$work/$instance-$target"/*.sh; do
    check "bash -n $instance $target $(basename "$script")" bash -n "$script"
  done
  if command -v shellcheck >/dev/null; then
    check "shellcheck $instance $target" shellcheck --severity=style "$work/$instance-$target"/*.sbatch "$work/$instance-$target"/*.sh
  fi
  if [[ -f "$work/$instance-$target/trnplan_config.py" ]]; then
    check "$instance $target: the module is Python" python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$work/$instance-$target/trnplan_config.py"
  fi
  config=$work/$instance-$target/torchtitan.toml
  [[ -f "$config" ]] || config=$work/$instance-$target/node_run.sh
  run 0 check "$config" --target "$target" --instance "$instance" --nodes 2
  run 0 check "$config" --target "$target"
  alone=$work/alone.${config##*.} # without its plan.json
  cp "$config" "$alone"
  run 2 check "$alone" --target "$target"
  says '--instance: a file of .* does not state the machine'
  run 3 check "$config" --target "$target" --instance "$instance" --nodes 3
done <<'END'
p5.48xlarge megatron
p5.48xlarge torchtitan
trn2.48xlarge torchtitan
END
texts() { (cd "$bundle" && find . -type f | LC_ALL=C sort | xargs cksum); }
state() { texts && (cd "$bundle" && find . -type f | LC_ALL=C sort | xargs stat -c '%n %i %Y'); }
before=$(state) written=$(texts)
run 2 plan "$example" --out "$bundle"
says 'fix: .*--force'
check 'a second run changed files' test "$(state)" = "$before"
run 0 plan "$example" --risk fastest --out "$bundle" --force
check '--force changed the texts' test "$(texts)" = "$written"
mkdir "$work/partial" && touch "$work/partial/train.sbatch"
run 2 plan "$example" --out "$work/partial"
says 'partial/train\.sbatch: .*exists'
check 'a ranking although --out cannot be written' test ! -s "$out"
check 'wrote some files next to the one in the way' test "$(ls -A "$work/partial")" = train.sbatch
# A target that can train none of the job's strategies, and one that trains some: those alone are ranked.
run 2 plan "$example" --target nemo-megatron --precision autocast --out "$work/nemo"
says 'nemo-megatron cannot express this plan: .*precision autocast; write precision: bf16SR or mixed_precision'
check 'no ranking although only the target lacks the plan' grep -q 'TP 8' "$out"
check 'wrote files of a plan that the target lacks' test ! -e "$work/nemo"
run 0 plan "$example" --target nxd --out "$work/nxd"
check 'not the plan of the target' grep -q '"target": "nxd"' "$work/nxd/plan.json"
touch "$work/regular"
refuse 'regular/below: .*folder' plan "$example" --out "$work/regular/below"
refuse 'regular: .*folder' plan "$example" --out "$work/regular"
refuse 'null/below: .*folder' plan "$example" --out /dev/null/below

# ---- hostile names ----

hostile=('we ird $(touch pwned).json' $'new\nline; touch pwned.json' "quo'te\".json" '-n.json' '--wrap=touch pwned.json'
  '`touch pwned`.json' '${HOME}.json' ';touch pwned;.json' '#SBATCH --wrap=x.json' '../here.json' 'a\nb.json')
run 0 plan "$example" --out "$work/plain"
write_config() {
  printf '%s\n' '{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "intermediate_size": 14336,' \
    '"num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192,' \
    '"rope_theta": 500000.0, "rms_norm_eps": 1e-05, "tie_word_embeddings": false}' >"$1"
}
mkdir "$work/names"
for name in "${hostile[@]}"; do
  rm -rf "$work/hostile"
  write_config "$work/names/$name"
  model=${name//\\/\\\\} model=${model//\"/\\\"} model=${model//$'\n'/\\n}
  printf 'model: "./%s"\ntraining: {sequence: 8192, global_batch: 1024, tokens: 15T}\ncluster: {instance: trn1.32xlarge, nodes: 1}\n' "$model" >"$work/names/job.yaml"
  run 0 plan "$work/names/job.yaml" --out "$work/hostile"
  for script in compile.sbatch train.sbatch; do
    check "$script: the job name is not plain" \
      grep -Eq '^#SBATCH --job-name=trnplan-[A-Za-z0-9_][A-Za-z0-9._-]*$' "$work/hostile/$script"
    grep -v '^#SBATCH --job-name=' "$work/plain/$script" >"$work/wanted"
    check "$script: more than the job name depends on the name" \
      bash -c 'grep -v "^#SBATCH --job-name=" "$1" | cmp -s - "$2"' _ "$work/hostile/$script" "$work/wanted"
  done
  for script in setup_env.sh node_run.sh submit.sh mpi_launch.sh; do
    check "$script depends on the name" cmp -s "$work/hostile/$script" "$work/plain/$script"
  done
  run 0 check "$work/hostile/nxdt.yaml"
done
check 'a command in a name was run' test ! -e pwned

# The scripts run from a folder with a hostile name, on stand-ins for Slurm and NxDT.
stubs=$work/stubs
hall="$work/we ird \$(touch pwned) 'x"
mkdir -p "$stubs" "$work/nxdt/examples" "$work/venv/bin"
cp -r "$bundle" "$hall"
printf '#!/bin/sh\necho node-a\n' >"$stubs/scontrol"
printf '#!/usr/bin/env bash\nwhile [[ $1 == --* ]]; do shift; done\nSLURM_PROCID=0 exec "$@"\n' >"$stubs/srun"
printf '#!/bin/sh\nprintf "<%%s>\\n" "$@"\n' >"$stubs/torchrun"
printf '#!/usr/bin/env bash\n"$@"\necho "Total failed compilations: ${FAILED_GRAPHS:-0}"\n' >"$stubs/neuron_parallel_compile"
chmod +x "$stubs"/*
ulimit() { :; }   # the limit of this machine may be lower than what the scripts ask for
export -f ulimit
sbatch() {
  code=0
  (cd "$hall" && PATH="$stubs:$PATH" SLURM_JOB_ID=7 SLURM_JOB_NODELIST=node-a SLURM_SUBMIT_DIR="$hall" \
    TRNPLAN_CODE="$work/nxdt" TRNPLAN_VENV="$work/venv" TRNPLAN_DATA='/data set/$(x)' bash "./$1") >"$out" 2>"$err" || code=$?
}
for script in compile.sbatch train.sbatch; do
  sbatch "$script"
  check "$script exits $code" test "$code" -eq 0
  check 'the config folder is not one argument' grep -Fxq -e "<--config-path=$hall>" "$out"
  check 'the data folder is not one argument' grep -Fxq -e '<data.train_dir=/data set/$(x)>' "$out"
done
FAILED_GRAPHS=3 sbatch compile.sbatch
check 'compile.sbatch succeeds although graphs failed' test "$code" -ne 0
check 'a command in a folder name was run' test ! -e pwned -a ! -e "$hall/pwned" -a ! -e "$work/nxdt/examples/pwned"

finish
