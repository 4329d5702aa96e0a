#!/usr/bin/env bash
# Runs once what several tests ask: the fits and validations of commands.trn1, each as text and as JSON of one run.
#   answers.sh TRNPLAN SOURCE_DIR FOLDER
# FOLDER/N.command is the command, N.text and N.json what it printed, N.exit its exit code. `digest` compares the JSON, `accuracy` and
# `examples` the text; without such a folder they run the commands themselves.
set -euo pipefail
trnplan=$(realpath "$1")
source=$(cd "$2" && pwd)
export TRNPLAN_CATALOG=$source/catalog
rm -rf "$3"
mkdir -p "$3"
folder=$(cd "$3" && pwd)
cd "$source"

n=0
while read -ra words; do
  n=$((n + 1)) code=0
  unset COLUMNS
  # No line of tests/calibrate/accuracy.out is broken; an example is as wide as it is without a terminal.
  if [[ "${words[*]}" == validate ]]; then export COLUMNS=300; fi
  "$trnplan" "${words[@]}" --json "$folder/$n.json" >"$folder/$n.text" 2>"$folder/err" </dev/null || code=$?
  if ((code != 0 && code != 3)); then
    printf 'FAIL: trnplan %s: exit %d: %s\n' "${words[*]}" "$code" "$(head -n 1 "$folder/err")"
    exit 1
  fi
  printf '%d\n' "$code" >"$folder/$n.exit"
  printf '%s\n' "${words[*]}" >"$folder/$n.command"
done < <(grep -E '^(validate|calibrate)( |$)' tests/digest/commands.trn1)
printf 'answers: %d commands\n' "$n"
((n > 0))
