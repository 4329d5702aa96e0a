#include "calibrate/validate/pair_validation.h"

#include <cmath>
#include <memory>

#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using calibrate::MeasuredStep;
using calibrate::PairValidation;
using calibrate::StepValidation;

namespace {

/// Parameters are known exactly; an operator errs by 0.3, configurations by 0.07, runs by 0.05.
std::shared_ptr<const models::Profile> toy() {
  models::Profile p = datasheet();
  for (models::Value& v : p.values) v.log_sd = 0;
  p.value(models::common::operator_spread).median = 0.3;
  p.value(models::common::configuration_spread).median = 0.07;
  p.value(models::common::repeat_spread).median = 0.05;
  return std::make_shared<const models::Profile>(p);
}

std::shared_ptr<const models::StepReport> report_of(double qkv, double send) {
  models::StepReport r;
  r.schema = datasheet().schema;
  r.step = Seconds(qkv + send);
  r.by_operator = {{"qkv", Seconds(qkv)}, {"send", Seconds(send)}};
  return std::make_shared<const models::StepReport>(r);
}

MeasuredStep step_of(const std::string& name, const models::Job& job, double seconds) {
  MeasuredStep s;
  s.id = s.configuration = name;
  s.kind = "decoder";
  s.job = job;
  s.job.software.framework = "nxd";
  s.seconds = seconds;
  return s;
}

}  // namespace

// Shares 0.9, 0.1 and 0.7, 0.3: d = 0.08, 0.09 x 0.08 = 0.0072 of operators. That is less than 2 x 0.0049: n^2 =
// (0.0098 -
// 0.0072) / 2, so all but the runs is 0.0098. Runs: 0.0025 (1 / 1 + 1 / 1). sd = sqrt(0.0098 + 0.005) = 0.12166. The
// ratio is predicted as 1, measured as 100 / 110: the error is log(110 / 100).
TEST_CASE("a pair of configurations, by hand", "[calibrate][pairs]") {
  const models::Job job = job_of("llama2-7b", 4, 4096, 64);
  const MeasuredStep a = step_of("a", job, 100), b = step_of("b", job, 110);
  StepValidation::Row x, y;
  x.step = &a;
  y.step = &b;
  x.predicted = y.predicted = 105;
  x.fit = y.fit = toy();
  x.report = report_of(90, 10);
  y.report = report_of(70, 30);
  const PairValidation v = calibrate::validate_pairs({&x, &y});
  REQUIRE(v.pairs.size() == 1);
  CHECK(v.pairs[0].distance == Approx(0.08));
  CHECK(v.job_spread == Approx(std::sqrt(0.0013)));
  CHECK(v.pairs[0].sd == Approx(0.12166).epsilon(1e-4));
  CHECK(v.pairs[0].error == Approx(std::log(1.1)));
  CHECK(v.pairs[0].better == Approx(0.5));
  CHECK(v.pairs[0].was_better);
  CHECK(v.mape == Approx(0.1));
  CHECK(v.all().z == Approx(std::log(1.1) / 0.12166).epsilon(1e-4));
  // |error| / sd = 0.7834: inside from the 56.7 % interval on.
  for (const PairValidation::Bin& bin : v.intervals()) CHECK(bin.observed == (bin.stated > 0.567 ? 1 : 0));
  REQUIRE(v.choices().size() == 1);
  CHECK(v.choices()[0].observed == 1);
}

TEST_CASE("configurations of other stacks or kinds are no pair", "[calibrate][pairs]") {
  const models::Job job = job_of("llama2-7b", 4, 4096, 64);
  MeasuredStep a = step_of("a", job, 100), b = step_of("b", job, 110);
  b.job.software.framework = "nxdt";
  StepValidation::Row x, y;
  x.step = &a;
  y.step = &b;
  x.predicted = y.predicted = 105;
  x.fit = y.fit = toy();
  x.report = y.report = report_of(90, 10);
  CHECK(calibrate::validate_pairs({&x, &y}).pairs.empty());
  CHECK(calibrate::validate_pairs({}).parts(3).size() == 3);
  b.job.software.framework = "nxd";
  CHECK(calibrate::validate_pairs({&x, &y}).pairs.size() == 1);
}
