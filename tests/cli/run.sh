#!/usr/bin/env bash
# What only the real program shows: pipes, sizes, signals, devices, and what other programs make of its traces. What it
# says is checked in this folder's *_test.cpp.
#   run.sh TRNPLAN SOURCE_DIR
# shellcheck disable=SC2016
set -euo pipefail

trnplan=$(realpath "$1")
source=$(cd "$2" && pwd)
export TRNPLAN_CATALOG=$source/catalog
example=$source/examples/llama3-8b-one-node/job.yaml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
mkdir "$work/here"
cd "$work/here"   # every run starts in this folder; refused input must leave it empty

says() { check "standard error does not say: $1" grep -Eq -- "$1" "$err"; }

# ---- input that is no file, and output that cannot be written ----

mkfifo "$work/pipe"
run 2 plan "$work/pipe" --out new
says 'pipe: .*not a regular file'
says '^  fix: .'
run 2 plan /dev/zero --out new
# A gigabyte is refused by its size: there is no memory to read it.
truncate -s 1G "$work/huge.yaml"
code=0
(ulimit -v 600000 && exec "$trnplan" plan "$work/huge.yaml" --out new) >"$out" 2>"$err" </dev/null || code=$?
check "a gigabyte: exit $code instead of 2" test "$code" -eq 2
says 'huge\.yaml: .*larger than'
check 'left files behind' test -z "$(ls -A)"
code=0
"$trnplan" plan "$example" >/dev/full 2>"$err" || code=$?
check "exit $code although nothing was printed" test "$code" -ne 0 -a "$code" -ne 70

# ---- Ctrl-C: the best so far or a clear word, 130, and no file ----

printf 'model: llama3.1-405b\ntraining: {sequence: 8192, global_batch: 1024}\ncluster: {instance: trn1.32xlarge, nodes: 64}\n' >"$work/long.yaml"
used() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat" 2>/dev/null || echo 0; }  # ticks of CPU, 10 ms each
for ticks in 0 5 30 80 150; do   # interrupted after so much work, however long that takes
  env --default-signal=INT "$trnplan" plan "$work/long.yaml" --out new >"$out" 2>"$err" </dev/null &
  pid=$!
  # Not before it is the program: a shell that is interrupted between fork and exec ends as this one would, and cleans up.
  while kill -0 "$pid" 2>/dev/null && [[ $(readlink "/proc/$pid/exe") != "$trnplan" ]]; do sleep 0.001; done
  while kill -0 "$pid" 2>/dev/null && (($(used "$pid") < ticks)); do sleep 0.01; done
  kill -INT "$pid" 2>/dev/null || true
  code=0
  wait "$pid" || code=$?
  if ((code == 0)); then   # it was done before
    check "$ticks ticks: no winner" test -s "$out" -a -d new
    rm -rf new
    continue
  fi
  check "$ticks ticks: exit $code instead of 130" test "$code" -eq 130
  # Without a word it was interrupted before it began.
  check "$ticks ticks: neither a winner nor a clear line" bash -c '[[ ! -s "$1" && ! -s "$2" ]] || grep -Eq "^Best |before a plan was found" "$1" "$2"' _ "$out" "$err"
  check "$ticks ticks: left files behind" test -z "$(ls -A)"
done

# ---- traces decoded with their schemas: no field that they do not know ----

printf 'model: llama3-8b\ntraining: {sequence: 8192, global_batch: 8}\ncluster: {instance: trn1.32xlarge, nodes: 1}\n' >"$work/export.yaml"
run 0 simulate "$example" --strategy tp=8,pp=4 --trace "$work/step.pftrace"
chakra=$work/chakra
run 0 export "$work/export.yaml" --strategy tp=8,pp=4 --chakra "$chakra"
if command -v protoc >/dev/null; then
  decode() {  # decode SCHEMA MESSAGE: standard input as text; fails at a field without a name
    protoc -I"$source/io/proto" --decode="trnplan.$1.$2" "$1.proto" >"$work/decoded" && ! grep -Eq '^ *[0-9]+[:{ ]' "$work/decoded"
  }
  check 'Perfetto' decode perfetto Trace <"$work/step.pftrace"
  check 'begins and ends differ' test "$(grep -c SLICE_BEGIN "$work/decoded")" = "$(grep -c SLICE_END "$work/decoded")"
  dd if="$chakra/trnplan.9.et" bs=1 skip=1 count=7 status=none >"$work/message"
  check 'Chakra metadata' decode chakra GlobalMetadata <"$work/message"
  length=$(od -An -tu1 -j8 -N1 "$chakra/trnplan.9.et")
  dd if="$chakra/trnplan.9.et" bs=1 skip=9 count="$length" status=none >"$work/message"
  check 'Chakra node' decode chakra Node <"$work/message"
  # Whole files of an interleaved and of a context-parallel job: with a tag before each length a file is one
  # message of many, which protoc reads to its last byte.
  if command -v python3 >/dev/null; then
    {
      printf 'syntax = "proto3";\npackage trnplan.file;\nimport "chakra.proto";\n'
      printf 'message File {\n  trnplan.chakra.GlobalMetadata metadata = 1;\n  repeated trnplan.chakra.Node nodes = 2;\n}\n'
    } >"$work/file.proto"
    for strategy in tp=8,pp=4,vpp=2 tp=8,cp=4; do
      run 0 export "$work/export.yaml" --strategy "$strategy" --chakra "$work/chakra-$strategy"
      for rank in 0 31; do
        python3 "$source/tests/cli/tag_messages.py" "$work/chakra-$strategy/trnplan.$rank.et" >"$work/message"
        check "$strategy: rank $rank is no file of nodes" \
          eval 'protoc -I"$source/io/proto" -I"$work" --decode=trnplan.file.File file.proto <"$work/message" >"$work/decoded"'
        check "$strategy: rank $rank has fields without a name" eval '! grep -Eq "^ *[0-9]+[:{ ]" "$work/decoded"'
        check "$strategy: rank $rank has lost nodes" \
          test "$(grep -c '^nodes {' "$work/decoded")" = "$(grep -c '^  id: ' "$work/decoded")"
        check "$strategy: rank $rank has no collective" grep -q 'type: COMM_COLL_NODE' "$work/decoded"
        check "$strategy: rank $rank sends nothing" grep -q 'type: COMM_SEND_NODE' "$work/decoded"
      done
    done
  else
    skip 'whole Chakra files decoded with their schema' python3
  fi
else
  skip 'traces decoded with their schemas' protobuf-compiler
fi

finish
