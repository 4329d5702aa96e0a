#!/usr/bin/env bash
# Hosts of an UltraServer that meet: what node_run.sh starts on each, with stand-ins for torchrun and the driver's files.
#   hosts.sh TRNPLAN
# shellcheck disable=SC2016
set -euo pipefail

trnplan=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

printf 'model: llama3-8b\ntraining: {sequence: 8192, global_batch: 1024}\ncluster: {instance: trn2u-ultraserver, nodes: 2}\npin: {tensor_parallel: 32, pipeline_parallel: 1, recompute: CoreAttention}\n' >"$work/job.yaml"
run 0 plan "$work/job.yaml" --top 1 --target nxd --out "$work/plan"
for script in "$work"/plan/*.sh "$work"/plan/*.sbatch; do
  check "bash -n ${script##*/}" bash -n "$script"
  if command -v shellcheck >/dev/null; then check "shellcheck ${script##*/}" shellcheck "$script"; fi
done

mkdir -p "$work/venv/bin" "$work/code/examples/training/llama/tp_zero1_llama_hf_pretrain" "$work/bin"
printf '#!/bin/bash\nprintf "%%s\\n" "$@" >"$ARGUMENTS"\nenv >"$ARGUMENTS.env"\n' >"$work/venv/bin/torchrun"
printf '#!/bin/bash\necho h0\n' >"$work/bin/scontrol"
chmod +x "$work/venv/bin/torchrun" "$work/bin/scontrol"

# place HOST SERVER NUMBER: what the driver of a host says.
place() {
  mkdir -p "$work/driver/$1"
  printf '%s\n' "$2" >"$work/driver/$1/server_id_4"
  printf '%s\n' "$3" >"$work/driver/$1/node_id_4"
}
# start JOB: the eight tasks of a step, in the order in which Slurm happens to number them.
start() {
  local job=$1 host code=0 tasks=()
  for host in h0 h1 h2 h3 h4 h5 h6 h7; do
    env PATH="$work/bin:$PATH" TRNPLAN_VENV="$work/venv" TRNPLAN_CODE="$work/code" TRNPLAN_DATA="$work/data" \
      TRNPLAN_NEURON_DEVICES="$work/driver/$host" TRNPLAN_JOIN_SECONDS="${SECONDS_TO_JOIN:-60}" ARGUMENTS="$work/$host" \
      SLURM_JOB_ID="$job" SLURM_PROCID="${host#h}" SLURM_STEP_ID=0 SLURM_JOB_NODELIST=h SLURMD_NODENAME="$host" \
      bash "$work/plan/node_run.sh" "$work/plan" train >"$work/$host.said" 2>&1 &
    tasks+=("$!")
  done
  for task in "${tasks[@]}"; do wait "$task" || code=$?; done
  return "$code"
}

# Two UltraServers, b1 and a2, whose hosts Slurm numbered in turns: ranks follow a2's four, then b1's.
for i in 0 1 2 3; do
  place "h$((2 * i))" b1 "$((3 - i))"
  place "h$((2 * i + 1))" a2 "$i"
done
check 'hosts of two whole nodes start' start 1
rank=0
for host in h1 h3 h5 h7 h6 h4 h2 h0; do
  check "$host is host $rank" grep -qx -e "--node_rank=$rank" "$work/$host"
  check "$host meets at the first" grep -qx -e '--master_addr=h1' "$work/$host"
  check "$host has 64 ranks" grep -qx -e '--nproc_per_node=64' "$work/$host"
  check "$host is one of 8" grep -qx -e '--nnodes=8' "$work/$host"
  check "$host: all four hosts of a node" grep -qx 'NEURON_RT_ULTRASERVER_MODE=1' "$work/$host.env"
  check "$host: its place" grep -qx "NEURON_GLOBAL_TOPOID=$rank" "$work/$host.env"
  rank=$((rank + 1))
done
check 'h5 is on a2' grep -qx 'NEURON_RT_ULTRASERVER_SERVER_ID=a2' "$work/h5.env"
check 'h5 is its third' grep -qx 'NEURON_RT_ULTRASERVER_NODE_ID=2' "$work/h5.env"
check 'h6 is the first of b1' grep -qx 'NEURON_RT_ULTRASERVER_NODE_ID=0' "$work/h6.env"

rm -f "$work"/h?
place h0 c3 0
code=0
start 2 || code=$?
check 'hosts of three nodes are refused' test "$code" -ne 0
check 'it says which node is not whole' grep -Fq '3 of the 4 hosts of b1' "$work/h2.said"
check 'nothing was started' test ! -e "$work/h2"

rm -f "$work/driver/h0/server_id_4"
start_code=0
SECONDS_TO_JOIN=1 start 3 || start_code=$?
check 'a host of no UltraServer is refused' grep -Fq 'h0 is not a host of a whole trn2u-ultraserver' "$work/h0.said"
check 'the others do not wait for ever' grep -Fq '7 of 8 hosts joined within 1 s' "$work/h1.said"
check 'the step fails' test "$start_code" -ne 0
finish
