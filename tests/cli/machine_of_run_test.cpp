// The machine of a run whose config or script does not state it, and where it is stated twice.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "tests/catch.h"
#include "tests/cli/run_cli.h"

using namespace trnplan;
using cli::Session;

namespace {

constexpr const char* kOnFourNodes =
    "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 64}\n"
    "cluster: {instance: p4d.24xlarge, nodes: 4}\nsoftware: {framework: megatron}\n";

}  // namespace

// Reported: "internal error" of watch and calibrate for a config of 64 processes a node, which check took for trn2.
TEST_CASE("a config's machine is the same for check, watch and calibrate", "[cli]") {
  Session cli;
  cli.set("log", cli.get("source") + "/tests/calibrate/fixtures/logs/nxdt-llama3-70b.txt");
  const std::string config = cli.read("$source/tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml");
  const std::string trn2 = std::regex_replace(config, std::regex("devices: 32"), "devices: 64");
  REQUIRE(trn2 != config);
  cli.write("trn2.yaml", trn2);
  for (const char* command :
       {"watch $log --once --config $work/trn2.yaml", "calibrate $log --config $work/trn2.yaml"}) {
    cli.run(command);
    cli.says("trn2\\.48xlarge is assumed");
    cli.says_no("internal error");
  }
  cli.refuse("trainer\\.devices: 64 processes a node, and a trn1\\.32xlarge has 32 cores",
             "watch $log --once --config $work/trn2.yaml --instance trn1.32xlarge");
  cli.write("none.yaml", std::regex_replace(config, std::regex("devices: 32"), "devices: 7"));
  cli.refuse("7 processes a node, and no instance type", "calibrate $log --config $work/none.yaml");
}

// Reported: the script of a folder for p4d was to be checked with "--instance p5.48xlarge".
TEST_CASE("the machine of a folder's script is that of the plan.json next to it", "[cli]") {
  Session cli;
  cli.write("job.yaml", kOnFourNodes);
  cli.expect(0, "", "plan $work/job.yaml --target megatron --out $work/out");
  cli.expect(0, "on 4 x p4d\\.24xlarge$", "check $work/out/node_run.sh --details");
  cli.prints("p4d\\.24xlarge as in .*out/plan\\.json; state another with --instance");
  cli.expect(0, "", "compare $work/out/node_run.sh $work/out");
  cli.says("p4d\\.24xlarge as in .*plan\\.json");
  // Reported: "ok", although the script starts 4 nodes.
  cli.expect(0, "the file starts on 4 hosts, --nodes says 2", "check $work/out/node_run.sh --nodes 2");
  cli.run("check $work/out/node_run.sh --nodes 4");
  cli.prints_no("--nodes says");
  cli.write("alone/node_run.sh", cli.read("$work/out/node_run.sh"));
  cli.refuse("does not state the machine", "check $work/alone/node_run.sh");
  // Reported: a profile of observations of a p4d was based on trn1, and plan refused its parameters.
  cli.write(
      "ran.log",
      "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 3 has a total "
      "capacity of 39.39 GiB of which 1.20 GiB is free.\n");
  cli.run("watch $work/ran.log --once --plan $work/out --record $work/rec.json");
  cli.prints("1 observation recorded");
  CHECK(cli.read("$work/rec.json").find("\"base\": \"trn1\"") == std::string::npos);
  CHECK(cli.read("$work/rec.json").find("\"base\": \"a100\"") != std::string::npos);
}

// Catches: "as fast as it should be" first of a run that ended out of memory, and a run of forty steps of which
// --record kept nothing.
TEST_CASE("a run opens with how it ended, and is kept as one that fits or does not", "[cli]") {
  Session cli;
  cli.write("job.yaml", kOnFourNodes);
  cli.expect(0, "", "plan $work/job.yaml --target megatron --out $work/out");
  const double step = nlohmann::json::parse(cli.read("$work/out/plan.json")).at("step_seconds");
  std::string steps;
  for (int i = 1; i <= 40; ++i)
    steps += fmt::format(
        " iteration {}/ 1000 | elapsed time per iteration (ms): {:.1f} | global batch size: 64 | lm loss: "
        "2.0E+00 |\n",
        i, 1000 * step);
  const std::string full =
      "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 3 has a total "
      "capacity of 39.39 GiB of which 1.20 GiB is free.\n";
  cli.write("ran.log", steps + full);
  cli.expect(3, "^FAILED: out of memory on a device, after step 40$",
             "watch $work/ran.log --once --plan $work/out --record $work/full.json");
  cli.prints("^its steps before: as fast as it should be: your run ");
  cli.prints_no("^as fast");
  cli.holds("$work/full.json", "\"verdict\": \"refused\"");
  cli.lacks("$work/full.json", "\"verdict\": \"accepted\"");
  // calibrate learns the steps of such a run, and that its plan does not fit.
  cli.expect(0, "^your run ran.log",
             "calibrate $work/ran.log --config $work/out/node_run.sh --out $work/died.json");
  cli.holds("$work/died.json", "\"verdict\": \"refused\"");
  cli.write("ran.log", steps);
  cli.expect(0, "^as fast as it should be",
             "watch $work/ran.log --once --plan $work/out --record $work/fits.json");
  cli.prints("1 observation recorded");
  cli.holds("$work/fits.json", "\"verdict\": \"accepted\"");
  // A log of another batch shows nothing of this plan.
  cli.write("other.log", std::regex_replace(steps, std::regex("size: 64"), "size: 128"));
  cli.expect(0, "ALARM other-job", "watch $work/other.log --once --plan $work/out --record $work/none.json");
  cli.prints("nothing to record");
}

// Reported: --rampup-batch-size was among the flags on which nothing depends.
TEST_CASE("a batch that a script lets grow is said", "[cli]") {
  Session cli;
  cli.write("job.yaml", kOnFourNodes);
  cli.expect(0, "", "plan $work/job.yaml --target megatron --out $work/out");
  const std::string script = cli.read("$work/out/node_run.sh");
  const std::string ramp =
      std::regex_replace(script, std::regex("\"--global-batch-size\""),
                         "\"--rampup-batch-size\" \"16\" \"16\" \"100000\" \"--global-batch-size\"");
  REQUIRE(ramp != script);
  cli.write("out/node_run.sh", ramp);
  cli.expect(0, "--rampup-batch-size: the batch grows from 16 sequences over the first 100000",
             "check $work/out/node_run.sh");
}
