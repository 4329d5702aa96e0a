// Why a search found what it found: tempting strategies that were turned down, what holds the winner back,
// why there is none.
#pragma once

#include <vector>

#include "models/profile.h"
#include "planner/candidates.h"
#include "planner/search.h"

namespace trnplan::planner {

struct Refusals {
  std::vector<Refusal> certain, doubtful;
};

/// Those whose bound beats the winner (null: any). One entry per layout and rule; for memory per recompute
/// policy too, at the smallest micro-batch and with SP: the rest breaks the same rule by more.
Refusals tempting_refusals(Candidates& cluster, const models::Profile& profile, double fit_probability,
                           const Plan* winner);

/// Costs a few simulations.
Reasons reasons_of(Candidates& cluster, const models::Profile& profile, const Plan& winner);

/// For a cluster without a legal strategy that fits.
Infeasible why_nothing(Candidates& cluster, const models::Profile& profile, bool accept_doubt, Bytes margin);

/// Same TP, PP, CP and DP.
bool same_layout(const models::Strategy& a, const models::Strategy& b);

}  // namespace trnplan::planner
