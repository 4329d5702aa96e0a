// What counts besides time where a plan is to be recommended: how surely it works, and how far its time may be off.
// The search asks; planner/confidence/recommendation.h answers.
#pragma once

#include <optional>
#include <string_view>

#include "models/job/job.h"
#include "models/job/strategy.h"
#include "models/memory/memory.h"
#include "planner/plan/plan.h"

namespace trnplan::planner {

/// What the user makes of risk.
enum class RiskAttitude {
  neutral,  ///< the least expected cost; of plans that cannot be told apart the safest
  averse,   ///< the least cost at the slow end, where a plan that does not work has no successor
  fastest   ///< the least predicted cost
};

[[nodiscard]] std::string_view to_string(RiskAttitude a);
[[nodiscard]] std::optional<RiskAttitude> risk_attitude_from(std::string_view text);

/// Asked by one thread at a time; answers depend on the arguments alone. Costs are those of a token, in seconds or USD.
class Advisor {
 public:
  struct Risk {
    double works = 1;   ///< P(it fits, compiles and runs)
    double log_sd = 0;  ///< of its time, beyond what is stated of any plan
  };

  Advisor() = default;
  Advisor(const Advisor&) = delete;
  Advisor& operator=(const Advisor&) = delete;
  virtual ~Advisor() = default;

  [[nodiscard]] virtual RiskAttitude attitude() const = 0;
  /// What is given up at most for a safer plan, as a share of the least expected cost.
  [[nodiscard]] virtual double most_given_up() const = 0;
  /// Of plans whose safe costs differ by less, as a share, one that is faster, surer to work and expected to cost less
  /// is taken: what then speaks for the other is how near it is to known runs alone.
  [[nodiscard]] virtual double alike() const = 0;

  /// No more than risk() of the strategy with any cuts: what can be said before its memory is looked at.
  [[nodiscard]] virtual Risk least_risk(const models::Job& on, const models::Strategy& s) const = 0;
  [[nodiscard]] virtual Risk risk(const models::Job& on, const models::Strategy& s,
                                  const models::Memory& memory) const = 0;

  /// Both grow with `cost` and with the risk, and are no less than `cost` where there is none. `fallback`: expected of
  /// the plan that is tried next; `second`: what a second of the cluster costs.
  [[nodiscard]] virtual double safe_cost(double cost, const Risk& risk) const = 0;
  [[nodiscard]] virtual double expected_cost(double cost, const Risk& risk, double fallback,
                                             double second) const = 0;

  /// That `first` works and is the better one is as sure as was asked for.
  [[nodiscard]] virtual bool is_surely_better(const Plan& first, const Plan& other) const = 0;
};

}  // namespace trnplan::planner
