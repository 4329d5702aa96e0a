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
  const auto best = a.at("spares_asked").at("recommended").get<std::size_t>();
  for (const json& row : rows) CHECK(rows[best].at("usd") <= row.at("usd"));
  // All that is shown is of the recommended number and interval.
  const json& intervals = a.at("checkpoint_steps_asked");
  const auto chosen = intervals.at("recommended").get<std::size_t>();
  CHECK(intervals.at("rows")[chosen].at("days") == a.at("days"));
  const json other =
      json_of(cli, "cluster $source/examples/cluster-two-jobs/cluster.yaml --runs 40 --checkpoint-steps 100");
  CHECK(other.at("jobs")[0].at("checkpoint_steps") == 100);
  CHECK(other.at("jobs")[1].at("checkpoint_steps") == 100);
  CHECK(other.at("checkpoint_steps_asked").at("rows")[0].at("days") == other.at("days"));
  CHECK(json_of(cli, command) == a);
}

TEST_CASE("cluster refuses wrong files and options with all their faults", "[cli]") {
  Session cli;
  const std::string example = "cluster $source/examples/cluster-two-jobs/cluster.yaml";
  cli.refuse(R"(--spares: "x" is not a number or range)", example + " --spares 1,x --checkpoint-steps 8..4");
  cli.says(R"(--checkpoint-steps: "8\.\.4" is not a number or range)");
  cli.write("none.yaml", "cluster: {nodes: 2}\njobs: [{name: a, job: llama3-8b, nodes: 2}]\n");
  cli.refuse(R"(none\.yaml:2:8: jobs\[0\]\.tokens: neither this)", "cluster $work/none.yaml");
  cli.write("faults.yaml",
            "cluster: {nodes: 4}\n"
            "reliability: none.json\n"
            "jobs:\n"
            "  - {name: a, job: llama3-8c, nodes: 4, tokens: 1B}\n"
            "  - {name: b, job: llama3-8b, nodes: 4, tokens: 1B, strategy: \"tp=7\"}\n"
            "  - {name: c, job: llama3-8b, nodes: 4, tokens: 1B, sequence: 1T}\n");
  cli.refuse(R"(faults\.yaml:2:14: reliability: ".*none\.json" is no file)", "cluster $work/faults.yaml");
  cli.write("faults.yaml", cli.read("$work/faults.yaml").replace(20, 23, ""));
  cli.refuse(R"(faults\.yaml:3:20: jobs\[0\]\.job: this is neither)", "cluster $work/faults.yaml");
  cli.says(R"(faults\.yaml:4:63: jobs\[1\]\.strategy: dp: tp 7)");
  cli.says(R"(faults\.yaml:5:63: jobs\[2\]\.sequence: )");
  // One fault makes no second: of a cluster of -3 nodes nothing is known.
  cli.write("negative.yaml",
            "cluster: {nodes: -3}\njobs: [{name: a, job: llama3-8b, nodes: 2, tokens: 1B}]\n");
  cli.refuse(R"(negative\.yaml:1:18: cluster\.nodes: )", "cluster $work/negative.yaml");
  CHECK(cli.last.err.find("jobs[0]") == std::string::npos);
  cli.write(
      "large.yaml",
      "cluster: {nodes: 1}\njobs: [{name: a, job: llama3-70b, nodes: 1, tokens: 1B, strategy: tp=8}]\n");
  cli.refuse(R"(large\.yaml:2:67: jobs\[0\]\.strategy: memory: )", "cluster $work/large.yaml");
}

// The market's price comes with its interruptions, and their rate is that of whatif.
TEST_CASE("a cluster of spot nodes is interrupted as often as in whatif", "[cli]") {
  Session cli;
  cli.write("spot.yaml",
            "cluster: {nodes: 8, spares: 8}\n"
            "jobs: [{name: a, job: llama3-8b, nodes: 8, tokens: 300B, strategy: tp=8}]\n");
  const auto failures = [&](const std::string& pricing) {
    const json a = json_of(cli, "cluster $work/spot.yaml --runs 300 --pricing " + pricing);
    const json p =
        json_of(cli, "whatif llama3-8b --tokens 300B --nodes 8 --pricing " + pricing).at("points").at(0);
    const double used = a.at("jobs")[0].at("days").at("median").get<double>();
    const double expected = used * 86400 / p.at("mtbf_seconds").get<double>();
    return std::pair(a.at("jobs")[0].at("failures").at("median").get<double>(), expected);
  };
  const auto [bought, as_bought] = failures("on_demand");
  const auto [spot, as_spot] = failures("spot");
  CHECK(spot > 1.5 * bought);
  CHECK(bought == Approx(as_bought).margin(1));
  CHECK(spot == Approx(as_spot).margin(1.5));
}

TEST_CASE("jobs that never end say no numbers, and jobs that never meet no spine", "[cli]") {
  Session cli;
  std::string text = cli.read("$source/catalog/reliability.json");
  const std::size_t at = text.find("0.0054");
  REQUIRE(at != std::string::npos);
  cli.write("often.json", text.replace(at, 6, "900000"));
  cli.write("never.yaml",
            "cluster: {nodes: 20, oversubscription: 2}\n"
            "reliability: often.json\n"
            "jobs:\n"
            "  - {name: a, job: llama3-8b, nodes: 16, tokens: 1B, strategy: tp=8}\n"
            "  - {name: b, job: llama3-8b, nodes: 16, tokens: 1B, strategy: tp=8}\n");
  cli.expect(3, "given up, after .* of the cluster's time", "cluster $work/never.yaml --runs 20");
  cli.prints("^  a +16 +[0-9.]+ +never +- +- +- +- +-$");
  CHECK(cli.last.out.find("Shared spine") == std::string::npos);
  const json a = json_of(cli, "cluster $work/never.yaml --runs 20");
  CHECK(a.at("jobs")[0].at("failures").at("median").is_null());
  CHECK(a.at("given_up_days") > 0);
  cli.expect(0, "Shared spine: while all train",
             "cluster $source/examples/cluster-two-jobs/cluster.yaml --runs 1");
  cli.prints("^One run, so there are no intervals");
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
  cli.refuse("--scenario: the step cannot be simulated: ",  // a core of 10^6 times its work
             simulate + " --scenario slow-node=1:1000,slow-core=33:1000");
  cli.expect(0, "^With jitter=0.01,runs=1: [0-9.]+ s a step, [0-9.]+ times",
             simulate + " --scenario jitter=0.01,runs=1");
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
