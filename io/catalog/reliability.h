// The reliability file: catalog/reliability.json, or one of the user in the same form.
#pragma once

#include <optional>

#include "io/catalog/catalog.h"
#include "planner/cost/reliability.h"
#include "text/document.h"

namespace trnplan::io {

/// Reads the parameters. Every parameter but spot_interruption is required, with median, log_sd, unit and
/// source; `published` may be absent. Throws InputError with all faults.
planner::Reliability reliability_from(const Node& node);
/// A file of the user, or the catalogue's for an empty `node`; interruptions of spot nodes are the catalogue's where
/// the file has none.
[[nodiscard]] planner::Reliability reliability_or_usual(const std::optional<Node>& node,
                                                        const Catalog& catalog);

}  // namespace trnplan::io
