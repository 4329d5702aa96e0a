#include "launch/folder/bundle.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "io/input/cluster_files.h"
#include "io/input/plan_file.h"
#include "io/output/emit_cluster.h"
#include "launch/folder/checkpoints.h"
#include "launch/folder/scripts.h"
#include "planner/check/judge.h"
#include "targets/nxdt/nxdt_config.h"
#include "targets/nxdt/nxdt_yaml.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

using OutputFiles = std::vector<io::OutputFile>;

OutputFiles bundle_of(const models::Job& job, const char* strategy,
                      const planner::Target& target = targets::standard()) {
  const auto judged = planner::judge(job, strategy_of(job, strategy), datasheet());
  return launch::bundle(job, *judged.plan, target);
}

const std::string& text_of(const OutputFiles& files, const std::string& name) {
  return std::find_if(files.begin(), files.end(), [&](const auto& f) { return f.name == name; })->text;
}

/// OutputFiles of a bundle as the disk would hold them.
class InMemory : public Files {
 public:
  explicit InMemory(OutputFiles files) : files_(std::move(files)) {}
  bool has(const std::filesystem::path& path) const override { return find(path) != nullptr; }
  std::string text(const std::filesystem::path& path) const override {
    return find(path) == nullptr ? disk().text(path) : find(path)->text;
  }

 private:
  const io::OutputFile* find(const std::filesystem::path& path) const {
    const auto it =
        std::find_if(files_.begin(), files_.end(), [&](const auto& f) { return f.name == path.filename(); });
    return it == files_.end() ? nullptr : &*it;
  }
  OutputFiles files_;
};

models::Job llama70b() {
  return job_of("llama3-70b", 16, 8192, 1024);
}
constexpr const char* kLlama70b = "tp=32,pp=8,recompute=CoreAttention+LlamaMLP";

}  // namespace

TEST_CASE("the files of a plan", "[launch]") {
  const auto files = bundle_of(llama70b(), kLlama70b);
  std::vector<std::string> names;
  for (const auto& f : files) names.push_back(f.name);
  CHECK(names == std::vector<std::string>{"nxdt.yaml",
                                          "config.json",
                                          "settings.env",
                                          "setup_env.sh",
                                          "node_run.sh",
                                          "compile.sbatch",
                                          "train.sbatch",
                                          "health.sh",
                                          "submit.sh",
                                          "prepare.sh",
                                          "README.md",
                                          "Dockerfile",
                                          "install_neuron.sh",
                                          "parallelcluster.yaml",
                                          "hyperpod.json",
                                          "provisioning_parameters.json",
                                          "hyperpod-eks.json",
                                          "eks-mpijob-compile.yaml",
                                          "eks-mpijob-train.yaml",
                                          "eks-pytorchjob-compile.yaml",
                                          "eks-pytorchjob-train.yaml",
                                          "hyperpod-eks-compile.yaml",
                                          "hyperpod-eks-train.yaml",
                                          "fsx-claim.yaml",
                                          "mpi_launch.sh",
                                          "plan.json"});
  for (const auto& f : files) {
    INFO(f.name);
    const bool script = f.name.ends_with(".sh") || f.name.ends_with(".sbatch");
    CHECK(f.executable == (script && f.name != "setup_env.sh"));
    if (f.name != "config.json" && f.name != "provisioning_parameters.json") {
      CHECK(contains(f.text, "2.28"));  // the SDK to stay on
      CHECK(contains(f.text, "no longer supported from 2.32"));
    }
  }
  const std::string& train = text_of(files, "train.sbatch");
  CHECK(contains(train, "#SBATCH --nodes=16\n"));
  CHECK(contains(train, "#SBATCH --requeue\n"));
  CHECK(contains(train, "#SBATCH --open-mode=append\n"));
  CHECK(contains(train, "--auto-resume=1"));
  const std::string& node = text_of(files, "node_run.sh");
  CHECK(contains(node, "torchrun --nproc_per_node=32 --nnodes=\"$nodes\""));
  CHECK(contains(node, "\nnodes=16\n"));
  CHECK(contains(node, "FI_PROVIDER=efa"));
  CHECK(contains(node, "exp_manager.explicit_log_dir=$results"));  // resumes across job ids
  CHECK(contains(node, "Total failed compilations: 0"));
  CHECK(contains(text_of(files, "submit.sh"), "--dependency=\"afterok:$compile\""));
  CHECK_FALSE(contains(node, "BUCKET_CAP_MB"));
  CHECK(contains(train, "! bash \"$plan/health.sh\" \"$plan\""));
  const std::string& health = text_of(files, "health.sh");
  CHECK(contains(health, "\nnodes=16\ncores=32\n"));
  CHECK(contains(
      health,
      "rounds=(\"0,1 2,3 4,5 6,7 8,9 10,11 12,13 14,15\" \"1,2 3,4 5,6 7,8 9,10 11,12 13,14 15,0\")"));
  CHECK(contains(health, "collective all_reduce --instance trn1.32xlarge "));
}

TEST_CASE("buckets of another size reach the environment", "[launch]") {
  models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  auto plan = *planner::judge(job, strategy_of(job, "tp=32"), datasheet()).plan;
  plan.strategy.bucket_mb = 65;
  CHECK(contains(text_of(launch::bundle(job, plan, targets::standard()), "node_run.sh"),
                 "export ALL_GATHER_REDUCE_SCATTER_BUCKET_CAP_MB=65 "));
}

TEST_CASE("graphs are looked up on each node's own volume from 64 nodes on", "[launch]") {
  const char* copy = "cp -au -- \"$TRNPLAN_CACHE/.\"";
  for (const int nodes : {63, 64}) {
    const auto files = bundle_of(job_of("llama3-8b", nodes, 8192, 32 * nodes), "tp=32");
    CHECK(contains(text_of(files, "node_run.sh"), copy) == (nodes >= launch::kLocalCacheNodes));
  }
}

TEST_CASE("the emitted YAML passes its own linter and describes the same strategy", "[launch]") {
  const models::Job job = llama70b();
  const models::Strategy strategy = strategy_of(job, kLlama70b);
  const auto files = bundle_of(job, kLlama70b);
  const std::string& text = text_of(files, "nxdt.yaml");
  targets::NxdtConfig config = targets::nxdt_from(parse_document(text, "nxdt.yaml"));
  config.devices_lines = targets::devices_lines(text, "nxdt.yaml");
  for (const auto& f : targets::lint(config, job.architecture)) {
    INFO(f.rule << ": " << f.message);
    CHECK(f.severity == targets::Severity::note);
  }
  const targets::NxdtReading back = targets::interpret(config, job.architecture);
  CHECK(models::canonical(back.strategy) == models::canonical(strategy));
  CHECK(back.nodes == 16);
  CHECK(back.training.global_batch == 1024);
}

TEST_CASE("plan.json reads back", "[launch]") {
  const models::Job job = llama70b();
  const auto files = bundle_of(job, kLlama70b);
  const io::PlanFile plan = io::read_plan_file("plan.json", test_catalog(), InMemory(files));
  CHECK(plan.strategy == strategy_of(job, kLlama70b));
  CHECK(plan.job.cluster.nodes == 16);
  CHECK(plan.job.cluster.instance.name == "trn1.32xlarge");
  CHECK(plan.job.training.global_batch == 1024);
  CHECK(plan.job.architecture.layers == 80);
  CHECK(plan.job.architecture.name == "llama3-70b");
  CHECK(plan.low.value < plan.step.value);
  CHECK(plan.step.value < plan.high.value);
  CHECK(plan.usd_per_hour == Approx(16 * 21.5));
  CHECK(plan.target == "nxdt");
  OutputFiles broken = files;
  for (auto& f : broken) {
    if (f.name == "plan.json") f.text = "{\"strategy\": {\"nodes\": 0}, \"job\": {}, \"step_seconds\": -1}";
  }
  try {
    io::read_plan_file("plan.json", test_catalog(), InMemory(broken));
    FAIL("a damaged plan.json was read");
  } catch (const InputError& e) {
    CHECK(e.faults().size() > 10);  // all at once: every degree, nodes, instance, batch, the step
  }
}

TEST_CASE("settings.env contains the paths of a run's files, and plan.json the job's statements",
          "[launch]") {
  models::Job job = job_of("llama2-7b", 1, 4096, 256);
  CHECK(contains(text_of(bundle_of(job, "tp=8,recompute=full"), "settings.env"), "TRNPLAN_RESULTS=./run\n"));
  job.run = {100, 3, 2, "/fsx/data", "/fsx/tokens", "/fsx/logs"};
  job.run.start_from = models::StartFrom::checkpoint;
  job.run.weights = "/fsx/shards";
  job.learning.learning_rate = 1e-4;
  job.learning.beta1 = 0.9;
  job.learning.beta2 = 0.99;
  job.learning.schedule = models::Decay::cosine;
  const auto files = bundle_of(job, "tp=8,recompute=full,flash=false", *targets::find("nemo-megatron"));
  const std::string& setup = text_of(files, "settings.env");
  CHECK(contains(setup, "\nTRNPLAN_DATA=/fsx/data\n"));
  CHECK(contains(setup, "\nTRNPLAN_TOKENIZER=/fsx/tokens\n"));
  CHECK(contains(setup, "\nTRNPLAN_WEIGHTS=/fsx/shards\n"));
  CHECK(contains(setup, "\nTRNPLAN_RESULTS=/fsx/logs\n"));
  CHECK(contains(text_of(files, "node_run.sh"), "\n  results=${TRNPLAN_RESULTS:-$plan/run}\n"));
  const io::PlanFile plan = io::read_plan_file("plan.json", test_catalog(), InMemory(files));
  CHECK(plan.job.learning == job.learning);
  CHECK(plan.job.run == job.run);
  // A path that is not plain, which no job file brings here, stays out of the scripts.
  job.run.data = "/$(touch pwned)";
  CHECK_FALSE(contains(text_of(bundle_of(job, "tp=8,recompute=full"), "settings.env"), "touch"));
}

TEST_CASE("cluster files read back with the plan's nodes", "[launch]") {
  const InMemory files(bundle_of(llama70b(), kLlama70b));
  for (const auto& reading : {io::read_hyperpod("hyperpod.json", test_catalog(), "", files),
                              io::read_parallelcluster("parallelcluster.yaml", test_catalog(), "", files)}) {
    CHECK(reading.instance == "trn1.32xlarge");
    CHECK(reading.nodes == 16);
  }
}

TEST_CASE("files that make a cluster name the same things", "[launch]") {
  const auto files = bundle_of(llama70b(), kLlama70b);
  const Node cluster = parse_document(text_of(files, "hyperpod.json"), "hyperpod.json");
  const Node more =
      parse_document(text_of(files, "provisioning_parameters.json"), "provisioning_parameters.json");
  const auto name = [&](std::size_t group) {
    return cluster.find("InstanceGroups")->items.at(group).find("InstanceGroupName")->scalar;
  };
  CHECK(more.find("version")->scalar == "1.0.0");
  CHECK(more.find("workload_manager")->scalar == "slurm");
  CHECK(more.find("controller_group")->scalar == name(0));
  const Node& workers = more.find("worker_groups")->items.at(0);
  CHECK(workers.find("instance_group_name")->scalar == name(1));
  CHECK_FALSE(workers.find("partition_name")->scalar.empty());
  CHECK(more.find("fsx_dns_name") != nullptr);  // validate-config.py asks for both
  CHECK(more.find("fsx_mountname") != nullptr);

  const InMemory disk(files);
  CHECK(io::kubernetes_flavour_of("hyperpod-eks.json", disk) == "hyperpod-eks");
  const auto eks = io::read_hyperpod("hyperpod-eks.json", test_catalog(), "", disk);
  CHECK(eks.nodes == 16);

  // Neuron is installed on the head node and on every node, each of which may read the bucket.
  const Node yaml = parse_document(text_of(files, "parallelcluster.yaml"), "parallelcluster.yaml");
  const Node& queue = yaml.at_path("Scheduling.SlurmQueues")->items.at(0);
  for (const Node* nodes : {yaml.find("HeadNode"), &queue}) {
    const Node* script = nodes->at_path("CustomActions.OnNodeConfigured.Script");
    REQUIRE(script != nullptr);
    const std::string bucket = nodes->at_path("Iam.S3Access")->items.at(0).find("BucketName")->scalar;
    CHECK(script->scalar == "s3://" + bucket + "/install_neuron.sh");
  }
  CHECK(contains(text_of(files, "install_neuron.sh"), "aws-neuronx-dkms=2.26.10.0"));
}

TEST_CASE("the file system is of a size that FSx has and holds the checkpoints", "[launch]") {
  // 1200, 2400, then multiples of 2400 GiB.
  CHECK(io::fsx_gib(Bytes(0)) == 1200);
  CHECK(io::fsx_gib(gibibytes(1200)) == 1200);
  CHECK(io::fsx_gib(gibibytes(1200.5)) == 2400);
  CHECK(io::fsx_gib(gibibytes(2401)) == 4800);
  CHECK(io::fsx_gib(gibibytes(7300)) == 9600);
  // Llama 3 70B: 70.55e9 parameters, and keys and values (80 layers of 2 * 8192 * 1024) three times more for TP 32 over
  // 8 heads: 74.58e9. fp32 weights and two moments of Adam are 12 bytes each, 833.5 GiB. Two that are kept, one being
  // written and 500 GiB of other files: 3000 GiB.
  const models::Job job = llama70b();
  CHECK(launch::cluster_spec(job, strategy_of(job, kLlama70b), "").storage_gib == 4800);
  const auto files = bundle_of(job, kLlama70b);
  CHECK(contains(text_of(files, "parallelcluster.yaml"), "StorageCapacity: 4800\n"));
  CHECK(contains(text_of(files, "fsx-claim.yaml"), "storage: 4800Gi\n"));
  const char* holds =
      "# The file system holds 3 checkpoints of 834 GiB, of which one is being written, and 500 GiB of other "
      "files.\n";
  CHECK(contains(text_of(files, "fsx-claim.yaml"), holds));
  CHECK(contains(text_of(files, "parallelcluster.yaml"), holds));
  // Ten that are kept: 11 * 833.5 + 500 = 9668 GiB, which 5 * 2400 hold.
  models::Job more = job;
  more.run.checkpoints_kept = 10;
  CHECK(launch::cluster_spec(more, strategy_of(more, kLlama70b), "").storage_gib == 12000);
  // All of 2500 steps, one after each 500: 6 * 833.5 + 500 = 5501 GiB. Without tokens nobody knows how many there are.
  more.run.checkpoints_kept = models::kAllCheckpoints;
  more.run.checkpoint_steps = 500;
  CHECK(launch::cluster_spec(more, strategy_of(more, kLlama70b), "").storage_gib == 4800);
  more.training.tokens = 2500. * more.training.sequence * more.training.global_batch;
  CHECK(launch::cluster_spec(more, strategy_of(more, kLlama70b), "").storage_gib == 7200);
}

TEST_CASE("other targets take flags", "[launch]") {
  const auto files = bundle_of(llama70b(), "tp=32,pp=8,recompute=full", *targets::find("nxd"));
  const std::string& node = text_of(files, "node_run.sh");
  CHECK(contains(node, "run_llama_nxd.py"));
  CHECK(contains(node, "\"--tensor_parallel_size\" \"32\""));
  // 1024 sequences over DP 16 * 32 / (32 * 8) = 2
  CHECK(contains(node, "\"--train_batch_size\" \"512\""));
  CHECK(contains(node, "\"--num_microbatches\" \"512\""));
  CHECK(contains(node, "\"--kv_replicator\" \"4\""));
  CHECK(std::none_of(files.begin(), files.end(), [](const auto& f) { return f.name == "nxdt.yaml"; }));

  models::Job small = job_of("llama2-7b", 1, 4096, 256);
  small.training.precision = models::Precision::bf16_sr;
  const auto nemo = bundle_of(small, "tp=8,flash=false,recompute=full", *targets::find("nemo-megatron"));
  CHECK(contains(text_of(nemo, "node_run.sh"), "\"model.tensor_model_parallel_size=8\""));
  CHECK(contains(text_of(nemo, "node_run.sh"), "megatron_gpt_pretraining.py"));
  // What the flags cannot say is refused, with what to pin.
  const auto refusal = [](const models::Job& job, const char* strategy, const planner::Target& target) {
    try {
      bundle_of(job, strategy, target);
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("not refused");
  };
  CHECK(contains(refusal(llama70b(), "tp=32,pp=8,recompute=CoreAttention", *targets::find("nxd")),
                 "pin recompute"));
  CHECK(
      contains(refusal(small, "tp=8,pp=2,vpp=2,flash=false,recompute=full", *targets::find("nemo-megatron")),
               "pin virtual_pipeline"));
  CHECK(contains(refusal(small, "tp=2,pp=4,flash=false", *targets::find("nemo-megatron")), "TP must be"));
}

TEST_CASE("a folder of results belongs to one training", "[launch]") {
  const auto identity = [](const models::Job& job, const char* strategy) {
    const std::string node = text_of(bundle_of(job, strategy), "node_run.sh");
    const std::size_t at = node.find("\nidentity='") + 11;
    return node.substr(at, node.find('\'', at) - at);
  };
  const models::Job job = job_of("llama3-8b", 4, 8192, 1024);
  const std::string one = identity(job, "tp=32,recompute=full");
  CHECK(one.starts_with("nxdt, TP 32 "));
  // Where data and logs lie is no other training; degrees, batch and learning are.
  models::Job other = job;
  other.run.data = other.run.log_dir = "/fsx/other";
  CHECK(identity(other, "tp=32,recompute=full") == one);
  CHECK(identity(job, "tp=8,recompute=full") != one);
  other.architecture.name = "it's $(mine)";
  CHECK(identity(other, "tp=32,recompute=full") == one);
  other.training.global_batch = 512;
  CHECK(identity(other, "tp=32,recompute=full") != one);
  other = job;
  other.learning.learning_rate = 1e-4;
  CHECK(identity(other, "tp=32,recompute=full") != one);
  CHECK(contains(text_of(bundle_of(job, "tp=32,recompute=full"), "submit.sh"), "'" + one + "'"));
}

TEST_CASE("a hostile model name stays out of the files", "[launch]") {
  models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  job.architecture.name = "-x $(touch pwned) `id`\n#SBATCH --wrap=true";
  const auto files = bundle_of(job, "tp=32");
  for (const auto& f : files) {
    if (f.name == "plan.json") continue;  // holds it as a JSON string
    INFO(f.name);
    CHECK_FALSE(contains(f.text, "$(touch"));
    CHECK_FALSE(contains(f.text, f.name == "README.md" ? "`id`" : "`"));  // it marks names of files so
    CHECK_FALSE(contains(f.text, "\n#SBATCH --wrap"));
  }
  CHECK(contains(text_of(files, "train.sbatch"), "#SBATCH --job-name=trnplan-x-"));
  CHECK(contains(text_of(files, "plan.json"), "touch pwned"));
}

TEST_CASE("names for schedulers", "[launch]") {
  CHECK(launch::plain_name("llama3.1-8b") == "llama3.1-8b");
  CHECK(launch::plain_name("..-/") == "model");
  CHECK(launch::dns_name("Llama3.1_8B") == "llama3-1-8b");
  CHECK(launch::dns_name("7b.") == "m-7b");
  CHECK(launch::dns_name(std::string(60, 'a')).size() == 40);
}

TEST_CASE("a model NxDT's HF path cannot express is refused", "[launch]") {
  CHECK_THROWS_AS(bundle_of(job_of("gpt3-6.7b", 1, 2048, 1024), "tp=8,recompute=CoreAttention"),
                  std::invalid_argument);
}

TEST_CASE("a folder for GPUs has one job and nothing of Neuron's", "[launch]") {
  models::Job job = job_of("llama3-8b", 2, 8192, 128);
  job.cluster.instance = test_catalog().instance("p5.48xlarge");
  job.pin.framework = "megatron";
  const planner::Target& target = targets::of(job);
  REQUIRE(target.name() == "megatron");
  const auto files = bundle_of(job, "tp=2,recompute=full", target);
  std::set<std::string> names;
  for (const auto& f : files) names.insert(f.name);
  for (const char* none : {"compile.sbatch", "install_neuron.sh", "mpi_launch.sh", "eks-mpijob-train.yaml",
                           "eks-pytorchjob-compile.yaml"})
    CHECK(names.count(none) == 0);
  const std::vector<std::string> known = launch::bundle_names(target);
  for (const std::string& name : names) CHECK(std::count(known.begin(), known.end(), name) == 1);
  for (const auto& f : files) {
    if (f.name == "plan.json") continue;
    INFO(f.name);
    for (const char* word : {"neuron_parallel_compile", "NEURON_", "aws.amazon.com/neuron", "install_neuron"})
      CHECK_FALSE(contains(f.text, word));
  }
  const std::string run = text_of(files, "node_run.sh");
  CHECK(contains(run, "--rdzv_backend=c10d"));
  CHECK(contains(run, "--rdzv_endpoint=\"$master:29500\""));
  CHECK(contains(run, "export FI_PROVIDER=efa"));
  CHECK_FALSE(contains(text_of(files, "train.sbatch"), "compile.sbatch"));
  CHECK(contains(text_of(files, "parallelcluster.yaml"), "InstanceType: p5.48xlarge"));
  CHECK(contains(text_of(files, "eks-pytorchjob-train.yaml"), "nvidia.com/gpu: 8"));
  CHECK(contains(run, "\"$@\" python3 -m torch.distributed.run --nproc_per_node=8 "));
  CHECK(contains(text_of(files, "prepare.sh"), "-m venv --system-site-packages "));
}

// Catches: a default folder whose file system is full before the run that was predicted ends.
TEST_CASE("the file system holds the checkpoints that Megatron keeps, and all only if asked", "[launch]") {
  models::Job job = job_of("llama3-8b", 2, 8192, 128);
  job.cluster.instance = test_catalog().instance("p5.48xlarge");
  job.pin.framework = "megatron";
  job.training.tokens = 2500. * 8192 * 128;
  job.run.checkpoint_steps = 100;
  const planner::Target& target = targets::of(job);
  // 8,030,261,248 parameters of 12 bytes are 89.75 GiB. The one of step 1300 and the last stay: with the one being
  // written 3 * 89.75 + 500 = 769 GiB.
  const auto files = bundle_of(job, "tp=2,recompute=full", target);
  CHECK(contains(text_of(files, "node_run.sh"), "\"--save-retain-interval\" \"1300\""));
  CHECK(contains(text_of(files, "fsx-claim.yaml"), "storage: 1200Gi\n"));
  CHECK(contains(text_of(files, "fsx-claim.yaml"), "holds 3 checkpoints of 90 GiB"));
  const models::Strategy strategy = strategy_of(job, "tp=2,recompute=full");
  CHECK(launch::checkpoint_note(job, strategy, target).empty());
  // Who asks for all of them gets them: 26 * 89.75 + 500 = 2834 GiB.
  job.run.checkpoints_kept = models::kAllCheckpoints;
  const auto whole = bundle_of(job, "tp=2,recompute=full", target);
  CHECK_FALSE(contains(text_of(whole, "node_run.sh"), "--save-retain-interval"));
  CHECK(contains(text_of(whole, "fsx-claim.yaml"), "storage: 4800Gi\n"));
  const char* note =
      "No checkpoint is removed: one every 100 steps makes 25 of 90 GiB by step 2500, 2.2 TiB; the file "
      "system of the "
      "folder's cluster files holds them all.";
  CHECK(contains(text_of(whole, "README.md"), note));
  CHECK(contains(launch::checkpoint_note(job, strategy, target), note));
}

TEST_CASE("TorchTitan on Trainium 2 starts the module with AWS's fork", "[launch]") {
  models::Job job = job_of("llama3-8b", 2, 8192, 128);
  job.cluster.instance = test_catalog().instance("trn2.48xlarge");
  job.pin.framework = "fsdp";
  const planner::Target& target = targets::of(job);
  REQUIRE(target.name() == "torchtitan");
  const auto files = bundle_of(job, "tp=4,shard=fsdp,recompute=full", target);
  const std::string run = text_of(files, "node_run.sh");
  CHECK(contains(run, "\"--module\" \"trnplan_config\""));
  CHECK(contains(run, "export PYTHONPATH=\"$plan"));
  CHECK(contains(run, "TORCH_NEURONX_NEFF_CACHE_DIR"));
  CHECK_FALSE(contains(run, "PYTORCH_ALLOC_CONF"));
  CHECK(contains(text_of(files, "settings.env"), "https://github.com/aws-neuron/torchtitan-neuron"));
  for (const auto& f : files) {
    INFO(f.name);
    CHECK_FALSE(contains(f.text, "TRNPLAN_DATA"));  // it fetches its data set by name
    CHECK_FALSE(contains(f.text, "on GPUs"));
  }
  CHECK(contains(text_of(files, "trnplan_config.py"), "backend=\"neuron\""));
  CHECK(contains(text_of(files, "eks-pytorchjob-train.yaml"), "aws.amazon.com/neuron: 16"));
  // What starts there is the module, whose revisions recompute no single layers.
  const auto expresses = [&](const char* recompute) {
    return target.expresses(
        job, strategy_of(job, std::string("tp=4,framework=fsdp,shard=fsdp,recompute=") + recompute));
  };
  CHECK(expresses("SelectiveOp"));
  CHECK_FALSE(expresses("full/2"));
}
