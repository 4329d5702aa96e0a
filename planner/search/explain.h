// Why a search found what it found: near-miss strategies that were turned down, what holds the winner back,
// why there is none.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "models/parameters/profile.h"
#include "planner/search/candidates.h"
#include "planner/search/search.h"

namespace trnplan::planner {

/// Asked often; once it is true what is found so far is returned. Empty: never.
using Stop = std::function<bool()>;

struct Refusals {
  std::vector<Refusal> certain, doubtful;
  bool complete = true;  ///< false: stopped; those that are there are explained
};

/// Those whose bound beats the winner (null: any). One entry per layout and rule; for memory per recompute
/// policy too, at the smallest micro-batch and with SP: the rest breaks the same rule by more.
Refusals near_misses_of(Candidates& cluster, const models::Profile& profile, double fit_probability,
                        const Plan* winner, const Stop& stop = {});

/// Costs a few simulations. Nothing when stopped.
std::optional<Sensitivity> sensitivity_of(Candidates& cluster, const models::Profile& profile,
                                          const Plan& winner, const Stop& stop = {});

/// For a cluster without a legal strategy that fits. Stopped, it does not say what would help.
Infeasible why_nothing(Candidates& cluster, const models::Profile& profile, bool accept_doubt,
                       double fit_probability, const Stop& stop = {});

/// Same TP, PP, CP and DP.
bool same_layout(const models::Strategy& a, const models::Strategy& b);

}  // namespace trnplan::planner
