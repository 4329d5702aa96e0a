// One question, one answer: what commands and options say of the same thing agrees.
#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.h"
#include "tests/cli/json_of.h"
#include "tests/cli/run_cli.h"

using namespace trnplan;
using cli::Session;
using nlohmann::json;

namespace {

const std::string kP5 = " --instance p5.48xlarge ";

}  // namespace

// Catches a network that --set changes in the heading alone.
TEST_CASE("a changed network changes steps and collectives", "[cli]") {
  Session cli;
  const auto step = [&](const std::string& more) {
    return json_of(cli, "simulate llama3-8b --nodes 4 --strategy tp=1,framework=fsdp" + kP5 + more)
        .at("step_seconds")
        .get<double>();
  };
  const auto bus = [&](const std::string& more) {
    return json_of(cli, "collective all_reduce --bytes 1GiB --nodes 4" + kP5 + more)
        .at("busbw_gbps")
        .get<double>();
  };
  CHECK(step("--set oversubscription=64") > 1.1 * step(""));
  CHECK(step("--set nics=x2") < step(""));
  CHECK(step("--set nics=x0.5") > step(""));
  CHECK(bus("--set oversubscription=64") == bus("--oversubscription 64"));
  CHECK(bus("--set oversubscription=64") < 0.1 * bus(""));
  CHECK(bus("--set nics=x0.5") < bus(""));
  const json plan = json_of(cli, "plan llama3-8b --nodes 4 --target torchtitan" + kP5);
  const json twice = json_of(cli, "plan llama3-8b --nodes 4 --target torchtitan --set nics=x2" + kP5);
  CHECK(twice.at("plans").at(0).at("step_seconds") < plan.at("plans").at(0).at("step_seconds"));
  cli.refuse("--set: .*nics=3.*cannot serve the 8 chips", "plan llama3-8b --nodes 4 --set nics=3" + kP5);
  cli.refuse("--set: .*no prediction for trn1.32xlarge depends",
             "plan llama3-8b --nodes 4 --set core.bf16=x2");
}
