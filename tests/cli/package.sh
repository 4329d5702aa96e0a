#!/usr/bin/env bash
# What ./dev package packs, unpacked elsewhere and run with nothing in its environment, and with no file of this system
# where that can be arranged.
#   package.sh SOURCE_DIR PROGRAM
set -euo pipefail

source=$(cd "$1" && pwd)
program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
lean() { env -i "$@"; }

mkdir "$work/packed"
check 'packs' bash "$source/cmake/pack.sh" "$source" "$program" "$work/packed"
tarballs=("$work"/packed/trnplan-*-linux-*.tar.gz)
first=$(sha256sum <"${tarballs[0]}")
bash "$source/cmake/pack.sh" "$source" "$program" "$work/packed" >/dev/null
check 'the same bytes again' test "$first" = "$(sha256sum <"${tarballs[0]}")"
check 'unpacks' tar -C "$work" -xzf "${tarballs[0]}"
folders=("$work"/trnplan-*/)
root=${folders[0]%/}
trnplan=$root/bin/trnplan
check 'needs no library of this system' bash -c "! LC_ALL=C readelf -d '$trnplan' 2>/dev/null | grep -q NEEDED"
check 'asks for no interpreter' bash -c "! LC_ALL=C readelf -l '$trnplan' | grep -q INTERP"
check 'knows no folder of the machine that built it' bash -c "! grep -aFq '$source/catalog' '$trnplan'"
# A static glibc loads the system's libraries for these three.
check 'looks up no names and loads nothing' bash -c "! LC_ALL=C nm '$program' | grep -Eqw 'getaddrinfo|gethostbyname|getpwnam'"
check 'prints its version' lean "$trnplan" --version
check 'plans' lean "$trnplan" plan "$root/share/trnplan/examples/llama3-8b-one-node/job.yaml" --top 1 --out "$work/plan"
check 'the plan passes' bash -n "$work/plan/submit.sh"
check 'checks what it wrote' lean "$trnplan" check "$work/plan/nxdt.yaml"
check 'reads logs' bash -c "env -i '$trnplan' watch '$root/share/trnplan/examples/steps-of-a-log/train.log' --once | grep -q 'a step'"
if ((EUID == 0)) && command -v chroot >/dev/null; then
  mkdir "$work/bare"   # a system that is nothing but what was unpacked
  cp -r "$root/." "$work/bare/"
  check 'runs where there is nothing else' env -i TRNPLAN_CATALOG=/share/trnplan/catalog "$(command -v chroot)" "$work/bare" /bin/trnplan plan /share/trnplan/examples/llama3-8b-one-node/job.yaml --top 1 --out /plan
  check 'finds its catalogue without /proc' env -i "$(command -v chroot)" "$work/bare" /bin/trnplan topology
  check 'and wrote its files there' test -s "$work/bare/plan/nxdt.yaml"
  check 'hashes and reads there' env -i TRNPLAN_CATALOG=/share/trnplan/catalog "$(command -v chroot)" "$work/bare" /bin/trnplan calibrate /share/trnplan/examples/steps-of-a-log/train.log --no-fit
else
  skip 'a run in an empty root: not root'
fi
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
check 'completes models' bash -c "[[ '$(complete_with trnplan plan llama3-)' == *llama3-8b* ]]"
check 'completes instances' bash -c "[[ '$(complete_with trnplan topology --instance trn1n)' == trn1n.32xlarge ]]"
check 'completes help' bash -c "[[ '$(complete_with trnplan help wha)' == whatif ]]"
check 'brings a manual page' grep -q '^[.]SS trnplan plan' "$root/share/man/man1/trnplan.1"
check 'completes options' bash -c "[[ '$(complete_with trnplan watch --cal)' == --calibrate ]]"

finish
