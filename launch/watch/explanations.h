// Conditions that would explain slow steps, by how likely they are.
//
// Each cause is a scenario of the simulator with one value, solved so that the simulated step is as many times as
// long as on the ideal machine as the observed one is as expected. Its probability is
//   P(cause) int p(value) N(log observed; log expected + log times(value), log_sd) dvalue x S(spread of steps)
// over the sum of all. `times` is linear between the values that were simulated. Prior: nothing is wrong but the
// prediction with 1/2, the other causes share 1/2 equally; of these and of the priors of values no statistics are
// published that we know of, so they are our own (arXiv 2410.12588 names computation of nodes and the network between
// them as usual causes, arXiv 2402.15627 a slow host that costs 10 %).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "launch/watch/slow_steps.h"
#include "models/job/job.h"
#include "models/job/strategy.h"
#include "models/parameters/profile.h"
#include "models/step/scenario.h"

namespace trnplan::launch {

enum class Cause { slow_node, nic, spine, jitter, late_node, prediction };
inline constexpr std::size_t kCauses = 6;
/// The scenario's key, or "prediction".
[[nodiscard]] std::string_view to_string(Cause cause);

/// Two causes are distinguished if one is more than this many times as likely: a smaller ratio is "not worth more than
/// a bare mention" (R. Kass and A. Raftery, Bayes Factors, 1995).
inline constexpr double kDistinct = 3;

struct Explanation {
  Cause cause = Cause::prediction;
  models::Scenario scenario;  ///< ideal for `prediction`
  double value = 0;      ///< of the scenario's key; for `prediction` the observed step over the expected one
  double times = 1;      ///< as long as on the ideal machine takes the simulated step
  bool reaches = false;  ///< that is as long as observed; else `value` is the worst that was tried
  double probability = 0;
  bool as_likely = false;  ///< as the likeliest of those that reach it, by kDistinct
};

/// All causes that the machine can have, the likeliest first. `slow` as slow_steps() finds it; job, strategy and
/// profile are those of the prediction. A node stands for all: the one, of up to three with different pipeline stages,
/// that slows the step most. Cost: some 40 simulations, 10 of them of random times, with 13,000 passes each, or of one
/// run; random times are left out where that run would have more than 100,000 tasks, as is a cause whose step cannot
/// be simulated. Throws as models::StepModel does.
[[nodiscard]] std::vector<Explanation> explain(const SlowSteps& slow, const models::Job& job,
                                               const models::Strategy& strategy,
                                               const models::Profile& profile);

}  // namespace trnplan::launch
