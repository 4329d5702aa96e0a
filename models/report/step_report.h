// What the simulation of a step says of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/parameters/profile.h"
#include "models/report/category.h"
#include "units/quantity.h"

namespace trnplan::models {

using CategorySeconds = std::array<Seconds, static_cast<std::size_t>(Category::count)>;
/// By place in the schema.
using ParameterSeconds = std::array<Seconds, kMostParameters>;

/// What one step costs.
struct StepReport {
  const ParameterSchema* schema = &kNoSchema;  ///< of the profile it was simulated with
  Seconds step{};
  Seconds low{}, high{};        ///< 90 % interval
  CategorySeconds breakdown{};  ///< along the critical path; adds up to `step`. Bubble: the path's work on
                                ///< other stages before it first and after it last visits its main stage
  ParameterSeconds
      by_parameter{};  ///< along the critical path: seconds that scale with each parameter (some with two)
  ParameterSeconds
      exclusive{};  ///< the same with each second once, under what it depends on most; adds up to `step`
  std::vector<std::pair<std::string, Seconds>> by_operator;  ///< the same by operator, the longest first
  double tokens_per_second = 0;
  double mfu = 0;                ///< (6N + 12 L h s) over the cores' BF16 peak
  double hfu = 0;                ///< all tensor-engine operations, recompute and KV replicas included
  FlopsPerSecond model_flops{};  ///< of the cluster, 6N + 12 L h s
  FlopsPerSecond six_n_flops{};  ///< of the cluster, 6N only
  bool expanded = false;         ///< layers were expanded into the step's program
  bool folded = false;           ///< steady rounds were counted, and not run one by one
  bool extrapolated = false;     ///< no rhythm: the run's growth was counted on (models/step/step_run.h)
  std::size_t tasks = 0;
  std::uint64_t events = 0;

  /// d log step / d log rate of a resource (of a length for latency and launch): by how much per cent the
  /// step changes when it gets 1 % faster (longer). Their absolute values add up to 1; what work loses beside
  /// a transfer belongs to what limits the transfer.
  double elasticity(Resource r) const;
};

}  // namespace trnplan::models
