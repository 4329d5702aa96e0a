// The strategy grammar of the command line: "tp=8,pp=1,recompute=CoreAttention+LlamaMLP".
#pragma once

#include <string>

#include "models/job/job.h"
#include "text/diagnostic.h"

namespace trnplan::io {

/// The strategy that `text` describes for `job`, in the keys of models/framework/strategy_keys.h by their
/// brief names; missing keys take the defaults of planner::default_strategy. Throws InputError with every
/// fault: unknown or repeated keys, values that do not parse, a dp that contradicts the cluster.
models::Strategy parse_strategy(const std::string& text, models::Job job);
/// The same for a prediction: refuses a training loop that the text states and that does not train on the job's
/// machine.
[[nodiscard]] models::Strategy strategy_there(const std::string& text, const models::Job& job);

/// True if the text says which training loop runs it.
[[nodiscard]] bool states_loop(const std::string& strategy);

/// Gives a strategy a schedule. Throws InputError, at `place`, if its pipeline cannot have it.
void set_schedule(models::Strategy& s, models::Schedule schedule, const SourcePos& place, const char* key);

}  // namespace trnplan::io
