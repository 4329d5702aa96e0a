// Interface for the risk of plans, which counts besides time in a recommendation: how likely a plan works,
// and how far its time may be off. The search calls it; planner/confidence/recommendation.h implements it.
#pragma once

#include <optional>
#include <string_view>

#include "models/job/job.h"
#include "models/job/strategy.h"
#include "models/memory/memory.h"
#include "planner/plan/plan.h"

namespace trnplan::planner {

/// The user's attitude to risk.
enum class RiskAttitude {
  neutral,  ///< the least expected cost; of plans that cannot be distinguished the safest
  averse,   ///< the least cost at the slow end, where no other plan replaces one that does not work
  fastest   ///< the least predicted cost
};

[[nodiscard]] std::string_view to_string(RiskAttitude a);
[[nodiscard]] std::optional<RiskAttitude> risk_attitude_from(std::string_view text);

/// Called by one thread at a time; answers depend on the arguments alone. Costs are per token, in seconds or
/// USD.
class Advisor {
 public:
  struct Risk {
    double works = 1;   ///< P(it fits, compiles and runs)
    double log_sd = 0;  ///< of its time, beyond what every plan's interval has
  };

  Advisor() = default;
  Advisor(const Advisor&) = delete;
  Advisor& operator=(const Advisor&) = delete;
  virtual ~Advisor() = default;

  [[nodiscard]] virtual RiskAttitude attitude() const = 0;
  /// Most that is given up for a safer plan, as a share of the least expected cost.
  [[nodiscard]] virtual double most_given_up() const = 0;
  /// Share by which safe costs may differ and still count as alike. Of plans with alike safe costs, one is
  /// taken that is faster, more likely to work and expected to cost less: then only its distance from
  /// recorded runs speaks for the other.
  [[nodiscard]] virtual double alike() const = 0;

  /// Risk no larger than risk() of the strategy with any cuts, known before its memory is computed.
  [[nodiscard]] virtual Risk least_risk(const models::Job& on, const models::Strategy& s) const = 0;
  [[nodiscard]] virtual Risk risk(const models::Job& on, const models::Strategy& s,
                                  const models::Memory& memory) const = 0;

  /// Both grow with `cost` and with the risk, and are at least `cost` where there is no risk. `fallback`:
  /// expected cost of the plan that is tried next; `second`: cost of a second of the cluster.
  [[nodiscard]] virtual double safe_cost(double cost, const Risk& risk) const = 0;
  [[nodiscard]] virtual double expected_cost(double cost, const Risk& risk, double fallback,
                                             double second) const = 0;

  /// True if `first` works and is the better one with at least the probability that the user asked for.
  [[nodiscard]] virtual bool is_surely_better(const Plan& first, const Plan& other) const = 0;
};

}  // namespace trnplan::planner
