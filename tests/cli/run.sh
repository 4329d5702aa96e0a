#!/usr/bin/env bash
# The command line, tested on the real program: exit codes, messages, emitted files.
#   run.sh TRNPLAN SOURCE_DIR
# Prints one line per failed check, then a count.
# shellcheck disable=SC2012,SC2016
set -euo pipefail

trnplan=$(realpath "$1")
source=$(cd "$2" && pwd)
export TRNPLAN_CATALOG=$source/catalog
regress=$source/tests/regress
example=$source/examples/llama3-8b-one-node/job.yaml

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/here"
cd "$work/here"   # every run starts in this folder; refused input must leave it empty

checks=0 failed=0 skipped=0
out=$work/stdout err=$work/stderr code=0 shown=

pass() { checks=$((checks + 1)); }
fail() {
  checks=$((checks + 1)) failed=$((failed + 1))
  printf 'FAIL: %s: %s\n' "$shown" "$1"
}
skip() {
  skipped=$((skipped + 1))
  printf 'SKIPPED: %s\n' "$1"
}
verify() {  # verify WHAT COMMAND...: the command must succeed
  local what=$1
  shift
  if "$@" >/dev/null 2>&1; then pass; else fail "$what"; fi
}
run() {
  shown="trnplan ${*//$'\n'/ }"
  code=0
  timeout 120 "$trnplan" "$@" >"$out" 2>"$err" </dev/null || code=$?
}
first_error() { head -n 1 "$err" | cut -c 1-200; }
matches() { grep -Eq -e "$1" "$out" "$err"; }

# expect CODE REGEX -- ARGUMENTS: the exit code, and a line of the output.
expect() {
  local wanted=$1 regex=$2
  run "${@:4}"
  if ((code != wanted)); then
    fail "exit $code instead of $wanted; $(first_error)"
  elif ! matches "$regex"; then
    fail "no line matches /$regex/; $(first_error)"
  else
    pass
  fi
}

# refuse REGEX -- ARGUMENTS: wrong input. Exit 2, a message that matches and a fix on stderr, nothing else anywhere.
refuse() {
  local regex=$1 fix='^  fix: .'
  [[ "$2" == --usage ]] && fix='fix: .|--help'   # a wrong command line may point to --help instead
  run "${@:3}"
  if ((code != 2)); then
    fail "exit $code instead of 2; $(first_error)"
  elif [[ -s "$out" ]]; then
    fail "writes to standard output: $(head -c 80 "$out")"
  elif ! grep -Eq -e "$regex" "$err"; then
    fail "no message matches /$regex/; $(first_error)"
  elif ! grep -Eq -e "$fix" "$err"; then
    fail "no fix; $(first_error)"
  elif [[ -n "$(ls -A)" ]]; then
    fail "left files behind: $(ls -A)"
    rm -rf -- ./*
  else
    pass
  fi
}

# write_job NAME MODEL NODES BATCH [PIN]: a job file; the model is written as a quoted YAML string.
write_job() {
  local model=${2//\\/\\\\}
  model=${model//\"/\\\"}
  model=${model//$'\n'/\\n}
  printf 'model: "%s"\ntraining: {sequence: 8192, global_batch: %s}\ncluster: {instance: trn1.32xlarge, nodes: %s}\npin: {%s}\n' \
    "$model" "$4" "$3" "${5:-}" >"$work/$1"
}

# json_value FILE KEY: the text of the first such key.
json_value() { grep -m 1 -o "\"$2\": *[^,]*" "$1" | sed 's/^[^:]*: *//'; }

# ---- wrong jobs ----

job=$regress/job
refuse 'empty\.yaml: .*empty'                                      -- plan "$job/empty.yaml" --out new
refuse 'syntax-error\.yaml:2:[0-9]+: .*YAML'                       -- plan "$job/syntax-error.yaml" --out new
refuse 'unknown-key\.yaml:2:[0-9]+: training\.globalbatch: unknown' -- plan "$job/unknown-key.yaml" --out new
refuse 'fix: did you mean "?global_batch'                          -- plan "$job/unknown-key.yaml" --out new
refuse 'unknown-key\.yaml:3:[0-9]+: cluster\.node: unknown'        -- plan "$job/unknown-key.yaml" --out new
refuse 'duplicate-key\.yaml:4:1: model: .*line 1'                  -- plan "$job/duplicate-key.yaml" --out new
refuse 'duplicate-nested\.yaml:2:[0-9]+: .*sequence'               -- plan "$job/duplicate-nested.yaml" --out new
refuse 'nodes-minus-one\.yaml:3:43: cluster\.nodes: "-1"'          -- plan "$job/nodes-minus-one.yaml" --out new
refuse 'nodes-zero\.yaml:3:43: cluster\.nodes: "0"'                -- plan "$job/nodes-zero.yaml" --out new
refuse 'nodes-fraction\.yaml:3:43: cluster\.nodes: "1\.5"'         -- plan "$job/nodes-fraction.yaml" --out new
refuse 'unknown-instance\.yaml:3:[0-9]+: cluster\.instance: .*trn1\.32xl"' -- plan "$job/unknown-instance.yaml" --out new
refuse 'unknown-model\.yaml:1:[0-9]+: model: .*lama3-8b'           -- plan "$job/unknown-model.yaml" --out new
refuse 'did you mean "llama3-8b"'                                  -- plan "$job/unknown-model.yaml" --out new
refuse 'alias-bomb\.yaml:[0-9]+:[0-9]+: .*alias'                   -- plan "$job/alias-bomb.yaml" --out new
refuse 'nested-brackets\.yaml:[0-9]+:[0-9]+: '                     -- plan "$job/nested-brackets.yaml" --out new
refuse 'no-such-job\.yaml: .*No such file'                         -- plan no-such-job.yaml --out new
refuse "$work/here: .*folder"                                      -- plan "$work/here" --out new
refuse 'no regular file'                                           -- plan /dev/zero --out new
mkfifo "$work/pipe"
refuse 'pipe: .*no regular file'                                   -- plan "$work/pipe" --out new

head -c 4096 /dev/urandom >"$work/noise.yaml"
printf '\0\1\2' >>"$work/noise.yaml"
refuse 'noise\.yaml:[0-9]+:[0-9]+: '                               -- plan "$work/noise.yaml" --out new
brackets=$(printf '[%.0s' {1..10000})
printf 'model: %s%s\n' "$brackets" "${brackets//\[/]}" >"$work/brackets.yaml"
refuse 'brackets\.yaml:1:[0-9]+: .*nested'                         -- plan "$work/brackets.yaml" --out new
printf '{"model_type": %s%s}\n' "$brackets" "${brackets//\[/]}" >"$work/brackets.json"
write_job brackets-model.yaml ./brackets.json 1 1024
refuse 'brackets\.json:1:[0-9]+: .*nested'                         -- plan "$work/brackets-model.yaml" --out new
write_job no-heads.yaml "$regress/config/no-attention-heads.json" 1 1024
refuse 'no-attention-heads\.json:[0-9]+:[0-9]+: num_attention_heads: .*missing' -- plan "$work/no-heads.yaml" --out new
refuse '--profile: .*no-such-profile'                              -- plan "$example" --profile no-such-profile --out new
refuse 'empty\.yaml: .*empty'                                      -- simulate "$job/empty.yaml" --strategy tp=8
refuse 'no-such\.yaml: .*No such file'                             -- check no-such.yaml

# A gigabyte must be refused by its size, without being read.
truncate -s 1G "$work/huge.yaml"
refuse 'huge\.yaml: .*larger than'                                 -- plan "$work/huge.yaml" --out new
if [[ -x /usr/bin/time ]]; then
  shown="trnplan plan huge.yaml"
  /usr/bin/time -q -o "$work/time" -f '%M %U %S' "$trnplan" plan "$work/huge.yaml" >"$out" 2>"$err" || true
  read -r kilobytes user system <"$work/time"
  verify "takes $kilobytes KB for a file it should not read" test "$kilobytes" -lt 200000
  milliseconds=$((10#${user/./}0 + 10#${system/./}0))
  verify "takes $milliseconds ms of CPU to refuse a gigabyte" test "$milliseconds" -lt 900
else
  skip 'memory and time of a 1 GB job: no /usr/bin/time'
fi

# Every file that must be refused says so with its own name.
for file in "$job"/*; do
  case $file in
    */path-model.yaml) refuse '/dev/null' -- plan "$file" --out new ;;
    *) refuse "$(basename "$file")" -- plan "$file" --out new ;;
  esac
done
for file in "$regress"/config/*; do
  write_job config.yaml "$file" 1 1024
  refuse "$(basename "$file")" -- plan "$work/config.yaml" --out new
done
for file in "$regress"/neuron-ls/*; do
  refuse "$(basename "$file")" -- topology --neuron-ls "$file"
done
for file in "$regress"/cluster/*; do
  case $file in
    *.json) key=hyperpod ;;
    *.yaml) key=parallelcluster ;;
    *) key=sinfo ;;
  esac
  printf 'model: llama3-8b\ntraining: {sequence: 8192, global_batch: 1024}\ncluster: {%s: "%s"}\n' "$key" "$file" >"$work/cluster.yaml"
  refuse "$(basename "$file")" -- plan "$work/cluster.yaml" --out new
done
refuse 'truncated\.txt:[0-9]+:[0-9]+: .*(ends|cut short)'          -- topology --neuron-ls "$regress/neuron-ls/truncated.txt"
refuse 'asymmetric\.txt:[0-9]+:[0-9]+: connected: device 3 lists device 7' -- topology --neuron-ls "$regress/neuron-ls/asymmetric.txt"

# ---- wrong command lines ----

refuse '--nonsense'                   --usage plan "$example" --nonsense
refuse '--nonsense'                   --usage plan --nonsense
refuse 'frobnicate'                   --usage frobnicate
refuse 'subcommand'                   --usage
refuse 'job'                          --usage plan
refuse 'strategy'                     --usage simulate "$example"
refuse 'surplus'                      --usage plan "$example" surplus
refuse '--format.*xml'                --usage topology --format xml
refuse '--nodes: "0"'                 -- plan "$example" --nodes 0
refuse '--nodes: "1\.5"'              -- plan "$example" --nodes 1.5
refuse '--nodes: "-1"'                -- plan "$example" --nodes -1
refuse '--sequence'                   -- plan gpt-neox-20b
refuse 'lama3-8b": this is neither a' -- plan lama3-8b
refuse 'nodes'                        --usage whatif "$example"
refuse '--pricing.*spot'              --usage whatif "$example" --nodes 1 --pricing spot
refuse '--nodes: "8\.\.4"'            -- whatif "$example" --nodes 8..4
refuse '--nodes: "1876"'              -- whatif "$example" --nodes 1,1876
refuse '--nodes: ""'                  -- whatif "$example" --nodes 1,
refuse '--nodes: "99999999999"'       -- whatif "$example" --nodes 99999999999
refuse '--nodes: 65 clusters'         -- whatif "$example" --nodes "$(seq -s, 65)"
refuse '--tokens: "0"'                -- whatif "$example" --nodes 1 --tokens 0
refuse '--deadline: "30"'             -- whatif "$example" --nodes 1 --deadline 30
refuse '--budget: "-1"'               -- whatif "$example" --nodes 1 --budget=-1
refuse '--instances: .*trn1\.33xlarge' -- whatif "$example" --nodes 1 --instances trn1.33xlarge
refuse '--instances: .*twice'         -- whatif "$example" --nodes 1 --instances trn1.32xlarge,trn1.32xlarge
refuse '--usd-per-node-hour: one price' -- whatif "$example" --nodes 1 --instances trn1.32xlarge,trn1n.32xlarge --usd-per-node-hour 9
refuse '--storage-gib: '              -- whatif "$example" --nodes 1 --storage-gib 1200
refuse 'no-such\.json: .*No such'     -- whatif "$example" --nodes 1 --reliability no-such.json
printf '{"name": "x", "parameters": {"restart": {"median": -1}}}' >"$work/reliability.json"
refuse 'reliability\.json:1:[0-9]+: parameters\.restart\.median: ' -- whatif "$example" --nodes 1 --reliability "$work/reliability.json"
refuse '--tp.* 8x'                    --usage topology --tp 8x
refuse '--tp'                         -- topology --tp 3
refuse '--tp'                         -- topology --tp 64
refuse '--instance: .*trn1\.33xlarge' -- topology --instance trn1.33xlarge

refuse '--strategy: tpp: unknown key'                     -- simulate "$example" --strategy tpp=8
refuse 'did you mean tp\?'                                -- simulate "$example" --strategy tpp=8
refuse 'did you mean recompute\?'                         -- simulate "$example" --strategy tp=8,recomputes=full
refuse '--strategy: dp: .*24 ranks.*32 cores'             -- simulate "$example" --strategy tp=8,dp=3
refuse 'fix: .*dp=4'                                      -- simulate "$example" --strategy tp=8,dp=3
refuse '--strategy: tp: "0"'                              -- simulate "$example" --strategy tp=0
refuse '--strategy: tp: "-8"'                             -- simulate "$example" --strategy tp=-8
refuse '--strategy: tp: "8x"'                             -- simulate "$example" --strategy tp=8x
refuse '--strategy: tp: "99999999999999"'                 -- simulate "$example" --strategy tp=99999999999999
refuse '--strategy: tp: given twice'                      -- simulate "$example" --strategy tp=8,tp=4
refuse '--strategy: tp: no value'                         -- simulate "$example" --strategy tp
refuse '--strategy: .*no value'                           -- simulate "$example" --strategy tp=8,
refuse '--strategy: .*empty'                              -- simulate "$example" --strategy ''
refuse '--strategy: recompute: "LamaMLP"'                 -- simulate "$example" --strategy tp=8,recompute=LamaMLP
refuse '--strategy: zero1: "yes"'                         -- simulate "$example" --strategy tp=8,zero1=yes
refuse '--strategy: cuts: "x"'                            -- simulate "$example" --strategy tp=8,pp=2,cuts=x

# ---- pins that break a rule are the user's mistake; a refused strategy is an answer ----

write_job pin-tp3.yaml llama3-8b 1 1024 'tensor_parallel: 3'
refuse 'pin-tp3\.yaml:4:[0-9]+: pin\.tensor_parallel: '            -- plan "$work/pin-tp3.yaml" --out new
write_job pin-heads.yaml llama2-13b 1 1024 'tensor_parallel: 32'
refuse 'pin-heads\.yaml:4:[0-9]+: pin\.tensor_parallel: .*40.*heads' -- plan "$work/pin-heads.yaml" --out new
expect 3 'refused: heads: '                                        -- simulate "$work/pin-heads.yaml" --strategy tp=32
expect 3 'refused: replica-group: .*chips 0 and 8'                 -- simulate "$example" --strategy tp=16
expect 3 'refused: memory: '                                       -- simulate "$example" --strategy tp=8
expect 3 'refused: batch: .*1024.*nearest.* 960 and 1056'          -- simulate "$example" --strategy tp=1,mbs=3

# ---- no plan: what is missing ----

write_job too-large.yaml llama3.1-405b 1 1024
expect 3 '^Closest .* [0-9.]+ of 16 GiB, [0-9.]+'                -- plan "$work/too-large.yaml" --out new
verify 'wrote files although there is no plan' test -z "$(ls -A)"
nodes=$(sed -nE 's/^Nodes *([0-9]+) nodes of trn1\.32xlarge would do: --nodes \1$/\1/p' "$out")
if [[ "$nodes" =~ ^[0-9]+$ ]]; then
  pass
  expect 0 '^Best '   -- plan "$work/too-large.yaml" --nodes "$nodes"
  expect 3 '^No plan ' -- plan "$work/too-large.yaml" --nodes $((nodes - 1))
else
  fail 'does not say how many nodes would do'
fi

# nearest_batch FILE MODEL NODES BATCH PIN BATCHES: names one of BATCHES, and that one has a plan.
nearest_batch() {
  local near
  write_job "$1" "$2" "$3" "$4" "$5"
  expect 3 "^Batch +with $4 none" -- plan "$work/$1"
  near=$(sed -nE 's/.*nearest .* is ([0-9]+)$/\1/p' "$out" | head -n 1)
  if [[ " $6 " != *" ${near:-none} "* ]]; then
    fail "nearest batch ${near:-none} instead of one of: $6"
    return
  fi
  pass
  write_job "$1" "$2" "$3" "$near" "$5"
  expect 0 '^Best ' -- plan "$work/$1"
}
nearest_batch batch-dp.yaml llama3-8b 1 1022 'data_parallel: 4' '1020 1024'
nearest_batch batch-mbs.yaml llama3-8b 1 1021 'micro_batch: 2' '1020 1022'
nearest_batch batch-many.yaml llama3-8b 128 1021 'context_parallel: 1' '1020'   # 4096 cores: TP 32 x PP 32 leaves DP 4 at least

# ---- what is left to the planner, limits, edges ----

# write_free NAME TRAINING CLUSTER [LINES]: a job of Llama-3 8B.
write_free() {
  printf 'model: llama3-8b\ntraining: {sequence: 8192, %s}\ncluster: {%s}\n%b' "$2" "$3" "${4:-}" >"$work/$1"
}
one='instance: trn1.32xlarge' some='global_batch: 1024, tokens: 100B'

write_free any.yaml 'global_batch: 512..1536, tokens: 100B, precision: any' 'instance: any, nodes: 1..2' 'objective: cost\npin: {zero1: any}\n'
expect 0 '^llama3-8b, .*, batch 512 to 1536, any precision, on 1 or 2 x' -- plan "$work/any.yaml" --details
verify 'does not say where the winner runs' grep -Eq '^Best .*, on 1 x trn1\.32xlarge, batch 1536, bf16SR' "$out"
verify 'no front of clusters' grep -Eq '^ *\* +2 +trn1n\.32xlarge' "$out"
expect 0 '"on_front": true' -- plan "$work/any.yaml" --format json
expect 3 'cluster\.nodes is free: 2 are taken' -- simulate "$work/any.yaml" --strategy dp=4
expect 3 '^trn1n\.32xlarge$' -- whatif "$work/any.yaml" --nodes 1 --deadline 1d   # types as the job has them
expect 0 'on 1 x trn1\.2xlarge|cluster has' -- plan "$work/any.yaml" --nodes 1

write_free deadline.yaml 'global_batch: {per_node: 64}, tokens: 100B' "$one, nodes: [1, 2, 4]" 'objective: deadline\ndeadline: 35d\n'
expect 0 '^Best .*, on 2 x trn1\.32xlarge ' -- plan "$work/deadline.yaml"   # one node takes some 60 days
sed -i 's/35d/3d/' "$work/deadline.yaml"
expect 3 '^Too slow +the fastest takes 1[0-9]\.[0-9] days, the deadline is 3\.0' -- plan "$work/deadline.yaml" --out new
expect 3 '"fastest":' -- plan "$work/deadline.yaml" --format json
write_free budget.yaml "$some" "$one" 'budget: 0\n'
expect 3 '^Too costly +the cheapest costs [0-9,]+ USD, the budget is 0' -- plan "$work/budget.yaml" --out new
verify 'wrote files although there is no plan' test -z "$(ls -A)"
write_free bad-limits.yaml 'global_batch: 1024' "$one" 'objective: deadline\nbudget: many\n'
refuse 'bad-limits\.yaml:4:12: objective: the deadline is missing' -- plan "$work/bad-limits.yaml"
refuse 'bad-limits\.yaml:5:9: budget: "many"'                      -- plan "$work/bad-limits.yaml"
write_free no-tokens.yaml 'global_batch: 1024' "$one" 'deadline: 35d\n'
refuse 'no-tokens\.yaml:4:11: deadline: training\.tokens is not stated' -- plan "$work/no-tokens.yaml"

# Without a price there is no cost.
cp -r "$source/catalog" "$work/unpriced"
sed -i 's/"usd_per_hour": [0-9.]*/"usd_per_hour": 0/' "$work/unpriced/instances/trn1.32xlarge.json"
write_free cost.yaml "$some" "$one" 'objective: cost\n'
TRNPLAN_CATALOG=$work/unpriced refuse 'cost\.yaml:4:12: objective: no price is known of "trn1\.32xlarge"|usd_per_hour' -- plan "$work/cost.yaml"
expect 0 '^Best ' -- plan "$work/cost.yaml"

# One strategy, pinned whole; pins that contradict each other; a prime number of nodes; the largest cluster.
write_job one.yaml llama3-8b 1 1024 'tensor_parallel: 8, pipeline_parallel: 1, micro_batch: 1, sequence_parallel: true, recompute: CoreAttention+LlamaMLP, context_parallel: 1'
expect 0 '^1 strategies: 0 refused, 0 too large, 0 that cannot be faster, 1 simulated' -- plan "$work/one.yaml" --details
write_job contradiction.yaml llama3-8b 1 1024 'tensor_parallel: 8, data_parallel: 8'
refuse 'contradiction\.yaml:4:[0-9]+: pin\.tensor_parallel: .*32 cores' -- plan "$work/contradiction.yaml"
write_job prime.yaml llama3-8b 7 1024
expect 0 '^Best |^No plan' -- plan "$work/prime.yaml" --nodes 1
expect 3 'no layout divides global batch 1024|nearest' -- plan "$work/prime.yaml"
write_job all-nodes.yaml llama3-8b 1875 60000
expect 0 '^Best .* x DP 7500' -- plan "$work/all-nodes.yaml"
refuse '--nodes: "1876" is too large' -- plan "$work/all-nodes.yaml" --nodes 1876
refuse '--fit-probability: Value 1' --usage plan "$example" --fit-probability 1
refuse '--sure: Value 1' --usage plan "$example" --sure 1
expect 0 '^1 and 2 cannot be told apart: 1 is faster with a probability of 5[0-9]\.[0-9] % \(--sure asks for 95\.0 %\)$' -- plan "$example" --sure 0.95 --details
expect 0 '^  measure     .* node-hours, [0-9]+ USD; script: --out DIR$' -- plan "$example" --details
run plan "$example" --sure 0.5 --details
verify 'even odds are not enough' bash -c '! grep -q "be told apart" "$1"' _ "$out"
run plan "$example" --top 1 --details
verify 'one plan is compared' bash -c '! grep -q "1 is faster" "$1"' _ "$out"
refuse '--time-limit: Value 0' --usage plan "$example" --time-limit 0

# The surer the fit, the less there is to choose from; threads change nothing.
expect 0 '^Best ' -- plan "$example" --fit-probability 0.999
sure=$(grep -Eo '\(fits: .*' "$out")
[[ "$sure" == *'> 99.9 %'* || "$sure" == *'99.9 %'* ]] && pass || fail "$sure, although 0.999 is asked for"
run plan "$example" --threads 1 && cp "$out" "$work/one-thread"
run plan "$example" --threads 3
verify 'the answer depends on the number of threads' cmp "$out" "$work/one-thread"

# What runs today.
config=$source/tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml
expect 0 '; best is 1\.[2-9][0-9]* times as fast' -- plan "$example" --baseline "$config" --details
verify 'no key to change' grep -Eq 'distributed_strategy\.tensor_model_parallel_size +32 -> 8  \(line [0-9]+\)' "$out"
expect 0 '"key": "distributed_strategy\.tensor_model_parallel_size"' -- plan "$example" --baseline "$config" --format json
expect 0 '^  the best plan is [0-9.]+ times as fast; faster at all with ' -- plan "$example" --baseline "$config" --details
sed 's/tensor_model_parallel_size: 32/tensor_model_parallel_size: 16/' "$config" >"$work/tp16.yaml"
printf 'model: llama2-70b\ntraining: {sequence: 4096, global_batch: 512}\ncluster: {instance: trn1.32xlarge, nodes: 8}\n' >"$work/llama2-70b.yaml"
expect 0 '\(replica-group\): ' -- plan "$example" --baseline "$work/tp16.yaml"
verify 'no plan beside the refused baseline' grep -q '^Best ' "$out"
sed 's/encoder_seq_length: 8192/encoder_seq_length: 4096/' "$config" >"$work/short.yaml"
refuse 'short\.yaml:[0-9]+:[0-9]+: model\.encoder_seq_length: sequence 4096' -- plan "$example" --baseline "$work/short.yaml"
expect 0 'model_source: a plan is for' -- plan "$work/llama2-70b.yaml" --baseline "$source/tests/io/fixtures/nxdt/megatron_llama_70b_config.yaml"
refuse 'this is no NxDT config' -- plan "$example" --baseline "$example"
refuse 'No such file' -- plan "$example" --baseline none.yaml

# Ctrl-C: the best so far or a clear word, 130, and no file.
write_job long.yaml llama3.1-405b 64 1024
for after in 0.3 0.8 1.5; do
  shown="trnplan plan long.yaml, interrupted after $after s"
  code=0
  timeout --preserve-status -s INT "$after" "$trnplan" plan "$work/long.yaml" --out new >"$out" 2>"$err" </dev/null || code=$?
  if ((code == 0)); then
    skip "$shown: the search was done before"
    rm -rf new
    continue
  fi
  verify "exit $code instead of 130" test "$code" -eq 130
  if [[ ! -s "$out" && ! -s "$err" ]]; then
    skip "$shown: the program had not begun"
    continue
  fi
  verify 'neither a winner nor a clear line' matches '^Best |before any was found'
  verify 'left files behind' test -z "$(ls -A)"
done
expect 0 '^Best |^No plan.*stopped' -- plan "$work/long.yaml" --time-limit 0.5
expect 0 '"proven": false|"proven": true' -- plan "$work/long.yaml" --time-limit 0.5 --format json

# ---- topology ----

for case in 1:supported:0 2:doubtful:0 4:supported:0 8:supported:0 16:refused:3 32:supported:0; do
  IFS=: read -r tp verdict exit_code <<<"$case"
  expect "$exit_code" "^verdict: $verdict\$" -- topology --tp "$tp"
done
expect 3 'DP .*refused.*chips 0 and 8'        -- topology --tp 16 --dp 2
verify 'does not mark chips 0 and 8 alone' test "$(grep -o '\[[0-9]*\]' "$out" | sort -u | tr -d '\n')" = '[0][8]'
expect 3 '"verdict": "refused"'               -- topology --tp 16 --dp 2 --format json
expect 0 'PP .*doubtful.*chips 0 and 8'       -- topology --nodes 8 --tp 8 --pp 16 --dp 2
expect 0 '^verdict: doubtful$'                -- topology --nodes 8 --tp 8 --pp 16 --dp 2
for listing in "$source"/tests/io/fixtures/neuron-ls-trn1.32xlarge.*; do
  expect 3 '^verdict: refused$' -- topology --neuron-ls "$listing" --tp 16 --dp 2
done

for case in trn2.48xlarge:8:doubtful:0 trn2.48xlarge:32:supported:0 trn2.48xlarge-lnc1:16:refused:3 trn2u-ultraserver:64:supported:0; do
  IFS=: read -r instance tp verdict exit_code <<<"$case"
  expect "$exit_code" "^verdict: $verdict\$" -- topology --instance "$instance" --tp "$tp"
done
expect 0 '64 links of 64\.0 GB/s'                   -- topology --instance trn2u-ultraserver
expect 0 'device 7 serves chips 14, 15 \(4 cores\)' -- topology
expect 0 'no EFA device'                            -- topology --instance trn1.2xlarge
expect 3 'no-efa'                                   -- topology --instance trn1.2xlarge --nodes 2 --dp 4

# trn2 has a topology, not yet a model: a refusal, never a number.
for instance in trn2.48xlarge trn2.48xlarge-lnc1 trn2u-ultraserver; do
  write_job trn2.yaml llama3-8b 1 1024
  sed -i "s/trn1\.32xlarge/$instance/" "$work/trn2.yaml"
  expect 3 'by not-modelled, such as .*trn2 is not' -- plan "$work/trn2.yaml" --out new
  verify 'plans something' bash -c "! grep -Eq '^Best|tokens/s|[Cc]losest' '$out'"
  expect 3 'refused: not-modelled: trn2'                  -- simulate "$work/trn2.yaml" --strategy tp=16
  verify 'prints a step' test ! -s "$out"
  run check "$source/tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml" --instance "$instance"
  verify 'does not say that trn2 is not modelled' grep -q 'not-modelled: trn2 is not modelled yet' "$out"
  verify 'predicts something' bash -c "! grep -q Prediction '$out'"
done

# A config is judged on the instance type it was written for.
shipped=$source/tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml
variant() {  # variant SED-SCRIPT: the shipped 8B config, changed
  sed "$1" "$shipped" >"$work/variant.yaml"
}
lnc1='s/devices: 32/devices: 128\n  lnc: 1/; s/--model-type transformer/& --logical-nc-config=1/'
variant 's/devices: 32/devices: 64/'
expect 0 'instance: trn2\.48xlarge is assumed'         -- check "$work/variant.yaml"
verify 'does not show the memory' grep -q 'note: memory: .*of 24\.0 GiB' "$out"
verify 'predicts something' bash -c "! grep -q Prediction '$out'"
verify 'doubts or refuses TP 32' bash -c "! grep -q replica-group '$out'"
variant 's/devices: 32/devices: 64/; s/model_parallel_size: 32/model_parallel_size: 8/; s/kv_replicator: 4/kv_replicator: 1/'
expect 0 'warning: replica-group'                      -- check "$work/variant.yaml"
variant "$lnc1"
expect 0 'instance: trn2\.48xlarge-lnc1 is assumed'    -- check "$work/variant.yaml"
variant "$lnc1; s/model_parallel_size: 32/model_parallel_size: 16/; s/kv_replicator: 4/kv_replicator: 2/"
expect 3 'error: replica-group'                        -- check "$work/variant.yaml"
verify 'names no source of the group rule' grep -q 'source: .*collectives\.rst' "$out"
expect 0 'warning: devices: .*32 processes on the 64'  -- check "$shipped" --instance trn2.48xlarge
expect 3 'error: devices: .*32 processes on the 2 '    -- check "$shipped" --instance trn1.2xlarge
variant 's/devices: 32/devices: 8/; s/model_parallel_size: 32/model_parallel_size: 8/; s/kv_replicator: 4/kv_replicator: 1/'
expect 0 'no instance type of the catalogue has 8'     -- check "$work/variant.yaml"
variant 's/num_nodes: 4/& # with devices: 32/'
expect 3 'variant\.yaml:7:.*error: devices: '          -- check "$work/variant.yaml"
expect 0 'warning: batch: '                            -- check "$shipped" --nodes 3
expect 0 'warning: end-of-support'                     -- check "$shipped" --release 2.30
expect 0 'note: end-of-support'                        -- check "$shipped" --release 2.28
variant 's/model_parallel_size: 32/model_parallel_size: ${oc.env:TP}/'
expect 0 'instance: .* cannot be resolved here'        -- check "$work/variant.yaml"

# ---- validate ----
printf 'id,kind,model,hardware,nodes,tp,pp,dp,global_batch,seq_len,step_s\nT1,train,m,trn1.32xlarge,1,8,1,4,64,2048,1\n' >"$work/runs.csv"
refuse 'no row is a training run that can be predicted' -- validate "$work/runs.csv"
refuse 'runs: a table of runs is for step times'    -- validate "$work/runs.csv" --memory
refuse 'one of the two at a time'                   -- validate --memory --goodput
refuse '--leave-out'                                --usage validate --leave-out row
expect 0 '^decoders '                               -- validate --leave-out none
expect 0 '"coverage_90"'                            -- validate --leave-out none --format json
head -n 1 "$source/catalog/measured-runs.csv" >"$work/runs.csv"
grep '^T175,' "$source/catalog/measured-runs.csv" | sed 's/^T175/NEW/' >>"$work/runs.csv"
expect 0 '^NEW '                                    -- validate "$work/runs.csv" --leave-out none --rows
refuse '--no-fit: there are steps'                  -- calibrate "$work/runs.csv" --no-fit
expect 0 '^1 step of 1 program '                   -- calibrate "$work/runs.csv" --profile trn1-datasheet --out "$work/steps.json"
verify 'the profile does not say its prior' grep -q '"prior": "trn1-datasheet"' "$work/steps.json"
expect 0 '90 %'                                     -- simulate "$example" --strategy tp=32 --profile "$work/steps.json"
refuse 'unknown profile'                            -- validate --memory --profile none

# ---- collective ----

refuse 'op: "all_redue" is no collective'           -- collective all_redue --bytes 1M
refuse 'did you mean all_reduce\?'                  -- collective all_redue --bytes 1M
refuse 'did you mean redsct\?'                      -- collective redsc --bytes 1M
refuse 'op: "" is no collective'                    -- collective '' --bytes 1M
refuse 'op'                                         --usage collective --bytes 1M
refuse '--ranks.* 0'                                --usage collective all_reduce --bytes 1M --ranks 0
refuse '--ranks.*-2'                                --usage collective all_reduce --bytes 1M --ranks -2
refuse '--ranks: 33 ranks on 32 cores'              -- collective all_reduce --bytes 1M --ranks 33
refuse '--ranks: 63 ranks do not divide by 2 nodes' -- collective all_reduce --bytes 1M --ranks 63 --nodes 2
refuse 'fix: 62 or 64 ranks'                        -- collective all_reduce --bytes 1M --ranks 63 --nodes 2
refuse 'fix: 2 ranks or a multiple'                 -- collective all_reduce --bytes 1M --ranks 1 --nodes 2
refuse '--nodes.* 0'                                --usage collective all_reduce --bytes 1M --nodes 0
refuse '--instance: .*trn1\.33xlarge'               -- collective all_reduce --bytes 1M --instance trn1.33xlarge
refuse '--profile: .*no-such'                       -- collective all_reduce --bytes 1M --profile no-such
refuse '--algorithm: "rign" is no algorithm'        -- collective all_reduce --bytes 1M --algorithm rign
refuse 'did you mean ring\? Known: auto, ring, kangaring, mesh, rdh, torus, hierarchical, flat-ring, one-step' \
                                                    -- collective all_reduce --bytes 1M --algorithm rign
for ratio in 0.99 0 -1 nan inf; do
  refuse '--oversubscription: .*at least 1'         -- collective all_reduce --bytes 1M --nodes 2 --oversubscription $ratio
done
refuse '--oversubscription: .*at most 1000000'      -- collective all_reduce --bytes 1M --nodes 2 --oversubscription 1000001
for size in '' -1 -1K 1.5 nan inf 1e400 4194305T 1KK 0x10 '1 K' 12cats; do
  refuse '--bytes: .*no size up to 2\^62 bytes'     -- collective all_reduce --bytes "$size"
done
refuse '--maxbytes: "1Q" is no size'                -- collective all_reduce -b 1K -e 1Q
refuse '--maxbytes: is empty'                       --usage collective all_reduce -b 1K -e ''
refuse '--maxbytes: 1024 is below --minbytes 2048'  -- collective all_reduce -b 2K -e 1K
for factor in 1 0.5 0 -2 nan inf; do
  refuse '--stepfactor: .*no number above 1'        -- collective all_reduce -b 1K -e 1M -f $factor
done
refuse '--stepfactor: .*more than 200 rows'         -- collective all_reduce -b 1K -e 1G -f 1.01
refuse '--stepfactor: .*more than 200 rows'         -- collective all_reduce -b 1K -e 1G -f 1.0000000000000002
refuse '--minbytes: no factor leads from 0'         -- collective all_reduce -b 0 -e 1K
refuse '--stepfactor'                               --usage collective all_reduce -b 1K -f 2
refuse '--datatype.*fp31'                           --usage collective all_reduce -b 1K -d fp31
refuse 'op: .*no collective'                        -- collective allreduc --bytes x --ranks 33   # all faults at once
verify 'does not name every fault' test "$(grep -c '^  fix: ' "$err")" -eq 3

for op in all_reduce all_gather reduce_scatter all_to_all permute send_recv allr allg redsct alltoall sendrecv; do
  expect 0 '^  group +supported' -- collective $op --ranks 8 --bytes 1M
done
expect 0 '^all_reduce of 1048576 bytes .*, 32 ranks on 16 chips of 1 x trn1' -- collective allr --bytes 1mb
expect 0 '^all_reduce of 1048576 bytes .*, 96 ranks on 48 chips of 3 x trn1' -- collective allr --bytes 1024KiB --nodes 3
expect 0 'spine'                             -- collective allr --bytes 1G --nodes 2 --oversubscription 8
expect 0 '^  algorithm +flat-ring$'          -- collective allr --bytes 1M --nodes 2 --algorithm flat-ring
expect 0 '--algorithm torus does not apply'  -- collective allr --bytes 1M --algorithm torus
expect 0 '1001 bytes are no whole .*1000'    -- collective allr --bytes 1001
expect 0 '^  group +doubtful \(two-chips: '  -- collective allr --bytes 1M --ranks 4
expect 3 '^  group +refused \(no-ring: '     -- collective allr --bytes 1M --ranks 10
expect 3 '^trnplan: refused: no-ring: '      -- collective allr -b 1K -e 1M --ranks 10
verify 'no table for a refused group' grep -q '^Avg bus bandwidth:' "$out"
expect 3 '"verdict": "refused"'              -- collective allr --bytes 1M --ranks 10 --format json
expect 3 'group +refused \(no-efa: '          -- collective allr --bytes 1M --nodes 2 --instance trn1.2xlarge
verify 'no reason' grep -q 'no time     there is no way for its bytes' "$out"
verify 'no fix' grep -q 'fix: use one node, or an instance with EFA' "$out"
expect 3 'evidence: collectives between nodes go through EFA' -- topology --instance trn1.2xlarge --nodes 2 --dp 4
verify 'no fix' grep -q '^fix: use one node, or an instance with EFA' "$out"
for key in seconds nccom_seconds busbw_gbps algbw_gbps; do
  expect 3 "\"$key\": null"                   -- collective allr -b 1K -e 1M --nodes 2 --instance trn1.2xlarge --format json
done
expect 3 '"seconds": null'                    -- collective allr --bytes 1M --nodes 2 --instance trn1.2xlarge --format json
expect 0 '^  algorithm +none$'               -- collective allr --bytes 1M --ranks 1
verify 'a bandwidth of one rank' bash -c "! grep -q bandwidth '$out'"
expect 0 '^all_reduce of 0 bytes'            -- collective allr --bytes 0
verify 'a bandwidth of nothing' bash -c "! grep -q bandwidth '$out'"
expect 0 '^all_reduce of 1 byte, '           -- collective allr --bytes 1 -d uint8
expect 0 '^  profile +trn1$'       -- collective allr --bytes 1M
expect 0 'in a graph .* us, 90 % between [0-9.]+ and [0-9.]+ us' -- collective allr --bytes 1M
expect 0 '"seconds_90": \['                  -- collective allr --bytes 1M --format json
expect 0 '^all_reduce of 33554432 bytes'     -- collective allr -n 20 -w 5 --check -s host-a host-b
verify 'does not say what is ignored' grep -q 'iters.*does not depend on them' "$err"
expect 0 '^all_reduce of 33554432 bytes'     -- collective -n 20 --check=random --hosts host-a host-b -- allr
expect 0 '^all_reduce of 33554432 bytes'     -- collective -r 8 -c allr
verify 'does not say that --check is ignored' grep -q 'iters.*does not depend on them' "$err"
expect 0 'GiB are more than the 16 GiB'      -- collective allr --bytes 32G
expect 0 'timed with the parameters of trn1 \(trn1\)' -- collective allr --instance trn2.48xlarge
expect 0 'does not apply here, it needs one rank on every chip' -- collective allr --bytes 1M --algorithm torus
expect 0 'does not apply here, it is for all_reduce only' -- collective allg --bytes 1M --algorithm one-step
expect 0 'does not apply here, permute has one way' -- collective permute --bytes 1M --algorithm ring
expect 0 'algorithm +hierarchical \(rdh, rdh\)' -- collective allr --bytes 1M --nodes 3 --algorithm rdh
expect 3 'fix: use 8 or 12 ranks'            -- collective allr --bytes 1M --ranks 10
expect 3 'refused: no-ring: .*; fix: use 8 or 12 ranks' -- collective allr -b 1K -e 1M --ranks 10
expect 0 'fix: use 2 or 8 ranks'             -- collective allr --bytes 1M --ranks 4
expect 0 'one-rank: one rank on each of 2 nodes' -- collective allr --bytes 1M --ranks 2 --nodes 2
expect 0 'ring: chips 0 to 15 form a ring'   -- collective allr --bytes 1M
expect 3 'partial-chips: chip 2 takes part'  -- collective allr --bytes 1M --ranks 5
for extreme in '--ranks 1 --bytes 0' '--bytes 0' '--bytes 1' '--bytes 1125899906842624' '--bytes 4194304T --nodes 1875' \
  '-b 0 -e 0' '-b 1 -e 4194304T -f 4 --ranks 1 --in-graph'; do
  for format in text json; do
    read -ra words <<<"$extreme"
    expect 0 'all_reduce|Avg bus bandwidth' -- collective all_reduce "${words[@]}" --format $format
    verify 'prints a number that is none' bash -c "! grep -Eiq -e '(^|[ :,])-?(nan|inf|null)' '$out'"
  done
done
expect 0 '^# time inside a compiled graph'   -- collective allr -b 1K -e 1M --in-graph
expect 0 ' algorithm$'                       -- collective allr -b 1K -e 1M --show-algorithm
expect 0 '^ +1000 +500 +bf16 '               -- collective allr -b 1001 -e 1M -d bf16

# The table's GB/s are 10^9 bytes over its time, busbw that times the factor of the operation, the last line their mean.
table() {  # table FACTOR ARGUMENTS
  local factor=$1
  run collective "${@:2}" -b 1KB -e 1GB -f 4
  verify 'does not say which GB/s these are' grep -q '10^9' "$err"
  verify 'the bandwidths do not follow from sizes and times' awk -v factor="$factor" '
    function off(shown, exact) { d = shown - exact; return (d < 0 ? -d : d) > 0.0051 + exact * 2e-4 }
    $3 == "fp32" { rows++; algbw = $1 / ($4 * 1e-6) / 1e9; busbw = algbw * factor; sum += busbw
                   if ($2 * 4 != $1 || off($5, algbw) || off($6, busbw)) bad = 1 }
    /^Avg bus bandwidth:\t/ { ended = 1; sub("GB/s", "", $4); if (off($4, sum / rows)) bad = 1 }
    END { exit bad || rows != 11 || !ended }' "$out"
}
table 1 all_reduce --ranks 2
table 1.96875 all_reduce --ranks 64 --nodes 2
table 1.96875 all_reduce --ranks 64 --nodes 2 --in-graph
table 0.96875 all_gather
table 0.96875 reduce_scatter
table 0.96875 all_to_all
table 1 permute
table 1 send_recv --ranks 2

# ---- calibrate ----

tables=$source/tests/calibrate/fixtures/nccom
published=$source/catalog/measured-collectives.csv
# nccom FILE COMMAND ROW...: an nccom-test table as a file of $work
nccom() {
  local file=$1 command=$2
  shift 2
  {
    if [[ -n "$command" ]]; then printf '%s\n' "$command"; fi
    printf 'size(B) count(elems) type time:avg(us) algbw(GB/s) busbw(GB/s)\n'
    printf '%s\n' "$@"
  } >"$work/$file"
}
# Points that cannot be predicted are the user's, with their line, the reason and a fix.
nccom v.txt 'nccom-test -r 4 allgv' '1024 256 fp32 70.0 0.01 0.01'
nccom r33.txt 'nccom-test -r 33 -N 1 allr' '1024 256 fp32 70.0 0.01 0.02'
nccom n2.txt 'nccom-test -r 4 -N 2 allr' '1024 256 fp32 170.0 0.01 0.01'
nccom n3.txt 'nccom-test -r 64 -N 3 allr' '1024 256 fp32 170.0 0.01 0.01'
refuse 'v\.txt:3:1: all_gather_v is not modelled'                  -- calibrate "$work/v.txt"
refuse 'r33\.txt:3:1: 33 ranks do not fit on 1 node of trn1\.32xlarge, which has 32 cores' -- calibrate "$work/r33.txt"
refuse 'n2\.txt:3:1: it ran on 2 nodes, and trn1\.2xlarge has no EFA device' -- calibrate "$work/n2.txt" --instance trn1.2xlarge
refuse 'n3\.txt:3:1: 64 ranks do not sit equally on 3 nodes'       -- calibrate "$work/n3.txt"
nccom r8.txt 'nccom-test -r 8 allg' '1024 256 fp32 70.0 0.01 0.01' '65536 16384 fp32 75.0 0.87 0.76'
expect 0 '^trnplan: .*v\.txt:3:1: left out: all_gather_v is not modelled' -- calibrate "$work/v.txt" "$work/r33.txt" "$work/r8.txt"
verify 'no remark for the second reason' grep -q 'left out: 33 ranks do not fit' "$err"
verify 'a warning with a stray ?' bash -c "! grep -q '?' '$err'"
verify 'header and footer count differently' bash -c "grep -q '^r8.txt: 2 of 2 rows' '$out' && grep -q '^v.txt: 0 of 1 rows' '$out' && grep -q '^2 points: ' '$out'"
# Who talks to whom.
refuse 'permute-r8\.txt:[0-9]+:[0-9]+: --custom-src-target-pairs says who' -- calibrate "$tables/permute-r8.txt"
nccom groups.txt 'nccom-test -r 8 --data-parallel-dimension 2 allr' '1024 256 fp32 70.0 0.01 0.02'
expect 0 'groups\.txt:2:1: left out: --data-parallel-dimension says'  -- calibrate "$work/groups.txt" "$work/r8.txt"
# Tables without a command.
nccom bare.txt '' '1024 256 fp32 70.0 0.01 0.01' '65536 16384 fp32 75.0 0.87 0.76'
refuse 'bare\.txt:1:1: nothing says which operation'               -- calibrate "$work/bare.txt"
refuse 'fix: .*--op, --ranks and --nodes'                          -- calibrate "$work/bare.txt"
refuse 'bare\.txt:1:1: nothing says how many ranks'                -- calibrate "$work/bare.txt" --op allg
expect 0 '^all_gather +8 +1024'                                    -- calibrate "$work/bare.txt" --op allg --ranks 8
printf '{"results": [{"size(B)": 1024, "time:avg(us)": 70.0}]}\n' >"$work/report.json"
expect 0 '^reduce_scatter +64 +1024'                               -- calibrate "$work/report.json" --op redsct --ranks 64 --nodes 2
expect 0 'its command is taken, not --op'                          -- calibrate "$work/r8.txt" --ranks 16
expect 0 '--build chooses among the points of a CSV'               -- calibrate "$work/r8.txt" --build 2023-04
refuse 'files: there is nothing to read'                              -- calibrate
mkdir -p "$work/no-plan"
expect 0 '^Best ' -- plan "$example" --top 1 --out "$work/ran"
refuse '--run: no train-\*\.out is in it'                            -- calibrate --run "$work/ran"
refuse 'no-plan/plan\.json'                                           -- calibrate --run "$work/no-plan"
refuse '--op: "allred" is no operation'                            -- calibrate "$work/bare.txt" --op allred --ranks 8
refuse '--build: no point is of build "2022"'                      -- calibrate "$published" --build 2022
refuse 'build: its points come from several builds'                -- calibrate "$published"
refuse 'files: is empty'                                           --usage calibrate ''
# A table of trnplan's own is what its profile says.
for table in 'allr --ranks 64 --nodes 2' 'allg --ranks 8 --nodes 1'; do
  read -ra words <<<"$table"
  run collective "${words[@]}" -b 1K -e 1G -f 4
  cp "$out" "$work/own.txt"
  expect 0 ': median error 0\.0 %, worst [+-]0\.[01] %' -- calibrate "$work/own.txt" --op "${words[@]}" --no-fit --profile trn1
done
run collective allr -b 1K -e 1M --in-graph
cp "$out" "$work/inside.txt"
refuse 'inside\.txt: a table of trnplan collective --in-graph'     -- calibrate "$work/inside.txt" --op allr --ranks 32
# The same point twice; several builds.
expect 0 '^trnplan: 2 points given twice are used once'            -- calibrate "$work/r8.txt" "$work/r8.txt"
verify 'counts points twice' grep -q '^2 points: ' "$out"
sed 's/time:avg(us)/time(us)/' "$work/r8.txt" | sed 's/ 70\.0 / 71.0 /; s/ 75\.0 / 76.0 /' >"$work/old.txt"
expect 0 'may come from different builds \(.*heading time\(us\)'   -- calibrate "$work/r8.txt" "$work/old.txt"
# The profile that is written.
refuse '--out: ".*mine" does not end in \.json'                    -- calibrate "$work/r8.txt" --out "$work/mine"
refuse '--out: is empty'                                           --usage calibrate "$work/r8.txt" --out ''
refuse '--force: there is no --out'                                -- calibrate "$work/r8.txt" --force
refuse '--out: --no-fit fits nothing'                              -- calibrate "$work/r8.txt" --no-fit --out mine.json
refuse 'missing/mine\.json: its folder does not exist'             -- calibrate "$work/r8.txt" --out missing/mine.json
mkdir "$work/folder.json"
refuse 'folder\.json: is a folder'                                 -- calibrate "$work/r8.txt" --out "$work/folder.json"
refuse 'fix: choose another file'                                  -- calibrate "$work/r8.txt" --out "$work/folder.json"
expect 0 '^trnplan: wrote .*mine\.json$'                           -- calibrate "$work/r8.txt" "$work/v.txt" --out "$work/mine.json"
refuse 'mine\.json: the file exists already'                       -- calibrate "$work/r8.txt" --out "$work/mine.json"
expect 0 '^trnplan: wrote .*yours\.json$'                          -- calibrate "$work/r8.txt" --profile "$work/mine.json" --out "$work/yours.json"
verify 'does not build on the catalogue' grep -q '"base": "trn1-datasheet"' "$work/yours.json"
verify 'does not say for which instance' grep -q '"instance": "trn1.32xlarge"' "$work/yours.json"
verify 'does not say what it is for' grep -q '"note": ".*for collectives, not for planning' "$work/yours.json"
verify 'names a file that gave no point' bash -c "! grep -q 'v\.txt' '$work/mine.json'"
verify 'does not say what the points did not move' grep -q '"source": "at prior: not moved by 2 nccom-test points of r8.txt' "$work/mine.json"
mv "$work/mine.json" "$work/elsewhere.json"   # the second must not need the first
expect 0 '^  profile +yours$'                                      -- collective allr -b 1M --profile "$work/yours.json"
sed 's/"trn1-datasheet"/"trn1-datashet"/' "$work/yours.json" >"$work/lost.json"
refuse 'lost\.json:3:[0-9]+: base: unknown profile "trn1-datashet"' -- collective allr -b 1M --profile "$work/lost.json"
cp "$work/yours.json" "$work/yours.txt"
refuse 'yours\.txt: --profile: .*does not end in \.json'           -- collective allr -b 1M --profile "$work/yours.txt"
refuse 'here: --profile: is a folder'                              -- collective allr -b 1M --profile "$work/here"
sed 's/"trn1.32xlarge"/"trn2.48xlarge"/' "$work/yours.json" >"$work/trn2.json"
expect 0 'trn1\.32xlarge timed with the parameters of yours \(trn2\.48xlarge\)' -- collective allr -b 1M --profile "$work/trn2.json"
expect 0 'trn1\.32xlarge timed with the parameters of yours \(trn2\.48xlarge\)' -- plan "$example" --profile "$work/trn2.json"
# A fit that explains nothing is not written.
nccom wild.txt 'nccom-test -r 8 allg' '1024 256 fp32 9000.0 0.00 0.00' '65536 16384 fp32 2.0 32.77 28.67' '1048576 262144 fp32 800000.0 0.00 0.00' \
  '16777216 4194304 fp32 90.0 186.41 163.11'
expect 0 '^the fit does not explain these rows \(median error '    -- calibrate "$work/wild.txt"
verify 'does not widen the spreads' grep -q 'reduced chi-square' "$out"
expect 3 'wild\.json is not written: '                             -- calibrate "$work/wild.txt" --out "$work/wild.json"
verify 'wrote it' test ! -e "$work/wild.json"
expect 0 '^trnplan: wrote '                                        -- calibrate "$work/wild.txt" --out "$work/wild.json" --force
expect 0 '^no fit: as profile trn1-datasheet says$'                -- calibrate "$work/r8.txt" --no-fit
expect 0 '"explains": true'                                        -- calibrate "$work/r8.txt" --format json
# Training logs: what a file is, is found by its content.
logs=$source/tests/calibrate/fixtures/logs
seventy=$source/examples/llama3-70b-16-nodes/job.yaml
expect 0 '^  step 315 s \+- 0\.41, 1 step, lines 1-4: progress bar; .*; nxdt; global batch 1024$' -- calibrate "$logs/nxdt-llama3-70b.txt"
expect 0 'job\.yaml: 2 of 2 step samples are of it'                   -- calibrate "$logs/nxdt-llama3-70b.txt" --job "$seventy" --strategy tp=32,pp=8
expect 0 '^trnplan: .*bert-end-of-epoch\.txt:1:1: left out: global batch 16384 in this log, 1024 in' -- calibrate "$logs/bert-end-of-epoch.txt" --job "$seventy"
verify 'counts a sample of another job' grep -q ': 0 of 2 step samples are of it' "$out"
expect 0 '"wall_seconds": 254\.23'                                   -- calibrate "$logs/nxd-llama3-70b.txt" --job "$seventy" --format json
expect 0 '"framework": "nxdt"'                                       -- calibrate "$logs/nxdt-llama3-70b.txt" --config "$source/tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml" --format json
expect 0 '^  memory of core 0 0\.095 GiB, line 1: neuron-monitor'    -- calibrate "$logs/neuron-monitor-trn1.2xlarge.json"
expect 0 '"key": "XCG815"'                                           -- calibrate "$logs/compiler.txt" --format json
expect 0 '^trnplan: .*compiler\.txt:6:1: XCG815: no peak usage'      -- calibrate "$logs/compiler.txt"
expect 0 '^  all_gather of 8388608 bytes, 8 ranks, 38\.0 us, median 40\.0, 3 times, inside a graph$' -- calibrate "$logs/cc-op.csv"
# A log and a table together: the table is fitted, both are listed.
cat "$logs/nxd-llama3-70b.txt" "$work/r8.txt" >"$work/slurm.out"
expect 0 '^slurm\.out: 5 NxD lines, 1 nccom-test table$'             -- calibrate "$work/slurm.out" --no-fit
verify 'does not use the table' grep -q '^slurm.out: 2 of 2 rows of 1 nccom-test table$' "$out"
verify 'does not list the steps' grep -q '^  step 243.84 s' "$out"
expect 0 '"pieces": 5'                                               -- calibrate "$work/slurm.out" --no-fit --format json
verify 'no fit beside the files' grep -q '"explains": ' "$out"
# A table without use is no fault beside a log, and one alone.
cat "$logs/nxd-llama3-70b.txt" "$work/bare.txt" >"$work/bare.out"
expect 0 '^trnplan: .*bare\.out:6:1: left out: nothing says which operation' -- calibrate "$work/bare.out"
refuse 'README\.md: nothing in it is known'                          -- calibrate "$source/README.md" "$logs/nxd-llama3-70b.txt"
printf '\037\213\010' >"$work/packed"
refuse 'packed: packed with gzip'                                    -- calibrate "$work/packed"
truncate -s 300M "$work/huge"
refuse 'huge: a binary file of no known kind'                        -- calibrate "$work/huge"
rm "$work/huge"
: >"$work/nothing"
refuse 'nothing: the file is empty'                                  -- calibrate "$work/nothing"
refuse '--out: no file has a point of nccom-test'                    -- calibrate "$logs/nxd-llama3-70b.txt" --out mine.json
refuse '--config: --job says what ran, too'                          -- calibrate "$logs/nxd-llama3-70b.txt" --job "$seventy" --config x.yaml
refuse '--strategy: there is no --job'                               -- calibrate "$logs/nxd-llama3-70b.txt" --strategy tp=8
# Kernels, alone and beside other points.
kernels=$source/tests/calibrate/fixtures/kernels
gemm=$kernels/gemm.json
shape=matmul,m=4096,k=4096,n=4096,dtype=bf16
expect 0 '^matmul_efficiency .* weakly$'                              -- calibrate "$gemm" --kernel "$gemm=$shape" --out "$work/kernels.json"
verify 'does not say what it lacks' grep -q '^trnplan: no step is among the data' "$err"
verify 'says no kernel' grep -q '^1 kernel: median error ' "$out"
verify 'does not list the file' grep -q "\"sha256\": \"$(sha256sum "$gemm" | cut -d ' ' -f 1)\"" "$work/kernels.json"
verify 'does not say its data' grep -q 'weakly: fitted to 0 steps, 0 nccom-test points and 1 kernel;' "$work/kernels.json"
verify 'starts elsewhere' grep -q '"prior": "trn1-datasheet"' "$work/kernels.json"
expect 0 '90 %'                                                       -- simulate "$example" --strategy tp=32 --profile "$work/kernels.json"
expect 0 '^0 steps of 0 programs and 2 nccom-test points, 1 kernel; ' -- calibrate "$gemm" "$work/r8.txt" --kernel "$gemm=$shape"
expect 0 '"kernels": 1'                                               -- calibrate "$gemm" "$work/runs.csv" --kernel "$gemm=$shape" --format json
expect 0 '^no fit: as profile trn1-datasheet says$'                   -- calibrate "$gemm" --kernel "$gemm=$shape" --no-fit
expect 0 'left out: K3: measured on trn2\.48xlarge, whose cores are not those of trn1\.32xlarge' -- calibrate "$kernels/kernels.csv"
expect 0 '^trnplan: .*kernels\.csv:5:10: kernel: left out: K4: quality C: shapes' -- calibrate "$kernels/kernels.csv"
for id in X039 X040 X041 X042 X043; do
  refuse "measured-kernels\.csv:[0-9]+:[0-9]+: kernel: $id: quality C: "  -- calibrate "$source/catalog/measured-kernels.csv"
done
# Order and paths of files change nothing.
mkdir -p "$work/elsewhere"
cp "$gemm" "$work/elsewhere/gemm.json"
expect 0 '' -- calibrate "$kernels/kernels.csv" "$work/elsewhere/gemm.json" --kernel "$work/elsewhere/gemm.json=$shape" --out "$work/elsewhere/k.json"
expect 0 '' -- calibrate "$gemm" "$kernels/kernels.csv" --kernel "$gemm=matmul,dtype=bf16,n=4096,m=4096,k=4096" --out "$work/k.json"
verify 'another profile' cmp "$work/k.json" "$work/elsewhere/k.json"
refuse 'command line: --kernel: .*gemm\.json: "matmull" is no operator' -- calibrate "$gemm" --kernel "$gemm=matmull"
refuse 'matmul needs k'                                               -- calibrate "$gemm" --kernel "$gemm=matmul,m=1"
refuse 'matmul needs n'                                               -- calibrate "$gemm" --kernel "$gemm=matmul,m=1"
refuse 'gemm\.jso" is not among the files'                            -- calibrate "$gemm" --kernel "${gemm%n}=$shape"
refuse 'is no FILE=KERNEL'                                            -- calibrate "$gemm" --kernel "$gemm"
refuse 'is named twice'                                               -- calibrate "$gemm" --kernel "$gemm=$shape" --kernel "$gemm=$shape"
refuse 'the file holds no device time'                                -- calibrate "$gemm" "$work/r8.txt" --kernel "$work/r8.txt=$shape"
refuse 'gemm\.json:1:1: kernel: 1902 us is less than the .* us that matmul,m=40960' -- calibrate "$gemm" --kernel "$gemm=matmul,m=40960,k=4096,n=4096,dtype=bf16"
refuse '--no-fit: there are kernels beside'                           -- calibrate "$gemm" "$work/r8.txt" --kernel "$gemm=$shape" --no-fit
refuse '--profile: is empty'                                          --usage calibrate "$gemm" --profile ''
refuse '--instance: kernels beside steps, nccom-test points'          -- calibrate "$gemm" --kernel "$gemm=$shape" --instance trn2.48xlarge --with-catalogue
refuse '--instance: kernels beside steps, nccom-test points'          -- calibrate "$gemm" "$work/r8.txt" --kernel "$gemm=$shape" --instance trn1n.32xlarge
refuse '--kernel: is empty'                                           --usage calibrate "$gemm" --kernel ''
expect 3 'faster than a core.s share of the chip.s HBM'                -- calibrate "$gemm" --kernel "$gemm=stream,bytes=1073741824" --out "$work/stream.json"
# A fitted profile starts anew, and says what it no longer holds.
expect 0 'gemm\.json, to which kernels was fitted, is not among the files' -- calibrate "$kernels/kernels.csv" --profile "$work/kernels.json"
# A device time far from what is said of it is told, and writes no profile unless forced.
expect 3 'far\.json is not written for that'                          -- calibrate "$gemm" --kernel "$gemm=matmul,m=64,k=64,n=64,dtype=bf16" --out "$work/far.json"
verify 'wrote it' test ! -e "$work/far.json"
# Steps of a log start from the shipped profile, unless --profile says otherwise.
expect 0 'trn1 was fitted to .* it is the default because steps of a log are given' -- calibrate "$logs/nxd-llama3-70b.txt" --job "$seventy" --strategy tp=32,pp=8
expect 0 '^1 step of 1 program '                                      -- calibrate "$logs/nxd-llama3-70b.txt" --job "$seventy" --strategy tp=32,pp=8 --profile trn1-datasheet
verify 'takes the published runs' bash -c "! grep -q 'catalogue' '$err'"
# An instance by its family.
refuse 'did you mean "trn1n\.32xlarge"'                            -- topology --instance trn1n
refuse 'did you mean "trn1\.2xlarge" or "trn1\.32xlarge"'          -- topology --instance trn1
# ---- simulate --trace, --schedule; export ----

pipeline=(simulate "$example" --strategy "tp=8,pp=4")
refuse '--trace: "t\.txt" ends neither in'           -- "${pipeline[@]}" --trace t.txt
refuse '--trace: "t" ends neither in'                -- "${pipeline[@]}" --trace t
refuse '--trace'                                     --usage "${pipeline[@]}" --trace ''
refuse '/proc/t\.json: |/proc: |cannot create'       -- "${pipeline[@]}" --trace /proc/t.json
refuse "$work/trn2\.yaml: .*folder"                  -- "${pipeline[@]}" --trace "$work/trn2.yaml/t.json"
refuse '--schedule.*zebra'                           --usage "${pipeline[@]}" --schedule zebra
refuse '--schedule: .*one stage'                     -- simulate "$example" --strategy tp=8 --schedule zero-bubble
refuse '--schedule: .*virtual pipeline'              -- simulate "$example" --strategy tp=8,pp=4,vpp=2 --schedule zero-bubble
expect 0 'zero-bubble is a what-if: NxDT has no such schedule' -- "${pipeline[@]}" --schedule zero-bubble
for extension in pftrace json; do
  trace=$work/traces/step.$extension
  expect 0 "wrote $trace: [0-9]+ slices .* of 1024 micro-batches" -- "${pipeline[@]}" --trace "$trace"
  first=$(cksum <"$trace")
  run "${pipeline[@]}" --trace "$trace"
  verify "a second run exits $code instead of 2" test "$code" -eq 2
  verify 'a second run does not point to --force' grep -q 'fix: .*--force' "$err"
  expect 0 "wrote $trace" -- "${pipeline[@]}" --trace "$trace" --force
  verify 'the same step has other bytes' test "$(cksum <"$trace")" = "$first"
done
write_job long.yaml llama3-8b 1 32768
expect 0 'wrote .*: (19[0-9]{4}|200000) slices .* operators of 0 of 32768 micro-batches, passes and messages of the first [0-9]+ only;' \
  -- simulate "$work/long.yaml" --strategy tp=8,pp=4,vpp=2,recompute=full --trace "$work/traces/long.pftrace"
rm -f "$work/traces/long.pftrace"
expect 3 'no trace was written'                      -- simulate "$example" --strategy tp=8,mbs=3 --trace "$work/traces/none.json"
verify 'left other files' test "$(cd "$work/traces" && ls -A | tr '\n' ' ')" = 'step.json step.pftrace '
if command -v python3 >/dev/null; then
  verify 'no JSON' python3 -c 'import json, sys; sys.exit(not json.load(open(sys.argv[1]))["traceEvents"])' "$work/traces/step.json"
else
  skip 'the trace is JSON: no python3'
fi

refuse 'training\.global_batch: 1024 micro-batches are 9\.[0-9] million nodes' -- export "$example" --strategy tp=8,pp=4 --chakra new
refuse 'fix: export fewer micro-batches: global_batch [0-9]+ has'              -- export "$example" --strategy tp=8,pp=4 --chakra new
refuse '--chakra'                                    --usage export "$example" --strategy tp=8,pp=4
refuse '--chakra'                                    --usage export "$example" --strategy tp=8,pp=4 --chakra ''
refuse '--strategy: tpp'                             -- export "$example" --strategy tpp=8 --chakra new
write_job export.yaml llama3-8b 1 8
expect 3 'refused: batch: '                          -- export "$work/export.yaml" --strategy tp=8,mbs=3 --chakra new
verify 'wrote something' test -z "$(ls -A)"
refuse 'cannot create|/proc'                         -- export "$work/export.yaml" --strategy tp=8,pp=4 --chakra /proc/new
chakra=$work/chakra
expect 0 'wrote trnplan\.0\.et to trnplan\.31\.et to ' -- export "$work/export.yaml" --strategy tp=8,pp=4 --chakra "$chakra"
verify 'names no way to run them' grep -q -e "--workload-configuration=$chakra/trnplan --comm-group-configuration" "$err"
verify 'not one file a rank' test "$(ls -A "$chakra" | wc -l)" -eq 33
verify 'not writable' test -w "$chakra/trnplan.31.et"
refuse 'trnplan\.7\.et: the file exists'             -- export "$work/export.yaml" --strategy tp=8,pp=4 --chakra "$chakra"
first=$(cat "$chakra"/* | cksum)
expect 0 'wrote '                                    -- export "$work/export.yaml" --strategy tp=8,pp=4 --chakra "$chakra" --force
verify 'the same step has other bytes' test "$(cat "$chakra"/* | cksum)" = "$first"

# Decoded with the schemas: no field that they do not know.
shown='schemas of the traces'
if command -v protoc >/dev/null; then
  decode() {  # decode SCHEMA MESSAGE: standard input as text; fails at a field without a name
    protoc -I"$source/io/proto" --decode="trnplan.$1.$2" "$1.proto" >"$work/decoded" && ! grep -Eq '^ *[0-9]+[:{ ]' "$work/decoded"
  }
  verify 'Perfetto' decode perfetto Trace <"$work/traces/step.pftrace"
  verify 'begins and ends differ' test "$(grep -c SLICE_BEGIN "$work/decoded")" = "$(grep -c SLICE_END "$work/decoded")"
  dd if="$chakra/trnplan.9.et" bs=1 skip=1 count=7 status=none >"$work/message"
  verify 'Chakra metadata' decode chakra GlobalMetadata <"$work/message"
  length=$(od -An -tu1 -j8 -N1 "$chakra/trnplan.9.et")
  dd if="$chakra/trnplan.9.et" bs=1 skip=9 count="$length" status=none >"$work/message"
  verify 'Chakra node' decode chakra Node <"$work/message"
  # Whole files of an interleaved and of a context-parallel job: with a tag before each length a file is one
  # message of many, which protoc reads to its last byte.
  if command -v python3 >/dev/null; then
    {
      printf 'syntax = "proto3";\npackage trnplan.file;\nimport "chakra.proto";\n'
      printf 'message File {\n  trnplan.chakra.GlobalMetadata metadata = 1;\n  repeated trnplan.chakra.Node nodes = 2;\n}\n'
    } >"$work/file.proto"
    for strategy in tp=8,pp=4,vpp=2 tp=8,cp=4; do
      expect 0 'wrote ' -- export "$work/export.yaml" --strategy "$strategy" --chakra "$work/chakra-$strategy"
      for rank in 0 31; do
        python3 "$source/tests/cli/tag_messages.py" "$work/chakra-$strategy/trnplan.$rank.et" >"$work/message"
        verify "$strategy: rank $rank is no file of nodes" \
          eval 'protoc -I"$source/io/proto" -I"$work" --decode=trnplan.file.File file.proto <"$work/message" >"$work/decoded"'
        verify "$strategy: rank $rank has fields without a name" eval '! grep -Eq "^ *[0-9]+[:{ ]" "$work/decoded"'
        verify "$strategy: rank $rank has lost nodes" \
          test "$(grep -c '^nodes {' "$work/decoded")" = "$(grep -c '^  id: ' "$work/decoded")"
        verify "$strategy: rank $rank has no collective" grep -q 'type: COMM_COLL_NODE' "$work/decoded"
        verify "$strategy: rank $rank sends nothing" grep -q 'type: COMM_SEND_NODE' "$work/decoded"
      done
    done
  else
    skip 'whole Chakra files decoded with their schema: no python3'
  fi
else
  skip 'traces decoded with their schemas: no protoc'
fi

# ---- plan --out ----

bundle=$work/bundle
expect 0 '^Best ' -- plan "$example" --out "$bundle"
verify "wrote $(ls -A "$bundle" | tr '\n' ' ')" \
  test "$(cd "$bundle" && ls -A | LC_ALL=C sort | tr '\n' ' ')" = \
  'compile.sbatch config.json hyperpod.json measure-1 measure-2 measure.sh mpi_launch.sh mpijob.yaml node_run.sh nxdt.yaml parallelcluster.yaml plan.json pytorchjob.yaml setup_env.sh submit.sh train.sbatch '
for script in "$bundle"/*.sbatch "$bundle"/*.sh; do
  verify "bash -n $(basename "$script")" bash -n "$script"
done
shown="scripts of plan --out"
if command -v shellcheck >/dev/null; then
  verify 'shellcheck of the scripts' shellcheck --severity=style "$bundle"/*.sbatch "$bundle"/*.sh
else
  skip 'shellcheck of the scripts: no shellcheck'
fi
texts() { (cd "$bundle" && find . -type f | LC_ALL=C sort | xargs cksum); }
state() { texts && (cd "$bundle" && find . -type f | LC_ALL=C sort | xargs stat -c '%n %i %Y'); }
before=$(state) written=$(texts)
run plan "$example" --out "$bundle"
verify "a second run exits $code instead of 2" test "$code" -eq 2
verify 'a second run does not point to --force' grep -q 'fix: .*--force' "$err"
verify 'a second run changed files' test "$(state)" = "$before"
expect 0 '^Best ' -- plan "$example" --out "$bundle" --force
verify '--force changed the texts' test "$(texts)" = "$written"
mkdir "$work/partial" && touch "$work/partial/train.sbatch"
expect 2 'partial/train\.sbatch: .*exists' -- plan "$example" --out "$work/partial"
verify 'wrote some files next to the one in the way' test "$(ls -A "$work/partial")" = train.sbatch
touch "$work/regular"
refuse 'regular: .*folder' -- plan "$example" --out "$work/regular/below"
refuse 'regular: .*folder' -- plan "$example" --out "$work/regular"
refuse 'null: .*folder'    -- plan "$example" --out /dev/null/below

run check "$bundle/nxdt.yaml" --format json
verify "check of the emitted nxdt.yaml exits $code" test "$code" -eq 0
verify 'check of the emitted nxdt.yaml has a warning or an error' bash -c "! grep -Eq '\"severity\": *\"(warning|error)\"' '$out'"
verify 'check of the emitted nxdt.yaml is not ok' grep -Eq '"verdict": *"ok"' "$out"
planned=$(json_value "$bundle/plan.json" step_seconds)
checked=$(json_value "$out" step_seconds || true)
verify "check predicts ${checked:-nothing}, plan.json $planned" test "$checked" = "$planned"

# ---- hostile names ----

hostile=('we ird $(touch pwned).json' $'new\nline; touch pwned.json' "quo'te\".json" '-n.json' '--wrap=touch pwned.json'
  '`touch pwned`.json' '${HOME}.json' ';touch pwned;.json' '#SBATCH --wrap=x.json' '../here.json' 'a\nb.json')
run plan "$example" --out "$work/plain"
write_config() {
  printf '%s\n' '{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "intermediate_size": 14336,' \
    '"num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192,' \
    '"rope_theta": 500000.0, "rms_norm_eps": 1e-05, "tie_word_embeddings": false}' >"$1"
}
mkdir "$work/names"
for name in "${hostile[@]}"; do
  rm -rf "$work/hostile"
  write_config "$work/names/$name"
  write_job names/job.yaml "./$name" 1 1024
  expect 0 '^Best ' -- plan "$work/names/job.yaml" --out "$work/hostile"
  shown="plan of a model named ${name//$'\n'/ }"
  for script in compile.sbatch train.sbatch; do
    verify "$script: the job name is not plain" \
      grep -Eq '^#SBATCH --job-name=trnplan-[A-Za-z0-9_][A-Za-z0-9._-]*$' "$work/hostile/$script"
    grep -v '^#SBATCH --job-name=' "$work/plain/$script" >"$work/wanted"
    verify "$script: more than the job name depends on the name" \
      bash -c 'grep -v "^#SBATCH --job-name=" "$1" | cmp -s - "$2"' _ "$work/hostile/$script" "$work/wanted"
  done
  for script in setup_env.sh node_run.sh submit.sh mpi_launch.sh; do
    verify "$script depends on the name" cmp -s "$work/hostile/$script" "$work/plain/$script"
  done
  run check "$work/hostile/nxdt.yaml"
  verify "check of the emitted nxdt.yaml exits $code; $(first_error)" test "$code" -eq 0
done
verify 'a command in a name was run' test ! -e pwned

# The scripts run from a folder with a hostile name, on stand-ins for Slurm and NxDT.
stubs=$work/stubs
hall="$work/we ird \$(touch pwned) 'x"
mkdir -p "$stubs" "$work/nxdt/examples" "$work/venv/bin"
cp -r "$bundle" "$hall"
printf '#!/bin/sh\necho node-a\n' >"$stubs/scontrol"
printf '#!/usr/bin/env bash\nwhile [[ $1 == --* ]]; do shift; done\nSLURM_PROCID=0 exec "$@"\n' >"$stubs/srun"
printf '#!/bin/sh\nprintf "<%%s>\\n" "$@"\n' >"$stubs/torchrun"
printf '#!/usr/bin/env bash\n"$@"\necho "Total failed compilations: ${FAILED_GRAPHS:-0}"\n' >"$stubs/neuron_parallel_compile"
chmod +x "$stubs"/*
ulimit() { :; }   # the limit of this machine may be lower than what the scripts ask for
export -f ulimit
sbatch() {
  shown="$1 in a folder with a hostile name"
  code=0
  (cd "$hall" && PATH="$stubs:$PATH" SLURM_JOB_ID=7 SLURM_JOB_NODELIST=node-a SLURM_SUBMIT_DIR="$hall" \
    TRNPLAN_CODE="$work/nxdt" TRNPLAN_VENV="$work/venv" TRNPLAN_DATA='/data set/$(x)' timeout 60 bash "./$1") >"$out" 2>"$err" || code=$?
}
for script in compile.sbatch train.sbatch; do
  sbatch "$script"
  verify "exit $code; $(first_error)" test "$code" -eq 0
  verify 'the config folder is not one argument' grep -Fxq -e "<--config-path=$hall>" "$out"
  verify 'the data folder is not one argument' grep -Fxq -e '<data.train_dir=/data set/$(x)>' "$out"
done
FAILED_GRAPHS=3 sbatch compile.sbatch
verify 'compile.sbatch succeeds although graphs failed' test "$code" -ne 0
verify 'a command in a folder name was run' test ! -e pwned -a ! -e "$hall/pwned" -a ! -e "$work/nxdt/examples/pwned"

# ---- clusters compared ----

what=(whatif "$example" --tokens 1T --nodes 1,2)
expect 0 '^Recommended: [12] x trn1\.32xlarge, the cheapest$'  -- "${what[@]}"
expect 0 'the fastest within 10000000 USD'                  -- "${what[@]}" --budget 10M
expect 3 '^None recommended: the cheapest, .* USD; the budget is 0$' -- "${what[@]}" --budget 0
expect 3 '^None recommended: the fastest, 2 x .* days; the deadline is 1$' -- "${what[@]}" --deadline 1d
expect 3 '^None recommended: .*fits'                        -- whatif "$source/examples/llama3-70b-16-nodes/job.yaml" --nodes 1 --tokens 1T
expect 0 'the job to be scheduled is not in the days'       -- "${what[@]}"
expect 0 'waits to be scheduled is not counted'             -- whatif --help
refuse 'pin-tp3\.yaml: .*rule heads'                        -- whatif "$work/pin-tp3.yaml" --nodes 1,2 --tokens 1T
write_job no-tokens.yaml llama3-8b 1 1024
refuse '--tokens: neither'                                  -- whatif "$work/no-tokens.yaml" --nodes 1
expect 3 '"recommended": -1'                                -- "${what[@]}" --deadline 1d --format json

# ---- the same twice; JSON; help ----

for format in text json; do
  run plan "$example" --format $format
  sed '/"space"/,/}/{/"seconds"/d}' "$out" >"$work/first"
  run plan "$example" --format $format
  verify 'two runs differ' bash -c 'sed "/\"space\"/,/}/{/\"seconds\"/d}" "$1" | cmp -s - "$2"' _ "$out" "$work/first"
done

run "${what[@]}" --recovery manual
cp "$out" "$work/first"
run "${what[@]}" --recovery manual
verify 'two runs of whatif differ' cmp -s "$out" "$work/first"

json_commands=('plan JOB' 'whatif JOB --nodes 1,2 --tokens 1T' 'validate --goodput' 'simulate JOB --strategy tp=32' 'topology --tp 16 --dp 2' 'collective allr --bytes 1M'
  'collective allr -b 1K -e 1M' "check $bundle/nxdt.yaml")
if command -v python3 >/dev/null; then
  for command in "${json_commands[@]}"; do
    read -ra words <<<"$command"
    run "${words[@]/#JOB/$example}" --format json
    verify 'no JSON with schema_version 1' \
      python3 -c 'import json, sys; sys.exit(json.load(open(sys.argv[1]))["schema_version"] != 1)' "$out"
  done
  run plan "$example" --format json
  verify 'the counts of the space do not add up' python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))["space"]
sys.exit(s["enumerated"] != s["refused"] + s["too_large"] + s["bounded"] + s["simulated"])' "$out"
  run plan "$example" --format json
  verify 'the comparison does not follow from itself' python3 -c 'import json, sys
j = json.load(open(sys.argv[1]))
c, m = j["comparison"], j["comparison"]["measurement"]
better = [p.get("probability_first_is_better") for p in j["plans"]]
good = better[0] is None and better[1] == c["probability_first_is_better"] and not c["told_apart"]
good &= all(0.5 <= a <= b < 1 for a, b in zip(better[1:], better[2:]))
good &= m in c["considered"] and m["kind"] == "run" and m["runs_of_first"] > 0 and m["steps_of_a_run"] == 11
good &= m["second_is_better_when"]["measured"] == "second_over_first" and m["second_is_better_when"]["is"] == "below"
good &= (m["probability_after"] >= c["sure"]) == c["measurement_decides"] and abs(m["usd"] / m["node_hours"] - 21.5) < 1e-9
good &= all(x["probability_after"] > c["probability_first_is_better"] for x in c["considered"])
sys.exit(not good)' "$out"
  run plan "$example" --baseline "$config" --format json
  verify 'no chance of the winner against the baseline' python3 -c 'import json, sys
sys.exit(not 0.5 < json.load(open(sys.argv[1]))["baseline"]["probability_winner_is_faster"] < 1)' "$out"
  run whatif "$example" --tokens 1T --nodes 1..4 --other-usd-per-hour 5 --deadline 1000d --format json
  verify 'the numbers of whatif do not follow from each other' python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
near = lambda a, b: abs(a - b) <= 1e-9 * abs(b)
contract = {"instance", "nodes", "strategy", "step_seconds", "tokens_per_second", "mfu", "goodput", "days", "usd", "checkpoint_interval_seconds"}
points = d["points"]
right = [[p["nodes"] for p in points] == [1, 2, 4], 0 <= d["recommended"] < len(points)]
for p in points:
    right += [contract <= p.keys(), near(p["days"], 1e12 / p["tokens_per_second"] / p["goodput"] / 86400),
              near(p["usd"], p["days"] * 24 * (p["nodes"] * 21.5 + 5)), p["days_90"][0] < p["days"] < p["days_90"][1],
              near(p["checkpoint_interval_seconds"], p["checkpoint_interval_steps"] * p["step_seconds"]),
              0 < p["goodput"] < p["uptime"] < 1]
cheap = [p["usd"] for p in points if p["days"] <= 1000]
right.append(points[d["recommended"]]["usd"] == min(cheap))
sys.exit(not all(right))' "$out"
  run collective all_reduce --nodes 2 -b 64K -e 64M -f 4 --format json
  mv "$out" "$work/sweep"
  run collective all_reduce --nodes 2 --bytes 1M --format json
  verify 'the numbers of a collective do not follow from each other' python3 -c 'import json, sys
one, sweep = (json.load(open(f)) for f in sys.argv[1:])
near = lambda a, b: abs(a - b) <= 1e-9 * abs(b)
parts = one["alpha_seconds"] + sum(p["latency_seconds"] + p["transfer_seconds"] for p in one["phases"])
algbw = one["bytes"] / one["nccom_seconds"] / 1e9
right = [near(parts, one["seconds"]),
         near(one["seconds"] + one["host_launch_seconds"] + one["barrier_seconds"], one["nccom_seconds"]),
         near(algbw, one["algbw_gbps"]), near(algbw * 2 * 63 / 64, one["busbw_gbps"]),
         [r["bytes"] for r in sweep["results"]] == [2**n for n in range(16, 27, 2)],
         {"schema_version": 1, **sweep["results"][2]} == one, one["ranks"] == 64, one["bytes"] == 2**20]
sys.exit(not all(right))' "$out" "$work/sweep"
else
  skip 'JSON is valid: no python3'
fi

expect 0 '^trnplan [0-9]+\.[0-9]+\.[0-9]+$' -- --version
expect 0 '^  trnplan plan '                 -- --help
commands=$(sed -n '/^subcommands:/I,/^$/s/^  \([a-z][a-z]*\) .*/\1/p' "$out")
verify 'lists fewer than four commands' test "$(wc -w <<<"$commands")" -ge 4
for command in $commands; do
  expect 0 "^  (.*&& )?trnplan $command" -- "$command" --help
done

# Output that cannot be written is no success.
if [[ -c /dev/full ]]; then
  shown='trnplan plan JOB >/dev/full'
  code=0
  "$trnplan" plan "$example" >/dev/full 2>"$err" || code=$?
  verify "exit $code although nothing was printed" test "$code" -ne 0
fi

printf 'cli: %d checks, %d failed, %d skipped\n' "$checks" "$failed" "$skipped"
((failed == 0))
