#include "launch/folder/folder_check.h"

#include <unistd.h>

#include <filesystem>
#include <functional>

#include "io/output/atomic_write.h"
#include "io/output/emit_kubernetes.h"
#include "launch/folder/bundle.h"
#include "planner/check/judge.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/launch/planned_folder.h"
#include "tests/models/setup.h"
#include "text/document.h"

using namespace trnplan;
namespace fs = std::filesystem;

namespace {

/// A folder of plan --out that somebody edits.
class Folder : public PlannedFolder {
 public:
  using PlannedFolder::PlannedFolder;

  void put(const std::string& name, const std::string& text) const {
    io::write_file(path / name, text, true);
  }
  void edit(const std::string& name, const std::string& from, const std::string& to) const {
    std::string text = read_text(path / name);
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    put(name, text.replace(at, from.size(), to));
  }
  void cut(const std::string& name, double share) const {
    const std::string text = read_text(path / name);
    put(name, text.substr(0, static_cast<std::size_t>(static_cast<double>(text.size()) * share)));
  }
  /// All that is said; "" when the folder is sound.
  std::string said(const std::string& manifest = "") const {
    return refusal_of([&] {
      const io::PlanFile plan = io::read_plan_file(path / "plan.json", test_catalog());
      const auto faults = launch::folder_faults(
          path, plan, manifest.empty() ? std::vector<std::string>{} : std::vector<std::string>{manifest});
      for (const Diagnostic& d : faults) CHECK_FALSE(d.fix.empty());
      if (!faults.empty()) throw InputError(faults);
    });
  }
};

constexpr const char* kNemo = "tp=8,recompute=CoreAttention,flash=false,precision=bf16SR";
constexpr const char* kNxd = "tp=8,recompute=CoreAttention";

}  // namespace

TEST_CASE("a folder as it was written passes", "[launch]") {
  CHECK(Folder().said().empty());
  for (const io::KubernetesFlavour& flavour : io::kubernetes_flavours()) {
    for (const char* mode : {"compile", "train"}) CHECK(Folder().said(manifest_name(flavour, mode)).empty());
  }
  CHECK(Folder(*targets::find("nxd"), kNxd).said("eks-mpijob-train.yaml").empty());
  CHECK(Folder(*targets::find("nemo-megatron"), kNemo).said().empty());
}

TEST_CASE("what a person may change passes", "[launch]") {
  const Folder folder;
  folder.edit("train.sbatch", "#SBATCH --exclusive",
              "#SBATCH --exclusive\n#SBATCH --account=mine\n# a note\n");
  folder.edit("node_run.sh", "#!/usr/bin/env bash", "#!/bin/bash\n# mine\n\n");
  folder.edit("nxdt.yaml", "lr: ", "lr: 1.0e-5 # was ");
  folder.edit("nxdt.yaml", "seed: 1234", "seed: 7");
  folder.edit("eks-mpijob-train.yaml", "SET-ME-image-with-software", "registry/nxdt:2.28");
  folder.edit("eks-mpijob-train.yaml", "claimName: fsx-claim", "claimName: mine");
  folder.edit("eks-mpijob-train.yaml", "name: trnplan-llama3-8b-train", "name: other\n  namespace: training");
  CHECK(folder.said("eks-mpijob-train.yaml").empty());
}

TEST_CASE("nxdt.yaml must be the plan's", "[launch]") {
  const auto after = [](const char* from, const char* to) {
    const Folder folder;
    folder.edit("nxdt.yaml", from, to);
    return folder.said();
  };
  CHECK(contains(after("tensor_model_parallel_size: 8", "tensor_model_parallel_size: 16"),
                 "distributed_strategy.tensor_model_parallel_size: 16, but plan.json says 8"));
  CHECK(contains(after("global_batch_size: 256", "global_batch_size: 512"),
                 "data.global_batch_size: 512, but plan.json says 256"));
  CHECK(contains(after("num_nodes: 4", "num_nodes: 8"), "trainer.num_nodes: 8, but plan.json says 4"));
  CHECK(contains(after("num_layers: 32", "num_layers: 80"), "80 instead of 32"));
  CHECK(contains(after("encoder_seq_length: 4096", "encoder_seq_length: 8192"),
                 "sequence 8192 is not the job's"));
  CHECK(contains(after("zero1: True", "zero1: False"),
                 "distributed_strategy.zero1: False, but plan.json says True"));
  CHECK(contains(after("zero1: True", "zero1: [True"), "YAML"));
  CHECK(contains(after("\nprecision:", "\nprecison:"), "precision"));
  CHECK(contains(after("trainer:", "trainers:"), "no NxDT config"));
  for (const double share : {0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98}) {
    INFO(share);
    const Folder folder;
    folder.cut("nxdt.yaml", share);
    CHECK_FALSE(folder.said().empty());
  }
  const Folder folder;
  fs::remove(folder.path / "nxdt.yaml");
  CHECK(contains(folder.said(), "nxdt.yaml"));
}

TEST_CASE("scripts must be what was written", "[launch]") {
  for (const char* name : {"node_run.sh", "compile.sbatch", "train.sbatch"}) {
    INFO(name);
    const Folder empty;
    empty.put(name, "");
    CHECK(contains(empty.said(), "holds nothing that runs"));
    const Folder cut;
    cut.cut(name, 0.6);
    CHECK(contains(cut.said(), name));
    const Folder more;
    more.put(name, read_text(more.path / name) + "rm -rf -- \"$HOME\"\n");
    CHECK(contains(more.said(), "wrote nothing more: \"rm -rf"));
  }
  const Folder folder;
  folder.edit("train.sbatch", "code=0", "code=1");
  CHECK(contains(folder.said(), "plan --out wrote here: \"code=0\""));
  const Folder nodes;
  nodes.edit("train.sbatch", "#SBATCH --nodes=4", "#SBATCH --nodes=2");
  CHECK(contains(nodes.said(), "train.sbatch:3:1: --nodes: \"2\", but the plan is for 4"));
  const Folder tasks;
  tasks.edit("compile.sbatch", "#SBATCH --ntasks-per-node=1\n", "");
  CHECK(contains(tasks.said(), "--ntasks-per-node: no #SBATCH line sets it"));
}

TEST_CASE("plan.json must be that of the folder", "[launch]") {
  const Folder folder, other(targets::standard(), "tp=32,pp=4,recompute=full", "llama3-70b");
  folder.put("plan.json", read_text(other.path / "plan.json"));
  CHECK(contains(folder.said(), "num_hidden_layers: 32, but plan.json is for a model with 80"));
  folder.put("config.json", read_text(other.path / "config.json"));
  CHECK(contains(folder.said(), "tensor_model_parallel_size: 8, but plan.json says 32"));

  const auto after = [](const planner::Target& target, const char* strategy, const char* from,
                        const char* to) {
    const Folder changed(target, strategy);
    changed.edit("plan.json", from, to);
    return changed.said();
  };
  for (const auto& [target, strategy] :
       {std::pair(&targets::standard(), kNxd), std::pair(targets::find("nxd"), kNxd),
        std::pair(targets::find("nemo-megatron"), kNemo)}) {
    CHECK(contains(after(*target, strategy, "\"tensor_parallel\": 8", "\"tensor_parallel\": 4"), "cover"));
    CHECK(contains(after(*target, strategy, "\"schema_version\": 1", "\"schema_version\": 2"),
                   "schema_version"));
    CHECK(contains(after(*target, strategy, "\"target\": \"", "\"target\": \"x"), "is not known"));
    CHECK(contains(after(*target, strategy, "\"scripts\": {", "\"scripts_\": {"), "an older trnplan"));
    CHECK(
        contains(after(*target, strategy, "\"train.sbatch\": \"", "\"train.sbatch\": \"0"), "train.sbatch"));
  }
  const auto swapped = [](const planner::Target& target,
                          const char* strategy) {  // the same cores, another layout
    const Folder changed(target, strategy);
    changed.edit("plan.json", "\"tensor_parallel\": 8", "\"tensor_parallel\": 16");
    changed.edit("plan.json", "\"data_parallel\": 16", "\"data_parallel\": 8");
    changed.edit("plan.json", "\"shard_degree\": 16", "\"shard_degree\": 8");
    return changed.said();
  };
  CHECK(contains(swapped(targets::standard(), kNxd), "tensor_model_parallel_size: 8, but plan.json says 16"));
  CHECK(contains(swapped(*targets::find("nxd"), kNxd), "node_run.sh: does not run this plan"));
  CHECK(contains(swapped(*targets::find("nemo-megatron"), kNemo), "plan.json"));
}

TEST_CASE("a manifest must be the plan's", "[launch]") {
  const auto after = [](const char* manifest, const char* from, const char* to) {
    const Folder folder;
    folder.edit(manifest, from, to);
    return folder.said(manifest);
  };
  CHECK(contains(after("eks-mpijob-train.yaml", "replicas: 4", "replicas: 2"),
                 "Worker.replicas: \"2\" is not the plan's"));
  CHECK(contains(after("eks-mpijob-train.yaml", "neuron: 16", "neuron: 8"), "aws.amazon.com/neuron"));
  CHECK(contains(after("eks-mpijob-train.yaml", "mpi_launch.sh", "other.sh"),
                 "does not run what the plan's does"));
  CHECK(contains(after("eks-mpijob-train.yaml", "kind: MPIJob", "kind: Pod"), "kind"));
  CHECK(contains(after("hyperpod-eks-train.yaml", "minReplicas: 4", "minReplicas: 1"), "minReplicas"));
  CHECK(contains(after("eks-pytorchjob-compile.yaml", "\"compile\"", "\"train\""), "does not run what"));
  for (const char* name : {"eks-mpijob-train.yaml", "hyperpod-eks-compile.yaml"}) {
    for (const double share : {0.0, 0.3, 0.6, 0.8}) {
      const Folder folder;
      folder.cut(name, share);
      INFO(name << " " << share);
      CHECK_FALSE(folder.said(name).empty());
    }
  }
}
