// Every row: the exit code; one clear message, which says where and what and how to mend it; no name of an
// exception, nothing that drives a terminal; nothing on standard output; no file written or changed.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include "launch/process/process.h"
#include "tests/catch.h"
#include "tests/hostile/hostile.h"
#include "text/diagnostic.h"

using namespace trnplan;
using namespace trnplan::hostile;
namespace fs = std::filesystem;

namespace {

constexpr const char* kJob =
    "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 1024, tokens: 1T}\n"
    "cluster: {instance: trn1.32xlarge, nodes: 1}\npin: {tensor_parallel: 8}\n";
constexpr const char* kPlanned =
    "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 1024}\ncluster: {instance: trn1.32xlarge, "
    "nodes: 1}\npin: {tensor_parallel: 8, pipeline_parallel: 1, micro_batch: 1, recompute: "
    "CoreAttention+LlamaMLP}\n";
constexpr const char* kConfig =
    "{\"model_type\": \"llama\", \"num_hidden_layers\": 4, \"hidden_size\": 1024, \"intermediate_size\": "
    "2816, \"num_attention_heads\": 16, \"num_key_value_heads\": 8, \"vocab_size\": 32000, "
    "\"max_position_embeddings\": 8192, \"rms_norm_eps\": 1e-5, \"rope_theta\": 10000.0}\n";
constexpr const char* kGrid = "job: job.yaml\ntokens: 1T\nnodes: [1, 2]\nglobal_batch: [512, 1024]\n";
constexpr const char* kProfile =
    "{\"name\": \"mine\", \"base\": \"trn1\", \"parameters\": {\"hbm_fraction\": {\"median\": 0.5, "
    "\"log_sd\": 0.1, \"unit\": \"1\", \"source\": \"measured\"}}}\n";
constexpr const char* kHealth =
    "[trnplan] nodes n1\nnccom-test -r 32 -N 1 -d bf16 allr\n"
    "size(B) count(elems) type time:avg(us)\n67108864 33554432 bf16 1300\n"
    "[trnplan] nodes n1 n2\nnccom-test -r 64 -N 2 -d bf16 allr --hosts n1 n2\n"
    "size(B) count(elems) type time:avg(us)\n67108864 33554432 bf16 2600\n";
constexpr const char* kScript =
    "CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun --nproc_per_node 8 pretrain_gpt.py \\\n  --num-layers 8 "
    "--hidden-size 1024 --ffn-hidden-size "
    "2816 "
    "--num-attention-heads 16 --group-query-attention \\\n  --num-query-groups 8 --kv-channels 64 "
    "--seq-length 2048 "
    "--max-position-embeddings 4096 --micro-batch-size 1 \\\n  --global-batch-size 16 --vocab-size 32000 "
    "--padded-vocab-size 32256 --tensor-model-parallel-size 2 \\\n  --pipeline-model-parallel-size 2 "
    "--context-parallel-size 1 --expert-model-parallel-size 1 --rotary-base 500000 --bf16\n";
constexpr const char* kToml =
    "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 2\nglobal_batch_size = 8\n"
    "seq_len = 4096\n[parallelism]\ndata_parallel_replicate_degree = 1\ndata_parallel_shard_degree = 2\n"
    "tensor_parallel_degree = 2\ncontext_parallel_degree = 1\npipeline_parallel_degree = 2\n"
    "expert_parallel_degree = 1\npipeline_parallel_microbatch_size = 1\n"
    "pipeline_parallel_first_stage_less_layers = 1\npipeline_parallel_last_stage_less_layers = 1\n";
constexpr const char* kModule =
    "def trnplan():\n    config = shipped(\"llama3_8b\")\n    put(config.training, local_batch_size=2, "
    "global_batch_size=8, seq_len=4096)\n    put(\n        config.parallelism,\n"
    "        data_parallel_replicate_degree=1,\n        data_parallel_shard_degree=2,\n"
    "        tensor_parallel_degree=2,\n        context_parallel_degree=1,\n        "
    "pipeline_parallel_degree=2,\n"
    "        expert_parallel_degree=1,\n        pipeline_parallel_microbatch_size=1,\n"
    "        pipeline_parallel_first_stage_less_layers=1,\n        "
    "pipeline_parallel_last_stage_less_layers=1,\n    )\n";
constexpr const char* kLaunched =
    "{\"schema_version\": 1, \"scheduler\": \"slurm\", \"jobs\": {\"compile\": \"7\", \"train\": \"8\"}}\n";

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  INFO("\"" << from << "\" is not in the sound file");
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// Findings as they were before they were fitted to the terminal.
std::string unwrapped(const std::string& text) {
  std::istringstream words(text);
  std::string all;
  for (std::string word; words >> word;) all += (all.empty() ? "" : " ") + word;
  return all;
}

/// The header and the rows that begin with one of the names.
std::string rows_of(const std::string& table, const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t at = 0; at < table.size();) {
    const std::size_t end = std::min(table.find('\n', at), table.size());
    const std::string row = table.substr(at, end - at);
    const bool wanted = std::any_of(names.begin(), names.end(),
                                    [&](const std::string& name) { return row.starts_with(name + ","); });
    if (at == 0 || wanted) text += row + "\n";
    at = end + 1;
  }
  return text;
}

/// A sound file, the files next to it, and the command that reads it.
struct Kind {
  std::string file, text;
  std::vector<std::string> command;
  std::map<std::string, std::string> neighbours = {};
  bool own_catalog = false, plan = false;
};

class Table {
 public:
  Table() : source_(fs::canonical(TRNPLAN_SOURCE_DIR)) {
    std::string pattern = (fs::temp_directory_path() / "trnplan-hostile-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    work_ = pattern;
    const char* program = std::getenv("TRNPLAN_PROGRAM");
    REQUIRE(program != nullptr);
    program_ = program;
    make_kinds();
  }
  ~Table() {
    fs::current_path(source_);
    fs::remove_all(work_);
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  void check(const Edit& row) {
    const Kind& kind = kinds_.at(row.kind);
    INFO(row.kind << ": " << printable(row.from, 80) << " -> " << printable(row.to, 80));
    const fs::path here = fresh_folder();
    if (kind.own_catalog) fs::copy(source_ / "catalog", here / "catalog", fs::copy_options::recursive);
    if (kind.plan) fs::copy(planned(), here / "plan", fs::copy_options::recursive);
    for (const auto& [name, text] : kind.neighbours) write(here / name, text);
    std::vector<std::string> command = kind.command;
    if (kind.file.empty()) {
      command.push_back(row.to);
    } else {
      const std::string sound = kind.text.empty() ? read(here / kind.file) : kind.text;
      write(here / kind.file, row.from == kWhole    ? row.to
                              : row.from == kCut    ? sound.substr(0, std::stoul(row.to))
                              : row.from == kAppend ? sound + row.to
                              : row.from == kAgain
                                  ? sound + sound.substr(sound.rfind('\n', sound.size() - 2) + 1)
                                  : replaced(sound, row.from, row.to));
    }
    judge(here, command, row.says, row.code, kind.own_catalog ? "catalog" : "");
  }

  void check(const Command& row) {
    std::string shown;
    for (const std::string& word : row.arguments) shown += " " + printable(word, 80);
    INFO("trnplan" << shown);
    const fs::path here = fresh_folder();
    write(here / "job.yaml", kJob);
    write(here / "nxdt.yaml", kinds_.at("nxdt").text);
    write(here / "c.csv", kinds_.at("collectives").text);
    write(here / "grid.yaml", kGrid);
    write(here / "train.log", kinds_.at("log").text);
    write(here / "layouts.csv", kinds_.at("layouts").text);
    judge(here, row.arguments, row.says, 2, row.catalog);
  }

 private:
  void make_kinds() {
    const auto source = [&](const char* path) { return read(source_ / path); };
    const auto clusters = [](const std::string& line) {
      return std::map<std::string, std::string>{
          {"job.yaml", replaced(kJob, "instance: trn1.32xlarge, nodes: 1", line)}};
    };
    const std::string fixtures = "tests/io/fixtures/",
                      nxdt = source("tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml");
    const std::string log = source("examples/steps-of-a-log/train.log");
    const std::string layouts = rows_of(source("catalog/gpu-runs.csv"), {"U0004", "U0010"});
    const std::map<std::string, std::string> job = {{"job.yaml", kJob}};
    const auto check_run = [](const char* target, const char* file) {
      return std::vector<std::string>{"check", file, "--target", target, "--instance", "p5.48xlarge"};
    };
    kinds_ = {
        {"job", {"job.yaml", kJob, {"plan", "job.yaml", "--out", "new"}}},
        {"config",
         {"config.json",
          kConfig,
          {"plan", "job.yaml", "--out", "new"},
          {{"job.yaml", replaced(kJob, "llama3-8b", "config.json")}}}},
        {"nxdt", {"nxdt.yaml", nxdt, {"check", "nxdt.yaml"}}},
        {"baseline", {"nxdt.yaml", nxdt, {"plan", "job.yaml", "--baseline", "nxdt.yaml"}, job}},
        {"table",
         {"ls.txt",
          source("tests/io/fixtures/neuron-ls-trn1.32xlarge.txt"),
          {"topology", "--neuron-ls", "ls.txt"}}},
        {"lsjson",
         {"ls.json",
          source("tests/io/fixtures/neuron-ls-trn1.32xlarge.json"),
          {"topology", "--neuron-ls", "ls.json"}}},
        {"hyperpod",
         {"hp.json",
          source("tests/io/fixtures/cluster/hyperpod.json"),
          {"plan", "job.yaml"},
          clusters("hyperpod: hp.json")}},
        {"pcluster",
         {"pc.yaml",
          source("tests/io/fixtures/cluster/parallelcluster.yaml"),
          {"plan", "job.yaml"},
          clusters("parallelcluster: pc.yaml")}},
        {"sinfo",
         {"sinfo.txt",
          source("tests/io/fixtures/cluster/sinfo-nodes.txt"),
          {"plan", "job.yaml"},
          clusters("sinfo: sinfo.txt")}},
        {"profile",
         {"mine.json",
          kProfile,
          {"simulate", "job.yaml", "--strategy", "tp=8", "--profile", "mine.json"},
          job}},
        {"grid", {"grid.yaml", kGrid, {"sweep", "grid.yaml", "--collect"}, job}},
        {"offerings",
         {"offers.json",
          source("tests/io/fixtures/offerings/training-plans.json"),
          {"whatif", "job.yaml", "--offerings", "offers.json"},
          job}},
        {"reliability",
         {"rel.json",
          source("catalog/reliability.json"),
          {"whatif", "job.yaml", "--nodes", "1", "--reliability", "rel.json"},
          job}},
        {"instance",
         {"catalog/instances/mine.json",
          replaced(source("catalog/instances/trn1.32xlarge.json"), "\"name\": \"trn1.32xlarge\"",
                   "\"name\": \"mine\""),
          {"topology", "--instance", "mine"},
          {},
          true}},
        {"model",
         {"catalog/models/mine.json",
          source("catalog/models/llama3-8b.json"),
          {"plan", "job.yaml"},
          {{"job.yaml", replaced(kJob, "llama3-8b", "mine")}},
          true}},
        {"runs",
         {"runs.csv",
          rows_of(source("catalog/measured-runs.csv"), {"T175"}),
          {"validate", "runs.csv", "--leave-out", "none"}}},
        {"layouts", {"layouts.csv", layouts, {"validate", "--measured", "layouts.csv"}}},
        {"predictions",
         {"p.csv",
          "id,step_s,mem_gib\nU0004,0.16,20\n",
          {"validate", "--measured", "layouts.csv", "--predictions", "p.csv"},
          {{"layouts.csv", layouts}}}},
        {"scoring",
         {"catalog/scoring.json",
          source("catalog/scoring.json"),
          {"validate", "--measured", "layouts.csv"},
          {{"layouts.csv", layouts}},
          true}},
        {"collectives",
         {"c.csv",
          rows_of(source("catalog/measured-collectives.csv"), {"C001", "C002", "C003"}),
          {"calibrate", "c.csv", "--no-fit"}}},
        {"health", {"health.out", kHealth, {"collective", "allr", "--measured", "health.out"}}},
        {"script", {"train.sh", kScript, check_run("megatron", "train.sh")}},
        {"toml", {"run.toml", kToml, check_run("torchtitan", "run.toml")}},
        {"module", {"run.py", kModule, check_run("torchtitan", "run.py")}},
        {"log", {"train.log", log, {"calibrate", "train.log", "--out", "new.json"}, job}},
        {"strategy", {"", "", {"simulate", "job.yaml", "--strategy"}, job}},
        {"plan_json",
         {"plan/plan.json",
          "",
          {"watch", "train.log", "--once", "--plan", "plan/plan.json"},
          {{"train.log", log}},
          false,
          true}},
        {"launch_json", {"plan/launch.json", kLaunched, {"launch", "plan"}, {}, false, true}},
    };
  }

  fs::path fresh_folder() {
    fs::current_path(source_);
    fs::remove_all(work_ / "here");
    fs::create_directory(work_ / "here");
    return work_ / "here";
  }

  /// A folder of plan --out, made once.
  fs::path planned() {
    const fs::path folder = work_ / "planned";
    if (fs::exists(folder)) return folder;
    write(work_ / "planned.yaml", kPlanned);
    const auto made = launch::run_program(
        {program_, "plan", (work_ / "planned.yaml").string(), "--top", "1", "--out", folder.string()});
    INFO(made.error);
    REQUIRE(made.ok());
    return folder;
  }

  static std::map<std::string, std::string> contents(const fs::path& folder) {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      all[entry.path().string()] = entry.is_regular_file() ? read(entry.path()) : "";
    return all;
  }

  static bool is_printable(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find_first_of("\n\t", at), text.size());
      const std::string line = text.substr(at, end - at);
      if (printable(line, line.size()) != line) return false;
      at = end + 1;
    }
    return true;
  }

  void judge(const fs::path& here, const std::vector<std::string>& arguments, const std::string& says,
             int code, const std::string& catalog) {
    const auto before = contents(here);
    fs::current_path(here);
    ::setenv("TRNPLAN_CATALOG", catalog.empty() ? (source_ / "catalog").c_str() : catalog.c_str(), 1);
    std::vector<std::string> command = {program_};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const launch::ProcessResult ran = launch::run_program(command);
    fs::current_path(source_);
    INFO("standard error: " << printable(ran.error, 1000));
    INFO("standard output: " << printable(ran.output, 400));
    // What the reader does not take is wrong input; what a framework refuses at its start is a verdict.
    const bool checks = !arguments.empty() && arguments.front() == "check";
    const bool of_run =
        checks && std::find(arguments.begin(), arguments.end(), "--target") != arguments.end();
    CHECK((ran.code == code || (of_run && ran.code == 3)));
    const std::string message = checks && ran.code == 3 ? unwrapped(ran.output) : ran.error;
    if (ran.code == 2) CHECK(ran.output.empty());
    INFO("it should say: " << says);
    CHECK_FALSE(says.empty());
    CHECK(message.find(says) != std::string::npos);
    const bool mends =
        message.find("fix: ") != std::string::npos || message.find("--help") != std::string::npos;
    CHECK(mends);
    CHECK(message.size() < 10'000);
    CHECK(is_printable(ran.output + ran.error));
    for (const char* raw : {"std::", "exception", "yaml-cpp", "basic_string", "filesystem error", "what()",
                            "internal error", "terminate called", "Sanitizer"}) {
      INFO(raw);
      CHECK((ran.output + ran.error).find(raw) == std::string::npos);
    }
    const bool untouched = contents(here) == before;
    CHECK(untouched);
  }

  fs::path source_, work_;
  std::string program_;
  std::map<std::string, Kind> kinds_;
};

template <class Rows>
void check_all(const Rows& rows) {
  Table table;
  for (const auto& row : rows) table.check(row);
}

}  // namespace

TEST_CASE("the tables hold at least 300 inputs", "[hostile]") {
  const std::size_t edits = job_rows().size() + config_rows().size() + machine_rows().size() +
                            data_rows().size() + plan_rows().size();
  CHECK(edits >= 300);
  CHECK(option_rows().size() + path_rows().size() >= 300);
}
TEST_CASE("hostile jobs", "[hostile]") {
  check_all(job_rows());
}
TEST_CASE("hostile configs", "[hostile]") {
  check_all(config_rows());
}
TEST_CASE("hostile machines", "[hostile]") {
  check_all(machine_rows());
}
TEST_CASE("hostile tables, profiles and logs", "[hostile]") {
  check_all(data_rows());
}
TEST_CASE("hostile strategies, plans and launch files", "[hostile]") {
  check_all(plan_rows());
}
TEST_CASE("hostile scripts and configs of runs", "[hostile]") {
  CHECK(run_rows().size() >= 400);
  check_all(run_rows());
}
TEST_CASE("hostile numbers", "[hostile]") {
  check_all(option_rows());
}
TEST_CASE("hostile words of options", "[hostile]") {
  CHECK(word_rows().size() >= 500);
  check_all(word_rows());
}
TEST_CASE("hostile paths of reports", "[hostile]") {
  check_all(report_rows());
}
TEST_CASE("options that do not go together", "[hostile]") {
  check_all(mixed_rows());
}
TEST_CASE("hostile tables of layouts, and how they are scored", "[hostile]") {
  CHECK(scoring_rows().size() >= 60);
  check_all(scoring_rows());
}
TEST_CASE("hostile paths and command lines", "[hostile]") {
  check_all(path_rows());
}
