// A rank's part of a step as a Chakra execution trace, in the form that ASTRA-sim runs.
#pragma once

#include <string>
#include <vector>

#include "models/rank_trace.h"

namespace trnplan::io {

/// The bytes of a .et file: metadata and nodes, each after its length. Nodes are numbered from 1. Durations
/// are whole microseconds, rounded so that their sums stay right. comm_size is the shard of a rank for an
/// all-gather, else all of the buffer; at least 64 bytes a member, which ASTRA-sim needs to cut it up.
/// Fields: io/proto/chakra.proto; attributes: astra-sim/astra-sim@518bd513 astra-sim/workload/.
std::string chakra_trace(const models::RankTrace& trace);

/// Which ranks are in which group, for ASTRA-sim's --comm-group-configuration.
std::string comm_groups_json(const std::vector<std::vector<int>>& groups);

}  // namespace trnplan::io
