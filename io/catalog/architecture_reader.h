// Model architectures from the catalogue's files (models/NAME.json), and a rule for all model files.
// CONTRIBUTING.md, "A model family".
#pragma once

#include <string_view>

#include "models/architecture/architecture.h"
#include "models/architecture/limits.h"
#include "text/document.h"

namespace trnplan::io {

/// Architecture of a parsed file. Throws InputError with all faults. With `strict` an unknown key is a fault too;
/// a model's file may have some. Cost: O(size of the file).
models::Architecture architecture_from(const Node& node, bool strict = false);

using models::model_limits;

/// Fills kv_heads (as many as heads) and head_dim (hidden / heads) where they are 0 and records a fault when
/// the heads do not divide. Does nothing while heads or hidden are unknown.
void complete_heads(models::Architecture& a, MapReader& map, std::string_view heads_key,
                    std::string_view kv_key);

}  // namespace trnplan::io
