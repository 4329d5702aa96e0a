// validate, and profiles fitted to tables of runs.
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/cli/run_cli.h"

using namespace trnplan;
using cli::Session;

TEST_CASE("tables of runs", "[cli]") {
  Session cli;
  cli.write("runs.csv",
            "id,kind,model,hardware,nodes,tp,pp,dp,global_batch,seq_len,step_s\n"
            "T1,train,m,trn1.32xlarge,1,8,1,4,64,2048,1\n");
  cli.refuse("no row is a training run that can be predicted", "validate $work/runs.csv");
  cli.refuse("runs: a table of runs is for step times", "validate $work/runs.csv --memory");
  cli.refuse("one of them at a time", "validate --memory --goodput");
  cli.refuse("--measured: a table is scored on its own", "validate $work/runs.csv --measured $work/runs.csv");
  cli.refuse("--predictions: no table", "validate --predictions $work/runs.csv");
  cli.refuse_usage("--leave-out", "validate --leave-out row");
  cli.expect(0, "^decoders ", "validate --leave-out none");
  cli.expect(0, R"("coverage_90")", "validate --leave-out none --format json");
  std::istringstream published(cli.read("$source/catalog/measured-runs.csv"));
  std::string heading, row;
  std::getline(published, heading);
  while (std::getline(published, row) && !row.starts_with("T175,")) continue;
  REQUIRE(row.starts_with("T175,"));
  cli.write("runs.csv", heading + "\nNEW" + row.substr(4) + "\n");
  cli.expect(0, "^NEW ", "validate $work/runs.csv --leave-out none --rows");
  cli.refuse("--no-fit: there are steps", "calibrate $work/runs.csv --no-fit");
  cli.expect(0, "^fitted to 1 step of 1 program ",
             "calibrate $work/runs.csv --profile trn1-datasheet --out $work/steps.json");
  cli.holds("$work/steps.json", R"("prior": "trn1-datasheet")");
  cli.expect(0, "90 %", "simulate $example --strategy tp=32 --profile $work/steps.json");
  cli.refuse("unknown profile", "validate --memory --profile none");
}

TEST_CASE("an option of validate changes the answer or is refused", "[cli]") {
  // --leave-out of a scored table was ignored, as were the values of a job without a table, --rows of other
  // kinds, and what states predictions next to those of another tool; a profile of GPUs ended in exit code 70.
  Session cli;
  cli.write("layouts.csv", "id,step_s,strategy\na,20,tp=8\n");
  cli.write("p.csv", "id,step_s\na,21\n");
  const std::string neuron = "--measured $source/catalog/measured-runs.csv";
  const std::map<std::string, std::vector<std::string>> ignored = {
      {"",
       {"--job llama3-8b", "--framework fsdp", "--instance trn1.32xlarge", "--nodes 2", "--sequence 1024",
        "--global-batch 64", "--precision fp32", "--release 2.20", "--no-network-state",
        "--predictions $work/p.csv", "--profile a100"}},
      {neuron,
       {"--leave-out none", "--job llama3-8b", "--nodes 2", "--sequence 1024", "--global-batch 64",
        "--precision fp32", "--release 2.20", "--no-network-state"}},
      {"$work/layouts.csv", {"--leave-out configuration", "--nodes 2"}},
      {"$work/layouts.csv --job llama3-8b", {"--leave-out none", "--no-network-state"}},
      {"$work/layouts.csv --predictions $work/p.csv",
       {"--leave-out none", "--job llama3-8b", "--framework fsdp", "--instance trn1.32xlarge",
        "--release 2.20", "--no-network-state", "--profile trn1"}},
      {"--memory", {"--leave-out none", "--rows", "--nodes 2", "--profile a100"}},
      {"--goodput", {"--leave-out none", "--rows", "--precision fp32", "--profile h100"}},
      {"--collectives", {"--leave-out none", "--rows", "--sequence 1024", "--profile b200"}},
  };
  for (const auto& [command, options] : ignored) {
    for (const std::string& option : options)
      cli.refuse(option.substr(0, option.find(' ')) + ": ", "validate " + command + " " + option);
  }
  cli.expect(0, "^1 of 1 ", "validate $work/layouts.csv --predictions $work/p.csv --rows");
}

TEST_CASE("the document and the text of one answer", "[cli]") {
  Session cli;
  cli.expect(0, "^decoders ", "validate --leave-out none --json $work/steps.json");
  CHECK(cli.read("$work/steps.json") == cli.run("validate --leave-out none --format json").out);
  cli.refuse("steps\\.json", "validate --goodput --json $work/steps.json");
  cli.run("validate --goodput --json $work/steps.json --force");
  CHECK(cli.read("$work/steps.json") == cli.run("validate --goodput --format json").out);
  cli.refuse("folder does not exist", "validate --json $work/none/steps.json");
  const std::string collectives =
      "calibrate $source/catalog/measured-collectives.csv --build 2023-04 --no-fit";
  cli.expect(0, "^no fit", collectives + " --json $work/fit.json");
  CHECK(cli.read("$work/fit.json") == cli.run(collectives + " --format json").out);
  cli.refuse("fit\\.json", collectives + " --json $work/fit.json");
  cli.expect(0, "^no fit", collectives + " --json $work/fit.json --force");
}
