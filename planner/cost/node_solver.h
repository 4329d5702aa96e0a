// Numbers of nodes of one instance type that keep deadline and budget with a probability.
//
// P(N), the probability that the run on N nodes works and ends within its limits
// (RunAnswer::probability_in_limits), grows with N under a deadline and falls under a budget, but not
// steadily: which layouts there are depends on the divisors of N and of the batch. The solver
//   1. doubles or halves N, from the number that a usual MFU needs, to two powers of two between which P
//      crosses the confidence;
//   2. judges every number that is not ruled out, where the space of strategies is small enough
//      (kMostStrategies), so that the answer is the first of all;
//   3. otherwise, where no power of two keeps the limits, tries every number of tried_numbers(), which are also those
//      that what_helps() names;
//   4. narrows the two: where the forecast of the better one, at as many tokens a second per node,
//      crosses the confidence, else halfway;
//   5. doubles the nodes from there as long as the question prefers that, and tries numbers on both sides of the
//      preferred one. More nodes may cost less: they need less recomputation, or a smaller part of their memory
//      for states.
//      Whatever cannot be preferred by its bounds is not searched.
// No step has more tokens a second than the accelerators' peak allows, which rules out the smallest.
#pragma once

#include <vector>

#include "planner/cost/cluster_points.h"

namespace trnplan::planner {

/// Numbers of nodes up to `most` that are tried for every limit where no power of two keeps it, ascending: those of
/// four binary digits, so that the next is at most an eighth larger, and `most`.
[[nodiscard]] std::vector<int> tried_numbers(int most);

/// Points of the type, ascending: the first that keeps the limits, seen from too few nodes (with a budget
/// alone from too many), and the preferred one of those judged. If none keeps them, the most likely and, for
/// each limit that its median misses, the one that comes closest to it; empty if no number of nodes has a plan.
/// Adds all of tried_numbers() that were judged and have a plan to `judged`. Requires: tokens and a limit are stated.
/// Cost: some ten searches, or those of kMostStrategies strategies; where no power of two keeps the limits, one for
/// each of tried_numbers() that bounds do not rule out.
[[nodiscard]] std::vector<WhatIfPoint> solved_points(const ClusterPoints& points,
                                                     const topology::Instance& type,
                                                     std::vector<WhatIfPoint>& judged);

}  // namespace trnplan::planner
