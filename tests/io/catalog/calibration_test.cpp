#include "io/catalog/calibration.h"

#include "io/catalog/profile_reader.h"
#include "io/output/profile_json.h"
#include "models/device/neuron_core_parameters.h"
#include "models/schemas/schemas.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "text/diagnostic.h"
#include "text/sha256.h"

using namespace trnplan;
using models::Parameter;

namespace {

const std::size_t kCount = models::schema_named("neuron")->places();

models::Profile fitted() {
  models::Profile p = datasheet();
  p.name = "mine";
  auto c = std::make_shared<models::Calibration>();
  c->prior = "trn1-datasheet";
  c->tool = "trnplan 0";
  c->files = {{"runs.csv", sha256("abc")}};
  c->ranges = {{"nodes", 1, 32}, {"parameters", 3e8, 1.75e11}};
  c->stacks = {{"nxd", "", 0.9, 0.05}, {"nxd", "2.20", 1.02, 0.03}};
  c->covariance.assign(kCount + 2, std::vector<double>(kCount + 2, 0));
  for (std::size_t i = 0; i < kCount; ++i) {
    if (models::time_sign(p.schema->at(i)) == 0) continue;
    c->covariance[i][i] = p.values[i].log_sd * p.values[i].log_sd;
  }
  c->covariance[kCount][kCount] = 0.0025;
  c->covariance[kCount + 1][kCount + 1] = 0.0009;
  c->covariance[0][kCount] = c->covariance[kCount][0] = -0.004;
  p.calibration = c;
  return p;
}

std::string text_of(const models::Profile& p) {
  return io::profile_json(p, datasheet(), {models::neuron::matmul_efficiency}, "test", "");
}

models::Profile profile_of(const std::string& text) {
  return io::profile_from(parse_document(text, "mine.json"), &test_catalog());
}

std::string fault_of(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  try {
    profile_of(text);
  } catch (const InputError& e) {
    return to_string(e.faults().front());
  }
  return "";
}

}  // namespace

TEST_CASE("a calibration survives its file", "[io]") {
  const models::Profile before = fitted(), after = profile_of(text_of(before));
  REQUIRE(after.calibration != nullptr);
  CHECK(after.calibration->covariance == before.calibration->covariance);
  CHECK(after.calibration->prior == "trn1-datasheet");
  CHECK(after.calibration->files.front().name == "runs.csv");
  REQUIRE(after.calibration->stacks.size() == 2);
  CHECK(after.calibration->stacks[1].release == "2.20");
  REQUIRE(after.calibration->ranges.size() == 2);
  CHECK(after.calibration->ranges[1].of == "parameters");
  CHECK(after.calibration->ranges[1].high == 1.75e11);
  CHECK(text_of(after) == text_of(before));
}

// FIPS 180-2, appendix B.1.
TEST_CASE("fingerprints are SHA-256", "[io]") {
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("a covariance that is none is refused with its place", "[io]") {
  const std::string good = text_of(fitted());
  CHECK(profile_of(good).calibration != nullptr);
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& why) {
    const std::string fault = fault_of(good, from, to);
    INFO(fault);
    CHECK(fault.find("mine.json:") == 0);
    CHECK(fault.find(why) != std::string::npos);
  };
  refused("-0.004", "-0.02", "positive semi-definite");  // correlation -2
  refused("32.0", "0.5", "the smaller one first");
  refused("-0.004", "1e30", "finite");
  refused("-0.004", "\"x\"", "finite");
  refused("-0.004, ", "", "the wrong length");
  refused("\"nxd 2.20\"", "\"nxd 2.21\"", "not a parameter or stack");
  refused("\"nxd 2.20\"", "\"nxd\"", "twice");
  refused("0.0025", "0.09", "log_sd squared");
  refused("\"prior\"", "\"prier\"", "prior");
}

TEST_CASE("old profiles load, without a calibration", "[io]") {
  for (const char* name : {"trn1-datasheet", "trn1-2023-04", "trn1-2023-04-fitted"}) {
    CHECK(test_catalog().profile(name).calibration == nullptr);
  }
}

TEST_CASE("values that a profile states in addition to its base's calibration are independent of it",
          "[io]") {
  const models::Profile base = fitted();
  models::Profile changed = base;
  changed.value(models::neuron::matmul_efficiency).log_sd = 0.1;
  const Node stated = parse_document("matmul_efficiency: 1", "p.yaml");
  const auto c = io::calibration_beside(*base.calibration, changed, &stated);
  CHECK(c->covariance[0][0] == Approx(0.01));
  CHECK(c->covariance[0][kCount] == 0);
  CHECK(c->covariance[kCount][kCount] == 0.0025);
  CHECK(models::is_covariance(c->covariance));
}
