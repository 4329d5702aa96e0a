// Max-min fair sharing of resources among coflows.
//
//   maximise lexicographically the smallest of  x_f * max_r(w_fr)   subject to   sum_f w_fr * x_f <= C_r
//
// x_f progress rate of flow f (1/s), w_fr bytes of flow f on resource r, C_r capacity (bytes/s). Solved by
// progressive filling: all flows rise together in x*max(w) until a resource is full; its flows are fixed; the
// rest rise on. (D. Bertsekas, R. Gallager, Data Networks, 2nd ed., section 6.5.2; weights as in coflow
// sharing.)
#pragma once

#include <vector>

#include "sim/program.h"

namespace trnplan::sim {

/// Rates (1/s) of `active` flows, from scratch. A flow without weights gets infinity. `capacity` is indexed
/// by ResourceId. Cost: O(rounds * total weights), at most one round per flow.
std::vector<double> fair_rates(const std::vector<const Flow*>& active, const std::vector<double>& capacity);

}  // namespace trnplan::sim
