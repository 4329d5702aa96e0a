# shellcheck shell=bash disable=SC2034,SC2154
# Sourced: a Slurm of four nodes on this machine, in a folder of its own, for tests.
#
#   start_slurm FOLDER   sets SLURM_CONF; returns 1 with $no_slurm saying why when it cannot
#   stop_slurm           stops what start_slurm started, by process id

# Waits end after ten minutes, which no slow machine needs: Slurm is stuck then. What it says of itself is printed, and
# what is still waited for gets five seconds.

slurm_pids=() slurm_lock='' slurm_packages=() slurm_patience=600 slurm_said=2

# until_true COMMAND...: waits until the command succeeds; fails when a daemon ends before, or Slurm is stuck
until_true() {
  local -i from=$SECONDS tries=0
  until "$@" >/dev/null 2>&1; do
    if ! alive || stuck "$from" "$*"; then return 1; fi
    ((++tries % 50 != 0)) || resume_drained
    sleep 0.2
  done
}
# On a busy machine Slurm may drain a node on its own: a job that is queued again can reach it before its last run is gone.
resume_drained() {
  local nodes
  nodes=$(sinfo -h -N -t drain,fail -o %N 2>/dev/null | sort -u | paste -s -d,) || return 0
  [[ -z "$nodes" ]] || scontrol update "NodeName=$nodes" State=RESUME 2>/dev/null || true
}
stuck() {  # stuck FROM WHAT: WHAT is waited for since FROM ($SECONDS) and longer than anything takes
  ((SECONDS - $1 > slurm_patience)) || return 1
  slurm_patience=5
  {
    printf 'stuck after %d s: %s\n' $((SECONDS - $1)) "$2"
    squeue -o '%i %j %T %r %R' 2>&1
    sinfo -N -o '%N %T %E' 2>&1
    tail -n 15 "$slurm_folder/slurmctld.log" 2>&1
    grep -h 'error\|fatal' "$slurm_folder"/slurmd-*.log 2>&1 | grep -iv 'mpi' | tail -n 15
    tail -n 5 "${work:-$slurm_folder}"/followed 2>&1
  } >&"$slurm_said" || true
}
alive() {  # every daemon that was started
  local pid
  for pid in "${slurm_pids[@]}"; do kill -0 "$pid" 2>/dev/null || return 1; done
}
ended() {  # ended [JOB]: nothing of it is queued or runs; a question without an answer says nothing
  local list
  if list=$(squeue -h ${1:+-j "$1"} 2>&1); then [[ -z "$list" ]]; else [[ "$list" == *'Invalid job id'* ]]; fi
}

idle() { [[ "$(sinfo -h -t idle -o %D)" == "$1" ]]; }

# node_dies JOB: kills the daemon of n3, on which the job runs, and brings the node back once the job is queued again
node_dies() {
  local pid kept=() code=0
  { kill -9 "$slurm_n3" && wait "$slurm_n3"; } 2>/dev/null || true
  for pid in "${slurm_pids[@]}"; do [[ "$pid" == "$slurm_n3" ]] || kept+=("$pid"); done
  slurm_pids=("${kept[@]}")
  scontrol update NodeName=n3 State=DOWN Reason=test
  until_true restarted "$1" || code=1
  start_n3
  # The daemon's own registration may have resumed the node already, or come after this and find it down.
  until_true n3_is_back || code=1
  return "$code"
}
restarted() { scontrol show job "$1" | grep -q 'Restarts=1'; }
start_n3() {
  daemon slurmd-n3 slurmd -D -N n3 -f "$SLURM_CONF"
  slurm_n3=${slurm_pids[-1]}
}
n3_is_back() {
  [[ "$(sinfo -h -n n3 -o %T)" =~ ^(idle|allocated|mixed|completing)$ ]] || { scontrol update NodeName=n3 State=RESUME && return 1; }
}

stop_slurm() {
  local pid tries
  # Steps outlive the daemons: cancel what runs first.
  if ((${#slurm_pids[@]} > 1)) && kill -0 "${slurm_pids[1]}" 2>/dev/null && scancel --user="$(id -un)" 2>/dev/null; then until_true ended || true; fi
  for pid in "${slurm_pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${slurm_pids[@]}"; do
    tries=0
    while kill -0 "$pid" 2>/dev/null && ((tries++ < 50)); do sleep 0.1; done
    kill -9 "$pid" 2>/dev/null || true
  done
  slurm_pids=()
  [[ -z "$slurm_lock" ]] || exec {slurm_lock}>&-
  slurm_lock=''
}

# daemon NAME COMMAND...: runs it in the foreground of a process of ours
daemon() {
  local name=$1
  shift
  "$@" >"$slurm_folder/$name.out" 2>&1 {slurm_lock}>&- &
  slurm_pids+=("$!")
}

start_slurm() {
  slurm_folder=$1
  no_slurm=''
  exec {slurm_said}>&2   # checks keep what their commands print
  local program
  for program in munged slurmctld slurmd sbatch scontrol srun; do
    command -v "$program" >/dev/null || { no_slurm="no $program" slurm_packages=(slurm-wlm munge) && return 1; }
  done
  ((EUID == 0)) || { no_slurm='not root' && return 1; }
  # The ports are the same for every build on this machine.
  exec {slurm_lock}>"${TMPDIR:-/tmp}/trnplan-test-slurm.lock"
  flock "$slurm_lock"
  mkdir -p "$slurm_folder"/{state,munge,nodes}
  head -c 1024 /dev/urandom >"$slurm_folder/munge/key"
  chmod 700 "$slurm_folder/munge" && chmod 600 "$slurm_folder/munge/key"
  daemon munged munged --foreground --force --key-file="$slurm_folder/munge/key" --socket="$slurm_folder/munge/socket" \
    --pid-file="$slurm_folder/munge/pid" --log-file="$slurm_folder/munge/log" --seed-file="$slurm_folder/munge/seed"
  local host
  host=$(hostname -s)
  cat >"$slurm_folder/slurm.conf" <<CONF
ClusterName=trnplan-test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm_folder/munge/socket,cred_expire=30
CredType=cred/munge
SlurmctldPort=17820
SlurmctldPidFile=$slurm_folder/slurmctld.pid
SlurmctldLogFile=$slurm_folder/slurmctld.log
SlurmdPidFile=$slurm_folder/slurmd-%n.pid
SlurmdLogFile=$slurm_folder/slurmd-%n.log
SlurmdSpoolDir=$slurm_folder/nodes/%n
SlurmdParameters=config_overrides
StateSaveLocation=$slurm_folder/state
SwitchType=switch/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1,requeue_delay=1
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobRequeue=1
MinJobAge=300
ReturnToService=2
SlurmctldTimeout=600
SlurmdTimeout=0
MessageTimeout=100
TCPTimeout=60
BatchStartTimeout=600
UnkillableStepTimeout=3600
KillWait=2
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17821 CPUs=128 Feature=trn1.32xlarge
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17822 CPUs=128 Feature=trn1.32xlarge
NodeName=n3 NodeHostname=$host NodeAddr=127.0.0.1 Port=17823 CPUs=128 Feature=trn1.32xlarge
NodeName=n4 NodeHostname=$host NodeAddr=127.0.0.1 Port=17824 CPUs=128 Feature=trn1.32xlarge
PartitionName=queue1 Nodes=n1,n2,n3,n4 Default=YES MaxTime=INFINITE State=UP
CONF
  export SLURM_CONF=$slurm_folder/slurm.conf
  local node
  until_true test -S "$slurm_folder/munge/socket" || { no_slurm="munged does not start: $(tail -n 1 "$slurm_folder/munged.out")" && return 1; }
  daemon slurmctld slurmctld -D -c -f "$SLURM_CONF"
  mkdir -p "$slurm_folder"/nodes/n{1,2,3,4}
  for node in n1 n2 n4; do daemon "slurmd-$node" slurmd -D -N "$node" -f "$SLURM_CONF"; done
  start_n3
  until_true idle 4 || { no_slurm="four nodes do not come up: $(grep -h fatal "$slurm_folder"/*.log 2>/dev/null | tail -n 1)" && return 1; }
}

# Of jobs, for tests that count (tests/checks.sh): id_of NAME is the number that trnplan printed for it.
state() { scontrol show job "$1" | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p'; }
is() { [[ "$(state "$1")" == "$2" ]]; }
over() { ended "$1" && [[ "$(state "$1")" =~ ^(COMPLETED|FAILED|CANCELLED|TIMEOUT|BOOT_FAIL|NODE_FAIL|DEADLINE)$ ]]; }
reaches() {  # reaches JOB STATE: waits for it, until the job is over in another one
  local -i others=0 from=$SECONDS tries=0
  until is "$1" "$2"; do
    # Between two runs of a job that is queued again Slurm may show the state of the first.
    if over "$1"; then others=$((others + 1)); else others=0; fi
    if ((others > 50)) || ! alive || stuck "$from" "job $1: $2"; then return 1; fi
    ((++tries % 50 != 0)) || resume_drained
    sleep 0.2
  done
}
follows() { until_true gone "$1" && wait "$1"; }   # follows PID: a command in the background ends, with its own code
gone() { ! kill -0 "$1"; }
id_of() { sed -n "s/^$1 //p" "$out"; }
