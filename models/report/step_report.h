// The results of simulating a step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/parameters/profile.h"
#include "models/report/category.h"
#include "units/quantity.h"

namespace trnplan::models {

using CategorySeconds = std::array<Seconds, static_cast<std::size_t>(Category::count)>;
/// Seconds by place in the schema.
using ParameterSeconds = std::array<Seconds, kMostParameters>;

/// The step in the slow state of a network that was not measured.
struct SlowStep {
  double probability = 0;   ///< of the state
  Seconds step{};           ///< median in that state
  double log_sd = 0;        ///< there
  double usual_log_sd = 0;  ///< of StepReport::step, in the usual state
};

/// The cost of one step.
struct StepReport {
  const ParameterSchema* schema = &kNoSchema;  ///< of the profile of the simulation
  Seconds step{};
  Seconds low{}, high{};         ///< 90 % interval; over both states of the network if there is a slow one
  std::optional<SlowStep> slow;  ///< absent: the network was measured, or has one state
  double log_sd = 0;             ///< of the step in the usual state, by the profile alone
  double own_log_sd = 0;         ///< own_spread() of models/uncertainty/spread.h
  /// Place in the profile's covariance of the factor of this layout; absent: it was not measured.
  std::optional<std::size_t> learnt;
  /// Seconds along the critical path; they add up to `step`. The bubble is the path's work on other stages,
  /// before its first and after its last visit to its main stage.
  CategorySeconds breakdown{};
  /// Seconds along the critical path that scale with each parameter; some scale with two.
  ParameterSeconds by_parameter{};
  /// The same with each second once, under the parameter it depends on most; adds up to `step`.
  ParameterSeconds exclusive{};
  std::vector<std::pair<std::string, Seconds>> by_operator;  ///< the same by operator, longest first
  double tokens_per_second = 0;
  double mfu = 0;                ///< (6N + 12 L h s) over the cores' BF16 peak
  double hfu = 0;                ///< all tensor-engine operations, with recompute and KV replicas
  FlopsPerSecond model_flops{};  ///< of the cluster, 6N + 12 L h s
  FlopsPerSecond six_n_flops{};  ///< of the cluster, 6N only
  bool expanded = false;         ///< layers were expanded into the step's program
  bool folded = false;           ///< steady rounds were counted instead of run one by one
  bool extrapolated = false;     ///< no rhythm: extrapolated from the run's growth (models/step/step_run.h)
  std::size_t tasks = 0;
  std::uint64_t events = 0;

  /// d log step / d log rate of a resource, or length for latency and launch: the change of the step in per
  /// cent when the resource becomes 1 % faster (longer). The absolute values add up to 1. Time that work
  /// loses to a concurrent transfer belongs to the resource that limits the transfer.
  double elasticity(Resource r) const;
};

}  // namespace trnplan::models
