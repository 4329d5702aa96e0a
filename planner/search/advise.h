// Which plan to recommend of all that are legal and fit, not only of the fastest. Private to the search.
//
// safe cost      A(p) >= cost(p): the averse choice s is the least of them, and the fallback of every other plan
// expected cost  C(p) = works cost' + (1 - works) (fallback' + a failed try); the neutral choice starts from the least, f
// Of the plans that f is not surely better than, and that cost little more than f in expectation, the one with the least
// safe cost is recommended. Strategies are looked
// at best first by bounds of A and C, which are those of the time's bound with no more risk than there is, so s and f
// are proven as the fastest plan is: C(p) is no less than the smaller of cost(p) and the fallback's. Where cuts are free
// those of the search are one plan and the automatic partition, where it fits, another.
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
         const models::Profile& profile)
      : known_(known), clock_(clock), options_(options), profile_(profile) {}

  /// Of `open`, which keep deadline and budget; nullopt where the time limit leaves it open. Cost: some simulations
  /// more than the search has made, and microseconds for each strategy whose bound is below A(s).
  [[nodiscard]] std::optional<Plan> recommended(const std::vector<Place>& open);

 private:
  /// A strategy with the search's cuts or, `automatic`, without any.
  struct Choice {
    Place place;
    bool automatic = false;
    auto operator<=>(const Choice&) const = default;
  };
  class Walk;

  [[nodiscard]] double second_of(Place p) const;
  [[nodiscard]] const Advisor::Risk& least_risk(Place p);
  /// Of the strategy with its cuts, and of the one without where that fits: what is to be looked at.
  [[nodiscard]] const std::vector<std::pair<Choice, Advisor::Risk>>& choices_of(Place p);
  /// nullptr: beyond the clock, or beyond deadline or budget.
  [[nodiscard]] const Plan* simulated(const Choice& c);

  Simulations& known_;
  const SearchClock& clock_;
  const SearchOptions& options_;
  const models::Profile& profile_;
  std::map<Place, Advisor::Risk> least_;
  std::map<Place, std::vector<std::pair<Choice, Advisor::Risk>>> choices_;
  std::map<Place, std::optional<Plan>> automatic_;
};

}  // namespace trnplan::planner
