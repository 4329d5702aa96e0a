// --format json is valid JSON with consistent numbers.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/cli/json_of.h"
#include "tests/cli/run_cli.h"

using namespace trnplan;
using cli::json_of;
using cli::Session;
using nlohmann::json;

namespace {

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::abs(b);
}

}  // namespace

TEST_CASE("every command prints JSON of schema version 1", "[cli]") {
  Session cli;
  for (const std::string command :
       {"plan $example", "whatif $example --nodes 1,2 --tokens 1T", "validate --goodput",
        "simulate $example --strategy tp=32", "topology --tp 16 --dp 2", "collective allr --bytes 1M",
        "collective allr -b 1K -e 1M"}) {
    json_of(cli, command);
  }
}

TEST_CASE("an emitted config is checked as what was planned", "[cli]") {
  Session cli;
  cli.write("nxdt.yaml", cli.read("$example") + "software: {framework: nxdt}\n");
  cli.expect(0, "^Best ", "plan $work/nxdt.yaml --out $work/bundle");
  const json checked = json_of(cli, "check $work/bundle/nxdt.yaml");
  CHECK(cli.last.exit == 0);
  CHECK(checked.at("verdict") == "ok");
  cli.prints_no(R"x("severity": *"(warning|error)")x");
  const json planned = json::parse(cli.read("$work/bundle/plan.json"));
  CHECK(checked.at("prediction").at("step_seconds") == planned.at("step_seconds"));
}

TEST_CASE("the numbers of plan", "[cli]") {
  Session cli;
  const json plan = json_of(cli, "plan $example --risk fastest");
  const json& space = plan.at("space");
  CHECK(space.at("enumerated").get<long>() ==
        space.at("refused").get<long>() + space.at("too_large").get<long>() +
            space.at("bounded").get<long>() + space.at("simulated").get<long>());
  const json& comparison = plan.at("comparison");
  const json& measurement = comparison.at("measurement");
  const double first = comparison.at("probability_first_is_better");
  CHECK_FALSE(comparison.at("told_apart").get<bool>());
  CHECK(first < comparison.at("sure"));
  CHECK(plan.at("plans").at(0).at("probability_first_is_better").is_null());
  const std::size_t recommended = plan.at("recommended");
  REQUIRE(recommended < plan.at("plans").size());
  CHECK(comparison.at("first") == recommended + 1);
  for (std::size_t i = 0; i < plan.at("plans").size(); ++i) {
    const json& one = plan.at("plans").at(i);
    CHECK(one.at("rank") == i + 1);
    if (i > 0) {
      CHECK(one.at("step_seconds") >= plan.at("plans").at(i - 1).at("step_seconds"));
      CHECK(one.at("probability_first_is_better") >= 0.5);
      CHECK(one.at("probability_first_is_better") <= 1);
    }
    CHECK(one.at("distance") >= 0);
    CHECK(one.at("works_probability") <= one.at("run_probability"));
    CHECK(near(one.at("works_probability"), one.at("fit_probability_at_distance").get<double>() *
                                                one.at("compile_probability_at_distance").get<double>() *
                                                one.at("run_probability").get<double>()));
  }
  const json& considered = comparison.at("considered");
  CHECK(std::find(considered.begin(), considered.end(), measurement) != considered.end());
  CHECK(measurement.at("kind") == "run");
  CHECK(measurement.at("runs_of_first") > 0);
  CHECK(measurement.at("steps_of_a_run") == 11);
  CHECK(measurement.at("second_is_better_when").at("measured") == "second_over_first");
  CHECK(measurement.at("second_is_better_when").at("is") == "below");
  CHECK((measurement.at("probability_after") >= comparison.at("sure")) ==
        comparison.at("measurement_decides"));
  CHECK(std::abs(measurement.at("usd").get<double>() / measurement.at("node_hours").get<double>() - 21.5) <
        1e-9);
  for (const json& one : considered) CHECK(one.at("probability_after") > std::max(first, 1 - first));
  const json today =
      json_of(cli, "plan $example --baseline $source/tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml");
  CHECK(today.at("baseline").at("probability_winner_is_faster") > 0.5);
  CHECK(today.at("baseline").at("probability_winner_is_faster") < 1);
}

TEST_CASE("the numbers of whatif follow from each other", "[cli]") {
  Session cli;
  const json all =
      json_of(cli, "whatif $example --tokens 1T --nodes 1..4 --other-usd-per-hour 5 --deadline 1000d");
  std::vector<int> nodes;
  double cheapest = 1e300;
  for (const json& p : all.at("points")) {
    for (const char* key : {"instance", "nodes", "strategy", "step_seconds", "tokens_per_second", "mfu",
                            "goodput", "days", "usd", "checkpoint_interval_seconds"}) {
      CHECK(p.contains(key));
    }
    nodes.push_back(p.at("nodes"));
    const double days = p.at("days"), usd = p.at("usd"), goodput = p.at("goodput"), uptime = p.at("uptime");
    // Runs with more failures are more than as much longer: the median lies above that of both medians.
    const double of_medians = 1e12 / p.at("tokens_per_second").get<double>() / goodput / 86400;
    CHECK(days > of_medians);
    CHECK(days < 1.01 * of_medians);
    CHECK(near(usd, days * 24 * (nodes.back() * 21.5 + 5)));
    CHECK(p.at("days_90").at(0) < days);
    CHECK(p.at("days_90").at(1) > days);
    CHECK(near(p.at("checkpoint_interval_seconds"),
               p.at("checkpoint_interval_steps").get<double>() * p.at("step_seconds").get<double>()));
    CHECK(0 < goodput);
    CHECK(goodput < uptime);
    CHECK(uptime < 1);
    if (days <= 1000) cheapest = std::min(cheapest, usd);
  }
  CHECK(nodes == std::vector<int>{1, 2, 4});
  CHECK(all.at("points").at(all.at("recommended").get<std::size_t>()).at("usd") == cheapest);
}

TEST_CASE("the numbers of a collective follow from each other", "[cli]") {
  Session cli;
  const json sweep = json_of(cli, "collective all_reduce --nodes 2 -b 64K -e 64M -f 4");
  const json one = json_of(cli, "collective all_reduce --nodes 2 --bytes 1M");
  const auto value = [&](const char* key) { return one.at(key).get<double>(); };
  double parts = value("alpha_seconds");
  for (const json& phase : one.at("phases")) {
    parts += phase.at("latency_seconds").get<double>() + phase.at("transfer_seconds").get<double>();
  }
  CHECK(near(parts, value("seconds")));
  CHECK(near(value("seconds") + value("host_launch_seconds") + value("barrier_seconds"),
             value("nccom_seconds")));
  const double algbw = value("bytes") / value("nccom_seconds") / 1e9;
  CHECK(near(algbw, value("algbw_gbps")));
  CHECK(near(algbw * 2 * 63 / 64, value("busbw_gbps")));
  std::vector<long> sizes;
  for (const json& result : sweep.at("results")) sizes.push_back(result.at("bytes"));
  CHECK(sizes == std::vector<long>{1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26});
  json same = sweep.at("results").at(2);
  same["schema_version"] = 1;
  CHECK(same == one);
  CHECK(one.at("ranks") == 64);
  CHECK(one.at("bytes") == 1 << 20);
}

// Each with the parameters and a training loop of its own: a node of 8 H100 has 2.6 times the peak of one of trn1.
TEST_CASE("types of two kinds in one what-if", "[cli]") {
  Session cli;
  const json asked =
      json_of(cli, "whatif llama3-8b --nodes 2 --instances trn1.32xlarge,p5.48xlarge --tokens 1T");
  cli.says_no("timed with the parameters of");  // nobody chose others
  const json &slow = asked.at("points").at(0), &fast = asked.at("points").at(1);
  CHECK(slow.at("strategy").at("framework") == "nxd");
  CHECK(fast.at("strategy").at("framework") != "nxd");
  const json &types = asked.at("instances"), &trn1 = types.at(0), &p5 = types.at(1);
  CHECK(trn1.at("cheapest_probability").get<double>() + p5.at("cheapest_probability").get<double>() ==
        Approx(1));
  CHECK(p5.at("break_even_against") == "trn1.32xlarge");
  for (const char* key : {"region", "date", "terms", "source"}) CHECK(p5.at("price").at(key) != "");
  CHECK(fast.at("usd_per_1e9_tokens").get<double>() == Approx(fast.at("usd").get<double>() / 1000));
  const double ratio = slow.at("step_seconds").get<double>() / fast.at("step_seconds").get<double>();
  CHECK(ratio > 1.5);
  CHECK(ratio < 5);
}
