#!/usr/bin/env bash
# story.sh FOLDER: the story of README.md. $TRNPLAN is the program, `trnplan` when it is not set.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?a folder for the results}
trnplan=${TRNPLAN:-trnplan}
mkdir -p "$folder"

"$trnplan" plan "$here/job.yaml" --top 1 --out "$folder/plan"
"$trnplan" launch "$folder/plan" | tee "$folder/launched"
job=$(sed -n 's/^train //p' "$folder/launched")
"$trnplan" watch "$job" --plan "$folder/plan/plan.json" --interval 1 --calibrate "$folder/mine.json"
sed '/^pin:/d' "$here/job.yaml" >"$folder/job.yaml"
"$trnplan" plan "$folder/job.yaml" --top 3 --profile "$folder/mine.json"
