// A strategy in the grammar of the command line: "tp=8,pp=4,mbs=2,recompute=full,cuts=7/15/23".
#pragma once

#include <string>

#include "models/job/job.h"
#include "planner/plan/plan.h"

namespace trnplan::planner {

/// The text of `--strategy` for `s` of `job`, whose cluster must be complete: io::parse_strategy gives back
/// `s` if it is canonical and fills the cluster. Leaves out values of default_strategy() that are the same
/// with the job's pins and without any; TP is always in it.
std::string strategy_grammar(const models::Job& job, const models::Strategy& s);

/// The same for the plan of a job that may leave cluster, batch and precision free.
std::string strategy_grammar(const models::Job& job, const Plan& plan);

}  // namespace trnplan::planner
