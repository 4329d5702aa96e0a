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
  for (const models::Value& v : r.values) CHECK_FALSE(v.source.empty());
  REQUIRE(r.published.size() == 4);
  CHECK(r.published[1].uptime == 0.7783);
  CHECK_FALSE(r.published[1].automatic);
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
