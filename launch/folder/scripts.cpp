#include "launch/folder/scripts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "io/output/emit_cluster.h"

namespace trnplan::launch {

namespace {

constexpr std::size_t kNameLength = 40;
constexpr int kDefaultBucketMb = models::Strategy{}.bucket_mb;
/// Steps in which every graph is met: NxDT's own number while COMPILE=1
/// (aws-neuron/neuronx-distributed-training@9169aa0 examples/training_orchestrator.py).
constexpr int kCompileSteps = 10;

}  // namespace

std::string plain_name(const std::string& name) {
  std::string safe;
  for (const char c : name.substr(0, kNameLength)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    safe += plain || c == '.' || c == '_' || c == '-' ? c : '-';
  }
  safe.erase(0, std::min(safe.find_first_not_of("-."), safe.size()));
  return safe.empty() ? "model" : safe;
}

std::string dns_name(const std::string& name) {
  std::string safe = plain_name(name);
  for (char& c : safe) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (c == '.' || c == '_') c = '-';
  }
  if (safe[0] < 'a' || safe[0] > 'z') safe.insert(0, "m-");
  safe = safe.substr(0, kNameLength);
  safe.erase(safe.find_last_not_of('-') + 1);
  return safe;
}

namespace {

bool local_cache(const ScriptContext& c) {
  return c.plan.nodes >= kLocalCacheNodes;
}

/// "# note" lines that begin every script.
std::string comment(const ScriptContext& c, const std::string& what) {
  return fmt::format(
      "# {}\n# Plan: {}\n# Predicted: {:.1f} s a step ({:.1f} to {:.1f} s with 90 % confidence).\n# {}\n",
      what, describe(c.plan.strategy), c.plan.report.step.value, c.plan.report.low.value,
      c.plan.report.high.value, targets::support_note(c.target));
}

/// A bash word; every argument of ours is free of quotes, backticks and backslashes.
std::string quoted(const std::string& word) {
  return '"' + word + '"';
}

}  // namespace

std::string script_body(const std::string& text) {
  std::string body;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view row = std::string_view(text).substr(at, end - at);
    at = end + 1;
    while (!row.empty() && (row.back() == ' ' || row.back() == '\t' || row.back() == '\r'))
      row.remove_suffix(1);
    const std::size_t first = row.find_first_not_of(" \t");
    if (first == std::string_view::npos || row[first] == '#') continue;
    body.append(row).append("\n");
  }
  return body;
}

std::string setup_env_sh(const ScriptContext& c) {
  const targets::TrainCommand command = targets::train_command(c.target, c.job, c.plan.strategy);
  return "# shellcheck shell=bash\n" + comment(c, "What a person fills in once; every script reads it.") +
         fmt::format(
             R"sh(# A variable that is set in the environment goes before what stands here.

# The Python environment that holds the software, and a clone of
# {clone}
TRNPLAN_VENV="${{TRNPLAN_VENV:-}}"
TRNPLAN_CODE="${{TRNPLAN_CODE:-}}"
# The tokenised data set.
TRNPLAN_DATA="${{TRNPLAN_DATA:-}}"
# Compiled graphs: a folder that all nodes share.
TRNPLAN_CACHE="${{TRNPLAN_CACHE:-$plan/neuron_cache}}"
# A folder on a volume of each node's own.{local}
TRNPLAN_LOCAL_CACHE="${{TRNPLAN_LOCAL_CACHE:-/local_storage/neuron_cache}}"
# Slurm's partition; empty: its default.
TRNPLAN_PARTITION="${{TRNPLAN_PARTITION:-}}"
# How often a job that failed is queued again, overlapped what Slurm and HyperPod do for failed nodes.
TRNPLAN_RESTARTS="${{TRNPLAN_RESTARTS:-3}}"
# Steps of a smoke test.
TRNPLAN_SMOKE_STEPS="${{TRNPLAN_SMOKE_STEPS:-3}}"
)sh",
             fmt::arg("clone", command.clone),
             fmt::arg("local", local_cache(c)
                                   ? " Graphs are copied to it before training: this cluster is large."
                                   : " Not used: this cluster is small enough to share."));
}

namespace {

std::string who_am_i(const ScriptContext& c) {
  return fmt::format(R"sh(# Which node this is, and who the ranks meet at.
nodes={nodes}
rendezvous=()
if [[ -n "${{SLURM_JOB_ID:-}}" && -n "${{SLURM_PROCID:-}}" ]]; then
  node=$SLURM_PROCID   # one task a node
  # A step that HyperPod restarted has a list of its own.
  read -r master < <(scontrol show hostnames "${{SLURM_STEP_NODELIST:-$SLURM_JOB_NODELIST}}")
elif [[ -n "${{OMPI_COMM_WORLD_RANK:-}}" ]]; then
  node=$OMPI_COMM_WORLD_RANK
  master=${{MASTER_ADDR:?mpi_launch.sh passes it on}}
  export CCOM_SOCKET_IFNAME=eth0
elif [[ -n "${{PET_RDZV_BACKEND:-}}" ]]; then
  node=${{HOSTNAME##*-}}   # torchrun reads PET_* and finds the others by itself
  rendezvous=(--rdzv_conf=timeout=1800)
  export FI_EFA_ENABLE_SHM_TRANSFER=1
elif ((nodes == 1)); then
  node=0
  master=localhost
else
  echo "node_run.sh: this is no Slurm, MPI or PyTorchJob task, and the plan needs $nodes nodes" >&2
  exit 1
fi
if ((${{#rendezvous[@]}} == 0)); then
  rendezvous=(--node_rank="$node" --master_addr="$master" --master_port={port})
fi

)sh",
                     fmt::arg("nodes", c.plan.nodes), fmt::arg("port", kMasterPort));
}

std::string environment(const ScriptContext& c) {
  std::string text = fmt::format(R"sh(ulimit -n 65535 2>/dev/null || true   # the hard limit may be lower
if command -v sudo >/dev/null; then
  sudo -n sysctl -qw net.ipv4.ip_local_reserved_ports={0} >/dev/null 2>&1 || true
  # Lustre: fewer dirty pages, so that checkpoints do not fill the memory
  if command -v lctl >/dev/null; then sudo -n lctl set_param 'osc.*.max_dirty_mb=64' >/dev/null 2>&1 || true; fi
fi
export HYDRA_FULL_ERROR=1 MALLOC_ARENA_MAX=128 XLA_DISABLE_FUNCTIONALIZATION=0
)sh",
                                 kMasterPort);
  if (c.plan.nodes > 1) text += "export FI_PROVIDER=efa FI_EFA_USE_DEVICE_RDMA=1 FI_EFA_FORK_SAFE=1\n";
  const topology::Instance& instance = c.job.cluster.instance;
  if (instance.family.starts_with("trn2") && instance.core.lnc == 1) {
    text += "export NEURON_LOGICAL_NC_CONFIG=1   # must agree with the compiler's --logical-nc-config\n";
  }
  if (c.plan.strategy.bucket_mb != kDefaultBucketMb) {
    text += fmt::format("export ALL_GATHER_REDUCE_SCATTER_BUCKET_CAP_MB={}   # NxD's own is {}\n",
                        c.plan.strategy.bucket_mb, kDefaultBucketMb);
  }
  for (const std::string& variable : targets::train_command(c.target, c.job, c.plan.strategy).environment) {
    const std::size_t equals = variable.find('=');
    // As NxDT does: what is set already goes first.
    text += fmt::format("export {0}=\"${{{0}:-{1}}}\"\n", variable.substr(0, equals),
                        variable.substr(equals + 1));
  }
  return text + "export PATH=\"$TRNPLAN_VENV/bin:$PATH\" VIRTUAL_ENV=\"$TRNPLAN_VENV\"\n\n";
}

std::string run_function(const ScriptContext& c) {
  const targets::TrainCommand command = targets::train_command(c.target, c.job, c.plan.strategy);
  std::string text = fmt::format(
      "# run WRAPPER...: starts one process a core.\n"
      "run() {{\n"
      "  \"$@\" torchrun --nproc_per_node={} --nnodes=\"$nodes\" \"${{rendezvous[@]}}\" \\\n"
      "    {}",
      c.job.cluster.instance.cores(), command.script);
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    const std::string& word = command.arguments[i];
    const bool value = word.starts_with("--") ? false
                                              : i > 0 && command.arguments[i - 1].starts_with("--") &&
                                                    command.arguments[i - 1].find('=') == std::string::npos;
    text += (value ? " " : " \\\n    ") + quoted(word);
  }
  return text + "\n}\n\n";
}

/// Sets $steps in a mode of node_run.sh; NxDT's orchestrator reads COMPILE and TRAIN_ITERS by itself.
std::string steps_line(const targets::TrainCommand& command, const std::string& value) {
  return command.steps > 0 ? "  steps=" + value + "\n" : "";
}

std::string modes(const ScriptContext& c) {
  const targets::TrainCommand command = targets::train_command(c.target, c.job, c.plan.strategy);
  std::string text = "compile() {\n" + steps_line(command, fmt::format("{}", kCompileSteps)) +
                     R"sh(  local log=$plan/compile-node$node.log
  export COMPILE=1 NEURON_COMPILE_CACHE_URL="$TRNPLAN_CACHE"
  cache=$TRNPLAN_CACHE
  results=$plan/compile   # nothing of it may be resumed from
  run neuron_parallel_compile 2>&1 | tee "$log"
  if grep -q 'Total failed compilations: [1-9]' "$log" || ! grep -q 'Total failed compilations: 0' "$log"; then
    echo "node_run.sh: not every graph compiled, see $log" | tee -a "$log" >&2
    return 1
  fi
}

train() {
  export COMPILE=0
  cache=$TRNPLAN_CACHE
)sh" + steps_line(command, fmt::format("${{TRAIN_ITERS:-{}}}", command.steps));
  if (local_cache(c)) {
    text +=
        "  # Looking graphs up through the shared file system stalls clusters of this size.\n"
        "  cache=$TRNPLAN_LOCAL_CACHE\n"
        "  mkdir -p \"$cache\"\n"
        "  cp -au -- \"$TRNPLAN_CACHE/.\" \"$cache/\"\n";
  }
  return text + R"sh(  export NEURON_COMPILE_CACHE_URL="$cache"
  run env
}

mkdir -p "$TRNPLAN_CACHE"
for mode in "$@"; do
  results=$plan/run
  case $mode in
    compile) compile ;;
    train) train ;;
    smoke)   # its checkpoint must not be where training resumes from
      results=$plan/smoke
      TRAIN_ITERS=$TRNPLAN_SMOKE_STEPS train
      ;;
    *) echo "node_run.sh: unknown mode $mode" >&2 && exit 2 ;;
  esac
done
)sh";
}

}  // namespace

std::string node_run_sh(const ScriptContext& c) {
  const targets::TrainCommand command = targets::train_command(c.target, c.job, c.plan.strategy);
  return "#!/usr/bin/env bash\n" +
         comment(c, "Runs on every node, one task each: node_run.sh FOLDER compile|train|smoke...") +
         "set -euo pipefail\n\n"
         "plan=$(realpath -- \"${1:?the folder of the plan}\")\n"
         "shift\n"
         "# shellcheck source=/dev/null\n"
         ". \"$plan/setup_env.sh\"\n"
         ": \"${TRNPLAN_VENV:?fill in setup_env.sh}\" \"${TRNPLAN_CODE:?fill in setup_env.sh}\" "
         "\"${TRNPLAN_DATA:?fill in setup_env.sh}\"\n\n" +
         who_am_i(c) + environment(c) + fmt::format("cd -- \"$TRNPLAN_CODE/{}\"\n\n", command.folder) +
         run_function(c) + modes(c);
}

std::string mpi_launch_sh(const ScriptContext& c) {
  return "#!/usr/bin/env bash\n" + comment(c, "Runs in the launcher of the MPIJob: mpi_launch.sh FOLDER") +
         fmt::format(R"sh(set -euo pipefail
plan=${{1:?the folder of the plan}}
hosts=${{OMPI_MCA_orte_default_hostfile:-/etc/mpi/hostfile}}
read -r MASTER_ADDR _ <"$hosts"
export MASTER_ADDR
# Pods start one after the other: wait until every worker answers.
while read -r host _; do
  until ssh -o ConnectTimeout=5 -- "$host" true 2>/dev/null; do sleep 5; done </dev/null
done <"$hosts"
for mode in compile train; do
  mpirun --allow-run-as-root -np {} -bind-to none -map-by slot -x LD_LIBRARY_PATH -x PATH -x POD_UID -x MASTER_ADDR \
    bash "$plan/node_run.sh" "$plan" "$mode"
done
)sh",
                     c.plan.nodes);
}

namespace {

std::string sbatch_head(const ScriptContext& c, const char* verb) {
  return fmt::format(
      "#!/usr/bin/env bash\n"
      "#SBATCH --job-name=trnplan-{}-{}\n"
      "#SBATCH --nodes={}\n"
      "#SBATCH --ntasks-per-node=1\n"
      "#SBATCH --exclusive\n"  // all CPUs of a node, however many its Slurm counts
      "#SBATCH --output={}-%j.out\n",
      plain_name(c.job.architecture.name), verb, c.plan.nodes, verb);
}

constexpr const char* kFolder =
    "set -euo pipefail\n"
    "plan=${1:-${SLURM_SUBMIT_DIR:-$PWD}}   # sbatch runs a copy of this file, so it does not know where it "
    "stood\n";

}  // namespace

std::string compile_sbatch(const ScriptContext& c) {
  return sbatch_head(c, "compile") +
         comment(c, "Compiles the graphs. Submit with submit.sh or trnplan launch.") + kFolder +
         "srun --cpu-bind=none --kill-on-bad-exit=1 bash \"$plan/node_run.sh\" \"$plan\" compile\n";
}

std::string train_sbatch(const ScriptContext& c) {
  return sbatch_head(c, "train") + "#SBATCH --requeue\n#SBATCH --open-mode=append\n" +
         comment(c, "Trains. Submit with submit.sh or trnplan launch, after compile.sbatch.") + kFolder +
         R"sh(# shellcheck source=/dev/null
. "$plan/setup_env.sh"
resume=()
if [[ -d /opt/sagemaker_cluster ]]; then resume=(--auto-resume=1); fi   # SageMaker HyperPod
echo "[trnplan] start ${SLURM_RESTART_COUNT:-0} of job $SLURM_JOB_ID at $(date -u +%FT%TZ)"
code=0
srun "${resume[@]}" --cpu-bind=none --kill-on-bad-exit=1 bash "$plan/node_run.sh" "$plan" train || code=$?
((code == 0)) && exit 0
echo "[trnplan] failed with $code at $(date -u +%FT%TZ)"
if ((${SLURM_RESTART_COUNT:-0} < TRNPLAN_RESTARTS)); then
  echo "[trnplan] queued again; it goes on from the last checkpoint"
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
)sh";
}

std::string submit_sh(const ScriptContext& c) {
  return "#!/usr/bin/env bash\n" +
         comment(c, "Checks, compiles, then trains: bash submit.sh. trnplan launch does the same and more.") +
         fmt::format(R"sh(set -euo pipefail

plan=$(cd "$(dirname "${{BASH_SOURCE[0]}}")" && pwd)
# shellcheck source=/dev/null
. "$plan/setup_env.sh"
state=$plan/launch.json

failed=0
# One at a time, also overlapped trnplan launch.
exec 9>>"$plan/launch.lock"
flock 9
fault() {{
  printf 'submit.sh: %s\n  fix: %s\n' "$1" "$2" >&2
  failed=1
}}
if [[ -e "$state" ]]; then
  cat "$state" >&2
  if grep -q '"begun"' "$state"; then
    printf 'submit.sh: a submission was interrupted; look with squeue --name for the job that begun names:\n' >&2
    printf 'submit.sh: when it is not there, remove %s and start again; trnplan launch does that by itself\n' "$state" >&2
    exit 4
  fi
  printf 'submit.sh: already submitted\n' >&2
  exit 0
fi
[[ -x "$TRNPLAN_VENV/bin/torchrun" ]] || fault "no torchrun in TRNPLAN_VENV ($TRNPLAN_VENV)" "set TRNPLAN_VENV in setup_env.sh to the environment with the software"
[[ -f "$TRNPLAN_CODE/{folder}/{script}" ]] || fault "no {folder}/{script} in TRNPLAN_CODE ($TRNPLAN_CODE)" "git clone {clone}"
[[ -n "$TRNPLAN_DATA" && ( -e "$TRNPLAN_DATA" || -e "$TRNPLAN_DATA.bin" ) ]] || fault "TRNPLAN_DATA ($TRNPLAN_DATA) is not there" "set TRNPLAN_DATA in setup_env.sh to the data set"
for file in node_run.sh compile.sbatch train.sbatch config.json; do
  [[ -f "$plan/$file" ]] || fault "no $file in $plan" "write the folder anew: trnplan plan JOB --out DIR --force"
done
partition=()
if [[ -n "$TRNPLAN_PARTITION" ]]; then partition=(--partition="$TRNPLAN_PARTITION"); fi
if ! command -v sbatch >/dev/null; then
  fault 'no sbatch' 'run this on the head node of the Slurm cluster'
else
  # Nodes that take jobs; the type where Slurm tells it, in features as ParallelCluster does or in names.
  nodes=$(sinfo -h -N -o '%N %t %f' "${{partition[@]}}" | sort -u) || fault 'sinfo failed' "start Slurm's controller"
  usable=$(grep -Ev ' (down|drain|drng|fail|maint|unk|inval|boot|reboot|futr|no_resp)[^ ]* ' <<<"$nodes" | grep -c '[^ ]') || true
  ((usable >= {nodes})) || fault "the partition has $usable usable nodes, the plan needs {nodes}" "set TRNPLAN_PARTITION in setup_env.sh, mend nodes, or plan with --nodes $usable"
  other=$(grep -Eo '\<(ml\.)?(trn|inf)[0-9a-z]*\.[0-9]*xlarge' <<<"$nodes" | sed 's/^ml\.//' | grep -Fxv '{machine}' | sort -u | head -n 1) || true
  [[ -z "$other" ]] || fault "the nodes are $other, the plan is for {machine}" "set TRNPLAN_PARTITION in setup_env.sh, or plan for $other"
fi
((failed == 0)) || exit 2

cd -- "$plan"
# keep JOBS [BEGUN]: what is about to be submitted is written down first, so that it can be looked for.
keep() {{
  printf '{{"schema_version": 1, "scheduler": "slurm", "jobs": {{%s}}%s}}\n' "$1" "${{2:+, \"begun\": {{$2\}}}}" >"$state.new"
  mv -f -- "$state.new" "$state"
}}
unique=$(date +%s%N)-$$
keep '' "\"compile\": \"trnplan-compile-$unique\""
if ! compile=$(sbatch --parsable --job-name="trnplan-compile-$unique" "${{partition[@]}}" --chdir="$plan" -- "$plan/compile.sbatch" "$plan"); then
  rm -f -- "$state"
  exit 4
fi
compile=${{compile%%;*}}
keep "\"compile\": \"$compile\"" "\"train\": \"trnplan-train-$unique\""
if ! train=$(sbatch --parsable --job-name="trnplan-train-$unique" "${{partition[@]}}" --chdir="$plan" --dependency="afterok:$compile" \
  --kill-on-invalid-dep=yes -- "$plan/train.sbatch" "$plan"); then
  scancel "$compile"
  rm -f -- "$state"
  exit 4
fi
train=${{train%%;*}}
keep "\"compile\": \"$compile\", \"train\": \"$train\""
printf 'compile %s\ntrain %s\n' "$compile" "$train"
)sh",
                     fmt::arg("folder", targets::train_command(c.target, c.job, c.plan.strategy).folder),
                     fmt::arg("script", targets::train_command(c.target, c.job, c.plan.strategy).script),
                     fmt::arg("clone", targets::train_command(c.target, c.job, c.plan.strategy).clone),
                     fmt::arg("nodes", c.plan.nodes),
                     fmt::arg("machine", io::machine_type(c.job.cluster.instance)));
}

}  // namespace trnplan::launch
