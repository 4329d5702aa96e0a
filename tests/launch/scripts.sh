#!/usr/bin/env bash
# The shell scripts that plan --out writes: syntax, shellcheck, and what node_run.sh really starts, with stand-ins for
# torchrun and the compiler.
#   scripts.sh TRNPLAN
# shellcheck disable=SC2016
set -euo pipefail

trnplan=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

job() {  # job MODEL NODES PIN: writes job.yaml
  printf 'model: %s\ntraining: {sequence: 4096, global_batch: %d}\ncluster: {instance: trn1.32xlarge, nodes: %d}\npin: {%s}\n' \
    "$1" $((64 * $2)) "$2" "$3" >"$work/job.yaml"
}
plan() {  # plan FOLDER ARGUMENTS...
  "$trnplan" plan "$work/job.yaml" --top 1 --out "$work/$1" "${@:2}" >"$work/plan.out" 2>&1
}

full='tensor_parallel: 8, pipeline_parallel: 1, recompute: full'
job llama3-8b 1 "$full"
check 'plan one node' plan one
check 'plan nxd' plan nxd --target nxd
job llama3-8b 1 'tensor_parallel: 8, pipeline_parallel: 2, recompute: full'
check 'plan nxd of two stages' plan nxd-stages --target nxd
job llama3-8b 1 "$full"
job llama3-8b 64 "$full"
check 'plan 64 nodes' plan large
job llama2-7b 1 "$full, flash_attention: false"
sed -i 's/global_batch: 64/&, precision: bf16SR/' "$work/job.yaml"
check 'plan nemo-megatron' plan nemo --target nemo-megatron
bert_job() {  # bert_job SEQUENCE BATCH
  printf 'model: bert-large\ntraining: {sequence: %d, global_batch: %d}\ncluster: {instance: trn1.32xlarge, nodes: 1}\nsoftware: {framework: bert}\n' "$1" "$2" >"$work/job.yaml"
}
bert_job 128 16384
check 'plan bert' plan bert
bert_job 512 32768
check 'plan bert, phase 2' plan bert-second
# Two plans that nothing tells apart; their folder and job hold what a shell would run.
sly="$work/sly \$(touch $work/pwned) 'job'"
mkdir -p "$sly"
job llama3-8b 1 ''
sed 's/sequence: 4096/sequence: 8192/; s/global_batch: 64/&, tokens: 15T/' "$work/job.yaml" >"$sly/job.yaml"
check 'plan two' "$trnplan" plan "$sly/job.yaml" --risk fastest --sure 0.95 --out "$work/pair"
check 'two plans whose ranking is in doubt get a script' test -x "$work/pair/measure.sh"
# Doubt only the links: then tables of nccom-test are what to run.
doubt() {  # doubt LINK_SPREAD EFA_SPREAD: writes doubt.json
  local parameter
  printf '{"name": "doubt", "base": "trn1-datasheet", "parameters": {' >"$work/doubt.json"
  for parameter in "link_fraction 0.2 $1" "efa_fraction 0.5 $2" 'matmul_efficiency 0.65 0.01' 'hbm_fraction 0.7 0.01'; do
    # shellcheck disable=SC2086
    printf '"%s": {"median": %s, "log_sd": %s, "unit": "1", "source": "test"}, ' $parameter >>"$work/doubt.json"
  done
  printf '"configuration_spread": {"median": 0.001, "log_sd": 0, "unit": "1", "source": "test"}}}' >>"$work/doubt.json"
}
doubt 2.0 2.0
job llama3-8b 2 'recompute: full, micro_batch: 1'
check 'plan tables' "$trnplan" plan "$work/job.yaml" --top 2 --out "$work/tables" --profile "$work/doubt.json" --sure 0.89
check 'its script is of nccom-test' grep -q 'table [0-9]* [12] nccom-test -r' "$work/tables/measure.sh"
# One plan alone: what its step depends on is timed, here on two nodes.
doubt 0.2 3.0
sed -i 's/"median": 0.65, "log_sd": 0.01/"median": 0.65, "log_sd": 0.2/' "$work/doubt.json"
job llama3-8b 2 "$full"
check 'plan machine' "$trnplan" plan "$work/job.yaml" --out "$work/machine" --profile "$work/doubt.json"
cp "$work/job.yaml" "$work/machine.yaml"
check 'its script times products' grep -q 'PRODUCTS = \[(' "$work/machine/measure.sh"
job llama3-8b 1 "$full"
check 'an existing folder is not overwritten' bash -c '! "$@"' _ "$trnplan" plan "$work/job.yaml" --out "$work/one"

for script in "$work"/*/*.sh "$work"/*/*.sbatch "$work"/*/measure-*/*.sh "$work"/*/measure-*/*.sbatch; do
  check "bash -n ${script#"$work/"}" bash -n "$script"
  if command -v shellcheck >/dev/null; then check "shellcheck ${script#"$work/"}" shellcheck "$script"; fi
done
if ! command -v shellcheck >/dev/null; then
  skip 'shellcheck of the emitted scripts' shellcheck
fi

# A folder and values with blanks, quotes and what a shell would run: all of it must arrive as one word.
odd="$work/it's \$(touch $work/pwned) \"odd\""
mkdir -p "$odd/venv/bin" "$odd/code/examples"
cp -r "$work/one" "$odd/plan"
printf '#!/bin/bash\nprintf "%%s\\n" "$@" >"$ARGUMENTS"\nenv >"$ARGUMENTS.env"\necho "Total failed compilations: ${FAILS:-0}"\n' >"$odd/venv/bin/torchrun"
printf '#!/bin/bash\n"$@"\n' >"$odd/venv/bin/neuron_parallel_compile"
chmod +x "$odd/venv/bin/"*
node_run() {  # node_run MODE [NAME=VALUE...]
  env -u SLURM_JOB_ID TRNPLAN_VENV="$odd/venv" TRNPLAN_CODE="$odd/code" TRNPLAN_DATA="$odd/data" ARGUMENTS="$work/arguments" "${@:2}" \
    bash "$odd/plan/node_run.sh" "$odd/plan" "$1"
}
check 'compile' node_run compile
check 'compile runs ten steps only' grep -qx 'COMPILE=1' "$work/arguments.env"
check 'a failed compilation is an error' bash -c '! "$@"' _ env -u SLURM_JOB_ID TRNPLAN_VENV="$odd/venv" TRNPLAN_CODE="$odd/code" \
  TRNPLAN_DATA="$odd/data" ARGUMENTS="$work/arguments" FAILS=2 bash "$odd/plan/node_run.sh" "$odd/plan" compile
check 'train' node_run train
check 'the data set is one word' grep -Fqx "data.train_dir=$odd/data" "$work/arguments"
check 'the log folder is the same for every job id' grep -Fqx "exp_manager.explicit_log_dir=$odd/plan/run" "$work/arguments"
check 'one node meets at itself' grep -qx -e '--master_addr=localhost' "$work/arguments"
check 'smoke test' node_run smoke TRNPLAN_SMOKE_STEPS=7
check 'a smoke test is short' grep -qx 'TRAIN_ITERS=7' "$work/arguments.env"
check 'its checkpoint is not where training resumes' grep -Fqx "exp_manager.explicit_log_dir=$odd/plan/smoke" "$work/arguments"
check 'nothing of it was run by a shell' test ! -e "$work/pwned"
check 'values are asked for' bash -c '! "$@" && grep -q settings.env "$0"' "$work/check" bash "$odd/plan/node_run.sh" "$odd/plan" train
check 'MPI: rank and master' node_run train OMPI_COMM_WORLD_RANK=3 MASTER_ADDR=first
check 'MPI: node rank' grep -qx -e '--node_rank=3' "$work/arguments"
# As the operator of PyTorchJob sets them, with a master and with an elasticPolicy.
check 'PyTorchJob with a master' node_run train PET_NODE_RANK=2 PET_MASTER_ADDR=job-master-0 PET_MASTER_PORT=23456 PET_NNODES=4
check 'PyTorchJob: node rank' grep -qx -e '--node_rank=2' "$work/arguments"
check 'PyTorchJob: master' grep -qx -e '--master_addr=job-master-0' "$work/arguments"
for mode in compile train; do
  check "PyTorchJob that meets by id: $mode" node_run $mode PET_RDZV_BACKEND=c10d PET_RDZV_ENDPOINT=job-worker-0:23456 PET_RDZV_ID=job
  check "a rendezvous of its own: $mode" grep -qx -e "--rdzv_id=job-$mode" "$work/arguments"
  check "torchrun finds the master: $mode" bash -c '! grep -q -e --master_addr "$0"' "$work/arguments"
done

# Two plans that share a folder of results are kept apart; the same plan from another folder goes on in it.
shared="$odd/shared results"
mkdir -p "$odd/code/examples/training/llama/tp_zero1_llama_hf_pretrain"
in_shared() {  # in_shared FOLDER MODE
  env -u SLURM_JOB_ID TRNPLAN_VENV="$odd/venv" TRNPLAN_CODE="$odd/code" TRNPLAN_DATA="$odd/data" ARGUMENTS="$work/arguments" \
    TRNPLAN_RESULTS="$shared" bash "$1/node_run.sh" "$1" "$2"
}
check 'one plan trains there' in_shared "$odd/plan" train
check 'and goes on' in_shared "$work/one" train
check 'its logs are there' grep -Fqx "exp_manager.explicit_log_dir=$shared" "$work/arguments"
check 'another does not' bash -c '! "$@" && grep -q "holds the run of another plan: nxdt, TP 8 " "$0"' "$work/check" env -u SLURM_JOB_ID \
  TRNPLAN_VENV="$odd/venv" TRNPLAN_CODE="$odd/code" TRNPLAN_DATA="$odd/data" TRNPLAN_RESULTS="$shared" bash "$work/nxd/node_run.sh" "$work/nxd" train
check 'it may compile meanwhile' in_shared "$work/nxd" compile
check 'submit.sh says so before anything is compiled' bash -c '! "$@"; grep -q "holds the run of another plan" "$0"' "$work/check" env \
  TRNPLAN_RESULTS="$shared" bash "$work/nxd/submit.sh"
"$trnplan" launch "$work/nxd" --dry-run >"$work/dry" 2>&1 || true
check 'launch says nothing of a folder of its own' bash -c '! grep -q TRNPLAN_RESULTS "$0"' "$work/dry"
TRNPLAN_RESULTS="$work/one/run" "$trnplan" launch "$work/nxd" --dry-run >"$work/dry" 2>&1 || true
check 'launch: nor of one that is empty' bash -c '! grep -q "TRNPLAN_RESULTS.*another plan" "$0"' "$work/dry"
mkdir -p "$work/plain"
cp "$shared/trnplan-run" "$work/plain"
TRNPLAN_RESULTS="$work/plain" "$trnplan" launch "$work/nxd" --dry-run >"$work/dry" 2>&1 || true
check 'launch says so too' grep -q "TRNPLAN_RESULTS: $work/plain holds the run of another plan: nxdt, TP 8 " "$work/dry"
rm "$shared/trnplan-run"
check 'without the mark it is taken over' in_shared "$work/nxd" train

# Targets whose scripts count steps by their flags: few while compiling, those asked for in a smoke test.
mkdir -p "$odd/code/examples/training/llama/"{tp_pp,tp_zero1}_llama_hf_pretrain "$odd/code/nemo/examples/nlp/language_modeling" \
  "$odd/code/torch-neuronx/training/dp_bert_hf_pretrain"
flags_run() {  # flags_run FOLDER MODE: leaves the arguments of the stand-in of torchrun in $work/arguments
  env -u SLURM_JOB_ID TRNPLAN_VENV="$odd/venv" TRNPLAN_CODE="$odd/code" TRNPLAN_DATA="$odd/data" TRNPLAN_TOKENIZER="$odd/tokens" \
    TRNPLAN_PHASE1="$odd/first" TRNPLAN_PHASE1_STEP=28125 ARGUMENTS="$work/arguments" TRNPLAN_SMOKE_STEPS=7 bash "$work/$1/node_run.sh" "$work/$1" "$2" >/dev/null
}
steps_of() {  # steps_of FOLDER MODE FLAG
  flags_run "$1" "$2"
  grep -A 1 -E "^$3(=.*)?\$" "$work/arguments" | sed 's/.*=//' | grep -m 1 '^[0-9]'
}
while read -r target flag compile train; do
  check "$target: few steps while compiling" test "$(steps_of "$target" compile "$flag")" = "$compile"
  check "$target: few in a smoke test" test "$(steps_of "$target" smoke "$flag")" = 7
  check "$target: all of them in training" test "$(steps_of "$target" train "$flag")" = "$train"
done <<'END'
nxd --steps_this_run 2 10000
nxd-stages --max_steps 10 30000
bert --steps_this_run 5 28125
bert-second --steps_this_run 5 1563
nemo trainer.max_steps 4 10000
END
check 'nemo: a checkpoint callback in training' grep -qx 'exp_manager.create_checkpoint_callback=True' "$work/arguments"
check 'nemo: the tokenizer is one word' grep -Fqx "model.tokenizer.type=$odd/tokens" "$work/arguments"
check 'nemo: stochastic rounding' grep -qx 'NEURON_RT_STOCHASTIC_ROUNDING_EN=1' "$work/arguments.env"
check 'nemo: compiler flags are one value' grep -qx 'NEURON_CC_FLAGS=--model-type transformer --distribution-strategy=llm-training --enable-mixed-precision-accumulation' "$work/arguments.env"

check 'nemo: the ring setting is set and empty' grep -qx 'NEURON_TRANSFER_WITH_STATIC_RING_OPS=' "$work/arguments.env"
check 'nemo: the tokenizer is asked for' bash -c '! "$@" && grep -q TRNPLAN_TOKENIZER.*settings.env "$0"' "$work/check" env -u SLURM_JOB_ID \
  TRNPLAN_VENV="$odd/venv" TRNPLAN_CODE="$odd/code" TRNPLAN_DATA="$odd/data" bash "$work/nemo/node_run.sh" "$work/nemo" train
check 'nemo: no checkpoint callback while compiling' flags_run nemo compile
check 'nemo: nor TensorBoard' grep -qx 'exp_manager.create_tensorboard_logger=False' "$work/arguments"
check 'nxd: modules of the folder above' flags_run nxd train
check 'nxd: they are found there' grep -Fqx "PYTHONPATH=$odd/code/examples/training/llama" "$work/arguments.env"
check 'nxd: its own port' grep -qx -e '--master_port=44000' "$work/arguments"
check 'nxd: nothing of a host that its recipe lacks' bash -c '! grep -q ^HYDRA_FULL_ERROR "$0"' "$work/arguments.env"
check 'nxd of two stages: a folder of its own for each start' flags_run nxd-stages train
first=$(grep -x -A 1 -e --tb_dir "$work/arguments" | tail -n 1)
sleep 1.1
check 'nxd of two stages: another start' flags_run nxd-stages train
check 'nxd of two stages: another folder' test "$first" != "$(grep -x -A 1 -e --tb_dir "$work/arguments" | tail -n 1)"
check 'nxd of two stages: below the results' grep -Fq "$work/nxd-stages/run/tensorboard-" "$work/arguments"
check 'nxd of two stages: a flag without effect is reported' grep -q '^# --weight_decay has no effect' "$work/nxd-stages/node_run.sh"
check 'nxd of two stages: no checkpoint while compiling' flags_run nxd-stages compile
check 'nxd of two stages: it says so' bash -c 'grep -x -A 1 -e --checkpoint_freq "$0" | grep -qx -e -1' "$work/arguments"
check 'bert: the first start begins' flags_run bert train
check 'bert: it resumes nothing' bash -c '! grep -q -e --resume_ckpt "$0"' "$work/arguments"
check 'bert: two ports are kept' grep -q 'ip_local_reserved_ports=2022,48620' "$work/bert/node_run.sh"
touch "$work/bert/run/ckpt_40.pt"
check 'bert: the next start goes on' flags_run bert train
check 'bert: it says so' grep -qx -e --resume_ckpt "$work/arguments"
check 'bert: compiling never does' flags_run bert compile
check 'bert: nothing to resume there' bash -c '! grep -q -e --resume_ckpt "$0"' "$work/arguments"
check 'bert, phase 2: the first start' flags_run bert-second train
check 'bert, phase 2: it begins from phase 1' grep -Fqx "$odd/first/ckpt_28125.pt" "$work/arguments"
touch "$work/bert-second/run/ckpt_28200.pt"
check 'bert, phase 2: the next start goes on from its own' flags_run bert-second train
check 'bert, phase 2: without the path' bash -c 'grep -qx -e --resume_ckpt "$0" && ! grep -q -e --resume_ckpt_path "$0"' "$work/arguments"
check 'bert, phase 2: compiling needs phase 1' flags_run bert-second compile
check 'bert, phase 2: and has it' grep -Fqx "$odd/first/ckpt_28125.pt" "$work/arguments"
check 'bert, phase 2: it is asked for' bash -c '! "$@" && grep -q TRNPLAN_PHASE1.*settings.env "$0"' "$work/check" env -u SLURM_JOB_ID \
  TRNPLAN_VENV="$odd/venv" TRNPLAN_CODE="$odd/code" TRNPLAN_DATA="$odd/data" bash "$work/bert-second/node_run.sh" "$work/bert-second" train

# prepare.sh: what it runs, with stand-ins. The converter's flags: aws-neuron/neuronx-distributed@fbac349
# src/neuronx_distributed/scripts/checkpoint_converter.py; those of type bool take every word for true, so a false one is
# left out.
converter=' --input_dir --hf_model_name --output_dir --hw_backend --config --tp_size --pp_size --virtual_pp_size --n_layers --kv_size_multiplier --qkv_linear --fuse_qkv --load_xser --save_xser --convert_from_full_state --convert_to_full_state '
mkdir -p "$work/prepared/bin"
printf 'PATH="%s/prepared/bin:$PATH"\n' "$work" >"$work/prepared/bin/activate"
for tool in python3 pip git aws tar; do
  printf '#!/bin/bash\nprintf "%%s\\n" "${0##*/}" "$@" >>"$ARGUMENTS"\n' >"$work/prepared/bin/$tool"
done
# git makes the folder of apex; of modules this Python finds those that HELD says.
printf '[[ "$*" != *apex* ]] || mkdir -p -- "${@: -1}"\n' >>"$work/prepared/bin/git"
printf '[[ "$*" != *find_spec* ]] || [[ -n "${HELD:-}" ]]\n' >>"$work/prepared/bin/python3"
chmod +x "$work/prepared/bin/"*
mkdir -p "$odd/tokens"
touch "$odd/tokens/tokenizer.json"
prepare() {  # prepare FOLDER MODE...: leaves the words of the commands in $work/arguments
  : >"$work/arguments"
  env PATH="$work/prepared/bin:$PATH" TRNPLAN_VENV="$work/prepared" TRNPLAN_CODE="$work/code" TRNPLAN_TOKENIZER="$odd/tokens" \
    TRNPLAN_TEXT="$odd/text" TRNPLAN_STEP=7 TRNPLAN_PIP_INDEX=index HOME="$work" ARGUMENTS="$work/arguments" \
    bash "$work/$1/prepare.sh" "${@:2}"
}
given() {  # given FLAG VALUE: one follows the other
  grep -x -A 1 -e "$1" "$work/arguments" | grep -Fqx -e "$2"
}
for folder in one nxd nxd-stages; do
  for way in from-hf to-hf; do
    check "$folder: $way" prepare "$folder" $way "$odd/a" "$odd/b"
    check "$folder: $way: flags the converter has" bash -c \
      'while read -r word; do [[ "$word" != --* || "$0" == *" $word "* ]] || exit 1; done <"$1"' "$converter" "$work/arguments"
    check "$folder: $way: one direction" test "$(grep -c -x -e '--convert_from_full_state' -e '--convert_to_full_state' "$work/arguments")" = 1
    check "$folder: $way: TP" given --tp_size 8
    check "$folder: $way: layers" given --n_layers 32
    check "$folder: $way: key and value heads" given --kv_size_multiplier 1
    check "$folder: $way: its machine" given --hw_backend trn1
    check "$folder: $way: paths are words" given --output_dir "$odd/b"
    check "$folder: $way: no bool that says False" bash -c '! grep -qx False "$0"' "$work/arguments"
  done
done
check 'nxd of two stages: PP' given --pp_size 2
check 'nxd: versions are pinned' prepare nxd environment
check 'nxd: the compiler' grep -qx 'neuronx-cc==2\.23\.6484\.0' "$work/arguments"
check 'nxd: the clone' given --branch v2.28.0
check 'nxd: the data set' prepare nxd data
check 'nxd: of Llama 3' given --llama-version 3
check 'nxd: another width is reported' grep -q '^# get_dataset.py makes sequences of 8192 tokens, the plan has 4096' "$work/nxd/prepare.sh"
check 'nemo: from Hugging Face' prepare nemo from-hf "$odd/a" "$odd/b"
check 'nemo: its stages, not two' given --pp_degree 1
check 'nemo: data' prepare nemo data
check 'nemo: where they come from' given --input "$odd/text"
check 'nxd: the address of the packages is asked for' bash -c '! "$@" && grep -q "TRNPLAN_PIP_INDEX: the address of the Python packages" "$0"' \
  "$work/check" env PATH="$work/prepared/bin:$PATH" TRNPLAN_VENV="$work/prepared" TRNPLAN_CODE="$work/code" ARGUMENTS="$work/arguments" \
  bash "$work/nxd/prepare.sh" environment
check 'nxd: the tokenizer is asked for' bash -c '! "$@" && grep -q "TRNPLAN_TOKENIZER: the folder" "$0"' "$work/check" env -u TRNPLAN_TOKENIZER \
  TRNPLAN_VENV="$work/prepared" TRNPLAN_CODE="$work/code" bash "$work/nxd/prepare.sh" data
check 'bert: versions are pinned' prepare bert environment
check 'bert: transformers' grep -qx 'transformers==4.44.0' "$work/arguments"
check 'bert: the data set' prepare bert data
check 'bert: from where' grep -qx 's3://neuron-s3/training_datasets/bert_pretrain_wikicorpus_tokenized_hdf5/bert_pretrain_wikicorpus_tokenized_hdf5_seqlen128.tar' "$work/arguments"
mkdir "$work/code"
printf 'printf "set up in %%s\\n" "$PWD" >>"$ARGUMENTS"\n' >"$work/code/install_setup.sh"
check 'nxdt: its packages' prepare one environment
check 'nxdt: its own script, in the clone' grep -Fqx "set up in $work/code" "$work/arguments"
check 'nxdt: its requirements' given -r "$work/code/requirements.txt"
check 'nxdt: apex' given --branch 25.07
check 'nxdt: the version that the release has' grep -qx 'neuronx_distributed_training==1\.7\.0' "$work/arguments"
printf '#!/bin/bash\n' | tee "$work/prepared/bin/torchrun" >"$work/prepared/bin/neuron_parallel_compile"
chmod +x "$work/prepared/bin/torchrun" "$work/prepared/bin/neuron_parallel_compile"
check 'nxdt: in an image that holds all of it' env HELD=yes bash -c 'exec "$@"' - env PATH="$work/prepared/bin:$PATH" TRNPLAN_VENV="$work/of-image" \
  TRNPLAN_CODE="$work/code" TRNPLAN_PIP_INDEX=index ARGUMENTS="$work/held" bash -c 'mkdir -p "$TRNPLAN_VENV/bin"; exec bash "$0" environment' "$work/one/prepare.sh"
check 'nxdt: nothing is installed there' bash -c '! grep -qx pip "$0"' "$work/held"
check 'nxdt: its torchrun is found' test -x "$work/of-image/bin/torchrun"
rm -- "$work/prepared/bin/torchrun" "$work/prepared/bin/neuron_parallel_compile"
check 'bert: no conversion is said' bash -c '! "$@" && grep -q "there are no commands" "$0"' "$work/check" \
  env TRNPLAN_VENV="$work/prepared" TRNPLAN_CODE="$work/code" bash "$work/bert/prepare.sh" to-hf a b
check 'an image is built on AWS.s' grep -qx 'FROM SET-ME-registry/pytorch-training-neuronx:2.9.0-neuronx-py312-sdk2.28.0-ubuntu24.04' "$work/nxd/Dockerfile"

# Slurm: the first node of the step's own list; 64 nodes copy the graphs to each node's volume.
printf '#!/bin/bash\n[[ "$*" == "show hostnames n[7-9]" ]] && printf "n7\\nn8\\nn9\\n"\n' >"$odd/venv/bin/scontrol"
chmod +x "$odd/venv/bin/scontrol"
mkdir -p "$work/cache" && echo graph >"$work/cache/neff"
check '64 nodes train' env PATH="$odd/venv/bin:$PATH" TRNPLAN_VENV="$odd/venv" TRNPLAN_CODE="$odd/code" TRNPLAN_DATA="$odd/data" \
  ARGUMENTS="$work/arguments" TRNPLAN_CACHE="$work/cache" TRNPLAN_LOCAL_CACHE="$work/local" SLURM_JOB_ID=1 SLURM_PROCID=2 \
  SLURM_JOB_NODELIST='n[1-9]' SLURM_STEP_NODELIST='n[7-9]' bash "$work/large/node_run.sh" "$work/large" train
check 'Slurm: master' grep -qx -e '--master_addr=n7' "$work/arguments"
check 'Slurm: node rank' grep -qx -e '--node_rank=2' "$work/arguments"
check '64 nodes: graphs are local' test -s "$work/local/neff"
check '64 nodes: they are looked up there' grep -Fqx "compiler_cache_url=$work/local" "$work/arguments"

# measure.sh from end to end: a Slurm that runs what it is given at once, a training that prints steps.
slurm=$work/slurm
mkdir "$slurm"
cat >"$slurm/sbatch" <<'END'
#!/bin/bash
printf '%s\n' "$*" >>"$ARGUMENTS.sbatch"
output='' nodes=''
while [[ "$1" == --* && "$1" != -- ]]; do
  case $1 in
    --chdir=*) cd "${1#*=}" ;;
    --output=*) output=${1#*=} ;;
    --nodes=*) nodes=${1#*=} ;;
  esac
  shift
done
shift
[[ -n "$output" ]] || output=$(sed -n 's/^#SBATCH --output=//p' "$1")
echo "${RANDOM}"
SLURM_JOB_ID=7 SLURM_JOB_NODELIST="n[1-${nodes:-1}]" bash "$@" >"${output/\%j/7}" 2>&1
END
printf '#!/bin/bash\nwhile [[ "$1" == --* ]]; do shift; done\nSLURM_PROCID=0 SLURM_STEP_NODELIST=n1 exec "$@"\n' >"$slurm/srun"
printf '#!/bin/bash\nfor host in n1 n2; do echo $host; done\n' >"$slurm/scontrol"
# Steps near those predicted, longer with the second plan.
cat >"$odd/venv/bin/torchrun" <<'END'
#!/bin/bash
[[ "$COMPILE" == 1 ]] && echo 'Total failed compilations: 0' && exit
printf '%s\n' "$@" >"$ARGUMENTS.train"
seconds=28
[[ "$PWD$*" == *measure-2* ]] && seconds=30
for step in 1 2 3 4 5 6 7 8 9 10 11; do
  echo "step $step step_time ${seconds}.0s throughput 2.$((6400 / seconds - 200)) seq/s loss 2.0 grad norm 1.0"
done
END
cat >"$slurm/nccom-test" <<'END'
#!/bin/bash
[[ -z "${NO_TABLE:-}" ]] || exit 3
printf '    size(B)    count(elems)    type    time:avg(us)\n'
bytes=$6
while ((bytes <= $8)); do
  printf '%d %d bf16 %d\n' "$bytes" $((bytes / 2)) $((200 + bytes / 20000))
  bytes=$((bytes * 4))
done
END
chmod +x "$slurm"/* "$odd/venv/bin/torchrun"
measure() {  # measure FOLDER
  env PATH="$slurm:$PATH" TRNPLAN="$trnplan" TRNPLAN_VENV="$odd/venv" TRNPLAN_CODE="$odd/code" TRNPLAN_DATA="$odd/data" \
    ARGUMENTS="$work/measured" bash "$work/$1/measure.sh"
}
moved="$work/moved \"pair\""
mv "$work/pair" "$moved"
check 'measure.sh runs both plans and plans again' measure "${moved##*/}"
cp "$work/check" "$work/measured.out"
check 'each has run' test -e "$moved/measure-1-run-1/done" -a -e "$moved/measure-2-run-1/done"
check 'a run is short' grep -q 'max_steps: 11$' "$moved/measure-1-run-1/nxdt.yaml"
check 'every step is logged' grep -q 'log_every_n_steps: 1$' "$moved/measure-2/nxdt.yaml"
check 'graphs are shared' grep -Fqx "compiler_cache_url=$moved/neuron_cache" "$work/measured.train"
check 'both are in the fit' grep -q '^2 steps of\|steps of [0-9]* programs' "$work/measured.out"
check 'the rule is printed' grep -q '^By the measurement plan 2 is the better choice if its step is below [01]\.[0-9]* times' "$work/measured.out"
check 'the profile is written' grep -q '"measure-2-run-1/train-7.out\|"train-7.out"' "$moved/measured.json"
check 'the last word is a plan' grep -q '^Best ' "$work/measured.out"
lines=$(wc -l <"$work/measured.sbatch")
check 'a second call runs nothing' measure "${moved##*/}"
check 'nothing was submitted' test "$lines" = "$(wc -l <"$work/measured.sbatch")"
check 'measure.sh runs nccom-test and plans again' measure tables
cp "$work/check" "$work/measured.out"
check 'the table names its command' grep -q '^nccom-test -r [0-9]* -N [12] -b [0-9]* -e 1073741824 -f 4 -d bf16 all[rg]' "$work/tables/measured-tables.out"
check 'the catalogue joins the fit' grep -q 'nccom-test points*; ' "$work/measured.out"
check 'a table that is missing ends it' bash -c '! "$@" && grep -q "not all tables were measured" "$0"' "$work/check" env PATH="$slurm:$PATH" TRNPLAN="$trnplan" \
  ARGUMENTS="$work/measured" NO_TABLE=1 bash "$work/tables/measure.sh"
check 'it plans with the fit' grep -q '^Best ' "$work/measured.out"
# The machine's script, with a PyTorch whose products run at 60 TFLOP/s.
cat >"$slurm/torch.py" <<'END'
import time
import types

bfloat16, float32 = "bf16", "fp32"
clock = 0.0
time.perf_counter = lambda: clock


class Tensor:
    def __init__(self, *shape):
        self.shape = shape

    def __mul__(self, other):
        return self

    def to(self, dtype):
        return self

    def mean(self):
        return self


class Module:
    def __call__(self, x):
        return self.forward(x)


def randn(*shape):
    return Tensor(*shape)


def mm(a, b):
    global clock
    clock += 2 * a.shape[0] * a.shape[1] * b.shape[1] / 60e12
    return Tensor(a.shape[0], b.shape[1])


nn = types.SimpleNamespace(Module=Module, Parameter=lambda value, requires_grad: value)
END
printf 'def trace(module, x, compiler_args):\n    return module\n' >"$slurm/torch_neuronx.py"
mv "$work/machine.yaml" "$work/job.yaml"
check 'measure.sh times the machine and plans again' env PYTHONPATH="$slurm" PATH="$slurm:$PATH" TRNPLAN="$trnplan" TRNPLAN_VENV= \
  ARGUMENTS="$work/measured" bash "$work/machine/measure.sh"
cp "$work/check" "$work/measured.out"
check 'a product takes what PyTorch says' awk -F, 'NR > 1 {d = $5 - 2 * $1 * $2 * $3 / 60e6; if (d > 0.002 || d < -0.002) exit 1; ++n} END {exit n < 2}' \
  "$work/machine/measured-products.csv"
check 'two nodes are named' grep -q '^nccom-test -r [0-9]* -N 2 .* --hosts n1 n2$' "$work/machine/measured-collectives.out"
check 'products go on top of the tables' grep -q 'on top of measured-tables' "$work/measured.out"
check 'the last word is a plan here too' grep -q '^Best ' "$work/measured.out"
check 'no path was run by a shell' test ! -e "$work/pwned"

finish
