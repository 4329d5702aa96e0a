// NICs of a machine, more or fewer of them, and the network that they lead to.
#pragma once

#include <optional>

#include "topology/instance.h"

namespace trnplan::topology {

/// The machine with `nics` NICs of the same rate instead of its own, for the same chips. More are dealt out
/// evenly: to the chips that share one, then as a group that serves one chip or one set of chips, which counts
/// as a NIC of the group's rate. Fewer serve the chips of neighbouring NICs together, in their order.
/// network_devices stay in proportion. nullopt where that cannot be even, or where it has none.
[[nodiscard]] std::optional<Instance> with_nics(Instance machine, int nics);

/// Bandwidth of all NICs over that of the network between nodes, at least 1: the most that the cluster or its
/// machines state; 1 without NICs.
[[nodiscard]] double oversubscription_of(const Cluster& cluster);

}  // namespace trnplan::topology
