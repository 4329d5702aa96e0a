// Choice of the plan to recommend among all that are legal and fit, not only the fastest. Private to the
// search.
//
// safe cost      A(p) >= cost(p): the averse choice s has the least, and is the fallback of every other plan
// expected cost  C(p) = works cost' + (1 - works) (fallback' + a failed try);
//                the neutral choice starts from the least, f
//
// In C, cost(p) is that of the mean step over the states of a network that was not measured
// (models/uncertainty/mixture.h), for which its step in the usual state, as in A, is a bound.
//
// Recommended is the plan of least safe cost among those that f is not surely better than and that cost
// little more than f in expectation. Plans are visited in the order of bounds of A and C. A bound is the cost
// at the bound of the time with no more risk than the plan has, so s and f are proven as the fastest plan is:
// C(p) is at least the smaller of cost(p) and the fallback's. Where cuts are free, the search's cuts make one
// plan, and the automatic partition, where it fits, another.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "planner/search/advisor.h"
#include "planner/search/simulations.h"

namespace trnplan::planner {

/// Keeps references to its arguments.
class Advice {
 public:
  Advice(Simulations& known, const SearchClock& clock, const SearchOptions& options,
         const models::Profile& profile, bool within_limits = true)
      : known_(known), clock_(clock), options_(options), profile_(profile), within_limits_(within_limits) {}

  /// The plan to recommend among `open`, of those that keep deadline and budget if that is asked for; nullopt where
  /// none does, or the time limit leaves it open. Cost: some simulations more than the search has made, and
  /// microseconds for each strategy with a bound below A(s).
  [[nodiscard]] std::optional<Plan> recommended(const std::vector<Place>& open);

 private:
  /// A strategy with the search's cuts or, if `automatic`, without any.
  struct Choice {
    Place place;
    bool automatic = false;
    auto operator<=>(const Choice&) const = default;
  };
  class Walk;

  [[nodiscard]] double second_of(Place p) const;
  [[nodiscard]] const Advisor::Risk& least_risk(Place p);
  /// A choice that is not simulated yet, and its score at the bound of its time.
  struct Open {
    Choice choice;
    Advisor::Risk risk;
    double least;
  };
  /// The strategy with its cuts, and the one without where that fits.
  [[nodiscard]] const std::vector<Open>& choices_of(Place p);
  /// The plan of `c`; null beyond the simulation clock and, if they count, the deadline and the budget.
  [[nodiscard]] const Plan* simulated(const Choice& c);
  /// The plan of `choice` with the slow state of its network.
  [[nodiscard]] const Plan& with_interval(const Choice& choice, const Plan& plan);
  /// Time or money per token of a choice that was simulated, the mean over the states of its network.
  [[nodiscard]] double mean_cost(const Choice& choice);

  Simulations& known_;
  const SearchClock& clock_;
  const SearchOptions& options_;
  const models::Profile& profile_;
  bool within_limits_;
  std::map<Place, Advisor::Risk> least_;
  std::map<Place, std::vector<Open>> choices_;
  std::map<Place, std::optional<Plan>> automatic_;
  std::map<Choice, Plan> shown_;
};

}  // namespace trnplan::planner
