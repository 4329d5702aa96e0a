// The fits of GPU profiles.
#include "io/catalog/gpu_fits.h"

#include <string>

#include "io/catalog/catalog.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "text/diagnostic.h"

using namespace trnplan;

namespace {

std::string fault_of_gpu_fit(const std::string& fit) {
  return refusal_of([&] {
    (void)io::gpu_fits_from(parse_document(R"({"schema_version": 1, "fits": [)" + fit + "]}", "f.json"));
  });
}

}  // namespace

// Catches a parameter, scope or source of the catalogue's fits that is read as something else.
TEST_CASE("the catalogue's fits of GPUs name parameters of the schema", "[io][catalog]") {
  const auto fits =
      io::gpu_fits_from(read_document(io::Catalog(TRNPLAN_SOURCE_DIR "/catalog").file("gpu-fits.json")));
  REQUIRE(fits.size() == 4);
  CHECK(fits[0].profile == "a100");
  CHECK(fits[0].parameters.size() == 13);
  CHECK(fits[0].parameters.back().scope == "fsdp1");
  CHECK(fits[1].most == 100);
  CHECK(fits[1].network.congested_below.size() == 6);
  CHECK(fits[1].sources.front().qualities == "A");
  CHECK(fits[2].priors.size() == 1);
  CHECK(fits[3].parameters.back().scope == "gb300-nvl72");
}

TEST_CASE("faults of a fit of GPUs are named", "[io][catalog]") {
  CHECK(contains(fault_of_gpu_fit(
                     R"({"prior": "p", "family": "f", "sources": {"a": "A"}, "parameters": ["gemm_share"]})"),
                 "profile"));
  CHECK(contains(
      fault_of_gpu_fit(
          R"({"profile": "p", "prior": "p", "family": "f", "sources": {"a": "A"}, "parameters": ["gem"]})"),
      "not a parameter"));
  CHECK(contains(
      fault_of_gpu_fit(R"({"profile": "p", "prior": "p", "family": "f", "parameters": ["gemm_share"]})"),
      "no rows"));
}
