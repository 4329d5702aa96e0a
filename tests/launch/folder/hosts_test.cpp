// Folders for machines with several hosts per node, and for machines outside EC2.
#include <algorithm>
#include <set>
#include <stdexcept>

#include "io/input/cluster_files.h"
#include "io/input/plan_file.h"
#include "io/output/atomic_write.h"
#include "launch/folder/bundle.h"
#include "launch/folder/cluster_kinds.h"
#include "launch/folder/folder_check.h"
#include "launch/submit/schedulers.h"
#include "launch/submit/submit.h"
#include "planner/check/judge.h"
#include "targets/nxdt/nxdt_config.h"
#include "targets/nxdt/nxdt_yaml.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/folder.h"
#include "tests/models/setup.h"
#include "text/document.h"

using namespace trnplan;

namespace {

/// UltraServers: 64 chips of 4 logical cores are 256 ranks, on 4 hosts 16 chips and 64 ranks each.
models::Job ultraservers(int nodes) {
  models::Job job = job_of("llama3-8b", nodes, 8192, 1024);
  job.cluster.instance = test_catalog().instance("trn2u-ultraserver");
  return job;
}
constexpr const char* kTp32 = "tp=32,recompute=CoreAttention";

models::Job on_premises(int nodes) {
  models::Job job = job_of("llama3-8b", nodes, 8192, 128);
  job.cluster.instance = test_catalog().instance("hgx-h100-80gb");
  job.pin.framework = "megatron";
  return job;
}
constexpr const char* kTp2 = "tp=2,recompute=full";

/// A folder of plan --out, on disk.
class Written : public TestFolder {
 public:
  Written(const models::Job& job, const char* strategy, const planner::Target& target) {
    const auto judged = planner::judge(job, strategy_of(job, strategy), datasheet());
    const std::vector<io::OutputFile> files = launch::bundle(job, *judged.plan, target);
    io::write_files(path, files, false);
    for (const io::OutputFile& f : files) names.insert(f.name);
  }
  std::string text(const char* name) const { return read_text(path / name); }
  bool says(const char* name, const std::string& words) const { return contains(text(name), words); }
  io::PlanFile plan() const { return io::read_plan_file(path / "plan.json", test_catalog()); }
  /// What its own check finds wrong with it.
  std::string faults(const std::vector<std::string>& manifests = {}) const {
    return refusal_of([&] {
      const launch::HeldFolder held(path);
      if (auto all = launch::check_folder(held, plan(), manifests).faults; !all.empty())
        throw InputError(all);
    });
  }
  /// What launch says of it on `scheduler`, where every program answers nothing but `table` for sinfo, which
  /// fails with `error` if there is one.
  std::vector<Diagnostic> refused(const char* scheduler, const char* flavour, const char* table = "",
                                  const char* error = "") const {
    std::vector<std::string> notes;
    const launch::Runner runner = [&](const auto& arguments, const auto&) {
      if (arguments[0] != "sinfo") return launch::ProcessResult{true, 0, "", "", false};
      return launch::ProcessResult{true, *error == '\0' ? 0 : 1, table, error, false};
    };
    const launch::HeldFolder held(path);
    return launch::preflight({held, *launch::find_scheduler(scheduler), flavour, true}, test_catalog(),
                             runner, notes);
  }

  std::set<std::string> names;
};

bool any_says(const std::vector<Diagnostic>& faults, const std::string& words) {
  return std::any_of(faults.begin(), faults.end(),
                     [&](const Diagnostic& d) { return contains(to_string(d), words); });
}

}  // namespace

TEST_CASE("a node of four hosts: everything that is started counts hosts", "[launch]") {
  const Written folder(ultraservers(1), kTp32, *targets::find("nxdt"));
  for (const char* script : {"compile.sbatch", "train.sbatch"})
    CHECK(folder.says(script, "#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=1\n"));  // 1 node x 4 hosts
  // 256 ranks / 4 hosts = 64 processes a host; 64 is one of the numbers that NxDT starts.
  CHECK(folder.says("node_run.sh", "\nnodes=4\n"));
  CHECK(folder.says("node_run.sh", "torchrun --nproc_per_node=64 --nnodes=\"$nodes\""));
  CHECK(folder.says("node_run.sh", "export FI_PROVIDER=efa"));
  CHECK(folder.says("nxdt.yaml", "devices: 64\n"));
  CHECK(folder.says("nxdt.yaml", "num_nodes: 4\n"));
  CHECK(folder.says("health.sh", "\nnodes=4\ncores=64\n"));
  CHECK(folder.says("health.sh",
                    "\nrounds=()\n"));  // hosts of a node are no pair that anything is predicted of
  CHECK(folder.says("submit.sh", "the plan needs 4\""));
  CHECK(folder.says("submit.sh", "grep -Fxv 'trn2u.48xlarge'"));
  CHECK(folder.says("mpi_launch.sh", "-np 4 "));
  CHECK(folder.says("mpi_launch.sh", "-x TRNPLAN_START "));
  CHECK(folder.says("parallelcluster.yaml",
                    "InstanceType: trn2u.48xlarge\n          MinCount: 4\n          MaxCount: 4\n"));
  // Of a host: 64 chips / 4 = 16 devices, 64 EFA devices / 4 = 16.
  for (const char* manifest : {"eks-mpijob-compile.yaml", "eks-mpijob-train.yaml"}) {
    CHECK(folder.says(manifest, "    Worker:\n      replicas: 4\n"));
    CHECK(folder.says(manifest, "aws.amazon.com/neuron: 16\n"));
    CHECK(folder.says(manifest, "vpc.amazonaws.com/efa: 16\n"));
    CHECK(folder.says(manifest, "node.kubernetes.io/instance-type: trn2u.48xlarge\n"));
    CHECK(folder.says(manifest, "topologyKey: neuron.amazonaws.com/ultraserver-server-id-4\n"));
    CHECK_FALSE(folder.says(manifest, "preferredDuring"));
  }
  CHECK(folder.says("README.md", "# llama3-8b on 1 x trn2u-ultraserver (4 hosts of trn2u.48xlarge): "));
  CHECK(folder.says("README.md", "1 trn2u-ultraserver = 4 hosts."));
  CHECK(folder.says("README.md", "each with 16 chips and 64 ranks"));
  // What does not keep the hosts of a node together is not written.
  for (const char* none : {"hyperpod.json", "hyperpod-eks.json", "provisioning_parameters.json",
                           "eks-pytorchjob-train.yaml", "hyperpod-eks-train.yaml"}) {
    CHECK(folder.names.count(none) == 0);
    CHECK_FALSE(folder.says("README.md", none));
  }
}

TEST_CASE("a node of four hosts: what is read back is one node", "[launch]") {
  const Written folder(ultraservers(1), kTp32, *targets::find("nxdt"));
  const auto cluster = io::read_parallelcluster(folder.path / "parallelcluster.yaml", test_catalog());
  CHECK(cluster.instance == "trn2u-ultraserver");
  CHECK(cluster.nodes == 1);
  CHECK(cluster.hosts == 4);
  CHECK(folder.plan().job.cluster.nodes == 1);  // plan.json counts nodes
  CHECK(folder.plan().job.cluster.hosts() == 4);
  CHECK(folder.faults({"eks-mpijob-compile.yaml", "eks-mpijob-train.yaml"}).empty());
  const auto reading = targets::interpret(targets::nxdt_from(read_document(folder.path / "nxdt.yaml")),
                                          test_catalog().architecture("llama3-8b"));
  CHECK(reading.nodes * reading.devices == 256);
  CHECK(reading.strategy.data_parallel == 8);  // 256 / TP 32
  io::write_file(folder.path / "train.sbatch",
                 replaced(folder.text("train.sbatch"), "--nodes=4", "--nodes=1"), true);
  CHECK(contains(folder.faults(), "\"1\", but the plan is for 4 hosts: 1 x trn2u-ultraserver (4 hosts of"));
}

TEST_CASE("two nodes of four hosts: ranks follow nodes whatever the scheduler gave", "[launch]") {
  const Written folder(ultraservers(2), kTp32, *targets::find("nxdt"));
  CHECK(folder.says("train.sbatch", "#SBATCH --nodes=8\n"));  // 2 x 4
  CHECK(folder.says("nxdt.yaml", "num_nodes: 8\n"));
  CHECK(folder.says("eks-mpijob-train.yaml", "replicas: 8\n"));
  CHECK(folder.says("eks-mpijob-train.yaml", "preferredDuringSchedulingIgnoredDuringExecution:\n"));
  CHECK(folder.says("node_run.sh", "NEURON_RT_ULTRASERVER_MODE=1 "));
  CHECK(folder.says("node_run.sh", "\"$devices/server_id_4\""));
  // Machines of one host have nothing of it.
  models::Job job = ultraservers(2);
  job.cluster.instance = test_catalog().instance("trn2.48xlarge");
  const Written plain(job, kTp32, *targets::find("nxdt"));
  for (const char* script :
       {"node_run.sh", "mpi_launch.sh", "README.md", "parallelcluster.yaml", "eks-mpijob-train.yaml"})
    for (const char* word : {"join_hosts", "ULTRASERVER", "TRNPLAN_START", "ultraserver", " hosts"})
      CHECK_FALSE(plain.says(script, word));
}

TEST_CASE("other targets count hosts too", "[launch]") {
  models::Job job = ultraservers(1);
  const Written nxd(job, kTp32, *targets::find("nxd"));
  CHECK(nxd.says("node_run.sh", "NEURON_RT_NUM_CORES:-64}"));  // ranks of a host
  job.pin.framework = "fsdp";
  const planner::Target& titan = targets::of(job);
  REQUIRE(titan.name() == "torchtitan");
  const Written folder(job, "framework=fsdp,tp=4,recompute=full", titan);
  CHECK(folder.says("train.sbatch", "#SBATCH --nodes=4\n"));
  CHECK(folder.says("node_run.sh", "--nproc_per_node=64 "));
  CHECK(folder.says("node_run.sh", "\nnumbered=1\n"));  // torchrun must not number the hosts by itself
  // No launcher starts it, and other jobs of Kubernetes do not keep hosts together.
  for (const std::string& name : folder.names) CHECK_FALSE(contains(name, "eks"));
  CHECK(folder.names.count("Dockerfile") == 0);
  CHECK_FALSE(folder.says("README.md", "Kubernetes instead"));
  CHECK(any_says(folder.refused("eks", "eks-mpijob"), "4 hosts, which a launcher must keep together"));
}

TEST_CASE("hosts that nobody knows how to join have no folder", "[launch]") {
  models::Job job = ultraservers(1);
  const auto judged = planner::judge(job, strategy_of(job, kTp32), datasheet());
  job.cluster.instance.ultraserver_mode = 0;
  CHECK_THROWS_AS(launch::bundle(job, *judged.plan, *targets::find("nxdt")), std::invalid_argument);
  CHECK(contains(launch::no_folder_for(job.cluster.instance), "is 4 hosts, and how they find each other"));
}

TEST_CASE("launch of four hosts asks for four, and only for jobs that keep them together", "[launch]") {
  const Written folder(ultraservers(1), kTp32, *targets::find("nxdt"));
  const char* three =
      "NODELIST STATE AVAIL_FEATURES PARTITION\nn1 idle trn2u.48xlarge q*\nn2 idle trn2u.48xlarge q*\n"
      "n3 idle trn2u.48xlarge q*\n";
  CHECK(any_says(folder.refused("slurm", "", three), "3 hosts, and a trn2u-ultraserver is 4"));
  const std::string four = std::string(three) + "n4 idle trn2u.48xlarge q*\n";
  CHECK_FALSE(any_says(folder.refused("slurm", "", four.c_str()), "sinfo"));
  // Of many lines the last one says why.
  CHECK(any_says(folder.refused("slurm", "", "", "sinfo: error: a host\nsinfo: fatal: no configuration\n"),
                 "sinfo: failed: sinfo: fatal: no configuration"));
  CHECK(any_says(folder.refused("local", ""),
                 "1 x trn2u-ultraserver (4 hosts of trn2u.48xlarge), and this is one"));
  const auto faults = folder.refused("eks", "eks-pytorchjob");
  REQUIRE(faults.size() == 1);
  CHECK(contains(faults[0].problem, "4 hosts, and jobs of eks-pytorchjob do not keep them together"));
  CHECK(contains(faults[0].fix, "--cluster-flavour eks-mpijob"));
}

TEST_CASE("a machine that EC2 does not have: Slurm alone", "[launch]") {
  const Written folder(on_premises(2), kTp2, *targets::find("megatron"));
  CHECK(folder.names == std::set<std::string>{"config.json", "settings.env", "setup_env.sh", "node_run.sh",
                                              "train.sbatch", "health.sh", "submit.sh", "prepare.sh",
                                              "README.md", "plan.json"});
  CHECK(folder.says("train.sbatch", "#SBATCH --nodes=2\n"));
  CHECK(folder.says("node_run.sh", "--nproc_per_node=8 "));
  CHECK(folder.says("README.md", "# llama3-8b on 2 x hgx-h100-80gb: "));
  CHECK(folder.says("README.md", "NCCL uses the InfiniBand or RoCE devices that it finds"));
  CHECK(folder.says("README.md", "trnplan launch ."));
  for (const std::string& name : folder.names) {
    INFO(name);
    for (const char* word :
         {"xlarge\n", "EFA", "FI_PROVIDER", "--scheduler eks", "kubectl", "parallelcluster", "hyperpod.json"})
      CHECK_FALSE(folder.says(name.c_str(), word));
  }
  CHECK(folder.faults().empty());
  const auto faults = folder.refused("eks", "eks-pytorchjob");
  REQUIRE(faults.size() == 1);  // one line, and nothing of files that are missing
  CHECK(contains(faults[0].problem, "hgx-h100-80gb is not a machine of EC2"));
  CHECK(contains(faults[0].fix, "Slurm"));
  const char* table = "NODELIST STATE PARTITION\nn1 idle q*\nn2 idle q*\n";
  CHECK_FALSE(any_says(folder.refused("slurm", "", table), "sinfo"));
}
