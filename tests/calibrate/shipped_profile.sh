#!/usr/bin/env bash
# The shipped profile is what one command makes of the catalogue's tables, whatever their order.
#   shipped_profile.sh TRNPLAN SOURCE_DIR
# With TRNPLAN_UPDATE_GOLDEN=1 it writes catalog/profiles/trn1.json.
set -euo pipefail
trnplan=$(realpath "$1")
catalog=$(realpath "$2")/catalog
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fit() { "$trnplan" calibrate "$@" --build 2023-04 --profile trn1-datasheet --out "$folder/trn1.json" --force >"$folder/out" 2>"$folder/err" || {
  cat "$folder/err"
  exit 1
}; }

fit "$catalog/measured-collectives.csv" "$catalog/measured-runs.csv"
mv "$folder/trn1.json" "$folder/swapped.json"
fit "$catalog/measured-runs.csv" "$catalog/measured-collectives.csv"
sed -i 's/"name": "swapped"/"name": "trn1"/' "$folder/swapped.json"
cmp "$folder/swapped.json" "$folder/trn1.json"
if [[ "${TRNPLAN_UPDATE_GOLDEN:-}" == 1 ]]; then cp "$folder/trn1.json" "$catalog/profiles/trn1.json"; fi
diff -u "$catalog/profiles/trn1.json" "$folder/trn1.json" | cut -c1-200 | head -40
cmp "$catalog/profiles/trn1.json" "$folder/trn1.json"
