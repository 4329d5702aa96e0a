// Jobs and cluster files in a folder, and the resources that they request.
#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "launch/folder/bundle.h"
#include "launch/submit/schedulers.h"
#include "launch/submit/submit.h"
#include "planner/check/judge.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/folder.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

using SubmitFiles = std::vector<io::OutputFile>;

SubmitFiles submitted_files(const std::string& target, const std::string& machine,
                            const std::string& strategy, std::optional<models::SubmitBy> by = std::nullopt,
                            const std::string& release = "", bool with_plan = false) {
  const bool bert = target == "bert";
  models::Job job = job_of(bert ? "bert-large" : "llama3-8b", machine == "trn1.2xlarge" ? 1 : 2,
                           bert ? 128 : 8192, bert ? 16384 : 256);
  if (bert) job.training.precision = models::Precision::bf16_sr;
  job.cluster.instance = test_catalog().instance(machine);
  job.software.release = release;
  job.run.scheduler = by;
  planner::Plan plan;
  plan.strategy = strategy_of(job, strategy);
  plan.nodes = job.cluster.nodes;
  plan.instance = machine;
  plan.global_batch = job.training.global_batch;
  plan.memory.stages.resize(1);  // plan.json tells of the fullest one, and of a step
  plan.report.step = Seconds{10};
  plan.report.low = Seconds{9};
  plan.report.high = Seconds{11};
  plan.report.tokens_per_second = static_cast<double>(job.training.sequence * job.training.global_batch) / 10;
  if (with_plan) return launch::bundle(job, plan, *targets::find(target));
  return launch::bundle_beside_plan(job, plan, *targets::find(target));
}

std::string submitted_text(const SubmitFiles& files, const std::string& name) {
  const auto found = std::find_if(files.begin(), files.end(), [&](const auto& f) { return f.name == name; });
  return found == files.end() ? "" : found->text;
}

std::set<std::string> submitted_names(const SubmitFiles& files) {
  std::set<std::string> names;
  for (const io::OutputFile& f : files) names.insert(f.name);
  return names;
}

struct SubmitCase {
  const char *target, *machine, *strategy;
};
constexpr SubmitCase kSubmitCases[] = {
    {"nxdt", "trn1.32xlarge", "tp=8,recompute=CoreAttention"},
    {"torchtitan", "trn2.48xlarge", "tp=4,framework=fsdp,flash=true,shard=zero3"},
    {"megatron", "p5.48xlarge", "tp=2,framework=megatron,flash=true"}};

}  // namespace

TEST_CASE("the names of schedulers in a job are those that launch has", "[launch]") {
  const std::vector<std::string> known = launch::scheduler_names();
  CHECK(std::vector<std::string>(models::kSubmitNames.begin(), models::kSubmitNames.end()) == known);
}

// A folder for one scheduler with the files of another is what people submit by mistake.
TEST_CASE("a folder for one scheduler has its files alone", "[launch]") {
  for (const SubmitCase& c : kSubmitCases) {
    const auto named = [&](models::SubmitBy by) {
      return submitted_names(submitted_files(c.target, c.machine, c.strategy, by));
    };
    const std::set<std::string> all = submitted_names(submitted_files(c.target, c.machine, c.strategy));
    const std::set<std::string> slurm = named(models::SubmitBy::slurm), eks = named(models::SubmitBy::eks),
                                local = named(models::SubmitBy::local);
    std::set<std::string> both = slurm;
    both.insert(eks.begin(), eks.end());
    INFO(c.target);
    CHECK(both == all);
    for (const std::string& name : slurm) {
      INFO(name);
      CHECK_FALSE((name.starts_with("eks-") || name.starts_with("hyperpod-eks") || name == "fsx-claim.yaml" ||
                   name == "Dockerfile" || name == "mpi_launch.sh"));
    }
    for (const std::string& name : eks) {
      INFO(name);
      CHECK_FALSE((name.ends_with(".sbatch") || name == "submit.sh" || name == "parallelcluster.yaml" ||
                   name == "hyperpod.json" || name == "install_neuron.sh"));
    }
    for (const std::string& name : local) CHECK((slurm.contains(name) && eks.contains(name)));
    CHECK(slurm.contains("train.sbatch"));
    CHECK(eks.contains("eks-pytorchjob-train.yaml"));
  }
}

// Catches: train.sbatch, which only Slurm has, was required of every folder, and its compile.sbatch decided
// whether graphs are compiled. A folder for EKS was refused, and would have trained without compiling.
TEST_CASE("a folder for one scheduler is taken by it, and others say whose it is", "[launch]") {
  const launch::Runner runner = [](const auto&, const auto&) {
    return launch::ProcessResult{true, 0, "", "", false};
  };
  for (const SubmitCase& c : kSubmitCases) {
    const planner::Target& target = *targets::find(c.target);
    for (std::size_t own = 0; own <= models::kSubmitNames.size(); ++own) {  // the last one: for all of them
      std::optional<models::SubmitBy> by;
      if (own < models::kSubmitNames.size()) by = static_cast<models::SubmitBy>(own);
      const TestFolder folder;
      io::write_files(folder.path, submitted_files(c.target, c.machine, c.strategy, by, "", true), false);
      const launch::HeldFolder held(folder.path);
      for (const launch::Scheduler* scheduler : launch::schedulers()) {
        INFO(c.target << " for " << (by ? models::kSubmitNames[own] : "all") << ", launched with "
                      << scheduler->name());
        const launch::SubmitRequest request{held, *scheduler, "eks-pytorchjob", true};
        std::vector<std::string> notes;
        std::string said;
        for (const Diagnostic& d : launch::preflight(request, test_catalog(), runner, notes))
          said += to_string(d) + "\n";
        INFO(said);
        const bool others =
            by && models::kSubmitNames[own] != scheduler->name() && scheduler->name() != "local";
        CHECK_FALSE(contains(said, "is missing"));
        CHECK(contains(said, "the folder was written for") == others);
        if (others) {
          CHECK(contains(said, "written for " + std::string(models::kSubmitNames[own]) + " only"));
          continue;
        }
        std::string commands;
        for (const auto& command : launch::commands(request)) {
          for (const std::string& word : command) commands += word + ' ';
        }
        CHECK(contains(commands, "compile") == target.compiles_ahead());
      }
    }
  }
}

// "compile.sbatch: is missing" was said of folders that never have one.
TEST_CASE("what is missing of a folder is what was written there", "[launch]") {
  const launch::Runner runner = [](const auto&, const auto&) {
    return launch::ProcessResult{true, 0, "", "", false};
  };
  for (const SubmitCase& c : kSubmitCases) {
    for (std::size_t own = 0; own <= models::kSubmitNames.size(); ++own) {
      std::optional<models::SubmitBy> by;
      if (own < models::kSubmitNames.size()) by = static_cast<models::SubmitBy>(own);
      const SubmitFiles files = submitted_files(c.target, c.machine, c.strategy, by, "", true);
      const std::set<std::string> names = submitted_names(files);
      for (const char* left : {"plan.json", "setup_env.sh", ""}) {
        const TestFolder folder;
        io::write_files(folder.path, files, false);
        for (const std::string& name : names) {
          if (name != left) std::filesystem::remove(folder.path / name);
        }
        const launch::HeldFolder held(folder.path);
        for (const launch::Scheduler* scheduler : launch::schedulers()) {
          std::vector<std::string> notes;
          std::size_t missing = 0;
          for (const Diagnostic& d :
               launch::preflight({held, *scheduler, "eks-pytorchjob", true}, test_catalog(), runner, notes)) {
            if (d.problem != "is missing") continue;
            ++missing;
            INFO(c.target << ", " << scheduler->name() << ", of which is left: " << left << ": "
                          << to_string(d));
            CHECK(names.contains(std::filesystem::path(d.at.file).filename().string()));
          }
          CHECK(missing > 0);
        }
      }
    }
  }
}

// README.md once had a list of its own.
TEST_CASE("README.md names files that the folder has", "[launch]") {
  for (const SubmitCase& c : kSubmitCases) {
    for (const std::optional<models::SubmitBy> by :
         {std::optional<models::SubmitBy>(), std::optional(models::SubmitBy::slurm),
          std::optional(models::SubmitBy::eks), std::optional(models::SubmitBy::local)}) {
      const SubmitFiles files = submitted_files(c.target, c.machine, c.strategy, by);
      const std::set<std::string> names = submitted_names(files);
      const std::string readme = submitted_text(files, "README.md");
      for (const std::string& name : launch::bundle_names(*targets::find(c.target))) {
        INFO(c.target << ", " << name);
        if (name != "plan.json" && readme.find("`" + name + "`") != std::string::npos)
          CHECK(names.contains(name));
      }
    }
  }
}

// README.md promised an environment that prepare.sh makes, where it ended in "there are no commands", and one line said
// Neuron 2.28 to 2.31 where the next said 2.21.
TEST_CASE("a folder of NeMo-Megatron promises what it has", "[launch]") {
  const SubmitFiles files =
      submitted_files("nemo-megatron", "trn1.32xlarge", "tp=8,recompute=full,flash=false");
  CHECK_FALSE(contains(submitted_text(files, "README.md"), "environment, data"));
  CHECK_FALSE(contains(submitted_text(files, "prepare.sh"), "prepare.sh environment "));
  CHECK(contains(submitted_text(files, "README.md"), "the run: data "));
  const planner::Target& target = *targets::find("nemo-megatron");
  CHECK(contains(planner::ending_of(target, test_catalog().instance("trn1.32xlarge").traits,
                                    *test_catalog().neuron_releases()),
                 "Neuron SDK 2.21"));
}

// boto/botocore@0e6e2404 sagemaker/2017-07-24/service-2.json: ClusterInstanceType has no ml.trn1.2xlarge.
TEST_CASE("a machine that HyperPod has not gets none of its files", "[launch]") {
  const SubmitFiles files = submitted_files("bert", "trn1.2xlarge", "zero1=false,recompute=none,flash=false");
  for (const std::string& name : submitted_names(files)) {
    INFO(name);
    CHECK(name.find("hyperpod") == std::string::npos);
  }
  CHECK(contains(submitted_text(files, "README.md"), "its CreateCluster has no ml.trn1.2xlarge"));
  CHECK_FALSE(submitted_text(files, "parallelcluster.yaml").empty());
  for (const std::string& name : test_catalog().instances()) {
    const topology::Instance i = test_catalog().instance(name);
    INFO(name);
    if (!i.hyperpod_type.empty()) CHECK(i.hyperpod_type == "ml." + i.ec2_type);
    CHECK(i.hyperpod_type.empty() == (i.ec2_type.empty() || name == "trn1.2xlarge" || i.hosts > 1));
  }
}

// Of p5e and trn2 no on-demand price is listed, of p5 and trn1 one is; keys by aws-parallelcluster's validators: a
// block asks for its reservation and MinCount = MaxCount, and takes no placement group.
TEST_CASE("machines that are sold in blocks alone ask for a reservation", "[launch]") {
  for (const char* name : {"p5e.48xlarge", "trn2.48xlarge", "trn2.3xlarge", "trn2u-ultraserver"}) {
    INFO(name);
    CHECK(test_catalog().instance(name).starts_in_blocks_alone());
  }
  for (const char* name : {"p5.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge", "trn1.32xlarge", "hgx-h200"}) {
    INFO(name);
    CHECK_FALSE(test_catalog().instance(name).starts_in_blocks_alone());
  }
  const SubmitFiles block = submitted_files("torchtitan", "trn2.48xlarge", kSubmitCases[1].strategy);
  const std::string yaml = submitted_text(block, "parallelcluster.yaml");
  CHECK(contains(yaml, "CapacityType: CAPACITY_BLOCK"));
  CHECK(contains(yaml, "CapacityReservationId: SET-ME"));
  CHECK(contains(yaml, "MinCount: 2\n          MaxCount: 2"));
  CHECK_FALSE(contains(yaml, "PlacementGroup"));
  CHECK(contains(submitted_text(block, "hyperpod.json"), "TrainingPlanArn"));
  CHECK(contains(submitted_text(block, "README.md"), "sold in Capacity Blocks"));
  const SubmitFiles usual = submitted_files("nxdt", "trn1.32xlarge", kSubmitCases[0].strategy);
  CHECK(contains(submitted_text(usual, "parallelcluster.yaml"), "CapacityType: ONDEMAND"));
  CHECK(contains(submitted_text(usual, "parallelcluster.yaml"), "PlacementGroup"));
  CHECK_FALSE(contains(submitted_text(usual, "hyperpod.json"), "TrainingPlanArn"));
}

// Ubuntu 22.04 has no python3.12, and 24.04 no other.
TEST_CASE("the system of a cluster has the Python that its environment is made with", "[launch]") {
  const auto os_and_python = [](const char* target, const char* machine, const char* strategy) {
    const SubmitFiles files = submitted_files(target, machine, strategy);
    std::smatch python, os;
    const std::string prepare = submitted_text(files, "prepare.sh"),
                      yaml = submitted_text(files, "parallelcluster.yaml");
    REQUIRE(std::regex_search(prepare, python, std::regex("(python3[.][0-9]+) -m venv")));
    REQUIRE(std::regex_search(yaml, os, std::regex("Os: (.*)")));
    CHECK(contains(submitted_text(files, "install_neuron.sh"), python[1].str() + "-venv"));
    return os[1].str() + " " + python[1].str();
  };
  CHECK(os_and_python("nxdt", "trn1.32xlarge", kSubmitCases[0].strategy) == "ubuntu2204 python3.11");
  CHECK(os_and_python("nxd", "trn1.32xlarge", kSubmitCases[0].strategy) == "ubuntu2404 python3.12");
  CHECK(os_and_python("torchtitan", "trn2.48xlarge", kSubmitCases[1].strategy) == "ubuntu2404 python3.12");
}

// aws-neuronx-runtime-lib was pinned to 2.30.50.0, which no release has: 2.28 has 2.30.51.0.
TEST_CASE("driver and runtime on the nodes are those of the release", "[launch]") {
  const auto script = [](const char* release) {
    return submitted_text(
        submitted_files("nxdt", "trn1.32xlarge", kSubmitCases[0].strategy, std::nullopt, release),
        "install_neuron.sh");
  };
  const auto releases = test_catalog().neuron_releases();
  for (const models::NeuronRelease& r : releases->releases) {
    const std::string text = script(r.release.c_str());
    INFO(r.release);
    CHECK(contains(text, "Neuron SDK " + r.release + "."));
    for (const auto& [package, version] : r.packages) {
      if (package.starts_with("aws-")) CHECK(contains(text, "'" + package + "=" + version + "*'"));
    }
  }
  CHECK(contains(script(""), "'aws-neuronx-runtime-lib=2.30.51.0*'"));
  // Of Neuron 2.33, which AWS's fork of TorchTitan needs, no versions are known.
  CHECK(contains(submitted_text(submitted_files("torchtitan", "trn2.48xlarge", kSubmitCases[1].strategy),
                                "install_neuron.sh"),
                 "'aws-neuronx-dkms=2.*'"));
}
