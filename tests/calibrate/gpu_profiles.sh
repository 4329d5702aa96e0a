#!/usr/bin/env bash
# The shipped profiles of A100 and B200 are optima of the fits of catalog/gpu-fits.json: one iteration on the rows that licences allow moves no
# parameter by more than a tolerance in posterior standard deviations. Catches a profile, a prior or physics that changed without the fit.
# a100: 2, since 7 of the 13 rows that teach Megatron's pace are not in the catalogue (with them none moves by 1).
#   gpu_profiles.sh TRNPLAN SOURCE_DIR
set -euo pipefail
trnplan=$(realpath "$1")
cd "$2"
export TRNPLAN_CATALOG=$PWD/catalog
failed=0
for fit in a100:2:13 a100-composed:1:13 b200:1:7; do
  IFS=: read -r profile most parameters <<<"$fit"
  out=$("$trnplan" calibrate catalog/gpu-runs.csv --gpu "$profile" --no-fit)
  moved=$(awk '$NF ~ /^[+-][0-9.]+$/ && NF == 6 { print $NF }' <<<"$out")
  (($(wc -l <<<"$moved") == parameters)) || { printf 'FAIL: %s: not %d parameters\n%s\n' "$profile" "$parameters" "$out" && failed=1; }
  awk -v most="$most" '{ if ($1 > most || $1 < -most) exit 1 }' <<<"$moved" ||
    { printf 'FAIL: %s: a parameter moves by more than %s\n%s\n' "$profile" "$most" "$out" && failed=1; }
done
exit "$failed"
