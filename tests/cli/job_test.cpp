// Wrong jobs: the problem, its place and its fix.
#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/cli/run_cli.h"

using namespace trnplan;
using cli::Session;

namespace {

std::vector<std::string> files_of(const Session& cli, const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(cli.get("regress") + "/" + folder)) {
    files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  REQUIRE_FALSE(files.empty());
  return files;
}

/// A regular expression for the name of a file.
std::string pattern_of(const std::string& file) {
  std::string escaped;
  for (const char c : std::filesystem::path(file).filename().string()) {
    if (c == '.' || c == '+' || c == '*' || c == '(' || c == ')' || c == '[' || c == ']') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

TEST_CASE("jobs that cannot be read", "[cli]") {
  Session cli;
  cli.refuse(R"(empty\.yaml: .*empty)", "plan $job/empty.yaml --out new");
  cli.refuse(R"(syntax-error\.yaml:2:[0-9]+: .*YAML)", "plan $job/syntax-error.yaml --out new");
  cli.refuse(R"(unknown-key\.yaml:2:[0-9]+: training\.globalbatch: unknown)",
             "plan $job/unknown-key.yaml --out new");
  cli.refuse(R"(fix: did you mean "?global_batch)", "plan $job/unknown-key.yaml --out new");
  cli.refuse(R"(unknown-key\.yaml:3:[0-9]+: cluster\.node: unknown)", "plan $job/unknown-key.yaml --out new");
  cli.refuse(R"(duplicate-key\.yaml:4:1: model: .*line 1)", "plan $job/duplicate-key.yaml --out new");
  cli.refuse(R"(duplicate-nested\.yaml:2:[0-9]+: .*sequence)", "plan $job/duplicate-nested.yaml --out new");
  cli.refuse(R"(nodes-minus-one\.yaml:3:43: cluster\.nodes: "-1")",
             "plan $job/nodes-minus-one.yaml --out new");
  cli.refuse(R"(nodes-zero\.yaml:3:43: cluster\.nodes: "0")", "plan $job/nodes-zero.yaml --out new");
  cli.refuse(R"(nodes-fraction\.yaml:3:43: cluster\.nodes: "1\.5")",
             "plan $job/nodes-fraction.yaml --out new");
  cli.refuse(R"(unknown-instance\.yaml:3:[0-9]+: cluster\.instance: .*trn1\.32xl")",
             "plan $job/unknown-instance.yaml --out new");
  cli.refuse(R"(unknown-model\.yaml:1:[0-9]+: model: .*lama3-8b)", "plan $job/unknown-model.yaml --out new");
  cli.refuse(R"(did you mean "llama3-8b")", "plan $job/unknown-model.yaml --out new");
  cli.refuse(R"(alias-bomb\.yaml:[0-9]+:[0-9]+: .*alias)", "plan $job/alias-bomb.yaml --out new");
  cli.refuse(R"(nested-brackets\.yaml:[0-9]+:[0-9]+: )", "plan $job/nested-brackets.yaml --out new");
  cli.refuse(R"(no-such-job\.yaml: .*No such file)", "plan no-such-job.yaml --out new");
  cli.refuse(cli.work("here") + ": .*folder", "plan $work/here --out new");
  cli.refuse("not a regular file", "plan /dev/zero --out new");

  // Bytes of no file: the generator's 4096 first, then three that no text has.
  std::mt19937 noise(7);
  std::string bytes;
  for (int i = 0; i < 4096; ++i) bytes += static_cast<char>(noise() & 255);
  cli.write("noise.yaml", bytes + std::string("\0\1\2", 3));
  cli.refuse(R"(noise\.yaml:[0-9]+:[0-9]+: )", "plan $work/noise.yaml --out new");
  const std::string open(10'000, '['), close(10'000, ']');
  cli.write("brackets.yaml", "model: " + open + close + "\n");
  cli.refuse(R"(brackets\.yaml:1:[0-9]+: .*nested)", "plan $work/brackets.yaml --out new");
  cli.write("brackets.json", "{\"model_type\": " + open + close + "}\n");
  cli.write_job("brackets-model.yaml", "./brackets.json", 1, 1024);
  cli.refuse(R"(brackets\.json:1:[0-9]+: .*nested)", "plan $work/brackets-model.yaml --out new");
  cli.write_job("no-heads.yaml", "$regress/config/no-attention-heads.json", 1, 1024);
  cli.refuse(R"(no-attention-heads\.json:[0-9]+:[0-9]+: num_attention_heads: .*missing)",
             "plan $work/no-heads.yaml --out new");
  cli.refuse("--profile: .*no-such-profile", "plan $example --profile no-such-profile --out new");
  cli.refuse(R"(empty\.yaml: .*empty)", "simulate $job/empty.yaml --strategy tp=8");
  cli.refuse(R"(no-such\.yaml: .*No such file)", "check no-such.yaml");
}

TEST_CASE("a gigabyte is refused by its size", "[cli]") {
  Session cli;
  cli.write("huge.yaml", "");
  std::filesystem::resize_file(cli.work("huge.yaml"), 1u << 30);
  cli.refuse(R"(huge\.yaml: .*larger than)", "plan $work/huge.yaml --out new");
}

TEST_CASE("every file that must be refused says so with its own name", "[cli]") {
  Session cli;
  for (const auto& file : files_of(cli, "job")) {
    cli.set("file", file);
    cli.refuse(file.ends_with("/path-model.yaml") ? "/dev/null" : pattern_of(file), "plan $file --out new");
  }
  for (const auto& file : files_of(cli, "config")) {
    cli.write_job("config.yaml", file, 1, 1024);
    cli.refuse(pattern_of(file), "plan $work/config.yaml --out new");
  }
  for (const auto& file : files_of(cli, "neuron-ls")) {
    cli.set("file", file);
    cli.refuse(pattern_of(file), "topology --neuron-ls $file");
  }
  for (const auto& file : files_of(cli, "cluster")) {
    const char* key = file.ends_with(".json")   ? "hyperpod"
                      : file.ends_with(".yaml") ? "parallelcluster"
                                                : "sinfo";
    cli.write("cluster.yaml", "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 1024}\ncluster: {" +
                                  std::string(key) + ": \"" + file + "\"}\n");
    cli.refuse(pattern_of(file), "plan $work/cluster.yaml --out new");
  }
  cli.refuse(R"(truncated\.txt:[0-9]+:[0-9]+: .*(ends|cut short))",
             "topology --neuron-ls $regress/neuron-ls/truncated.txt");
  cli.refuse(R"(asymmetric\.txt:[0-9]+:[0-9]+: connected: device 3 lists device 7)",
             "topology --neuron-ls $regress/neuron-ls/asymmetric.txt");
}
