#!/usr/bin/env bash
# The manifests that plan --out writes against the models of Kubernetes' own client, and that those notice what is wrong.
#   manifests.sh TRNPLAN SOURCE_DIR
# shellcheck disable=SC2016,SC2034
set -euo pipefail

trnplan=$(realpath "$1")
source=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

python=/usr/bin/python3   # the one that has Debian's packages
if ! "$python" -c 'import kubernetes, yaml' 2>/dev/null; then
  skip 'manifests against the models of Kubernetes' python3-kubernetes python3-yaml
  finish
  exit
fi
valid() { "$python" "$source/tests/launch/manifests.py" "$@"; }

for nodes in 1 16; do
  printf 'model: llama3-8b\ntraining: {sequence: 4096, global_batch: 1024}\ncluster: {instance: trn1.32xlarge, nodes: %s}\npin: {tensor_parallel: 8, pipeline_parallel: 1, recompute: full}\n' \
    "$nodes" >"$work/job.yaml"
  run 0 plan "$work/job.yaml" --top 1 --out "$work/$nodes"
  for file in "$work/$nodes"/{eks-mpijob,eks-pytorchjob,hyperpod-eks}-{compile,train}.yaml "$work/$nodes/fsx-claim.yaml"; do
    check "$nodes nodes: ${file##*/}" valid "$file"
  done
done

# A node of several hosts: its pods are kept together, those of several nodes where it can be.
for nodes in 1 2; do
  printf 'model: llama3-8b\ntraining: {sequence: 8192, global_batch: 1024}\ncluster: {instance: trn2u-ultraserver, nodes: %s}\npin: {tensor_parallel: 32, pipeline_parallel: 1, recompute: CoreAttention}\n' \
    "$nodes" >"$work/hosts.yaml"
  run 0 plan "$work/hosts.yaml" --top 1 --target nxd --out "$work/hosts-$nodes"
  for file in "$work/hosts-$nodes"/eks-mpijob-{compile,train}.yaml; do check "$nodes nodes of 4 hosts: ${file##*/}" valid "$file"; done
done

# GPUs: no launcher, and nothing is compiled before.
printf 'model: llama3-8b\ntraining: {sequence: 8192, global_batch: 128}\ncluster: {instance: p5.48xlarge, nodes: 2}\n' >"$work/gpu.yaml"
run 0 plan "$work/gpu.yaml" --top 1 --out "$work/gpu"
for file in "$work/gpu"/{eks-pytorchjob,hyperpod-eks}-train.yaml "$work/gpu"/{fsx-claim,eks-prepare}.yaml; do
  check "GPUs: ${file##*/}" valid "$file"
done

# What is wrong is found: FILE, what is replaced, and by what.
while read -r file from to; do
  sed "s#$from#$to#" "$work/16/$file.yaml" >"$work/wrong.yaml"
  check "$file: $from is replaced" bash -c '! cmp -s "$1" "$2"' _ "$work/16/$file.yaml" "$work/wrong.yaml"
  check "$file: $to is refused" bash -c '! "$@"' _ "$python" "$source/tests/launch/manifests.py" "$work/wrong.yaml"
done <<'END'
fsx-claim provisioner: provisoner:
fsx-claim accessModes: accessMode:
fsx-claim "200" 200
eks-mpijob-train containers: container:
eks-mpijob-train mountPath: path:
eks-mpijob-compile claimName: claim:
eks-pytorchjob-train volumeMounts: volumes:
eks-pytorchjob-train nodeSelector: nodeselector:
hyperpod-eks-train "true" true
hyperpod-eks-compile hostPath: path:
END
finish
