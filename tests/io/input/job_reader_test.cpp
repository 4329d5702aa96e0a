#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "io/input/readers.h"
#include "targets/nxdt/nxdt_yaml.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/folder.h"
#include "tests/models/setup.h"

using namespace trnplan;
namespace fs = std::filesystem;

namespace {

io::JobReading reading_of(const std::string& text) {
  const TestFolder folder;
  return io::read_job(folder.write("job.yaml", text), test_catalog());
}

std::vector<Diagnostic> job_faults(const TestFolder& folder, const std::string& text) {
  return faults_in([&] { io::read_job(folder.write("job.yaml", text), test_catalog()); });
}

std::vector<Diagnostic> reading_faults(const std::string& text) {
  const TestFolder folder;
  return job_faults(folder, text);
}

/// A whole job with one line replaced.
std::string job(const std::string& model = "llama3-8b",
                const std::string& training = "{sequence: 8192, global_batch: 1024}",
                const std::string& cluster = "{instance: trn1.32xlarge, nodes: 1}",
                const std::string& more = "") {
  return "model: " + model + "\ntraining: " + training + "\ncluster: " + cluster + "\n" + more;
}

/// The fault of a job that has exactly one.
Diagnostic only_fault(const std::string& text) {
  const auto faults = reading_faults(text);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].at.line > 0);
  CHECK_FALSE(faults[0].fix.empty());
  return faults[0];
}

const std::string nxdt_head =
    "name: hf_llama\nmodel_source: hf\ntrainer:\n  devices: 32\n  num_nodes: 4\n  max_steps: 10000\n"
    "exp_manager:\n  checkpoint_callback_params:\n    filename: 'hf_llama3_8B--{step}-{consumed_samples}'\n"
    "distributed_strategy:\n  tensor_model_parallel_size: 32\n  pipeline_model_parallel_size: 1\n  zero1: "
    "True\n"
    "  sequence_parallel: True\n  kv_replicator: 4\ndata:\n  micro_batch_size: 1\n  global_batch_size: "
    "1024\n";

std::string hf_nxdt(const std::string& model_config = "/nonexistent/config.json",
                    const std::string& layers = "32", const std::string& hidden = "4096",
                    const std::string& rope = "  rope_theta: 500000.0\n") {
  return nxdt_head + "model:\n  model_config: " + model_config + "\n  encoder_seq_length: 8192\n" +
         "  max_position_embeddings: 8192\n  num_layers: " + layers + "\n  hidden_size: " + hidden + "\n" +
         rope +
         "  activations_checkpoint_granularity: selective\n  activations_checkpoint_recompute: "
         "[CoreAttention]\n"
         "  fusions:\n    flash_attention: True\nprecision:\n  type: 'mixed_precision'\n";
}

std::string megatron_nxdt(const std::string& heads = "32") {
  return nxdt_head +
         "model:\n  encoder_seq_length: 2048\n  max_position_embeddings: 2048\n  num_layers: 32\n"
         "  hidden_size: 4096\n  ffn_hidden_size: 16384\n  num_attention_heads: " +
         heads +
         "\n  num_kv_heads: 32\n"
         "  share_embeddings_and_output_weights: True\n  position_embedding_type: 'learned_absolute'\n  "
         "activation: 'gelu'\n"
         "  has_bias: True\n  fusions:\n    flash_attention: False\n";
}

}  // namespace

TEST_CASE("the job of the design", "[io][job]") {
  const auto reading =
      reading_of(job("llama3-8b", "{sequence: 8192, global_batch: 1024, tokens: 15T, precision: autocast}",
                     "{instance: trn1.32xlarge, nodes: 4}",
                     "software: {framework: nxdt, release: 2.20}\nobjective: step_time\n"
                     "pin: {tensor_parallel: 8, recompute: \"CoreAttention+LlamaMLP\", zero1: True}\n"));
  const models::Job& j = reading.job;
  CHECK(j.architecture.name == "llama3-8b");
  CHECK(j.training.sequence == 8192);
  CHECK(j.training.global_batch == 1024);
  CHECK(j.training.tokens == 15e12);
  CHECK(j.training.precision == models::Precision::autocast);
  CHECK(j.cluster.nodes == 4);
  CHECK(j.cluster.cores() == 128);
  CHECK(j.software.framework == "nxdt");
  CHECK(j.software.release == "2.20");  // not the number 2.2
  CHECK(j.pin.tensor_parallel == 8);
  CHECK(j.pin.zero1 == true);
  CHECK_FALSE(j.pin.pipeline_parallel.has_value());
  REQUIRE(j.pin.recompute.has_value());
  CHECK(j.pin.recompute->mlp);
  CHECK(reading.notes.empty());
}

TEST_CASE("what a job leaves open is as its framework does it", "[io][job]") {
  const auto with = [](const std::string& training, const std::string& rest) {
    return reading_of(job("bert-large", training, "{instance: trn1.32xlarge, nodes: 16}", rest)).job;
  };
  const models::Job bert = with("{sequence: 128, global_batch: 16384}", "software: {framework: bert}\n");
  CHECK(bert.training.precision == models::Precision::bf16_sr);
  CHECK(bert.pin.zero1 == false);
  CHECK(bert.architecture.dropout);
  const models::Job stated = with("{sequence: 128, global_batch: 16384, precision: mixed_precision}",
                                  "software: {framework: bert}\npin: {zero1: true}\n");
  CHECK(stated.training.precision == models::Precision::mixed_precision);
  CHECK(stated.pin.zero1 == true);
  const models::Job other = with("{sequence: 128, global_batch: 16384}", "");
  CHECK(other.training.precision == models::Precision::mixed_precision);
  CHECK_FALSE(other.pin.zero1.has_value());
  CHECK_FALSE(other.architecture.dropout);
}

TEST_CASE("a framework's name that is not known", "[io][job]") {
  const auto fix = [](const std::string& lines) {
    const auto faults = faults_in([&] {
      reading_of(job("llama3-8b", "{sequence: 8192, global_batch: 1024}", "{instance: p5.48xlarge, nodes: 2}",
                     lines));
    });
    REQUIRE(faults.size() == 1);
    return faults.front().fix;
  };
  CHECK(fix("pin: {framework: megatrom}\n") == "did you mean megatron?");
  CHECK(contains(fix("pin: {framework: pytorch}\n"), "use one of: nxd, overlapped, megatron, fsdp, "));
  // A loop is not what trains with it.
  CHECK(fix("pin: {framework: torchtitan}\n") ==
        "write fsdp, the training loop of torchtitan, whose own name is software.framework: torchtitan, or "
        "--target of plan");
  CHECK(contains(fix("pin: {framework: nxdt}\n"), "write nxd, the training loop of nxdt"));
  CHECK(contains(fix("pin: {framework: pytorch}\n"),
                 "; a stack (nxdt, nemo-megatron, nxd, bert, megatron, torchtitan"));
  CHECK(contains(fix("pin: {framework: pytorch}\n"), ") is named by software.framework or --target of plan"));
  CHECK(fix("software: {framework: torchtitam}\n") == "did you mean torchtitan?");
  const std::string other = fix("software: {framework: pytorch}\n");
  CHECK(contains(other, "use one of: nxdt, nemo-megatron, nxd, bert, megatron, torchtitan"));
  CHECK(contains(other, "; a training loop (nxd, "));
  CHECK(contains(other, "fsdp-eager, "));
  CHECK(contains(other, ") is named by pin.framework, or framework= in a strategy"));
  CHECK(fix("software: {framework: fsdp}\n") ==
        "write torchtitan, which trains with that loop, or pin: {framework: fsdp}; in a strategy write "
        "framework=fsdp");
  CHECK(contains(fix("software: {framework: fsdp-async-tp}\n"), "write torchtitan, which trains with"));
}

// Pins were judged by NxD's loop whatever trains: zero3 was "none that nxd has" with --target torchtitan on GPUs.
TEST_CASE("a pin is judged by the training loops that may train the job", "[io][job]") {
  const TestFolder folder;
  const auto read = [&](const char* machine, const char* pin, const std::string& more,
                        const char* target) -> std::string {
    const std::string text =
        job("llama3-8b", "{sequence: 8192, global_batch: 1024}",
            "{instance: " + std::string(machine) + ", nodes: 2}", "pin: {" + std::string(pin) + "}\n" + more);
    try {
      (void)io::job_from(parse_document(text, "job.yaml"), "job.yaml", test_catalog(), disk(), target);
    } catch (const InputError& e) {
      return to_string(e.faults().at(0));
    }
    return "";
  };
  CHECK(read("p5.48xlarge", "sharding: zero3", "", "torchtitan") == "");
  CHECK(read("p5.48xlarge", "sharding: zero3", "", "") == "");  // one of the two that are searched has it
  CHECK(read("p5.48xlarge", "sharding: zero3", "software: {framework: torchtitan}\n", "") == "");
  CHECK(read("p5.48xlarge", "sharding: zero3, framework: fsdp-eager", "", "") == "");
  CHECK(read("p5.48xlarge", "shard_degree: 8", "", "torchtitan") == "");
  CHECK(contains(read("p5.48xlarge", "sharding: zero3", "", "megatron"),
                 "\"zero3\" is not one that megatron has"));
  CHECK(read("p5.48xlarge", "shard_degree: 8", "", "megatron") == "");
  CHECK(contains(read("trn1.32xlarge", "shard_degree: 8", "", ""), "nxd shards over all"));
  CHECK(contains(read("p5.48xlarge", "sharding: zero4", "", ""), "is not a sharding that is modelled"));
  CHECK(contains(read("trn1.32xlarge", "sharding: zero3", "", ""), "is not one that nxd has"));
  CHECK(read("trn2.48xlarge", "sharding: zero3", "", "torchtitan") == "");
  CHECK(contains(read("p5.48xlarge", "schedule: zero-bubble", "", "torchtitan"),
                 "\"zero-bubble\" is not one that fsdp has"));
}

TEST_CASE("software beyond framework and release", "[io][job]") {
  const auto with = [](const std::string& software) {
    return reading_of(job("llama3-8b", "{sequence: 8192, global_batch: 1024}", "{instance: trn1.32xlarge}",
                          "software: {" + software + "}\n"));
  };
  const io::JobReading reading =
      with("version: \"1.4\", requests_in_flight: 3, fuse_qkv: false, sequential_move_factor: 8");
  const models::Software& s = reading.job.software;
  CHECK(s.version == "1.4");
  CHECK(s.in_flight == 3);
  CHECK_FALSE(s.fuse_qkv);
  CHECK(s.sequential_move == 8);
  CHECK(reading.notes.empty());
  CHECK(with("version: \"1.9\"").notes.size() == 1);  // a remark, never a refusal
  for (const char* wrong :
       {"version: new", "requests_in_flight: 0", "sequential_move_factor: 33", "fuse_qkv: 3"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(with(wrong), InputError);
  }
}

TEST_CASE("attention and schedule are any or one", "[io][job]") {
  const auto pin = [](const std::string& pins) {
    return reading_of(job("llama3-8b", "{sequence: 8192, global_batch: 1024}", "{instance: trn1.32xlarge}",
                          "pin: {" + pins + "}\n"))
        .job.pin;
  };
  CHECK_FALSE(pin("flash_attention: any, schedule: any").flash_attention);
  CHECK_FALSE(pin("schedule: any").schedule);
  CHECK(pin("flash_attention: false").flash_attention == false);
  CHECK(pin("schedule: interleaved").schedule == models::Schedule::interleaved);
  CHECK_THROWS_AS(pin("schedule: zero-bubble"), InputError);  // a what-if
  CHECK_THROWS_AS(pin("schedule: fastest"), InputError);
  CHECK_THROWS_AS(pin("flash_attention: both"), InputError);
}

TEST_CASE("what a job may leave out", "[io][job]") {
  const models::Job j =
      reading_of(job("llama3-8b", "{sequence: 8192, global_batch: 1024}", "{instance: trn1.32xlarge}")).job;
  CHECK(j.cluster.nodes == 1);
  CHECK(j.training.tokens == 0);
  CHECK(j.training.precision == models::Precision::mixed_precision);
  CHECK(j.software.framework.empty());
  CHECK_FALSE(j.pin.tensor_parallel.has_value());
}

TEST_CASE("models by the spellings people use", "[io][job]") {
  for (const char* name : {"Llama-3-8B", "LLAMA3-8B", "llama3_8b", "\"llama 3 8b\"",
                           "meta-llama/Meta-Llama-3-8B", "llama-3-8b-hf"}) {
    CAPTURE(name);
    CHECK(reading_of(job(name)).job.architecture.name == "llama3-8b");
  }
  CHECK(reading_of(job("Llama-3.1-8B")).job.architecture.name == "llama3.1-8b");
  CHECK(only_fault(job("llama3-18b")).key == "model");
  const Diagnostic near = only_fault(job("lama3-8b"));
  CHECK(contains(near.fix, "did you mean \"llama3-8b\""));
  CHECK(near.at.line == 1);
  CHECK(near.at.column == 8);
}

TEST_CASE("counts with a suffix", "[io][job]") {
  const auto reading = reading_of(job("llama3-8b", "{sequence: 8192, global_batch: 1.5k, tokens: 25.5M}"));
  CHECK(reading.job.training.global_batch == 1500);
  CHECK(reading.job.training.tokens == 25.5e6);
  CHECK(reading.notes.empty());
  // Reported: "tokens: 15", of which a step has more, ended within no seconds.
  const Diagnostic few = only_fault(job("llama3-8b", "{sequence: 8192, global_batch: 8, tokens: 15}"));
  CHECK(few.key == "training.tokens");
  CHECK(contains(few.problem, "one step, of 65536"));
  // Reported: 8K was read as 8000 tokens, and meant 8192.
  CHECK(contains(only_fault(job("llama3-8b", "{sequence: 8K, global_batch: 8}")).fix, "8192"));
  for (const char* sequence : {"8k", "0K", "1.0005K", "1T", "8Q", "-8K", "99999999"}) {
    CAPTURE(sequence);
    CHECK(only_fault(job("llama3-8b", "{sequence: " + std::string(sequence) + ", global_batch: 8}")).key ==
          "training.sequence");
  }
}

TEST_CASE("every fault at once, in the order of the file", "[io][job]") {
  const auto faults = reading_faults(
      "model: lama3-8b\ntraining: {sequence: -1, globalbatch: 1024}\ncluster: {instance: trn1.32xlage, "
      "nodes: "
      "0}\npin: {tensor_paralel: 8}\n"
      "objektive: step_time\n");
  REQUIRE(faults.size() == 8);
  CHECK(std::is_sorted(faults.begin(), faults.end(),
                       [](const auto& a, const auto& b) { return a.at.line < b.at.line; }));
  const auto fix_of = [&](const std::string& key) {
    const auto found =
        std::find_if(faults.begin(), faults.end(), [&](const auto& f) { return f.key == key; });
    return found == faults.end() ? std::string("no such fault") : found->problem + " / " + found->fix;
  };
  CHECK(contains(fix_of("training.sequence"), "\"-1\" is not a whole number of at least 1"));
  CHECK(fix_of("training.globalbatch") == "unknown key / did you mean \"global_batch\"?");
  CHECK(contains(fix_of("training.global_batch"), "missing"));
  CHECK(contains(fix_of("cluster.nodes"), "\"0\" is not a whole number"));
  CHECK(contains(fix_of("cluster.instance"), "did you mean"));
  CHECK(fix_of("pin.tensor_paralel") == "unknown key / did you mean \"tensor_parallel\"?");
  CHECK(fix_of("objektive") == "unknown key / did you mean \"objective\"?");
}

TEST_CASE("what cannot be pinned says so", "[io][job]") {
  const auto unsupported = [](const std::string& text, const std::string& key) {
    const Diagnostic d = only_fault(text);
    CHECK(d.key == key);
    CHECK(contains(d.problem, "cannot be pinned"));
  };
  const std::string training = "{sequence: 8192, global_batch: 8}", cluster = "{instance: trn1.32xlarge}";
  unsupported(job("llama3-8b", training, cluster, "pin: {pipeline_cuts: [8]}\n"), "pin.pipeline_cuts");
  CHECK(contains(only_fault(job("llama3-8b", training, cluster, "pin: {precision: fp32}\n")).fix,
                 "training.precision"));
}

TEST_CASE("what is left to the planner", "[io][job]") {
  const auto freed = [](const std::string& training, const std::string& cluster,
                        const std::string& rest = "") {
    return reading_of("model: llama3-8b\ntraining: " + training + "\ncluster: " + cluster + "\n" + rest).job;
  };
  const std::string plain = "{sequence: 8192, global_batch: 8}", one = "{instance: trn1.32xlarge}";
  SECTION("precision and ZeRO-1") {
    const models::Job j =
        freed("{sequence: 8192, global_batch: 8, precision: any}", one, "pin: {zero1: any}\n");
    CHECK(j.space.precision);
    CHECK(j.space.zero1);
    CHECK_FALSE(j.pin.zero1);
    CHECK_FALSE(freed(plain, one).space.precision);
    CHECK_FALSE(freed(plain, one).space.zero1);
  }
  SECTION("a range of batches") {
    const models::Job j = freed("{sequence: 8192, global_batch: 512..2048}", one);
    CHECK(j.space.smallest_batch == 512);
    CHECK(j.space.largest_batch == 2048);
    CHECK(j.training.global_batch == 2048);
  }
  SECTION("a batch for each node") {
    const models::Job j =
        freed("{sequence: 8192, global_batch: {per_node: 32}}", "{instance: trn1.32xlarge, nodes: 3}");
    CHECK(j.space.batch_per_node == 32);
    CHECK(j.training.global_batch == 96);
  }
  SECTION("nodes") {
    using Nodes = std::vector<int>;
    CHECK(freed(plain, "{instance: trn1.32xlarge, nodes: 4..24}").space.nodes == Nodes{4, 8, 16, 24});
    const models::Job j = freed(plain, "{instance: trn1.32xlarge, nodes: [16, 4, 6..12]}");
    CHECK(j.space.nodes == Nodes{4, 6, 12, 16});
    CHECK(j.cluster.nodes == 16);
  }
  SECTION("instance types") {
    std::vector<std::string> names;
    for (const auto& i : freed(plain, "{instance: any}").space.instances) names.push_back(i.name);
    CHECK(names == std::vector<std::string>{"trn1.2xlarge", "trn1.32xlarge", "trn1n.32xlarge"});
    const models::Job j = freed(plain, "{instance: [trn1n.32xlarge, trn1.32xlarge]}");
    REQUIRE(j.space.instances.size() == 2);
    CHECK(j.cluster.instance.name == "trn1n.32xlarge");
  }
  SECTION("objectives and limits") {
    const std::string tokens = "{sequence: 8192, global_batch: 8, tokens: 2T}";
    CHECK(freed(tokens, one, "objective: cost\n").objective == models::Objective::cost);
    const models::Job j = freed(tokens, one, "objective: deadline\ndeadline: 30d\nbudget: 2.5M\n");
    CHECK(j.objective == models::Objective::deadline);
    CHECK(j.deadline == Seconds(30 * 86400));
    CHECK(j.budget == 2.5e6);
    CHECK(freed(tokens, one).budget == 0);
  }
}

TEST_CASE("faults in what is left to the planner, with their places", "[io][job]") {
  const auto keys = [](const std::string& text) {
    std::string all;
    for (const Diagnostic& d : reading_faults(text)) {
      CAPTURE(to_string(d));
      CHECK(d.at.line > 0);
      CHECK_FALSE(d.fix.empty());
      all += d.key + "@" + std::to_string(d.at.line) + ":" + std::to_string(d.at.column) + " ";
    }
    return all;
  };
  // All at once: two types and two numbers that do not exist, a deadline and tokens that are missing.
  CHECK(keys("model: llama3-8b\ntraining: {sequence: 8192, global_batch: 9..8}\n"
             "cluster: {instance: [trn1.32xlarge, trn9, trn1.32xlarge], nodes: [4, 0, 2000]}\n"
             "objective: deadline\nbudget: 5\n") ==
        "training.global_batch@2:42 cluster.nodes@3:70 cluster.nodes@3:73 cluster.instance@3:37 "
        "cluster.instance@3:43 objective@4:12 ");
  const std::string start = "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 8, tokens: 1T}\n";
  const std::string cluster = "cluster: {instance: trn1.32xlarge}\n";
  CHECK(keys(start + cluster + "deadline: 30\n") == "deadline@4:11 ");
  CHECK(keys(start + cluster + "deadline: 0d\n") == "deadline@4:11 ");
  CHECK(keys(start + cluster + "budget: -1\n") == "budget@4:9 ");
  CHECK(keys(start + cluster + "objective: price\n") == "objective@4:12 ");
  CHECK(keys(start + "cluster: {instance: []}\n") == "cluster.instance@3:21 ");
  CHECK(keys(start + "cluster: {instance: trn1.32xlarge, nodes: []}\n") == "cluster.nodes@3:43 ");
  CHECK(keys("model: llama3-8b\ntraining: {sequence: 8192, global_batch: {per_nod: 3}}\n" + cluster) ==
        "training.global_batch.per_node@2:42 training.global_batch.per_nod@2:43 ");
  CHECK(keys("model: llama3-8b\ntraining: {sequence: 8192, global_batch: {per_node: 99999999}}\n"
             "cluster: {instance: trn1.32xlarge, nodes: 2}\n") == "training.global_batch@2:42 ");
}

TEST_CASE("a model from a config.json in the job's folder", "[io][job]") {
  const TestFolder folder;
  models::Architecture a = test_catalog().architecture("llama3-8b");
  a.layers = 5;
  folder.write("mine/config.json", io::hf_config_json(a));
  for (const char* model : {"mine/config.json", "mine", "./mine/config.json"}) {
    CAPTURE(model);
    const auto reading = io::read_job(folder.write("job.yaml", job(model)), test_catalog());
    CHECK(reading.job.architecture.layers == 5);
    CHECK(reading.job.architecture.name == "mine");
  }
  folder.write("bad/config.json", "{\"model_type\": \"llama\"}");
  const auto faults = job_faults(folder, job("bad", "{sequence: 0, global_batch: 8}"));
  CHECK(faults.size() > 4);  // those of both files
}

TEST_CASE("what a job names is looked for in the files it is read with alone", "[io][job]") {
  const TestFolder folder;
  const fs::path outside =
      folder.write("config.json", io::hf_config_json(test_catalog().architecture("llama3-8b")));
  struct OneJob : Files {
    std::string job;
    bool has(const fs::path& path) const override { return path == "job.yaml"; }
    std::string text(const fs::path& path) const override {
      REQUIRE(path == "job.yaml");
      return job;
    }
  } files;
  files.job = job();
  CHECK(io::read_job("job.yaml", test_catalog(), files).job.architecture.name == "llama3-8b");
  files.job = job(outside.string());
  CHECK_NOTHROW(io::read_hf_config(outside));
  CHECK_THROWS_AS(io::read_job("job.yaml", test_catalog(), files), InputError);
}

TEST_CASE("keys of alignment and adapters are not modelled, and said so", "[io][job]") {
  for (const char* more : {"dpo: {kl_beta: 0.01}\n", "sft: {packing: true}\n", "lora: {rank: 16}\n",
                           "model_alignment_strategy: {orpo: {beta: 0.1}}\n", "peft: {lora_rank: 16}\n"}) {
    CAPTURE(more);
    const Diagnostic fault = only_fault(job("llama3-8b", "{sequence: 8192, global_batch: 1024}",
                                            "{instance: trn1.32xlarge, nodes: 1}", more));
    CHECK(contains(fault.problem, "is not modelled"));
    CHECK(fault.at.line == 4);
  }
  const Diagnostic inside = only_fault(job("llama3-8b", "{sequence: 8192, global_batch: 1024, lora: true}"));
  CHECK(inside.key == "training.lora");
  CHECK(contains(inside.problem, "LoRA is not modelled"));
  // A misspelt key is still one.
  CHECK(only_fault(job("llama3-8b", "{sequence: 8192, global_batch: 1024, tokenz: 1T}")).problem ==
        "unknown key");
}

TEST_CASE("a cluster from neuron-ls", "[io][job]") {
  const TestFolder folder;
  fs::copy_file(source_file("tests/io/fixtures/neuron-ls-trn1.32xlarge.txt"), folder.path / "ls.txt");
  const std::string training = "{sequence: 8192, global_batch: 1024}";
  const auto reading = io::read_job(
      folder.write("job.yaml", job("llama3-8b", training, "{neuron_ls: ls.txt, nodes: 2}")), test_catalog());
  CHECK(reading.job.cluster.instance.name == "trn1.32xlarge");
  CHECK(reading.job.cluster.cores() == 64);
  const auto faults =
      job_faults(folder, job("llama3-8b", training, "{neuron_ls: ls.txt, instance: trn1.2xlarge}"));
  REQUIRE(faults.size() == 1);
  CHECK(contains(faults[0].problem, "shows a trn1.32xlarge"));
}

TEST_CASE("an NxDT YAML supplies training, nodes and pins", "[io][job][nxdt]") {
  const TestFolder folder;
  folder.write("current.yaml", hf_nxdt());
  const auto reading = io::read_job(folder.write("job.yaml", "model: current.yaml\n"), test_catalog());
  const models::Job& j = reading.job;
  CHECK(j.architecture.name == "llama3-8b");
  CHECK(j.training.sequence == 8192);
  CHECK(j.training.global_batch == 1024);
  CHECK(j.cluster.nodes == 4);
  CHECK(j.cluster.instance.name == "trn1.32xlarge");
  CHECK(j.pin.tensor_parallel == 32);
  CHECK(j.pin.kv_replicator == 4);
  CHECK(j.pin.sequence_parallel == true);
  CHECK_FALSE(j.pin.data_parallel.has_value());
  CHECK(reading.notes.size() >= 2);  // the guessed model and the assumed instance

  const std::string own =
      "model: current.yaml\ntraining: {global_batch: 512}\ncluster: {instance: trn1.32xlarge, nodes: 2}\n"
      "pin: {tensor_parallel: 8}\n";
  const models::Job stated = io::read_job(folder.write("job.yaml", own), test_catalog()).job;
  CHECK(stated.training.sequence == 8192);
  CHECK(stated.training.global_batch == 512);
  CHECK(stated.cluster.nodes == 2);
  CHECK(stated.pin.tensor_parallel == 8);
  CHECK(stated.pin.micro_batch == 1);
}

TEST_CASE("the model an HF NxDT config trains", "[io][job][nxdt]") {
  const TestFolder folder;
  const auto trains = [&](const std::string& text) {
    return io::architecture_of_nxdt(targets::read_nxdt(folder.write("c.yaml", text)), test_catalog());
  };
  CHECK(trains(hf_nxdt()).architecture.name == "llama3-8b");
  CHECK(trains(hf_nxdt("x", "80", "8192")).architecture.name == "llama3-70b");
  CHECK(trains(hf_nxdt("x", "126", "16384")).architecture.name == "llama3.1-405b");
  CHECK(trains(replaced(hf_nxdt("x"), "llama3_8B", "llama3.1_8B")).architecture.name == "llama3.1-8b");

  // hf_llama_7B_config.yaml: four layers of hidden size 4096, no rope_theta.
  const auto small = trains(replaced(hf_nxdt("x", "4", "4096", ""), "llama3_8B", "llama"));
  CHECK(small.architecture.name == "llama2-7b");
  CHECK(small.architecture.layers == 4);
  CHECK(small.architecture.vocabulary == 32000);
  CHECK(small.notes.size() == 2);

  models::Architecture own = test_catalog().architecture("llama3-8b");
  own.vocabulary = 64000;
  folder.write("config.json", io::hf_config_json(own));
  const auto read = trains(hf_nxdt("config.json", "16"));
  CHECK(read.architecture.vocabulary == 64000);
  CHECK(read.architecture.layers == 16);  // the YAML overrides the config.json
  CHECK(read.architecture.flash_attention);
  CHECK(read.notes.empty());

  // Places of the experts: the training loop's own when the YAML is silent; dropless has none.
  const auto capacity = [&](const std::string& moe) {
    const std::string mixtral = replaced(hf_nxdt("x", "32", "4096"), "name: hf_llama", "name: hf_mixtral");
    return trains(replaced(mixtral, "  num_layers", "  moe: {" + moe + "}\n  num_layers"))
        .architecture.capacity_factor;
  };
  CHECK_FALSE(capacity("num_experts: 8").has_value());
  CHECK(capacity("num_experts: 8, capacity_factor: 1.5") == 1.5);
  CHECK(capacity("num_experts: 8, capacity_factor: 2.0, dropless: True") == 0);

  CHECK_THROWS_AS(trains(hf_nxdt("x", "32", "4100")), InputError);
  CHECK_THROWS_AS(trains(hf_nxdt("x", "0")), InputError);
  CHECK_THROWS_AS(trains(hf_nxdt("x", "999999999")), InputError);
}

TEST_CASE("the model a Megatron NxDT config trains", "[io][job][nxdt]") {
  const TestFolder folder;
  const auto trains = [&](const std::string& text) {
    return io::architecture_of_nxdt(targets::read_nxdt(folder.write("c.yaml", text)), test_catalog());
  };
  const std::string gpt = replaced(replaced(megatron_nxdt(), "name: hf_llama", "name: megatron_gpt"),
                                   "model_source: hf", "model_source: megatron");
  const auto reading = trains(gpt);
  const models::Architecture& a = reading.architecture;
  CHECK(a.norm == models::Norm::layer);
  CHECK(a.intermediate == 16384);
  CHECK(a.heads == 32);
  CHECK(a.head_dim == 128);
  CHECK(a.mlp == models::Mlp::plain);
  CHECK(a.learned_positions);
  CHECK(a.tied_embeddings);
  CHECK(a.biases);
  CHECK_FALSE(a.flash_attention);
  CHECK(a.vocabulary == 53248);  // 50257 to a multiple of 128 x TP 32
  CHECK(reading.notes.size() == 1);
  const auto padded = [&](const std::string& multiple) {
    return trains(replaced(gpt, "  num_layers",
                           "  make_vocab_size_divisible_by: " + multiple + "\n  num_layers"))
        .architecture.vocabulary;
  };
  CHECK(padded("2") == 50304);
  CHECK(padded("1000000000") == 50257);  // nonsense is left alone
  CHECK(padded("0") == 50272);
  CHECK_THROWS_AS(trains(replaced(gpt, "  num_attention_heads: 32\n", "")), InputError);
  CHECK_THROWS_AS(trains(replaced(gpt, "num_attention_heads: 32", "num_attention_heads: 33")), InputError);
  CHECK_THROWS_AS(trains(replaced(gpt, "num_kv_heads: 32", "num_kv_heads: 5")), InputError);
}
