#include "io/catalog/reliability.h"

#include <string>

#include "io/catalog/catalog.h"
#include "tests/catch.h"
#include "tests/faults.h"

using namespace trnplan;

namespace {

std::string shipped_text() {
  return read_text(io::Catalog(TRNPLAN_SOURCE_DIR "/catalog").file("reliability.json"));
}

std::vector<Diagnostic> reliability_faults(const std::string& text) {
  return faults_in([&] { io::reliability_from(parse_document(text, "r.json")); });
}

}  // namespace

TEST_CASE("the shipped reliability file", "[io][reliability]") {
  const planner::Reliability r = io::reliability_from(parse_document(shipped_text(), "r.json"));
  CHECK(r.name == "published");
  CHECK(r[planner::ReliabilityParameter::restart] == 200);
  for (std::size_t i = 0; i < planner::kReliabilityParameters; ++i) {
    CAPTURE(i);
    const bool there = !r.values[i].source.empty();
    CHECK((there || planner::may_be_absent(static_cast<planner::ReliabilityParameter>(i))));
  }
  CHECK(r.storage_parameter() == planner::ReliabilityParameter::storage_per_node);
  REQUIRE(r.published.size() == 4);
  CHECK(r.published[1].uptime == 0.7783);
  CHECK_FALSE(r.published[1].automatic);
}

TEST_CASE("a file of reliability states the file system's rate a node or of all", "[io][reliability]") {
  const std::string of_all = replaced(shipped_text(), "\"storage_per_node\"", "\"storage_throughput\"");
  CHECK(io::reliability_from(parse_document(of_all, "r.json")).storage(1024).value == 132e6);
  const std::size_t from = shipped_text().find("    \"storage_per_node\""),
                    to = shipped_text().find("    \"load_ratio\"");
  const std::vector<Diagnostic> faults = reliability_faults(shipped_text().erase(from, to - from));
  REQUIRE(faults.size() == 1);
  CHECK(faults.front().key == "parameters.storage_per_node");
}

TEST_CASE("faults of a reliability file, all at once", "[io][reliability]") {
  std::string text = replaced(shipped_text(), "\"restart\"", "\"restrat\"");
  text = replaced(text, "0.78,", "1.5,");  // a share
  text = replaced(text, "\"1/day\"", "\"1/hour\"");
  text = replaced(text, "0.9881", "98.81");
  const auto faults = reliability_faults(text);
  REQUIRE(faults.size() == 5);
  const auto reported = [&](const std::string& key) {
    return std::any_of(faults.begin(), faults.end(),
                       [&](const Diagnostic& d) { return d.key == key && d.at.line > 0 && !d.fix.empty(); });
  };
  CHECK(reported("parameters.restart"));
  CHECK(reported("parameters.restrat"));
  CHECK(reported("parameters.replacement_share.median"));
  CHECK(reported("parameters.failure_rate.unit"));
  CHECK(reported("published[0].uptime"));
  CHECK(reliability_faults("{}").size() == 2);
}
