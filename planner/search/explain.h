// Explanations of a search: near misses that were refused, the limits of the winner, and the reasons for no
// plan.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "models/parameters/profile.h"
#include "planner/search/candidates.h"
#include "planner/search/search.h"

namespace trnplan::planner {

/// Called often; once it returns true, the findings so far are returned. Empty: never.
using Stop = std::function<bool()>;

struct Refusals {
  std::vector<Refusal> certain, doubtful;
  bool complete = true;  ///< false if stopped; those that are listed are explained
};

/// Refused strategies with a bound that beats the winner (null: any bound). One entry per layout and rule,
/// for memory also per recompute policy; at the smallest micro-batch and with SP, because the others break
/// the same rule by more.
Refusals near_misses_of(Candidates& cluster, const models::Profile& profile, double fit_probability,
                        const Plan* winner, const Stop& stop = {});

/// Sensitivity of the winner; nullopt if stopped. Cost: a few simulations.
std::optional<Sensitivity> sensitivity_of(Candidates& cluster, const models::Profile& profile,
                                          const Plan& winner, const Stop& stop = {});

/// The reasons for a cluster without a legal strategy that fits. If stopped, remedies are missing.
Infeasible why_nothing(Candidates& cluster, const models::Profile& profile, bool accept_doubt,
                       double fit_probability, const Stop& stop = {});

/// True if TP, PP, CP and DP are the same.
bool same_layout(const models::Strategy& a, const models::Strategy& b);
/// True if EP and the ranks that share an expert's weights are the same.
bool same_experts(const models::Strategy& a, const models::Strategy& b);

}  // namespace trnplan::planner
