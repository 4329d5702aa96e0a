// A job from a model alone, and options that override a job's keys.
#include "io/input/job_input.h"

#include <map>

#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

class Memory : public Files {
 public:
  explicit Memory(std::map<std::string, std::string> files) : files_(std::move(files)) {}
  bool has(const std::filesystem::path& path) const override { return files_.count(path.string()) > 0; }
  std::string text(const std::filesystem::path& path) const override {
    const auto found = files_.find(path.string());
    if (found == files_.end())
      throw InputError(Diagnostic{{path.string(), 0, 0}, "", "no such file", "check"});
    return found->second;
  }

 private:
  std::map<std::string, std::string> files_;
};

const std::string kJob =
    "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 1024, tokens: 1T}\n"
    "cluster: {instance: trn1.32xlarge, nodes: 1}\npin: {tensor_parallel: 8}\n";
const std::string kNxdt = "tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml";

Memory memory() {
  std::string other = io::hf_config_json(test_catalog().architecture("llama3-8b"));
  const std::string layers = "\"num_hidden_layers\": 32";
  REQUIRE(contains(other, layers));
  other.replace(other.find(layers), layers.size(), "\"num_hidden_layers\": 30");
  return Memory({{"job.yaml", kJob},
                 {"config.json", io::hf_config_json(test_catalog().architecture("llama3-8b"))},
                 {"folder/config.json", io::hf_config_json(test_catalog().architecture("llama2-7b"))},
                 {"other.json", other},
                 {"nxdt.yaml", read_text(kNxdt)},
                 {"llama2-7b", kJob},
                 {"per-node.yaml",
                  "model: llama3-8b\ntraining: {sequence: 8192, global_batch: {per_node: 32}}\n"
                  "cluster: {instance: trn1.32xlarge, nodes: 2}\n"},
                 {"ls.yaml",
                  "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 64}\n"
                  "cluster: {neuron_ls: ls.txt}\n"},
                 {"ls.txt", read_text("tests/io/fixtures/neuron-ls-trn1.32xlarge.txt")}});
}

io::JobInput input_of(const std::string& argument, const io::JobOptions& options = {}) {
  return io::read_job_input(argument, options, test_catalog(), memory());
}
std::vector<Diagnostic> input_faults(const std::string& argument, const io::JobOptions& options = {}) {
  return faults_in([&] { input_of(argument, options); });
}
bool notes(const io::JobInput& input, const std::string& part) {
  for (const std::string& note : input.reading.notes) {
    if (contains(note, part)) return true;
  }
  return false;
}
io::JobOptions options_of(std::string io::JobOptions::*option, std::string text) {
  io::JobOptions options;
  options.*option = std::move(text);
  return options;
}

}  // namespace

TEST_CASE("a model of the catalogue alone is its published training on one node", "[io][job]") {
  const io::JobInput input = input_of("llama3-8b", options_of(&io::JobOptions::nodes, "4"));
  CHECK(input.source == io::JobSource::catalogue_model);
  const models::Job& job = input.reading.job;
  CHECK(job.architecture.name == "llama3-8b");
  CHECK(job.training.sequence == 8192);
  CHECK(job.training.global_batch == 1024);
  CHECK(job.cluster.instance.name == test_catalog().default_instance());
  CHECK(job.cluster.nodes == 4);
  CHECK(notes(input,
              "assumed --sequence 8192 --global-batch 1024, --instance trn1.32xlarge; training as in aws-"));
  CHECK(notes(input, "--instance trn1.32xlarge"));
  CHECK_FALSE(notes(input, "--nodes"));  // stated, so not assumed
  CHECK(input_of("meta-llama/Meta-Llama-3-8B").reading.job.architecture.name == "llama3-8b");
}

// These state steps and rates of their own; the answer reports only what was taken from the published
// training.
TEST_CASE("only what is taken of a published training is reported", "[io][job]") {
  io::JobOptions gpus = options_of(&io::JobOptions::instance, "p5.48xlarge");
  CHECK(notes(input_of("llama3-8b", gpus), "; sequence and batch as in aws-"));
  gpus.sequence = "4096";
  CHECK(notes(input_of("llama3-8b", gpus), "; batch as in aws-"));
  io::JobOptions trn2 = options_of(&io::JobOptions::instance, "trn2.48xlarge");
  CHECK(notes(input_of("llama3-8b", trn2), "; training as in aws-"));
  trn2.target = "torchtitan";
  CHECK(notes(input_of("llama3-8b", trn2), "; sequence and batch as in aws-"));
}

TEST_CASE("every training of the catalogue is one that its model can have", "[io][job]") {
  int trainings = 0;
  for (const std::string& name : test_catalog().models()) {
    const auto training = test_catalog().training(name);
    if (!training) continue;
    ++trainings;
    CAPTURE(name);
    CHECK(training->sequence <= test_catalog().architecture(name).max_positions);
    CHECK(contains(training->source, "aws-neuron/"));
    CHECK_NOTHROW(input_of(name == "llama2-7b" ? "Llama-2-7b-hf" : name));
  }
  CHECK(trainings > 12);
}

TEST_CASE("a training that nobody published has to be stated", "[io][job]") {
  const auto faults = input_faults("gpt-neox-20b");
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].key == "--sequence");
  CHECK(faults[0].fix == "add for example --sequence 2048");  // its max_position_embeddings
  CHECK(faults[1].key == "--global-batch");
  CHECK(input_faults("other.json").size() == 2);  // 30 layers: no model of the catalogue
  io::JobOptions stated;
  stated.sequence = "4096";
  stated.global_batch = "256..512";
  const models::Job job = input_of("other.json", stated).reading.job;
  CHECK(job.architecture.layers == 30);
  CHECK(job.space.smallest_batch == 256);
  CHECK(job.training.global_batch == 512);
}

TEST_CASE("a config.json and a folder with one are known by their content", "[io][job]") {
  const io::JobInput file = input_of("config.json");
  CHECK(file.source == io::JobSource::hf_config);
  CHECK(notes(file, "hf_llama3_8B_config.yaml"));  // the training of the catalogue's model of that shape
  const io::JobInput folder = input_of("folder");
  CHECK(folder.source == io::JobSource::hf_config);
  CHECK(folder.reading.job.training.sequence == 4096);
}

TEST_CASE("an NxDT YAML as the argument is known by its content", "[io][job]") {
  CHECK(io::job_source("nxdt.yaml", test_catalog(), memory()) == io::JobSource::nxdt);
  const io::JobInput input = input_of("nxdt.yaml", options_of(&io::JobOptions::nodes, "8"));
  CHECK(input.source == io::JobSource::nxdt);
  CHECK(input.reading.job.cluster.nodes == 8);
  CHECK(input.reading.job.training.global_batch == 1024);
}

TEST_CASE("options replace what a job says, and a note tells what", "[io][job]") {
  const io::JobInput plain = input_of("job.yaml");
  CHECK(plain.source == io::JobSource::job);
  CHECK(plain.reading.notes.empty());
  io::JobOptions options;
  options.nodes = "2..8";
  options.sequence = "4096";
  options.global_batch = "1024";
  const io::JobInput input = input_of("job.yaml", options);
  CHECK(input.reading.job.space.nodes == std::vector<int>{2, 4, 8});
  CHECK(input.reading.job.training.sequence == 4096);
  CHECK(input.reading.job.training.tokens == 1e12);
  CHECK(input.reading.job.pin.tensor_parallel == 8);
  CHECK(notes(input, "--nodes 2..8 (job: 1), --sequence 4096 (job: 8192)"));
  CHECK_FALSE(notes(input, "--global-batch"));  // it says the same
  const models::Job list =
      input_of("job.yaml", options_of(&io::JobOptions::instance, "trn1.32xlarge,trn1n.32xlarge")).reading.job;
  CHECK(list.space.instances.size() == 2);
  // A batch per node follows the nodes.
  CHECK(
      input_of("per-node.yaml", options_of(&io::JobOptions::nodes, "4")).reading.job.training.global_batch ==
      128);
}

TEST_CASE("a file that has the name of a model is meant", "[io][job]") {
  const io::JobInput input = input_of("llama2-7b");
  CHECK(input.source == io::JobSource::job);
  CHECK(input.reading.job.architecture.name == "llama3-8b");
  CHECK(notes(input, "is a file here"));
}

TEST_CASE("faults of options name the option", "[io][job]") {
  const auto unknown = input_faults("lama3-8b");
  REQUIRE(unknown.size() == 1);
  CHECK(unknown[0].fix == "did you mean llama3-8b?");
  CHECK(input_faults("none.yaml")[0].problem == "no such file");
  struct Row {
    std::string io::JobOptions::*option;
    const char *text, *key;
  };
  const Row rows[] = {{&io::JobOptions::nodes, "0", "--nodes"},
                      {&io::JobOptions::nodes, "nan", "--nodes"},
                      {&io::JobOptions::nodes, "8..4", "--nodes"},
                      {&io::JobOptions::nodes, "1,", "--nodes"},
                      {&io::JobOptions::instance, "trn1.33xlarge", "--instance"},
                      {&io::JobOptions::sequence, "-8", "--sequence"},
                      {&io::JobOptions::global_batch, "1.5", "--global-batch"},
                      {&io::JobOptions::global_batch, "512..128", "--global-batch"},
                      {&io::JobOptions::tokens, "inf", "--tokens"},
                      {&io::JobOptions::precision, "fp31", "--precision"},
                      {&io::JobOptions::release, "new", "--release"},
                      {&io::JobOptions::objective, "speed", "--objective"}};
  for (const Row& row : rows) {
    for (const char* argument : {"llama3-8b", "job.yaml"}) {
      CAPTURE(argument, row.text);
      const auto faults = input_faults(argument, options_of(row.option, row.text));
      REQUIRE(faults.size() == 1);
      CHECK(faults[0].at.file == "command line");
      CHECK(faults[0].key == row.key);
      CHECK_FALSE(faults[0].fix.empty());
    }
  }
  CHECK(input_faults("job.yaml", options_of(&io::JobOptions::deadline, "nan"))[0].key == "--deadline");
  // Limits without tokens ask how far the run gets.
  CHECK(input_of("llama3-8b", options_of(&io::JobOptions::deadline, "30d")).reading.job.deadline.value ==
        30 * 86400);
  CHECK(input_faults("job.yaml", options_of(&io::JobOptions::budget, "much"))[0].key == "--budget");
}

TEST_CASE("an instance that the cluster's file does not show is refused", "[io][job]") {
  const auto faults = input_faults("ls.yaml", options_of(&io::JobOptions::instance, "trn1n.32xlarge"));
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].key == "--instance");
  CHECK(input_of("ls.yaml", options_of(&io::JobOptions::nodes, "64")).reading.job.cluster.nodes == 64);
}
