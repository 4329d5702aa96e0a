// models and instances: contents of the catalogue.
#pragma once

#include <vector>

#include "io/output/catalogue_json.h"

namespace trnplan::api {

/// Models of the catalogue, sorted by name. Throws InputError if a file of it is damaged.
[[nodiscard]] std::vector<io::KnownModel> models();
[[nodiscard]] std::vector<io::KnownInstance> instances();

/// The numbers of an instance type that --set can change. Throws InputError for an unknown name.
/// Whole name of a type that is called so, or `name` if there is none.
[[nodiscard]] std::string instance_called(const std::string& name);
[[nodiscard]] std::vector<io::SettableNumber> settable_numbers(const std::string& instance);

}  // namespace trnplan::api
