#include "launch/folder/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "io/input/plan_file.h"
#include "io/input/readers.h"
#include "io/output/emit_kubernetes.h"
#include "launch/folder/checkpoints.h"
#include "launch/folder/cluster_kinds.h"
#include "launch/folder/folder_settings.h"
#include "launch/folder/scripts.h"
#include "models/framework/strategy_words.h"
#include "models/memory/host_memory.h"
#include "targets/flags/flags.h"

namespace trnplan::launch {

namespace {

/// Pod that fills the volume of the jobs.
constexpr const char* kPodFile = "eks-prepare.yaml";

/// True for Neuron devices, for which the cluster needs Neuron's driver and runtime.
bool installs_neuron(const topology::Instance& instance) {
  return instance.traits.accelerator == topology::Accelerator::neuron_core;
}

/// ParallelCluster's image with packages of the interpreter. Ubuntu 22.04 has Python 3.10 and 3.11, 24.04 has
/// 3.12 and has been available since ParallelCluster 3.13.0 (aws/aws-parallelcluster pull request 6658).
/// Ubuntu 22.04 serves a target that needs no interpreter.
std::string os_with(const std::string& python) {
  return python == "python3.12" ? "ubuntu2404" : io::ClusterSpec{}.os;
}

/// Checkpoints that a run keeps: as the job states them, else the most that a target keeps. A run that keeps
/// all of them has those of its tokens; if it states no tokens, only the last ones can be counted.
std::int64_t kept_checkpoints(const models::Job& job) {
  const std::int64_t kept = job.run.checkpoints_kept.value_or(targets::kKeptCheckpoints);
  if (kept != models::kAllCheckpoints) return kept;
  targets::Recipe none;
  const std::int64_t steps = targets::steps_of(job.training, none);
  const std::int64_t every = targets::saves_every(job.run, steps);
  return std::max<std::int64_t>((steps + every - 1) / every, targets::kKeptCheckpoints);
}

/// Size of software, graphs and the tokenised data set. Assumed: no source states it. A larger data set needs
/// a larger file system.
constexpr Bytes kOtherFiles = gibibytes(500);

/// Adds the jobs of Kubernetes and their volume.
void add_kubernetes(std::vector<io::OutputFile>& files, const ClusterKinds& kinds,
                    const io::ClusterSpec& cluster, const planner::Target& target) {
  if (kinds.kubernetes.empty()) return;
  for (const io::KubernetesFlavour& flavour : kinds.kubernetes) {
    for (const std::string& mode : modes_of(target))
      files.push_back(
          {manifest_name(flavour, mode), flavour.job(cluster, pod_folder(cluster.name), mode), false});
  }
  files.push_back({"fsx-claim.yaml", io::fsx_claim_yaml(cluster), false});
  if (!target.compiles_ahead()) files.push_back({kPodFile, io::eks_prepare_yaml(cluster), false});
}

}  // namespace

io::ClusterSpec cluster_spec(const models::Job& job, const models::Strategy& strategy,
                             const std::string& note) {
  const std::int64_t kept = kept_checkpoints(job) + 1;
  const Bytes one = models::checkpoint_bytes(job, strategy);
  const std::string holds = fmt::format(
      "The file system holds {} checkpoints of {:.0f} GiB, of which one is being written, and {:.0f} GiB of "
      "other files.",
      kept, std::ceil(in_gibibytes(one)), in_gibibytes(kOtherFiles));
  return {cluster_name(job), job.cluster, note, io::fsx_gib(one * static_cast<double>(kept) + kOtherFiles),
          holds};
}

namespace {

/// Job with the plan's nodes and batch, which the search may have chosen.
models::Job planned_job(const models::Job& searched, const planner::Plan& plan) {
  models::Job job = searched;
  job.cluster.nodes = plan.nodes;
  if (plan.global_batch > 0) job.training.global_batch = plan.global_batch;
  return job;
}

/// Configs, scripts and the pages about them.
std::vector<io::OutputFile> run_files(const ScriptContext& scripts, const ClusterKinds& kinds) {
  const planner::Target& target = scripts.target;
  const models::Strategy& strategy = scripts.plan.strategy;
  const bool compiles = target.compiles_ahead();
  std::vector<io::OutputFile> files;
  for (planner::ConfigFile& f :
       target.emit(scripts.job, strategy, {"Plan: " + models::strategy_words(strategy)}))
    files.push_back({std::move(f.name), std::move(f.text), false});
  files.push_back({"config.json", io::hf_config_json(scripts.job.architecture), false});
  files.push_back({kSettingsFile, settings_env(scripts), false});
  files.push_back({"setup_env.sh", setup_env_sh(scripts), false});
  files.push_back({"node_run.sh", node_run_sh(scripts), true});
  if (compiles && kinds.slurm) files.push_back({"compile.sbatch", compile_sbatch(scripts), true});
  if (kinds.slurm) files.push_back({"train.sbatch", train_sbatch(scripts), true});
  if (has_health(scripts)) files.push_back({"health.sh", health_sh(scripts), true});
  if (kinds.slurm) files.push_back({"submit.sh", submit_sh(scripts), true});
  files.push_back({"prepare.sh", prepare_sh(scripts), true});
  files.push_back({"README.md", readme_md(scripts), false});
  if (!kinds.kubernetes.empty()) files.push_back({"Dockerfile", dockerfile(scripts), false});
  return files;
}

}  // namespace

std::vector<io::OutputFile> bundle(const models::Job& searched, const planner::Plan& plan,
                                   const planner::Target& target) {
  std::vector<io::OutputFile> files = bundle_beside_plan(searched, plan, target);
  const models::Job job = planned_job(searched, plan);
  const io::PlanStory story{std::string(target.name()), target.support_on(job.cluster.instance.traits)};
  files.push_back({io::kPlanFile, io::plan_file_json(job, plan, story), false});
  return files;
}

std::vector<io::OutputFile> bundle_beside_plan(const models::Job& searched, const planner::Plan& plan,
                                               const planner::Target& target) {
  const models::Job job = planned_job(searched, plan);
  const topology::Instance& machine = job.cluster.instance;
  if (const auto why = planner::inexpressible(target, job, plan.strategy)) throw std::invalid_argument(*why);
  if (const std::string why = no_folder_for(machine); !why.empty()) throw std::invalid_argument(why);
  models::Job keeping = job;
  keeping.run.checkpoints_kept = checkpoints_with_room(job, plan.strategy, target);
  const ScriptContext scripts{job, plan, target};
  const ClusterKinds kinds = cluster_kinds(machine, target, job.run.scheduler);
  io::ClusterSpec cluster = cluster_spec(keeping, plan.strategy, target.support_on(machine.traits));
  cluster.compiles = target.compiles_ahead();
  cluster.os = os_with(target.preparation(job, plan.strategy).python);
  std::vector<io::OutputFile> files = run_files(scripts, kinds);
  if (kinds.parallelcluster) {
    if (installs_neuron(machine)) files.push_back({"install_neuron.sh", install_neuron_sh(scripts), true});
    files.push_back({"parallelcluster.yaml", io::parallelcluster_yaml(cluster), false});
  }
  if (kinds.hyperpod) {
    files.push_back({"hyperpod.json", io::hyperpod_json(cluster), false});
    files.push_back({"provisioning_parameters.json", io::provisioning_json(cluster), false});
  }
  if (kinds.hyperpod_eks) files.push_back({"hyperpod-eks.json", io::hyperpod_eks_json(cluster), false});
  add_kubernetes(files, kinds, cluster, target);
  if (kinds.has_launcher()) files.push_back({"mpi_launch.sh", mpi_launch_sh(scripts), true});
  return files;
}

std::vector<std::string> bundle_names(const planner::Target& target) {
  std::vector<std::string> names = {"config.json",       "settings.env",
                                    "node_run.sh",       "train.sbatch",
                                    "submit.sh",         "prepare.sh",
                                    "README.md",         "Dockerfile",
                                    "install_neuron.sh", "provisioning_parameters.json",
                                    "hyperpod-eks.json", "parallelcluster.yaml",
                                    "hyperpod.json",     "fsx-claim.yaml",
                                    io::kPlanFile,       "health.sh",
                                    "setup_env.sh"};
  if (target.compiles_ahead()) {
    names.insert(names.end(), {"compile.sbatch", "mpi_launch.sh"});
  } else {
    names.emplace_back(kPodFile);
  }
  for (const io::KubernetesFlavour& flavour : io::kubernetes_flavours()) {
    if (flavour.launcher && !target.compiles_ahead()) continue;
    for (const std::string& mode : modes_of(target)) names.push_back(manifest_name(flavour, mode));
  }
  const std::vector<std::string> configs = target.config_names();
  names.insert(names.begin(), configs.begin(), configs.end());
  return names;
}

}  // namespace trnplan::launch
