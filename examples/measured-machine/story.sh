#!/usr/bin/env bash
# story.sh FOLDER: the story of README.md, with stand-ins for Slurm, torch and nccl-tests. $TRNPLAN is the program, `trnplan` when it
# is not set.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?a folder for the results}
export TRNPLAN=${TRNPLAN:-trnplan}
mkdir -p "$folder/bin"
cp "$here"/stand-ins/* "$folder/bin/"
chmod +x "$folder"/bin/*
for program in all_reduce_perf all_gather_perf reduce_scatter_perf; do cp "$folder/bin/nccl-tests" "$folder/bin/$program"; done
cp "$here/job.yaml" "$folder/"
cd "$folder"

echo '$ trnplan plan job.yaml --sure 0.6 --out plan'
"$TRNPLAN" plan job.yaml --sure 0.6 --out plan
echo
echo '$ bash plan/measure.sh'
PATH="$PWD/bin:$PATH" bash plan/measure.sh
echo
echo '$ trnplan calibrate --explain plan/measured.json --job job.yaml --strategy tp=2,pp=2,vpp=8'
"$TRNPLAN" calibrate --explain plan/measured.json --job job.yaml --strategy tp=2,pp=2,vpp=8 | sed -n 1,24p
