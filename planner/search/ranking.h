// The best plans of many strategies, lowest bound first. Private to the search.
#pragma once

#include <cstddef>
#include <vector>

#include "planner/search/simulations.h"

namespace trnplan::planner {

/// Keeps references to its arguments. Notes in `result` what the time limit cut short, and how far a winner
/// that is not proven may be from the best.
class Ranking {
 public:
  Ranking(Simulations& known, const SearchClock& clock, const SearchOptions& options, SearchResult& result)
      : known_(known), clock_(clock), options_(options), result_(result) {}

  /// The `most` best plans of `open`, that keep deadline and budget if `constrained`: simulates until no
  /// bound can beat the worst of them. Results count in the order of their bounds, whatever was simulated at
  /// the same time.
  [[nodiscard]] std::vector<Plan> best_of(const std::vector<Place>& open, std::size_t most, bool constrained);

  /// The best plans of different layouts (TP, PP, CP, DP) of a cluster, found as in best_of(). Strategies
  /// that cannot beat the best of their own layout are skipped.
  [[nodiscard]] std::vector<Plan> best_of_layouts(int cluster);

  /// Says that the winner is known: from now on nothing has to be proven and no progress is reported.
  void winner_is_known() { proving_ = false; }

 private:
  void note_gap(const Score* best, const Score& bound);
  void report(std::size_t open, const Plan* best, Seconds bound) const;

  Simulations& known_;
  const SearchClock& clock_;
  const SearchOptions& options_;
  SearchResult& result_;
  bool proving_ = true;
};

}  // namespace trnplan::planner
