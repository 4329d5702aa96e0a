// simulate --trace and --schedule; export.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/run_cli.h"

using namespace trnplan;
using cli::Session;

namespace {

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("traces and schedules", "[cli]") {
  Session cli;
  cli.write("a-file", "");
  const std::string pipeline = "simulate $example --strategy tp=8,pp=4";
  cli.refuse(R"(--trace: "t\.txt" ends neither in)", pipeline + " --trace t.txt");
  cli.refuse(R"(--trace: "t" ends neither in)", pipeline + " --trace t");
  cli.refuse_usage("--trace", pipeline + " --trace ''");
  cli.refuse(R"(/proc/t\.json: |/proc: |cannot create)", pipeline + " --trace /proc/t.json");
  cli.refuse(cli.work("a-file") + ": .*folder", pipeline + " --trace $work/a-file/t.json");
  cli.refuse_usage("--schedule.*zebra", pipeline + " --schedule zebra");
  cli.refuse("--schedule: .*one stage", "simulate $example --strategy tp=8 --schedule zero-bubble");
  cli.refuse("--schedule: .*virtual pipeline",
             "simulate $example --strategy tp=8,pp=4,vpp=2 --schedule zero-bubble");
  cli.expect(3, "zero-bubble is a what-if: nxd has no such schedule", pipeline + " --schedule zero-bubble");
  // All 1,024 micro-batches are alive at once.
  cli.expect(3, "refused: memory: stage 3 needs 1755.2 of 16.0 GiB",
             "simulate $example --strategy tp=8,pp=4,schedule=gpipe");
  cli.says("gpipe is a what-if: nxd has no such schedule");
  for (const std::string extension : {"pftrace", "json"}) {
    cli.set("trace", cli.work("traces/step." + extension));
    cli.expect(0, "wrote " + cli.get("trace") + ": [0-9]+ slices .* of 1024 micro-batches",
               pipeline + " --trace $trace");
    const std::string first = cli.read("$trace");
    cli.run(pipeline + " --trace $trace");
    CHECK(cli.last.exit == 2);
    cli.says("fix: .*--force");
    cli.expect(0, "wrote " + cli.get("trace"), pipeline + " --trace $trace --force");
    CHECK(cli.read("$trace") == first);
  }
  cli.write_job("long.yaml", "llama3-8b", 1, 32768);
  cli.expect(
      0,
      "wrote .*: (19[0-9]{4}|200000) slices .* operators of 0 of 32768 micro-batches, with passes and messages of "
      "the first [0-9]+ only;",
      "simulate $work/long.yaml --strategy tp=8,pp=4,vpp=2,recompute=full --trace $work/traces/long.pftrace");
  std::filesystem::remove(cli.work("traces/long.pftrace"));
  cli.expect(3, "no trace was written",
             "simulate $example --strategy tp=8,mbs=3 --trace $work/traces/none.json");
  CHECK(files_in(cli.work("traces")) == std::vector<std::string>{"step.json", "step.pftrace"});
  CHECK_FALSE(nlohmann::json::parse(cli.read("$work/traces/step.json"))["traceEvents"].empty());
}

TEST_CASE("traces of Chakra", "[cli]") {
  Session cli;
  cli.write_job("large.yaml", "llama3.1-405b", 1875, 24000);
  cli.refuse(
      R"(training\.global_batch: 320 micro-batches are [0-9.]+ million nodes on 60000 ranks, .*: more than tags)",
      "export $work/large.yaml --strategy tp=32,pp=25,recompute=full --chakra new");
  cli.refuse_usage("--chakra", "export $example --strategy tp=8,pp=4");
  cli.refuse_usage("--chakra", "export $example --strategy tp=8,pp=4 --chakra ''");
  cli.refuse("--strategy: tpp", "export $example --strategy tpp=8 --chakra new");
  cli.write_job("export.yaml", "llama3-8b", 1, 8);
  cli.expect(3, "refused: batch: ", "export $work/export.yaml --strategy tp=8,mbs=3 --chakra new");
  cli.wrote_nothing();
  cli.refuse("cannot create|/proc", "export $work/export.yaml --strategy tp=8,pp=4 --chakra /proc/new");
  cli.set("chakra", cli.work("chakra"));
  cli.expect(0, R"(wrote trnplan\.0\.et to trnplan\.31\.et to )",
             "export $work/export.yaml --strategy tp=8,pp=4 --chakra $chakra");
  cli.says("--workload-configuration=" + cli.get("chakra") + "/trnplan --comm-group-configuration");
  CHECK(files_in(cli.work("chakra")).size() == 33);
  CHECK(::access(cli.work("chakra/trnplan.31.et").c_str(), W_OK) == 0);
  cli.refuse(R"(chakra: 33 of the 33 files to be written exist already)",
             "export $work/export.yaml --strategy tp=8,pp=4 --chakra $chakra");
  const auto texts = [&] {
    std::map<std::string, std::string> all;
    for (const std::string& file : files_in(cli.work("chakra"))) all[file] = cli.read("$chakra/" + file);
    return all;
  };
  const auto first = texts();
  cli.expect(0, "wrote ", "export $work/export.yaml --strategy tp=8,pp=4 --chakra $chakra --force");
  CHECK(texts() == first);
}
