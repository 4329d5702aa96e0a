#include "io/catalog/measuring.h"

#include <algorithm>
#include <string>

#include "io/catalog/catalog.h"
#include "tests/catch.h"

using namespace trnplan;

namespace {

planner::Reliability reliability() {
  planner::Reliability r;
  r.value(planner::ReliabilityParameter::restart).median = 77;
  return r;
}

std::vector<Diagnostic> measuring_faults(const std::string& text) {
  try {
    io::measuring_from(parse_document(text, "m.json"), reliability());
  } catch (const InputError& e) {
    return e.faults();
  }
  return {};
}

}  // namespace

TEST_CASE("the shipped file of what measuring takes", "[io][measuring]") {
  const auto times = io::measuring_from(
      read_document(io::Catalog(TRNPLAN_SOURCE_DIR "/catalog").file("measuring.json")), reliability());
  CHECK(times.compile == Seconds(1500));
  CHECK(times.nccom_test == Seconds(300));
  CHECK(times.start == Seconds(77));
}

TEST_CASE("faults of it, all at once", "[io][measuring]") {
  const auto faults = measuring_faults(
      R"({"parameters": {"compile": {"median": -1, "log_sd": 0.5, "unit": "min", "source": "s"}, "nccomtest": {}}})");
  REQUIRE(faults.size() == 4);
  const auto reported = [&](const std::string& key) {
    return std::any_of(faults.begin(), faults.end(), [&](const Diagnostic& d) { return d.key == key; });
  };
  CHECK(reported("parameters.compile.median"));
  CHECK(reported("parameters.compile.unit"));
  CHECK(reported("parameters.nccom_test"));
  CHECK(reported("parameters.nccomtest"));
  CHECK(measuring_faults("{}").size() == 1);
}
