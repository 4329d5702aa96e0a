// Model architectures from the catalogue's files (models/NAME.json), and what all model files share.
// CONTRIBUTING.md, "A model family".
#pragma once

#include <string_view>

#include "models/architecture/architecture.h"
#include "models/architecture/limits.h"
#include "text/document.h"

namespace trnplan::io {

/// From a parsed file. Throws InputError with all faults, with `strict` for keys too that it does not know, of which a model's file has
/// some. Cost: O(size of the file).
models::Architecture architecture_from(const Node& node, bool strict = false);

using models::model_limits;

/// Fills kv_heads (as many as heads) and head_dim (hidden / heads) where they are 0 and records a fault when
/// the heads do not divide. Does nothing while heads or hidden are unknown.
void complete_heads(models::Architecture& a, MapReader& map, std::string_view heads_key,
                    std::string_view kv_key);

}  // namespace trnplan::io
