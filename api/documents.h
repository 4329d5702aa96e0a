// JSON document of each result. `--format json` prints it, and every other front end passes it on.
#pragma once

#include <string>

#include "api/calibrate.h"
#include "api/check.h"
#include "api/cluster.h"
#include "api/collective.h"
#include "api/compare.h"
#include "api/explain.h"
#include "api/explain_profile.h"
#include "api/gpu_fit.h"
#include "api/offerings.h"
#include "api/plan.h"
#include "api/score.h"
#include "api/simulate.h"
#include "api/support.h"
#include "api/topology.h"
#include "api/validate.h"
#include "api/whatif.h"

namespace trnplan::api {

// docs/json.md lists their keys.
[[nodiscard]] std::string document(const PlanResult& result);
/// Contains only the broken rules for a strategy without a program.
[[nodiscard]] std::string document(const SimulateResult& result);
[[nodiscard]] std::string document(const WhatIfAnswered& result);
[[nodiscard]] std::string document(const OfferingsAnswered& result);
[[nodiscard]] std::string document(const planner::ClusterAnswer& result);
[[nodiscard]] std::string document(const planner::PlanComparison& result);
[[nodiscard]] std::string document(const CheckResult& result);
[[nodiscard]] std::string document(const CalibrateResult& result);
[[nodiscard]] std::string document(const models::ExplainedProfile& result);
[[nodiscard]] std::string document(const calibrate::GpuFit& result);
[[nodiscard]] std::string document(const ScoreResult& result);
[[nodiscard]] std::string document(const ValidateResult& result, calibrate::LeaveOut leave_out);
[[nodiscard]] std::string document(const MemoryValidationResult& result);
[[nodiscard]] std::string document(const UptimeValidationResult& result);
/// `sweep`: true for a document of several sizes.
[[nodiscard]] std::string document(const CollectiveResult& result, bool sweep);
[[nodiscard]] std::string document(const TopologyResult& result);
[[nodiscard]] std::string document(const ExplainResult& result);
[[nodiscard]] std::string document(const SupportResult& result);

}  // namespace trnplan::api
