#!/usr/bin/env bash
# Observations of replica groups and memory in a log: recorded in a profile, then reported by topology, plan
# and check.
#   evidence.sh TRNPLAN SOURCE_DIR
set -euo pipefail

trnplan=$(realpath "$1")
source=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
prints() { check "standard output does not hold: $1" grep -Fq -- "$1" "$out"; }
# In text that is wrapped at the terminal's width.
unwrapped() { tr -s ' \n' ' ' <"$out" >"$out.line" && check "standard output does not hold, unwrapped: $1" grep -Fq -- "$1" "$out.line"; }
says() { check "standard error does not say: $1" grep -Fq -- "$1" "$err"; }

mine=$work/mine.json log=$source/tests/launch/fixtures/replica-group-failure-tp16-dp2.txt
run 3 watch "$log" --once --record "$mine"
prints "1 observation recorded in $mine"
check 'its hash is that of the log' grep -q "$(sha256sum "$log" | cut -d ' ' -f 1)" "$mine"
cp "$mine" "$work/first.json"
run 3 watch "$log" --once --record "$mine"
check 'recorded again, the same bytes' cmp "$mine" "$work/first.json"

seen='observed in replica-group-failure-tp16-dp2.txt:1: the runtime refused it'
run 3 topology --tp 16 --dp 2 --profile "$mine"
prints "dp groups on chips 0, 8: $seen"
run 3 topology --tp 16 --dp 2 --profile "$mine" --format json
prints "$seen"
run 0 plan "$source/examples/llama3-8b-one-node/job.yaml" --top 1 --profile "$mine" --details
unwrapped "(the runtime refuses it); $seen"
"$trnplan" plan "$source/examples/llama3-8b-one-node/job.yaml" --top 1 --out "$work/plan" >"$out" 2>&1
sed 's/^  tensor_model_parallel_size: .*/  tensor_model_parallel_size: 16/; s/^  pipeline_model_parallel_size: .*/  pipeline_model_parallel_size: 1/;
  s/^    model_parallel_size: .*/    model_parallel_size: 16/; s/^  kv_replicator: .*/  kv_replicator: 2/; /^  pipeline_cuts/d' "$work/plan/nxdt.yaml" >"$work/plan/tp16.yaml"
run 3 check "$work/plan/tp16.yaml" --profile "$mine"
prints "$seen"
run 0 plan "$source/examples/llama3-8b-one-node/job.yaml" --top 1
check 'without the profile nothing is said' bash -c "! grep -q 'observed in' '$out'"

# A graph too large for its core: the plan that ran is reported, and earlier records stay.
printf "[XCG815]  Estimated peak HBM usage (22.839451) exceeds 16GB. Neff won't be able to load on chip\n" >"$work/compile.log"
run 3 watch "$work/compile.log" --once --plan "$work/plan/plan.json" --record "$mine"
unlikely='(fits: 14.2 %)'
run 0 check "$work/plan/nxdt.yaml"
check 'without the profile it is likely to fit' bash -c "! grep -Fq '$unlikely' '$out'"
run 0 check "$work/plan/nxdt.yaml" --profile "$mine"
prints "$unlikely"
run 0 plan "$source/examples/llama3-8b-one-node/job.yaml" --top 1 --profile "$mine" --details
unwrapped "$seen"
# The same layout in another precision is another plan.
sed 's/"precision": "mixed_precision"/"precision": "fp32"/' "$mine" >"$work/fp32.json"
check 'the record names the precision' bash -c "! cmp -s '$mine' '$work/fp32.json'"
run 0 check "$work/plan/nxdt.yaml" --profile "$work/fp32.json"
check 'a run in fp32 says nothing of a plan in bf16' bash -c "! grep -Fq '$unlikely' '$out'"
# A profile fitted to a run keeps what was observed.
for step in $(seq 1 40); do
  printf 'step %d step_time 500.0s throughput 2.0 seq/s loss 5.0 grad norm 1.0\n' "$step"
done >"$work/train.log"
run 0 watch "$work/train.log" --once --plan "$work/plan/plan.json" --profile "$mine" --calibrate "$work/fitted.json"
run 3 topology --tp 16 --dp 2 --profile "$work/fitted.json"
prints "$seen"

# The rules doubt it, and it ran; the rules allow it, and the runtime refused it.
printf 'model: llama3-8b\ntraining: {sequence: 8192, global_batch: 64}\ncluster: {instance: trn1.32xlarge, nodes: 1}\n' >"$work/job.yaml"
run 0 watch "$work/train.log" --once --job "$work/job.yaml" --strategy tp=8,pp=2,recompute=full --record "$work/works.json"
prints 'recorded in'
run 0 topology --tp 8 --pp 2 --profile "$work/works.json"
prints 'observed in train.log:40: the runtime accepted it'
sed -i 's/"verdict": "refused"/"verdict": "accepted"/' "$work/first.json"
run 3 topology --tp 16 --dp 2 --profile "$work/first.json"
prints 'but replica-group-failure-tp16-dp2.txt:1 shows that the runtime accepted it'

# A fit that starts from the profile keeps it.
run 0 calibrate "$source/catalog/measured-collectives.csv" --build 2023-04 --profile "$mine" --out "$work/refitted.json"
run 3 topology --tp 16 --dp 2 --profile "$work/refitted.json"
prints "dp groups on chips 0, 8: $seen"

# A plan that runs is seen to fit.
run 0 watch "$work/train.log" --once --plan "$work/plan/plan.json" --record "$work/fits.json"
prints '1 observation recorded'
check 'it fits' grep -q '"verdict": "accepted"' "$work/fits.json"

# Nothing to learn, and files that are no profile.
run 0 watch "$work/train.log" --once --record "$work/none.json"
prints 'nothing to record'
check 'and nothing is written' test ! -e "$work/none.json"
echo '{}' >"$work/no.json"
run 2 watch "$log" --once --record "$work/no.json"
check 'what is no profile stays as it is' test "$(cat "$work/no.json")" = '{}'
run 2 watch "$log" --once --record "$work/no.txt"
echo "no profile" >"$work/text.json"
run 2 calibrate "$source/catalog/measured-collectives.csv" --build 2023-04 --out "$work/text.json"
says 'the file exists already'
run 0 calibrate "$source/catalog/measured-collectives.csv" --build 2023-04 --out "$work/text.json" --force
says 'was not a profile; none of it is kept'
run 0 topology --profile "$work/text.json"
sed 's/"ranks": \[/"ranks": ["x",/' "$mine" >"$work/bad.json"
run 2 topology --profile "$work/bad.json"
says 'bad.json:'
says 'evidence.ranks: is not a list of whole numbers in ascending order'

finish
