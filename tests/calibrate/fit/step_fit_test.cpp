#include "calibrate/fit/step_fit.h"

#include <algorithm>
#include <cmath>

#include "calibrate/validate/step_validation.h"
#include "models/device/neuron_core_parameters.h"
#include "tests/calibrate/programs.h"
#include "tests/catch.h"
#include "tests/sanitised.h"

using namespace trnplan;
using calibrate::LeaveOut;
using calibrate::MeasuredStep;
using calibrate::StepBench;
using models::Parameter;
using models::Profile;

TEST_CASE("the order of runs does not matter, and equal input gives equal bits", "[calibrate]") {
  std::vector<MeasuredStep> steps = programs();
  if (kSanitised) steps.resize(8);
  const StepBench bench(steps);
  const auto first = calibrate::fit_steps(bench, nullptr, datasheet());
  std::reverse(steps.begin(), steps.end());
  const StepBench reversed(steps);
  const auto second = calibrate::fit_steps(reversed, nullptr, datasheet());
  for (std::size_t i = 0; i < first.profile.values.size(); ++i) {
    CHECK(first.profile.values[i].median == second.profile.values[i].median);
  }
  CHECK(first.profile.calibration->covariance == second.profile.calibration->covariance);
  CHECK(models::is_covariance(first.profile.calibration->covariance));
}

TEST_CASE("what is left out has no say in its own prediction", "[calibrate]") {
  std::vector<MeasuredStep> steps = programs();
  for (const LeaveOut leave_out : {LeaveOut::configuration, LeaveOut::run_group}) {
    std::vector<MeasuredStep> changed = steps;
    const std::string name = steps.front().configuration;
    const auto left_out = [&](const MeasuredStep& s) {
      return leave_out == LeaveOut::configuration ? s.configuration == name : s.id == steps.front().id;
    };
    for (MeasuredStep& s : changed) s.seconds *= left_out(s) ? 3 : 1;
    const StepBench bench(steps), other(changed);
    const auto before = validate_steps(bench, nullptr, datasheet(), leave_out, {}, left_out);
    const auto after = validate_steps(other, nullptr, datasheet(), leave_out, {}, left_out);
    REQUIRE(before.rows.size() == after.rows.size());
    REQUIRE_FALSE(before.rows.empty());
    for (std::size_t i = 0; i < before.rows.size(); ++i) {
      CHECK(before.rows[i].predicted == after.rows[i].predicted);
      CHECK(before.rows[i].low == after.rows[i].low);
      CHECK(after.rows[i].error == Approx((1 + before.rows[i].error) / 3 - 1));
    }
    // All others learn of it.
    const auto others = [&](const MeasuredStep& s) { return s.id == steps.back().id; };
    REQUIRE_FALSE(left_out(steps.back()));
    const auto quiet = validate_steps(bench, nullptr, datasheet(), leave_out, {}, others);
    const auto aware = validate_steps(other, nullptr, datasheet(), leave_out, {}, others);
    CHECK(quiet.rows.front().predicted != aware.rows.front().predicted);
  }
}

TEST_CASE("one odd configuration moves the others little", "[calibrate]") {
  const std::vector<MeasuredStep> steps = programs();
  std::vector<MeasuredStep> odd = steps;
  for (MeasuredStep& s : odd) s.seconds *= s.configuration == steps.back().configuration ? 3 : 1;
  const StepBench bench(steps), other(odd);
  calibrate::StepFitOptions medians;
  medians.profile_widths = false;
  const auto fair = calibrate::fit_steps(bench, nullptr, datasheet(), medians);
  const auto robust = calibrate::fit_steps(other, nullptr, datasheet(), medians);
  const auto matmul = [](const calibrate::StepFit& f) {
    return std::log(f.profile[models::neuron::matmul_efficiency]);
  };
  CHECK(std::abs(matmul(robust) - matmul(fair)) <
        0.5 * fair.profile.value(models::neuron::matmul_efficiency).log_sd);
}

TEST_CASE("rows of one run group are one observation", "[calibrate]") {
  std::vector<MeasuredStep> steps = programs();
  steps.resize(1);
  steps[0].group = "R1";
  steps.push_back(steps[0]);
  steps[1].id += "b";
  steps[1].seconds = steps[0].seconds * 4;
  const StepBench bench(steps);
  REQUIRE(bench.observations().size() == 1);
  CHECK(bench.programs() == 1);
  // The mean of logarithms: half of a factor 4 is a factor 2.
  CHECK(std::exp(bench.observations()[0].log_seconds) == Approx(2 * steps[0].seconds));
  const auto v = validate_steps(bench, nullptr, datasheet(), LeaveOut::none);
  REQUIRE(v.rows.size() == 2);
  CHECK(v.rows[0].weight == 0.5);
}

TEST_CASE("steps that need not take the same time are different programs", "[calibrate]") {
  std::vector<MeasuredStep> steps = programs();
  const auto bert = std::find_if(steps.begin(), steps.end(),
                                 [](const MeasuredStep& s) { return s.job.architecture.learned_positions; });
  REQUIRE(bert != steps.end());
  steps = {*bert, *bert};
  steps[1].id += "b";
  CHECK(StepBench(steps).programs() == 1);
  const auto apart = [&](const std::function<void(MeasuredStep&)>& change) {
    std::vector<MeasuredStep> both = steps;
    change(both[1]);
    return StepBench(both).programs() == 2;
  };
  // A longer table of positions is more parameters to reduce and to update.
  CHECK(apart([](MeasuredStep& s) { s.job.architecture.max_positions *= 4; }));
  CHECK(apart([](MeasuredStep& s) { s.strategy.bucket_mb = 20; }));
  CHECK(apart([](MeasuredStep& s) { s.job.software.in_flight = 2; }));
  // A machine that is wired otherwise, under the same name.
  CHECK(apart([](MeasuredStep& s) { s.job.cluster.instance.links.pop_back(); }));
  CHECK(apart([](MeasuredStep& s) { s.job.cluster.oversubscription = 2; }));
  // Names, prices and what a whole run is to train do not matter.
  CHECK_FALSE(apart([](MeasuredStep& s) { s.job.architecture.name = "another"; }));
  CHECK_FALSE(apart([](MeasuredStep& s) { s.job.cluster.instance.prices.clear(); }));
  CHECK_FALSE(apart([](MeasuredStep& s) { s.job.training.tokens = 1e12; }));
  CHECK_FALSE(apart([](MeasuredStep& s) { s.job.budget = 1000; }));
}

// By hand: errors of 10, 20 and (twice half) 40 %, the last two rows one observation.
TEST_CASE("summaries weigh run groups", "[calibrate]") {
  std::vector<MeasuredStep> steps(4);
  std::vector<calibrate::StepValidation::Row> rows(4);
  const double predicted[] = {1.1, 0.8, 1.4, 1.4};
  std::vector<const calibrate::StepValidation::Row*> all;
  for (std::size_t i = 0; i < 4; ++i) {
    steps[i].seconds = 1;
    rows[i].step = &steps[i];
    rows[i].predicted = predicted[i];
    rows[i].error = predicted[i] - 1;
    rows[i].low = predicted[i] / 1.25;
    rows[i].high = predicted[i] * 1.25;
    rows[i].weight = i < 2 ? 1 : 0.5;
    rows[i].by_mfu = rows[i].by_oracle = 1;
    all.push_back(&rows[i]);
  }
  const auto s = calibrate::summary_of(all);
  CHECK(s.rows == 4);
  CHECK(s.groups == 3);
  CHECK(s.mape == Approx((0.1 + 0.2 + 0.4) / 3));
  CHECK(s.median_ape == Approx(0.2));
  CHECK(s.p90_ape == Approx(0.4));
  CHECK(s.coverage_90 == Approx(2.0 / 3));  // 1.4 / 1.25 lies above 1, 0.8 x 1.25 is 1
  CHECK(s.median_half_width == Approx((1.25 - 0.8) / 2));
  CHECK(s.mape_oracle == 0);
}
