#include "launch/bundle.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "io/nxdt_yaml.h"
#include "io/plan_json.h"
#include "io/readers.h"
#include "planner/nxdt_config.h"

namespace trnplan::launch {

namespace {

enum class Kind { compile, train };

std::string safe_name(const std::string& name) {
  std::string safe;
  for (const char c : name.substr(0, 40)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
    safe += plain ? c : '-';
  }
  safe.erase(0, std::min(safe.find_first_not_of("-."), safe.size()));
  return safe.empty() ? "model" : safe;
}

std::string header(const models::Job& job, const planner::Plan& plan, Kind kind) {
  const bool train = kind == Kind::train;
  const std::string verb = train ? "train" : "compile";
  std::string text = fmt::format(
      "#!/usr/bin/env bash\n"
      "#SBATCH --job-name=trnplan-{}-{}\n"
      "#SBATCH --nodes={}\n"
      "#SBATCH --ntasks-per-node=1\n"
      "#SBATCH --cpus-per-task={}\n"
      "#SBATCH --exclusive\n"
      "#SBATCH --output={}-%j.out\n",
      safe_name(job.architecture.name), verb, plan.nodes, job.cluster.instance.vcpus, verb);
  if (train) text += "#SBATCH --requeue\n#SBATCH --open-mode=append\n";
  text += fmt::format(
      "# {}: {}\n"
      "# Predicted: {:.1f} s a step ({:.1f} to {:.1f} s with 90 % confidence). Needs NxDT 1.6 or 1.7: stay "
      "on Neuron SDK 2.28\n"
      "# with PyTorch 2.9; NxDT is no longer supported from Neuron 2.32 on.\n"
      "# Submit from this folder: {}\n",
      train ? "Trains" : "Compiles the graphs of", describe(plan.strategy), plan.report.step.value,
      plan.report.low.value, plan.report.high.value,
      train ? "sbatch --dependency=afterok:COMPILE_JOB_ID train.sbatch" : "sbatch compile.sbatch");
  return text;
}

/// The part every node runs, in a task of its own.
std::string node_part(const planner::Plan& plan, int devices, Kind kind) {
  const bool train = kind == Kind::train;
  std::string text =
      "  ulimit -n 65535 || true   # the hard limit may be lower\n"
      "  export HYDRA_FULL_ERROR=1 MALLOC_ARENA_MAX=128 XLA_DISABLE_FUNCTIONALIZATION=0\n";
  if (plan.nodes > 1) text += "  export FI_PROVIDER=efa FI_EFA_USE_DEVICE_RDMA=1 FI_EFA_FORK_SAFE=1\n";
  text += fmt::format("  export COMPILE={} NEMO_EXPM_VERSION=\"$SLURM_JOB_ID\"\n", train ? 0 : 1);
  text += "  source \"$NXDT_VENV/bin/activate\"\n  cd \"$NXDT_DIR/examples\"\n";
  text += fmt::format(
      "  {}torchrun --nproc_per_node={} --nnodes={} --node_rank=\"$SLURM_NODEID\" \\\n"
      "    --master_addr=\"$MASTER_ADDR\" --master_port=41000 \\\n"
      "    training_orchestrator.py --config-path=\"$PLAN_DIR\" --config-name=nxdt \\\n"
      "    model.model_config=\"$PLAN_DIR/config.json\" data.train_dir=\"$TRAIN_DIR\" \\\n"
      "    compiler_cache_url=\"$NEURON_CACHE\" exp_manager.explicit_log_dir=\"$PLAN_DIR/run\"\n",
      train ? "" : "neuron_parallel_compile ", devices, plan.nodes);
  return text + "  exit 0\nfi\n\n";
}

std::string script(const models::Job& job, const planner::Plan& plan, Kind kind) {
  const bool train = kind == Kind::train;
  const std::string file = train ? "train.sbatch" : "compile.sbatch";
  std::string text = header(job, plan, kind);
  text +=
      "set -euo pipefail\n\n"
      "export PLAN_DIR=\"${PLAN_DIR:-${SLURM_SUBMIT_DIR:-$PWD}}\"\n"
      "export NXDT_DIR=\"${NXDT_DIR:?set NXDT_DIR to the clone of neuronx-distributed-training}\"\n"
      "export NXDT_VENV=\"${NXDT_VENV:?set NXDT_VENV to the Python environment that holds NxDT}\"\n"
      "export TRAIN_DIR=\"${TRAIN_DIR:?set TRAIN_DIR to the tokenised data set}\"\n"
      "export NEURON_CACHE=\"${NEURON_CACHE:-$PLAN_DIR/neuron_cache}\"   # must be shared by all nodes\n\n"
      "if [[ -n \"${TRNPLAN_NODE_TASK:-}\" ]]; then\n";
  text += node_part(plan, job.cluster.instance.cores(), kind);
  text +=
      "MASTER_ADDR=\"$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\"\n"
      "export MASTER_ADDR TRNPLAN_NODE_TASK=1\n";
  if (!train) {
    text += fmt::format("srun bash \"$PLAN_DIR/{}\" 2>&1 | tee \"$PLAN_DIR/compile.log\"\n", file);
    text +=
        "if grep -q 'Total failed compilations: [1-9]' \"$PLAN_DIR/compile.log\" ||\n"
        "   ! grep -q 'Total failed compilations: 0' \"$PLAN_DIR/compile.log\"; then\n"
        "  echo 'compile.sbatch: not every graph compiled, see compile.log' >&2\n"
        "  exit 1\n"
        "fi\n";
    return text;
  }
  text +=
      "resume=()\n"
      "if [[ -d /opt/sagemaker_cluster ]]; then resume=(--auto-resume=1); fi   # SageMaker HyperPod\n";
  text += fmt::format("srun \"${{resume[@]}}\" bash \"$PLAN_DIR/{}\"\n", file);
  return text;
}

}  // namespace

std::vector<io::OutputFile> bundle(const models::Job& job, const planner::Plan& plan) {
  return {
      {"nxdt.yaml", io::nxdt_yaml(planner::to_nxdt(job, plan.strategy)), false},
      {"config.json", io::hf_config_json(job.architecture), false},
      {"compile.sbatch", script(job, plan, Kind::compile), true},
      {"train.sbatch", script(job, plan, Kind::train), true},
      {"plan.json", io::plan_json(plan), false},
  };
}

}  // namespace trnplan::launch
