// cluster: what it compares and refuses. simulate --scenario: the same step in text and JSON.
#include <string>

#include "tests/catch.h"
#include "tests/cli/json_of.h"
#include "tests/cli/run_cli.h"

using namespace trnplan;
using cli::json_of;
using cli::Session;
using nlohmann::json;

// Rows of one setting see the same failures, so the row of the file's own number is the answer itself. Catches
// draws that depend on the number, and a recommendation that is not the cheapest.
TEST_CASE("numbers of spares are compared on the same failures", "[cli]") {
  Session cli;
  const std::string command =
      "cluster $source/examples/cluster-two-jobs/cluster.yaml --runs 40 --spares 0..3 --checkpoint-steps "
      "best,100";
  const json a = json_of(cli, command);
  CHECK(cli.last.err.find("options replace") == std::string::npos);  // no option was given
  const json& rows = a.at("spares_asked").at("rows");
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].at("days") == a.at("days"));
  CHECK(rows[1].at("usd") == a.at("usd"));
  const auto best = a.at("spares_asked").at("recommended").get<std::size_t>();
  for (const json& row : rows) CHECK(rows[best].at("usd") <= row.at("usd"));
  CHECK(a.at("checkpoint_steps_asked").at("rows")[0].at("days") == a.at("days"));  // the file says best
  CHECK(json_of(cli, command) == a);
}

TEST_CASE("cluster refuses wrong files and options with all their faults", "[cli]") {
  Session cli;
  const std::string example = "cluster $source/examples/cluster-two-jobs/cluster.yaml";
  cli.refuse(R"(--spares: "x" is not a number or range)", example + " --spares 1,x --checkpoint-steps 8..4");
  cli.says(R"(--checkpoint-steps: "8\.\.4" is not a number or range)");
  cli.write("none.yaml", "cluster: {nodes: 2}\njobs: [{name: a, job: llama3-8b, nodes: 2}]\n");
  cli.refuse(R"(none\.yaml:2:8: jobs\[0\]\.tokens: neither this)", "cluster $work/none.yaml");
  cli.write(
      "large.yaml",
      "cluster: {nodes: 1}\njobs: [{name: a, job: llama3-70b, nodes: 1, tokens: 1B, strategy: tp=8}]\n");
  cli.refuse(R"(large\.yaml:2:8: jobs\[0\]\.strategy: memory: )", "cluster $work/large.yaml");
}

TEST_CASE("a scenario is simulated next to the ideal step", "[cli]") {
  Session cli;
  const std::string simulate = "simulate llama3-8b --nodes 2 --strategy tp=8";
  const json ideal = json_of(cli, simulate);
  const json slow = json_of(cli, simulate + " --scenario slow-node=1:1.5");
  CHECK(slow.at("step_seconds") == ideal.at("step_seconds"));
  const json& scenario = slow.at("scenario");
  CHECK(scenario.at("step_seconds") > ideal.at("step_seconds"));
  REQUIRE(scenario.at("work").size() == 2);
  CHECK(scenario.at("work")[1].at("cores") == 32);
  CHECK(scenario.at("work")[1].at("waits_seconds") == 0);
  cli.expect(0, "^With slow-node=1:1.5: .* s a step, 1\\.[0-9]+ times as long",
             simulate + " --scenario slow-node=1:1.5");
  cli.expect(0, "^  Along the path that decides the step, in seconds: compute [+][0-9.]+",
             simulate + " --scenario slow-node=1:1.5");
  cli.refuse("--scenario: slow-node: \"2\" is no node of the cluster",
             simulate + " --scenario slow-node=2:1.5");
  const json half = json_of(cli, simulate + " --scenario nic=1:0.5,spine=0.75,jitter=0.01,runs=5");
  CHECK(half.at("scenario").at("runs").at("runs") == 5);
  CHECK(half.at("scenario").at("runs").at("step_seconds_90")[0] <= half.at("scenario").at("step_seconds"));
  cli.expect(0, "^With jitter=0.01,runs=5: .* s a step \\(median of 5 runs, 5 to 95 %: ",
             simulate + " --scenario jitter=0.01,runs=5");
  std::string beyond = "slow-node=1:1000";
  for (int i = 0; i < 9; ++i) beyond += ",slow-node=1:1000";  // 10^30 times as long
  cli.refuse("--scenario: the step cannot be simulated: ", simulate + " --scenario " + beyond);
  // A trace draws the kinds of cores apart: as many processes as kinds.
  cli.expect(0, "tracks, .*, 2 kinds of cores each stage; open it",
             simulate + " --scenario slow-node=1:1.5 --trace $work/slow.json");
  CHECK(cli.read("$work/slow.json").find("like it, work x 1.5") != std::string::npos);
  cli.expect(0,
             "tracks, .*, 16 of [0-9]+ kinds of cores each stage: those of each condition, the busiest and "
             "the least busy; open it",
             "simulate llama3-8b --nodes 8 --strategy tp=8 --scenario jitter=0.01,runs=2 --trace "
             "$work/varied.pftrace");
}
