#!/usr/bin/env bash
# watch and calibrate on standard input, on logs that grow, are cut and replaced, and on logs of any size.
#   watch.sh TRNPLAN SOURCE_DIR
set -euo pipefail

trnplan=$(realpath "$1")
source=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
prints() { check "standard output does not hold: $1" grep -Eq -- "$1" "$out"; }
says() { check "standard error does not say: $1" grep -Eq -- "$1" "$err"; }
step() { printf 'step %d step_time %s.5s throughput 4 seq/s loss 3.25 grad norm 1.0\n' "$1" "$2"; }
steps() { for ((i = $1; i <= $2; ++i)); do step "$i" 200; done; }

# piped CODE ARGUMENTS...: trnplan reads standard input
piped() {
  local wanted=$1 code=0
  shift
  "$trnplan" "$@" >"$out" 2>"$err" || code=$?
  check "trnplan $* exits $code instead of $wanted" test "$code" -eq "$wanted"
}

# A prediction that somebody changed, and the hash with it; and one that was changed and the hash was not.
printf 'model: llama3-8b\ntraining: {sequence: 8192, global_batch: 1024}\ncluster: {instance: trn1.32xlarge, nodes: 4}\n' >"$work/job.yaml"
run 0 plan "$work/job.yaml" --top 1 --out "$work/plan"
steps 1 5 >"$work/train.log"
forge() {  # forge FACTOR: the step of plan.json and all that follows from it times FACTOR, sealed anew
  python3 - "$work/plan" "$1" <<'END'
import hashlib, re, sys
folder, factor = sys.argv[1], float(sys.argv[2])
text = open(folder + "/plan.json").read()
def scale(pattern, by):
    global text
    text = re.sub(pattern, lambda m: m[1] + repr(float(m[2]) * by), text, count=1)
scale(r'("step_seconds": )([0-9.]+)', factor)
scale(r'("step_seconds_90": \[\s*)([0-9.]+)', factor)
scale(r'("step_seconds_90": \[\s*[0-9.]+,\s*)([0-9.]+)', factor)
for key in ("tokens_per_second", "mfu", "hfu", "model_tflops", "six_n_tflops"):
    scale('("' + key + '": )([0-9.e+-]+)', 1 / factor)
open(folder + "/unsealed.json", "w").write(text)
text = re.sub(r'("sha256": ")[0-9a-f]{64}', lambda m: m[1] + 64 * "0", text)
open(folder + "/forged.json", "w").write(re.sub(64 * "0", hashlib.sha256(text.encode()).hexdigest(), text))
END
}
forge 0.5
for file in plan forged unsealed; do
  "$trnplan" watch "$work/train.log" --once --plan "$work/plan/$file.json" >"$out" 2>"$work/$file.said" || true
done
check 'plan.json is what is predicted' test "$(grep -cE 'is predicted here|has been changed' "$work/plan.said")" -eq 0
check 'a forged prediction is reported' grep -q 'forged.json says .* is predicted here: it was made with another profile or version, or was changed' "$work/forged.said"
check 'so is a change without its hash' grep -q 'unsealed.json has been changed since trnplan' "$work/unsealed.said"

logs=$source/tests/calibrate/fixtures/logs
piped 0 watch - <"$logs/nxd-llama3-70b.txt"
prints '^step 5, 243\.9 s a step'
prints '^to see whether that is as fast as it should be, state what ran: trnplan watch - '
piped 0 watch - --job "$source/examples/llama3-70b-16-nodes/job.yaml" --strategy tp=32,pp=8 < <(cat "$logs/nxd-llama3-70b.txt")
prints '^as fast as it should be: your run 254\.2 s a step, predicted '
piped 0 calibrate - < <(cat "$logs/nxd-llama3-70b.txt")
prints '^standard input: 5 NxD lines$'
prints '^  trnplan calibrate - --config FILE --out mine\.json$'
piped 0 calibrate - --format json < <(cat "$logs/kineto-2-a100.json")
prints '"kind": "Kineto trace"'
piped 3 watch - --once <"$source/tests/launch/fixtures/replica-group-failure-tp16-dp2.txt"
prints '^failure: replica-group'
# Reported: a packed pipe was refused with the advice to give --once, which was given.
piped 0 watch - --once < <(gzip -c "$logs/nxd-llama3-70b.txt")
prints '^step 5, 243\.9 s a step'
piped 2 watch - < <(printf '\037\213\010%100s' x)
says 'standard input: packed with gzip'
piped 0 watch - </dev/null
prints '^no step yet$'

# Live: existing lines are reported before more come.
coproc WATCH { "$trnplan" watch - 2>"$err"; }
watching=$WATCH_PID
exec {lines}<&"${WATCH[0]}"  # Bash forgets WATCH as soon as the program has ended.
steps 1 3 >&"${WATCH[1]}"
read -r line <&"$lines"
check "the third step is not reported while the run goes on: $line" grep -Eq '^step 3, 200\.5 s a step' <<<"$line"
step 4 200 >&"${WATCH[1]}"
read -r line <&"$lines"
check "the fourth step is not reported: $line" grep -Eq '^step 4, ' <<<"$line"
# shellcheck disable=SC1083,SC2093  # closes the file of that number
exec {WATCH[1]}>&-
cat <&"$lines" >"$out"
wait "$watching"
prints '^last 4 steps: 200\.5 s'

# Alarms are reported once, during the run, also for workers with interleaved lines.
pod() { sed "s/^/[pod\/llama-worker-$1\/pytorch] /"; }
risen() { printf 'step %d step_time 200.5s throughput 4 seq/s loss 3.25 grad norm 3.5\n' "$1"; }
coproc WATCH { "$trnplan" watch - 2>"$err"; }
watching=$WATCH_PID
exec {lines}<&"${WATCH[0]}"
said=$(steps 1 9 | pod 3 && echo 'batch 9 read' | pod 0)  # A pipe's own shell does not have WATCH.
printf '%s\n' "$said" >&"${WATCH[1]}"
read -r line <&"$lines"
check "the ninth step is not reported: $line" grep -Eq '^step 9, 200\.5 s a step' <<<"$line"
said=$(risen 10 | pod 3)
printf '%s\n' "$said" >&"${WATCH[1]}"
for wanted in '^step 10, ' '^ALARM gradient-norm: gradient norm 3\.5 at step 10, above 3 times its lowest value 1' '^cause: '; do
  read -r line <&"$lines"
  check "the alarm is not reported while the run goes on: $line" grep -Eq "$wanted" <<<"$line"
done
said=$(risen 11 | pod 3)
printf '%s\n' "$said" >&"${WATCH[1]}"
# shellcheck disable=SC1083,SC2093  # closes the file of that number
exec {WATCH[1]}>&-
cat <&"$lines" >"$out"
wait "$watching"
check 'the alarm is not in the report at the end, or reported again in between' test "$(grep -c '^ALARM gradient-norm: ' "$out")" -eq 1
steps 1 9 >"$work/norms"
risen 10 >>"$work/norms"
piped 0 watch "$work/norms" --once --format json
prints '"alarms":\[\{"kind":"gradient-norm","message":"[^"]+","cause":"[^"]+","fix":"[^"]+","step":10,"line":10\}\]'

# A file that grows, is cut, and is replaced by another of its name.
log=$work/train.log
steps 1 3 >"$log"
mkfifo "$work/answers"
"$trnplan" watch "$log" --interval 1 >"$work/answers" 2>"$err" &
watching=$!
exec {answers}<"$work/answers"
read -r line <&"$answers"
check "three steps are not reported: $line" grep -q '^step 3, ' <<<"$line"
steps 4 5 >>"$log"
read -r line <&"$answers"
check "what was appended is not reported: $line" grep -q '^step [45], ' <<<"$line"
[[ $line == 'step 5'* ]] || read -r line <&"$answers"
steps 1 2 >"$log"
read -r line <&"$answers"
check "the log that was cut is not read anew: $line" grep -Eq '^(step 2,|step 1$|step 1,)' <<<"$line"
[[ $line == 'step 2'* ]] || read -r line <&"$answers"
steps 1 9 >"$work/other"
mv "$work/other" "$log"
read -r line <&"$answers"
check "the log that was replaced is not read: $line" grep -q '^step 9, ' <<<"$line"
printf 'Training finished successfully\n' >>"$log"
cat <&"$answers" >"$out"
wait "$watching"
prints '^last 9 steps: 200\.5 s'
check 'nothing says that the log was replaced' test "$(grep -c 'was cut or replaced' "$err")" -eq 2

# Logs of any size, in constant memory.
noise='2026-11-22 10:00:00.123456: I neuron/runtime.cc:171 a line of a chatty runtime that says nothing of steps'
big() {
  for ((i = 1; i <= 4; ++i)); do
    step "$i" 200
    { yes "$noise" || true; } | head -c 75000000
    printf '\n'
  done
}
# Reported: a file in which nothing is known was "no step yet", and a bar without a title left no way on.
: >"$work/nothing.log"
run 0 watch "$work/nothing.log" --once
prints 'the log is empty'
echo 'what is this' >"$work/nothing.log"
run 0 watch "$work/nothing.log" --once
says 'nothing in it is recognised'
printf 'a\0b' >"$work/binary.log"
run 2 watch "$work/binary.log" --once
run 0 watch "$work/binary.log" "$work/nothing.log" --once
printf ' 1%%|# | 10/2000 [00:20<1:05:10, 2.0s/it]\n' >"$work/nothing.log"
run 0 watch "$work/nothing.log" --once
says 'give its bar a title'
# An error that a program may have caught does not end a run that is followed; one that ends a process does.
{ steps 1 5; printf 'Traceback (most recent call last):\n  File "x"\nValueError: caught\n'; } >"$work/caught.log"
run 3 watch "$work/caught.log" --once
code=0
timeout 3 "$trnplan" watch "$work/caught.log" --interval 1 >"$out" 2>"$err" || code=$?
check "a caught error ends the watch: $code" test "$code" -eq 124
echo 'RuntimeError: CUDA error: unspecified launch failure' >>"$work/caught.log"
run 3 watch "$work/caught.log" --interval 1

if [[ -x /usr/bin/time ]]; then
  for command in 'watch - --once' 'calibrate -'; do
    # shellcheck disable=SC2086
    big | /usr/bin/time -q -o "$work/peak" -f %M "$trnplan" $command >"$out" 2>"$err"
    prints '200\.5 s'
    check "$command of 286 MiB takes $(<"$work/peak") KB" test "$(<"$work/peak")" -lt 100000
  done
else
  skip 'peak memory' time
fi
finish
