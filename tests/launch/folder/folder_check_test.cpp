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
#include "tests/launch/seal.h"
#include "tests/models/setup.h"
#include "text/document.h"
#include "text/version.h"

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
  /// All that is said; "" when the folder is sound. `edited` receives what is shown as edited, a line a file.
  std::string said(const std::string& manifest = "", std::string* edited = nullptr) const {
    return refusal_of([&] {
      const launch::HeldFolder held(path);
      const io::PlanFile plan = io::read_plan_file(path / "plan.json", test_catalog());
      const launch::FolderFindings found = launch::check_folder(
          held, plan, manifest.empty() ? std::vector<std::string>{} : std::vector<std::string>{manifest});
      for (const std::string& line : found.edited) {
        if (edited != nullptr) *edited += line + "\n";
      }
      for (const Diagnostic& d : found.faults) CHECK_FALSE(d.fix.empty());
      if (!found.faults.empty()) throw InputError(found.faults);
    });
  }
  /// What is shown as edited of a folder that has to be sound.
  std::string edited(const std::string& manifest = "") const {
    std::string lines;
    CHECK(said(manifest, &lines).empty());
    return lines;
  }
  /// plan.json with another text at a place, and a hash that fits.
  void forge(const std::string& from, const std::string& to) const {
    edit("plan.json", from, to), seal_plan(path);
  }
};

constexpr const char* kNemo = "tp=8,recompute=CoreAttention,flash=false,precision=bf16SR";
constexpr const char* kNxd = "tp=8,recompute=CoreAttention";

}  // namespace

TEST_CASE("a folder as it was written passes", "[launch]") {
  CHECK(Folder().edited().empty());
  for (const io::KubernetesFlavour& flavour : io::kubernetes_flavours()) {
    for (const char* mode : {"compile", "train"})
      CHECK(Folder().edited(manifest_name(flavour, mode)).empty());
  }
  CHECK(Folder(*targets::find("nxd"), kNxd).edited("eks-mpijob-train.yaml").empty());
  CHECK(Folder(*targets::find("nemo-megatron"), kNemo).edited().empty());
}

// Catches an edit that people need and that is refused, and one that passes without a word.
TEST_CASE("what a person may change passes and is shown", "[launch]") {
  const Folder folder;
  folder.edit("settings.env", "TRNPLAN_VENV=", "# mine\nTRNPLAN_VENV=/fsx/venv");
  folder.edit("settings.env", "TRNPLAN_CODE=", "TRNPLAN_CODE='/fsx/code'");
  folder.edit("train.sbatch", "#SBATCH --exclusive",
              "#SBATCH --exclusive\n#SBATCH --account=mine\n#SBATCH -t 2-00:00:00   # two days\n# a note\n");
  folder.edit("eks-mpijob-train.yaml", "SET-ME-image-with-software", "registry/nxdt:2.28");
  folder.edit("eks-mpijob-train.yaml", "claimName: fsx-claim", "claimName: mine");
  folder.edit("eks-mpijob-train.yaml", "name: trnplan-llama3-8b-train",
              "name: other\n  namespace: training\n  labels: {kueue.x-k8s.io/queue-name: q}");
  folder.edit("parallelcluster.yaml", "InstanceType", "Instance");
  folder.edit("config.json", "{\n", "{\n\n");
  fs::remove(folder.path / "README.md");
  const std::string shown = folder.edited("eks-mpijob-train.yaml");
  CHECK(contains(shown, "edited: settings.env: TRNPLAN_CODE, TRNPLAN_VENV\n"));
  CHECK(contains(shown, "edited: train.sbatch: --account, --time, comments\n"));
  CHECK(
      contains(shown, "edited: eks-mpijob-train.yaml: metadata.name, metadata.namespace, metadata.labels, "));
  CHECK(contains(shown, ".image, "));
  CHECK(contains(shown, ".claimName"));
  CHECK(contains(shown, "edited: parallelcluster.yaml\n"));
  CHECK(contains(shown, "edited: README.md: it has been removed\n"));
}

// Catches a file that is compared in part only: each of these ran in another way, and was submitted.
TEST_CASE("every byte of what runs is the plan's", "[launch]") {
  const auto after = [](const char* name, const char* from, const char* to) {
    const Folder folder;
    folder.edit(name, from, to);
    return folder.said();
  };
  CHECK(contains(
      after("nxdt.yaml", "tensor_model_parallel_size: 8", "tensor_model_parallel_size: 16"),
      "is \"  tensor_model_parallel_size: 16\"; the plan writes \"  tensor_model_parallel_size: 8\""));
  CHECK(contains(after("nxdt.yaml", "seed: 1234", "seed: 7"), "the plan writes \"seed: 1234\""));
  CHECK(contains(after("nxdt.yaml", "trainer:", "save_xser: true\ntrainer:"),
                 "is \"save_xser: true\", which the plan does not write"));
  CHECK(contains(after("config.json", "\"rope_theta\": 500000.0", "\"rope_theta\": 10000.0"),
                 "rope_theta: is \"10000.0\"; the plan writes \"500000.0\""));
  CHECK(contains(after("config.json", "\"vocab_size\"", "\"auto_map\": {}, \"vocab_size\""),
                 "auto_map: is a map, which the plan does not write"));
  CHECK(contains(after("health.sh", "set -euo pipefail", "exit 0"), "health.sh:"));
  CHECK(contains(after("node_run.sh", "#!/usr/bin/env bash", "#!/bin/bash"),
                 "node_run.sh:1:1: is \"#!/bin/bash\""));
  CHECK(contains(after("train.sbatch", "code=0", "code=1"), "is \"code=1\"; the plan writes \"code=0\""));
  CHECK(contains(after("prepare.sh", "set -euo pipefail\n", ""),
                 "the plan writes \"set -euo pipefail\" before this line"));
  for (const char* name :
       {"node_run.sh", "compile.sbatch", "train.sbatch", "health.sh", "nxdt.yaml", "mpi_launch.sh"}) {
    INFO(name);
    const Folder empty;
    empty.put(name, "");
    CHECK(contains(empty.said(), std::string(name) + ": is empty"));
    const Folder cut;
    cut.cut(name, 0.6);
    CHECK(contains(cut.said(), name));
    const Folder more;
    more.put(name, read_text(more.path / name) + "rm -rf -- \"$HOME\"\n");
    CHECK(contains(more.said(), "is \"rm -rf -- \"$HOME\"\", which the plan does not write"));
    const Folder gone;
    fs::remove(gone.path / name);
    CHECK(contains(gone.said(), std::string(name) + ": is missing"));
    const Folder linked;
    fs::rename(linked.path / name, linked.path / "elsewhere");
    fs::create_symlink("elsewhere", linked.path / name);
    CHECK(contains(linked.said(), std::string(name) + ": is a link"));
  }
}

// Catches an option of sbatch that is looked at in one spelling only, or that is not looked at.
TEST_CASE("directives of Slurm say no more than where and when", "[launch]") {
  const auto after = [](const char* from, const char* to) {
    const Folder folder;
    folder.edit("train.sbatch", from, to);
    return folder.said();
  };
  CHECK(contains(after("#SBATCH --nodes=4", "#SBATCH --nodes=2"),
                 "train.sbatch:3:1: --nodes: \"2\", but the plan is for 4"));
  for (const char* nodes : {"-N2", "-N 2", "--nodes 2", "--nodes=2-4"})
    CHECK(
        contains(after("#SBATCH --exclusive", (std::string("#SBATCH --exclusive\n#SBATCH ") + nodes).c_str()),
                 "but the plan is for 4"));
  CHECK(contains(after("#SBATCH --exclusive", "#SBATCH --exclusive --nodes=2"), "is not read"));
  CHECK(contains(after("#SBATCH --exclusive", "#SBATCH --exclusive\n#SBATCH --export=NONE"),
                 "--export: changes more than where and when the job runs"));
  CHECK(contains(after("#SBATCH --exclusive", "#SBATCH --exclusive\n#SBATCH --array=1-9"), "--array"));
  CHECK(contains(after("#SBATCH --exclusive", "#PBS -l nodes=2\n#SBATCH --exclusive"), "may be an option"));
  CHECK(contains(after("#SBATCH --ntasks-per-node=1\n", ""), "--ntasks-per-node: no #SBATCH line sets it"));
  CHECK(contains(after("#SBATCH --requeue\n", ""), "--requeue: no #SBATCH line sets it"));
  CHECK(contains(after("#!/usr/bin/env bash", "#!/bin/sh"), "does not start bash"));
}

// Catches commands in the file that every script reads, and names that the scripts do not take from it.
TEST_CASE("settings.env holds values of the plan's names alone", "[launch]") {
  const auto after = [](const std::string& line) {
    const Folder folder;
    folder.put("settings.env", read_text(folder.path / "settings.env") + line + "\n");
    return folder.said();
  };
  for (const char* line : {"touch pwned", "torchrun() { exit 0; }", "export TRNPLAN_VENV=/x", ". /tmp/other",
                           " TRNPLAN_VENV=/x"}) {
    INFO(line);
    CHECK(contains(after(line), "is not a line NAME=VALUE"));
  }
  for (const char* line : {"PATH=/tmp:$PATH", "NEURON_CC_FLAGS=-O1", "plan=/tmp/other", "BASH_ENV="}) {
    INFO(line);
    CHECK(contains(after(line), "is not a value of this plan's settings.env"));
  }
  CHECK(contains(after("TRNPLAN_DATA=/y"), "\"TRNPLAN_DATA=/y\" was set in line"));
  CHECK(after("# a note").empty());
  const Folder without;
  without.edit("settings.env", "TRNPLAN_SMOKE_STEPS=3\n", "");
  CHECK(contains(without.said(), "TRNPLAN_SMOKE_STEPS: is not set anywhere"));
  const Folder changed;
  changed.edit("setup_env.sh", "read_settings\n", "read_settings\ntouch pwned\n");
  CHECK(contains(changed.said(), "setup_env.sh"));
}

TEST_CASE("plan.json must be that of the folder", "[launch]") {
  const Folder folder, other(targets::standard(), "tp=32,pp=4,recompute=full", "llama3-70b");
  folder.put("plan.json", read_text(other.path / "plan.json"));
  CHECK(contains(folder.said(), "num_hidden_layers: 32, but plan.json is for a model with 80"));
  folder.put("config.json", read_text(other.path / "config.json"));
  CHECK(contains(folder.said(), "the plan writes \"# Plan: TP 32 x PP 4, all recomputed\""));

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
    CHECK(contains(after(*target, strategy, "\"mfu\": ", "\"mfu\": 1"), "its sha256 differs"));
  }
}

// Catches a plan.json that is trusted for its own hash.
TEST_CASE("a forged plan.json is held against the other files", "[launch]") {
  for (const auto& [target, strategy] :
       {std::pair(&targets::standard(), kNxd), std::pair(targets::find("nxd"), kNxd)}) {
    const Folder layout(*target, strategy);  // the same cores, another layout
    layout.forge("\"tensor_parallel\": 8", "\"tensor_parallel\": 4");
    layout.forge("\"expert_tensor_parallel\": 8", "\"expert_tensor_parallel\": 4");
    layout.forge("\"data_parallel\": 16", "\"data_parallel\": 32");
    layout.forge("\"shard_degree\": 16", "\"shard_degree\": 32");
    const std::string said = layout.said();
    CHECK_FALSE(contains(said, "sha256"));
    CHECK(contains(said, "node_run.sh:"));
  }
  const Folder seed;
  seed.forge("\"job\": {", "\"job\": {\n  \"learning\": {\"seed\": 7},");
  CHECK(contains(seed.said(), "; the plan writes \"seed: 7\""));

  const Folder cuts;
  std::string many = "\"pipeline_cuts\": [0";
  for (int i = 1; i < 100'000; ++i) many += "," + std::to_string(i);
  cuts.forge("\"pipeline_cuts\": []", many + "]");
  CHECK(contains(cuts.said(), "plan.json: strategy: pipeline_cuts must be 0 ascending layer numbers"));
}

// Catches a folder of another version that is called tampered.
TEST_CASE("a folder of another version says so in one line, or passes", "[launch]") {
  const Folder same;
  const std::string version = std::string("\"trnplan_version\": \"") + program_version() + '"';
  same.forge(version, "\"trnplan_version\": \"0.0.9\"");
  CHECK(same.edited().empty());
  same.edit("node_run.sh", "nodes=4", "nodes=5");
  same.edit("health.sh", "nodes=4", "nodes=5");
  const std::string said = same.said();
  CHECK(contains(said, "plan.json: trnplan_version: trnplan 0.0.9 wrote this folder, and trnplan "));
  CHECK(contains(said, "would write it differently (the first difference: node_run.sh:"));
  CHECK_FALSE(contains(said, "health.sh"));

  const Folder older;  // as it was before versions were written down
  older.edit("plan.json", version + ",", "");
  older.edit("plan.json", "\"config\": {", "\"shape\": {");
  CHECK(contains(older.said(), "an older trnplan, which did not record its version, wrote this folder"));
}

// Catches files that are no edit of the plan's but would run.
TEST_CASE("a folder contains no files that would run in addition to the plan's", "[launch]") {
  const Folder folder;
  folder.put("trnplan_config.py", "import os\n");
  CHECK(contains(folder.said(), "trnplan_config.py: belongs to another plan: this one has no such file"));
  fs::remove(folder.path / "trnplan_config.py");
  folder.put("notes.py", "");  // nothing imports from this folder
  folder.put("eks-prepare.yaml", "kind: Pod\n");
  CHECK(folder.edited().empty());
}

TEST_CASE("a manifest must be the plan's", "[launch]") {
  const auto after = [](const char* manifest, const char* from, const char* to) {
    const Folder folder;
    folder.edit(manifest, from, to);
    return folder.said(manifest);
  };
  CHECK(contains(after("eks-mpijob-train.yaml", "replicas: 4", "replicas: 2"),
                 "Worker.replicas: is \"2\"; the plan writes \"4\""));
  CHECK(contains(after("eks-mpijob-train.yaml", "neuron: 16", "neuron: 8"), "aws.amazon.com/neuron"));
  CHECK(contains(after("eks-mpijob-train.yaml", "mpi_launch.sh", "other.sh"),
                 "does not run what the plan's file runs"));
  CHECK(contains(after("eks-mpijob-train.yaml", "kind: MPIJob", "kind: Pod"), "kind"));
  CHECK(contains(after("hyperpod-eks-train.yaml", "minReplicas: 4", "minReplicas: 1"), "minReplicas"));
  CHECK(contains(after("eks-pytorchjob-compile.yaml", "\"compile\"", "\"train\""), "does not run what"));
  CHECK(contains(after("eks-mpijob-train.yaml", "restartPolicy: OnFailure", "restartPolicy: Never"),
                 "restartPolicy"));
  CHECK(contains(after("eks-mpijob-train.yaml", "spec:\n", "spec:\n  suspend: true\n"),
                 "spec.suspend: is \"true\", which the plan does not write"));
  CHECK(contains(after("eks-mpijob-train.yaml", "              env:\n",
                       "              env:\n                - {name: PYTHONPATH, value: /tmp}\n"),
                 "env: is a list of 2"));
  CHECK(contains(after("eks-mpijob-train.yaml", "apiVersion", "kind: Pod\n---\napiVersion"), "document"));
  for (const char* name : {"eks-mpijob-train.yaml", "hyperpod-eks-compile.yaml"}) {
    for (const double share : {0.0, 0.3, 0.6, 0.8}) {
      const Folder folder;
      folder.cut(name, share);
      INFO(name << " " << share);
      CHECK_FALSE(folder.said(name).empty());
    }
  }
}

// Catches code in the module that Trainium 2 runs, keys in the TOML next to it, and modules that Python finds
// first.
TEST_CASE("TorchTitan's module and TOML are the plan's, and nothing else is imported", "[launch]") {
  models::Job job = job_of("llama3-8b", 2, 8192, 128);
  job.cluster.instance = test_catalog().instance("trn2.48xlarge");
  job.pin.framework = "fsdp";
  const models::Strategy strategy = strategy_of(job, "tp=4,shard=fsdp,recompute=full");
  const auto judged = planner::judge(job, strategy, datasheet());
  const Folder folder;
  for (const std::string& name : launch::bundle_names(targets::standard())) fs::remove(folder.path / name);
  io::write_files(folder.path, launch::bundle(job, *judged.plan, targets::of(job)), false);
  CHECK(folder.edited().empty());

  const auto after = [&](const char* name, const char* from, const std::string& to) {
    const std::string before = read_text(folder.path / name);
    folder.edit(name, from, to);
    const std::string said = folder.said();
    folder.put(name, before);
    return said;
  };
  CHECK(contains(after("trnplan_config.py", "import importlib", "import os; os.abort()\nimport importlib"),
                 "is \"import os; os.abort()\", which the plan does not write"));
  for (const char* keys :
       {"enable_cpu_offload = true\n", "expert_parallel_degree = 8\n", "custom_import = \"x\"\n"})
    CHECK(contains(after("torchtitan.toml", "[parallelism]\n", std::string("[parallelism]\n") + keys),
                   "which the plan does not write"));

  for (const char* name : {"torch.py", "sitecustomize.pyc", "numpy/__init__.py", "__pycache__/x.pyc"}) {
    INFO(name);
    folder.write(name, "");
    CHECK(contains(folder.said(), "would be imported by the plan's programs"));
    fs::remove_all(folder.path / *fs::path(name).begin());
  }
  folder.write("run/log.py", "");  // no package
  CHECK(folder.edited().empty());
}
