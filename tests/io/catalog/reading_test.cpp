#include "io/catalog/reading.h"

#include <string>

#include "io/catalog/catalog.h"
#include "tests/catch.h"
#include "tests/faults.h"

using namespace trnplan;
using calibrate::quantity_of;

namespace {

calibrate::RunReading shipped() {
  return io::reading_from(read_document(io::Catalog(TRNPLAN_SOURCE_DIR "/catalog").file("reading.json")));
}

models::MeasuredRun row(const std::string& quantity) {
  models::MeasuredRun run;
  run.quantity = quantity;
  return run;
}

}  // namespace

TEST_CASE("a threshold of a test is a bound where the test has it as one", "[io][reading]") {
  const auto reading = shipped();
  const auto threshold = row("CI acceptance throughput");
  for (const char* release : {"", "2.19", "2.20"}) {
    CAPTURE(release);
    CHECK(quantity_of(reading, threshold, "nxd", release).at_most);
    CHECK(quantity_of(reading, threshold, "nxd", release).ratio == 1);
  }
  CHECK_FALSE(quantity_of(reading, threshold, "nxd", "2.21").at_most);
  // Uniform within 5 %: 0.05 / sqrt(3) = 0.029.
  CHECK(quantity_of(reading, threshold, "nxd", "2.22").log_sd == Approx(0.029).epsilon(0.05));
  // Below 95 % of the throughput it fails: at most 1 / 0.95 of the time.
  CHECK(quantity_of(reading, threshold, "nxd", "2.25").at_most);
  CHECK(quantity_of(reading, threshold, "nxd", "2.25").ratio == Approx(1 / 0.95).epsilon(1e-4));
  CHECK_FALSE(quantity_of(reading, row("throughput"), "nxd", "2.19").at_most);
  CHECK(quantity_of(reading, row("throughput"), "nxd", "2.19").ratio == 1);
}

TEST_CASE("what NxD prints as step_time is shorter than the step", "[io][reading]") {
  const auto reading = shipped();
  // 252.0 / 243.84 = 1.0335 and 292.2 / 285.1 = 1.0249: log-mean 1.029.
  CHECK(quantity_of(reading, row("step time"), "nxd", "2.21").ratio == Approx(1.029).epsilon(0.002));
  CHECK(quantity_of(reading, row("step_time, mean of steps 3-5"), "nxd", "2.19").ratio ==
        Approx(1.029).epsilon(0.002));
  CHECK(quantity_of(reading, row("step time"), "nxdt", "2.22").ratio == 1);
  CHECK(quantity_of(reading, row("throughput"), "nxd", "2.21").ratio == 1);
}

TEST_CASE("NxD before 2.19 had gradients in bf16", "[io][reading]") {
  using models::Precision;
  const auto reading = shipped();
  const auto meant = [&](const char* framework, const char* release) {
    return calibrate::precision_of(reading, Precision::mixed_precision, framework, release);
  };
  CHECK(meant("nxd", "2.9") == Precision::bf16_sr);
  CHECK(meant("nxd", "2.18") == Precision::bf16_sr);
  CHECK(meant("nxd", "2.19") == Precision::mixed_precision);
  CHECK(meant("nxd", "") == Precision::mixed_precision);
  CHECK(meant("nxdt", "2.18") == Precision::mixed_precision);
  CHECK(calibrate::precision_of(reading, Precision::fp32, "nxd", "2.18") == Precision::fp32);
}

TEST_CASE("every fault of a reading is named", "[io][reading]") {
  const auto faults = faults_in([] {
    (void)io::reading_from(parse_document(
        R"({"schema_version": 1, "quantities": [{"ratio": 0, "source": "s"}, {"quantity": "q"}],
            "precisions": [{"framework": "nxd", "before_release": "2.19", "stated": "bf17", "meant": "fp32", "source": "s"}]})",
        "r.json"));
  });
  REQUIRE(faults.size() == 4);
  CHECK(faults[0].key == "quantities[0].quantity");
  CHECK(faults[1].key == "quantities[0].ratio");
  CHECK(faults[2].key == "quantities[1].source");
  CHECK(faults[3].key == "precisions[0].stated");
}
