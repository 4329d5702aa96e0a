// The parts that documents share, as trees. Private to io/: it is not installed.
#pragma once

#include <string>
#include <vector>

#include "calibrate/data/run_jobs.h"
#include "io/format/json_tree.h"
#include "io/format/schema_version.h"
#include "io/output/log_json.h"
#include "planner/cost/run_forecast.h"
#include "planner/plan/plan.h"

namespace trnplan::io {

/// With nothing but its schema_version.
[[nodiscard]] Json document();

[[nodiscard]] Json strategy_object(const models::Strategy& s, int micro_batches, int nodes,
                                   const std::string& instance);
[[nodiscard]] Json plan_object(const planner::Plan& p);
[[nodiscard]] Json violations_array(const std::vector<planner::Violation>& broken);
/// The memory of the worst stage, and the chance that it fits.
[[nodiscard]] Json worst_object(const models::Memory& memory);
[[nodiscard]] std::int64_t whole_bytes(Bytes b);

/// The object `run` of plan: what a whole run takes, or how far it gets.
[[nodiscard]] Json run_object(const planner::RunAnswer& run, const planner::RunQuestion& question);

/// The keys "files" and "steps" of what was read.
void add_logs(Json& document, const ReadLogs& logs);

}  // namespace trnplan::io
