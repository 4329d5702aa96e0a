#!/usr/bin/env bash
# What ./dev package packed, unpacked elsewhere and run with nothing in its environment. Skipped, with the reason, where
# nothing was packed.
#   package.sh SOURCE_DIR
set -euo pipefail

source=$(cd "$1" && pwd)
shopt -s nullglob
tarballs=("$source"/build/trnplan-*-linux-*.tar.gz)
if ((${#tarballs[@]} == 0)); then
  echo 'Skipped: nothing is packed; call ./dev package first'
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
lean() { env -i "$@"; }

check 'unpacks' tar -C "$work" -xzf "${tarballs[-1]}"
folders=("$work"/trnplan-*/)
root=${folders[0]%/}
trnplan=$root/bin/trnplan
check 'needs no library of this system' bash -c "! LC_ALL=C readelf -d '$trnplan' 2>/dev/null | grep -q NEEDED"
check 'asks for no interpreter' bash -c "! LC_ALL=C readelf -l '$trnplan' | grep -q INTERP"
check 'knows no folder of the machine that built it' bash -c "! grep -aFq '$source/catalog' '$trnplan'"
check 'prints its version' lean "$trnplan" --version
check 'plans' lean "$trnplan" plan "$root/share/trnplan/examples/llama3-8b-one-node/job.yaml" --top 1 --out "$work/plan"
check 'the plan passes' bash -n "$work/plan/submit.sh"
check 'checks what it wrote' lean "$trnplan" check "$work/plan/nxdt.yaml"
check 'reads logs' bash -c "env -i '$trnplan' watch '$root/share/trnplan/examples/steps-of-a-log/train.log' --once | grep -q 'a step'"
printf 'job: %s\ntokens: 1T\n' "$root/share/trnplan/examples/llama3-8b-one-node/job.yaml" >"$work/grid.yaml"
check 'sweeps' lean "$trnplan" sweep "$work/grid.yaml"
check 'starts other programs' bash -c "! env -i PATH='$PATH' '$trnplan' launch '$work/plan' 2>'$work/said' && grep -q 'TRNPLAN_VENV: is not set' '$work/said'"

# Completion knows every command.
# shellcheck disable=SC2016
complete_with() {
  env -i PATH="$root/bin:$PATH" bash --norc -c \
    '. "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _trnplan; printf "%s\n" "${COMPREPLY[@]}"' _ \
    "$root/share/bash-completion/completions/trnplan" "$@"
}
check 'completes commands' bash -c "[[ '$(complete_with trnplan wa)' == watch ]]"
check 'completes options' bash -c "[[ '$(complete_with trnplan watch --cal)' == --calibrate ]]"

finish
