// A strategy as the command line takes it: "tp=8,pp=4,mbs=2,recompute=full,cuts=7/15/23".
#pragma once

#include <string>

#include "models/job/job.h"
#include "planner/plan/plan.h"

namespace trnplan::planner {

/// What `--strategy` takes for `s` of `job`, whose cluster must be settled: io::parse_strategy gives back `s`
/// where it is canonical and fills the cluster. Leaves out what default_strategy() says without it, with the
/// job's pins and without any; TP always stands there.
std::string strategy_grammar(const models::Job& job, const models::Strategy& s);

/// The same for a plan of a job that may leave cluster, batch and precision open.
std::string strategy_grammar(const models::Job& job, const Plan& plan);

}  // namespace trnplan::planner
