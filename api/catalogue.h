// models and instances: what is known by name.
#pragma once

#include <vector>

#include "io/output/catalogue_json.h"

namespace trnplan::api {

/// Of the catalogue, sorted by name. Throws InputError when a file of it is damaged.
[[nodiscard]] std::vector<io::KnownModel> models();
[[nodiscard]] std::vector<io::KnownInstance> instances();

}  // namespace trnplan::api
