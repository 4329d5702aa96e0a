// Value of a plan with its risk (docs/models.md, "Recommendation").
//
//   works = P(fits) P(compiles) P(runs at all)            given its distance from recorded runs
//   P(fits), P(compiles): the odds times (1 - m) / m where the very same plan ran, P(fits) times m / (1 - m) where it
//   did not fit; m = misleading
//   P(fits) of others after a plan F of the network ran out of memory, with the same probabilities of what a run shows:
//   of both, by the factors of memory that they share (FitPoint). Where F was surer to fit than 1 - mistaken, the
//   deviations of both are divided by as much as makes F so sure
//   mean  = exp(sd^2 / 2), slow = exp(kNinetyPercent sd)  sd of its time, added to that of its interval
//   safe cost      cost slow / works                      as if no plan followed a try that fails
//   expected cost  works cost mean + (1 - works) (fallback + failed)
//                  a try that fails costs `failed`, and the next plan, `fallback`, runs in its place
//   failed         (compile + start + failed_try) over the tokens of the run, or, if these are not
//                  stated, over the tokens of the fallback in `unstated_run`
// Parameters: catalog/recommending.json, catalog/measuring.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/job/job.h"
#include "models/memory/fit_probability.h"
#include "models/parameters/profile.h"
#include "planner/confidence/distance.h"
#include "planner/confidence/experiment.h"
#include "planner/confidence/observations.h"
#include "planner/plan/plan.h"
#include "planner/search/advisor.h"

namespace trnplan::planner {

/// Parameters of catalog/recommending.json.
struct RecommendingParameters {
  DistanceParameters distance;
  /// Time until somebody sees that a plan does not run and starts the next, besides compiling.
  Seconds failed_try{};
  Seconds unstated_run{};  ///< length of a run without stated tokens
  double mistaken = 0;     ///< share of sure answers of fit and compilation that are wrong
  double misleading = 0;   ///< share of runs whose end says nothing of whether the plan fits and compiles
  double alike = 0;        ///< safe costs that differ by less count as equal if all else favours one plan
  double given_up = 0;     ///< most given up for a safer plan, as a share of the least expected cost
};

/// Risk of a plan, as reported.
struct Outlook {
  Distance distance;
  std::string nearest;  ///< in words; "" without any
  int compared = 0;     ///< RecordedRuns::compared()
  std::optional<UnmeasuredStack> unmeasured;
  double fits = 0, compiles = 1, runs = 1;
  double log_sd = 0;  ///< of its time, beyond the spread without the distance
  double expected_tokens_per_second = 0;
  [[nodiscard]] double works() const { return fits * compiles * runs; }
};

inline const std::vector<Observation> kNoObservations;

/// Keeps references to its arguments, which outlive it.
class RiskAdvisor final : public Advisor {
 public:
  RiskAdvisor(const models::Job& job, const models::Profile& profile, const RecordedRuns& known,
              const RecommendingParameters& parameters, const MeasuringTimes& times, RiskAttitude attitude,
              double sure, const std::vector<Observation>& observations = kNoObservations);

  [[nodiscard]] RiskAttitude attitude() const override { return attitude_; }
  [[nodiscard]] double most_given_up() const override { return parameters_.given_up; }
  [[nodiscard]] double alike() const override { return parameters_.alike; }
  [[nodiscard]] Risk least_risk(const models::Job& on, const models::Strategy& s) const override;
  [[nodiscard]] Risk risk(const models::Job& on, const models::Strategy& s,
                          const models::Memory& memory) const override;
  [[nodiscard]] double safe_cost(double cost, const Risk& risk) const override;
  [[nodiscard]] double expected_cost(double cost, const Risk& risk, double fallback,
                                     double second) const override;
  [[nodiscard]] bool is_surely_better(const Plan& first, const Plan& other) const override;

  /// Outlook of a plan, with `fallback` in its place if it does not work. Cost: tens of microseconds.
  [[nodiscard]] Outlook outlook(const Plan& plan, const Plan& fallback) const;

 private:
  [[nodiscard]] double failed(double fallback, double second) const;
  /// Distance from the recorded runs; 0 for a layout that the profile has learnt from a run of its own.
  [[nodiscard]] double distance(const models::Job& on, const models::Strategy& s) const;
  /// Log-sd of the time at a distance from the recorded runs.
  [[nodiscard]] double time_log_sd(const models::Job& on, const models::Strategy& s, double distance) const;
  [[nodiscard]] double known_time_log_sd(const Plan& plan) const;
  /// Probabilities that a plan fits and compiles, after what its own runs showed.
  struct Chances {
    double fits = 0, compiles = 0;
  };
  [[nodiscard]] Chances after_runs(const models::Job& on, const models::Strategy& s,
                                   const models::Memory& memory, double doubt, Chances before) const;
  /// P(fits) after other plans ran out of memory.
  [[nodiscard]] double after_others(const models::Job& on, const models::Memory& memory, double doubt,
                                    double before) const;
  /// Point at which a plan that did not fit this machine needs all that it had; absent for other observations.
  [[nodiscard]] std::optional<models::FitPoint> full_point(const Observation& o,
                                                           const topology::Instance& machine) const;

  const models::Job& job_;
  const models::Profile& profile_;
  const RecordedRuns& known_;
  const RecommendingParameters& parameters_;
  const MeasuringTimes& times_;
  RiskAttitude attitude_;
  double sure_;
  const std::vector<Observation>& observations_;
  /// A plan that ran out of memory.
  struct Full {
    std::string instance;
    models::FitPoint point;
  };
  std::vector<Full> full_;
};

/// Sets the probability that a plan works, and widens its 90 % interval by what an outlook adds.
void tell_risk(Plan& plan, const Outlook& outlook);

}  // namespace trnplan::planner
