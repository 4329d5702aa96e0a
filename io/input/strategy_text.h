// The strategy grammar of the command line: "tp=8,pp=1,recompute=CoreAttention+LlamaMLP".
#pragma once

#include <string>

#include "models/job/job.h"

namespace trnplan::io {

/// The strategy that `text` describes for `job`; what it leaves out takes the defaults of
/// planner::default_strategy. Keys: tp pp vpp cp ep dp mbs sp zero1 recompute kv precision flash cuts, and
/// bucket (MB of ZeRO-1, 1 to 140). Throws InputError with every fault: unknown or repeated keys, values that
/// do not parse, a dp that contradicts the cluster.
models::Strategy parse_strategy(const std::string& text, models::Job job);

}  // namespace trnplan::io
