#!/usr/bin/env bash
# The health check before training: health.sh and train.sbatch of a plan's folder, with stand-ins of Slurm and
# of an nccom-test that is slow, fails or hangs on request.
#   health.sh TRNPLAN SOURCE_DIR
# shellcheck disable=SC2016
set -euo pipefail

trnplan=$(realpath "$1")
source=$(cd "$2" && pwd)
# shellcheck source=tests/launch/slurm_cluster.sh
. "$source/tests/launch/slurm_cluster.sh"
work=$(mktemp -d)
trap 'stop_slurm; rm -rf "$work"' EXIT
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
prints() { check "standard output does not hold: $1" grep -Eq -- "$1" "$out"; }
lacks() { check "standard output holds: $1" bash -c '! grep -Eq -- "$1" "$2"' _ "$1" "$out"; }

bin=$work/bin
mkdir "$bin" "$work/busy"
cat >"$bin/scontrol" <<'END'
#!/bin/bash
if [[ "$1 $2" == 'show hostnames' ]]; then printf 'n%d\n' $(seq "${3#n1-}"); else echo "$*" >>"$WORK/scontrol.said"; fi
END
cat >"$bin/srun" <<'END'
#!/bin/bash
while [[ "$1" == --* ]]; do shift; done
for ((i = 0; i < ${SLURM_JOB_NODELIST#n1-}; ++i)); do SLURM_PROCID=$i STAND_IN_HOST=n$((i + 1)) "$@" & done
wait
END
# Takes the options that health.sh gives, and no two runs on one node at a time.
cat >"$bin/nccom-test" <<'END'
#!/bin/bash
STAND_IN_HOST=${STAND_IN_HOST:-$SLURMD_NODENAME}
fail() { echo "$1" && echo '1 errors found - test failed' && exit 1; }
hosts=("$STAND_IN_HOST") nodes=1
while (($# > 0)); do
  case $1 in
    -r) ranks=$2 && shift 2 ;;
    -N) nodes=$2 && shift 2 ;;
    -b) bytes=$2 && shift 2 ;;
    -e) most=$2 && shift 2 ;;
    -f) factor=$2 && shift 2 ;;
    -d) type=$2 && shift 2 ;;
    --non-interactive) shift ;;
    allr) op=$1 && shift ;;
    --hosts) shift && hosts=("$@") && break ;;
    *) fail "unrecognized arguments: $1" ;;
  esac
done
[[ "$op" == allr && "$type" == bf16 && $ranks -eq $((32 * nodes)) && ${#hosts[@]} -eq $nodes ]] || fail 'other options'
if ((nodes > 1)); then
  [[ -n "$NEURON_RT_ROOT_COMM_ID" && "${hosts[0]}" == "$STAND_IN_HOST" ]] || fail 'no address to meet at'
fi
if [[ -n "${SLURM_JOB_ID:-}${OMPI_COMM_WORLD_RANK:-}" ]]; then fail 'MPI would ask Slurm, or the mpirun around it'; fi
for host in "${hosts[@]}"; do mkdir "$WORK/busy/$host" 2>/dev/null || fail "$host is busy"; done
sleep 0.1
factor_of=1
for host in "${hosts[@]}"; do rmdir "$WORK/busy/$host"; done
for host in "${hosts[@]}"; do
  if [[ " ${FAILS:-} " == *" $host "* ]]; then fail 'Failure running neuron-bench - log file /tmp/x.log'; fi
  if [[ " ${HANGS:-} " == *" $host "* ]]; then exec sleep 60; fi
  if ((nodes == 1)) && [[ " ${SLOW_ALONE:-} " == *" $host "* ]]; then factor_of=2; fi
  if ((nodes > 1)) && [[ " ${SLOW_IN_PAIRS:-} " == *" $host "* ]]; then factor_of=2; fi
done
printf '    size(B)    count(elems)    type    time:avg(us)\n'
for ((; bytes <= most; bytes *= factor)); do
  printf '%d %d bf16 %d\n' "$bytes" $((bytes / 2)) $((factor_of * nodes * bytes / 50000))
done
END
cat >"$bin/ssh" <<'END'
#!/bin/bash
while [[ "$1" == -o ]]; do shift 2; done
if [[ "$1" == -- ]]; then shift; fi
host=${1%%.*}
if [[ " ${NO_SSH:-} " == *" $host "* ]]; then echo 'Permission denied (publickey)' >&2 && exit 255; fi
shift
"$@"
END
cat >"$bin/mpirun" <<'END'
#!/bin/bash
while [[ "$1" != bash ]]; do
  if [[ "$1" == -np ]]; then ranks=$2; fi
  shift
done
for ((i = 0; i < ranks; ++i)); do OMPI_COMM_WORLD_RANK=$i STAND_IN_HOST=n$((i + 1)) "$@" & done
wait
END
chmod +x "$bin"/*

plan() {  # plan NAME NODES
  printf 'model: llama3-8b\ntraining: {sequence: 4096, global_batch: %d}\ncluster: {instance: trn1.32xlarge, nodes: %d}\npin: {tensor_parallel: 8, pipeline_parallel: 1, recompute: full}\n' \
    $((64 * $2)) "$2" >"$work/job.yaml"
  "$trnplan" plan "$work/job.yaml" --top 1 --out "$work/$1" >"$work/plan.out" 2>&1
}
health() {  # health CODE FOLDER [NAME=VALUE...]: the folder's name ends in its number of nodes
  local wanted=$1 folder=$2 code=0
  env WORK="$work" PATH="$bin:$PATH" TRNPLAN="$trnplan" SLURM_JOB_ID=7 SLURM_JOB_NODELIST="n1-${folder##*-}" "${@:3}" \
    bash "$work/$folder/health.sh" "$work/$folder" >"$out" 2>"$err" || code=$?
  check "health.sh of $folder ${*:3} exits $code instead of $wanted" test "$code" -eq "$wanted"
}

for nodes in 1 2 3 4; do check "plan of $nodes nodes" plan "plan-$nodes" "$nodes"; done
cp -r "$work/plan-4" "$work/it's \$(touch pwned) \"odd\"-4"

# Sound nodes.
health 0 plan-4
prints '^every node is as fast as it should be: 4 nodes, 4 runs on one node and 4 on several'
prints '^slow: longer than 1\.25 times \(--slow-factor\)'
check 'each run has a file' test "$(find "$work/plan-4/health-7" -name '*.out' | wc -l)" -eq 8
check 'it contains the command' grep -qx 'nccom-test -r 64 -N 2 -b 67108864 -e 1073741824 -f 4 -d bf16 --non-interactive allr --hosts n4 n1' \
  "$work/plan-4/health-7/pairs2-n4.out"
for nodes in 1 2 3; do health 0 "plan-$nodes"; done
prints '3 runs on one node and 3 on several'
health 0 "it's \$(touch pwned) \"odd\"-4"
prints '^every node is as fast as it should be'
check 'nothing of its name was run' test ! -e pwned

# A slow node is named, and no other.
health 3 plan-4 SLOW_ALONE=n3
prints '^slow: 1 node of 4$'
prints '^n3: alone 2\.00 times as long as it should take$'
health 3 plan-4 SLOW_IN_PAIRS=n2
prints '^slow: 1 node of 4$'
prints '^n2: with n1 2\.00 times as long as it should take; with n3 2\.00 times'
prints 'scontrol update nodename=n2 state=drain reason=slow$'
health 3 plan-4 FAILS=n4
prints '^n4: alone failed: Failure running neuron-bench - log file /tmp/x\.log; with n3 failed'
health 3 plan-3 SLOW_ALONE=n1 SLOW_IN_PAIRS=n1
prints '^slow: 1 node of 3$'
health 3 plan-2 SLOW_ALONE=n2
prints '^n2: alone 2\.00 times'
lacks '^n1: '
health 0 plan-4 SLOW_ALONE=n3 TRNPLAN_SLOW=2.5
sed -i 's/^seconds=900/seconds=1/' "$work/plan-3/health.sh"
health 3 plan-3 HANGS=n2
prints '^n2: alone failed: it took too long'

# JSON of what was measured.
health 3 plan-4 SLOW_ALONE=n3
code=0
"$trnplan" collective allr --measured "$work/plan-4/health-7"/*.out --format json >"$out" || code=$?
check "collective --measured exits $code" test "$code" -eq 3
for words in '"verdict": "slow"' '"node": "n3"' '"slow_factor": 1.25' '"alone": true' '"peer_seconds": 0\.0013'; do prints "$words"; done

# Where it cannot be done, training goes on.
health 0 plan-4 TRNPLAN_HEALTH=no SLOW_ALONE=n3
prints '^\[trnplan\] no health check: TRNPLAN_HEALTH is no'
health 0 plan-4 TRNPLAN=/absent/trnplan
prints 'no health check: no /absent/trnplan here'
health 0 plan-4 SLURM_JOB_NODELIST=n1-3
prints 'no health check: 3 nodes are known, the plan has 4'
mv "$bin/nccom-test" "$work/nccom-test"
health 0 plan-4 SLOW_ALONE=n3
prints 'no health check: no nccom-test here'
mv "$work/nccom-test" "$bin/nccom-test"

# Pairs need ssh; without it nothing is said of them, and nobody is named for that.
health 0 plan-4 NO_SSH='n1 n2 n3 n4'
prints '^\[trnplan\] no run of n1 with others: ssh to n1 asks for a password or fails$'
prints '^every node is as fast as it should be: 4 nodes, 4 runs on one node and 0 on several'
health 3 plan-4 NO_SSH=n2 SLOW_ALONE=n3
prints '^n3: alone 2\.00 times as long as it should take'

# In the launcher of an MPIJob, whose file of hosts no worker has.
cp "$work/plan-4/node_run.sh" "$work/node_run.kept"
printf '#!/bin/bash\necho "$2 $OMPI_COMM_WORLD_RANK" >>"$WORK/trained"\n' >"$work/plan-4/node_run.sh"
printf 'n%d slots=1\n' 1 2 3 4 >"$work/hostfile"
mpi() {  # mpi CODE MODE [NAME=VALUE...]
  local wanted=$1 mode=$2 code=0
  rm -rf "$work/trained" "$work/plan-4/health-uid-1"
  env -u SLURM_JOB_ID -u SLURM_JOB_NODELIST WORK="$work" PATH="$bin:$PATH" TRNPLAN="$trnplan" POD_UID=uid-1 \
    OMPI_MCA_orte_default_hostfile="$work/hostfile" "${@:3}" bash "$work/plan-4/mpi_launch.sh" "$work/plan-4" "$mode" >"$out" 2>"$err" || code=$?
  check "mpi_launch.sh $mode ${*:3} exits $code instead of $wanted" test "$code" -eq "$wanted"
}
mpi 0 train
prints '^every node is as fast as it should be: 4 nodes, 4 runs on one node and 4 on several'
check 'MPI: all of them train' test "$(sort "$work/trained" | tr '\n' ' ')" = 'train 0 train 1 train 2 train 3 '
mpi 1 train SLOW_IN_PAIRS=n2
prints '^n2: with n1 2\.00 times as long as it should take; with n3 2\.00 times'
prints '^\[trnplan\] these are pods: kubectl get pod NAME -o wide'
prints '^\[trnplan\] stopped before training: the nodes named above are slow'
check 'MPI: nobody trains' test ! -e "$work/trained"
mpi 1 train SLOW_ALONE=n4
prints '^n4: alone 2\.00 times'
mpi 0 train TRNPLAN_HEALTH=no SLOW_ALONE=n4
check 'MPI: they train all the same' test "$(wc -l <"$work/trained")" -eq 4
mpi 0 compile SLOW_ALONE=n4
lacks 'health check'
check 'MPI: they compile' grep -qx 'compile 3' "$work/trained"
mv "$work/node_run.kept" "$work/plan-4/node_run.sh"

# One node by hand.
rm -rf "$work/plan-1/health-here"
env -u SLURM_JOB_ID WORK="$work" PATH="$bin:$PATH" HOSTNAME=n7 STAND_IN_HOST=n7 FAILS=n7 bash "$work/plan-1/health.sh" "$work/plan-1" alone >"$out" 2>"$err"
prints '^\[trnplan\] measured, in '
code=0
"$trnplan" collective all_reduce --instance trn1.32xlarge --measured "$work/plan-1/health-here"/*.out >"$out" || code=$?
check "a node that is measured by hand is judged: $code" test "$code" -eq 3
prints '^n7: alone failed: Failure running neuron-bench'

# The job stops before it trains, and is not queued again.
printf '#!/bin/bash\necho trained >>"$WORK/trained"\n' >"$work/plan-4/node_run.sh"
train() {  # train CODE [NAME=VALUE...]
  local wanted=$1 code=0
  rm -f "$work/trained" "$work/scontrol.said"
  env WORK="$work" PATH="$bin:$PATH" TRNPLAN="$trnplan" SLURM_JOB_ID=8 SLURM_JOB_NODELIST=n1-4 "${@:2}" \
    bash "$work/plan-4/train.sbatch" "$work/plan-4" >"$out" 2>"$err" || code=$?
  check "train.sbatch ${*:2} exits $code instead of $wanted" test "$code" -eq "$wanted"
}
train 1 SLOW_IN_PAIRS=n2
check 'it trains on a slow node' test ! -e "$work/trained"
check 'it is queued again' test ! -e "$work/scontrol.said"
prints '^n2: with n1 '
prints '^\[trnplan\] stopped before training: the nodes named above are slow'
cp "$out" "$work/train-8.out"
"$trnplan" watch "$work/train-8.out" --once >"$out" 2>"$err"
prints '^stopped: line [0-9]+: '
train 0
check 'it trains on sound ones' test "$(wc -l <"$work/trained")" -eq 4
train 0 TRNPLAN_HEALTH=no SLOW_IN_PAIRS=n2
rm "$work/plan-4/health.sh"
train 0

# Under a Slurm that is one, where it can be started: the job stops, and another trains.
rm "$bin/srun" "$bin/scontrol"
if ! start_slurm "$work/slurm"; then
  skip "the health check under Slurm: $no_slurm" "${slurm_packages[@]}"
  finish
  exit
fi
check 'plan for Slurm' plan plan-slurm-4 4
printf '#!/bin/bash\necho trained >>"$WORK/trained"\n' >"$work/plan-slurm-4/node_run.sh"
job() {  # job CODE [NAME=VALUE...]
  local wanted=$1 code=0
  rm -f "$work/trained"
  env WORK="$work" PATH="$bin:$PATH" TRNPLAN="$trnplan" "${@:2}" sbatch --wait --output="$work/job.out" --chdir="$work/plan-slurm-4" \
    -- "$work/plan-slurm-4/train.sbatch" "$work/plan-slurm-4" >"$out" 2>"$err" || code=$?
  cat "$work/job.out" >"$out"
  check "the job ${*:2} exits $code instead of $wanted" test "$code" -eq "$wanted"
}
job 0
prints '^every node is as fast as it should be: 4 nodes, 4 runs on one node and 4 on several'
check 'it trains on four nodes' test "$(wc -l <"$work/trained")" -eq 4
rm "$work/job.out"
job 1 SLOW_IN_PAIRS=n3
prints '^slow: 1 node of 4$'
prints '^n3: with n4 2\.00 times|^n3: with n2 2\.00 times'
check 'it trains on a slow node under Slurm' test ! -e "$work/trained"

finish
