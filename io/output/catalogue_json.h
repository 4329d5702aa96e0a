// Contents of the catalogue, for people who choose from it (docs/json.md, "models and instances").
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/catalog/catalog.h"

namespace trnplan::io {

struct KnownModel {
  models::Architecture architecture;
  double parameters = 0;
  std::optional<PublishedTraining> training;
};
struct KnownInstance {
  topology::Instance instance;
  std::string ending;  ///< notice that no published software trains on it any more; "" while some does
  bool step_modelled = false;  ///< a training step on it is timed; else groups and memory alone are judged
};

/// All models and instances by name. Throws InputError if a file is damaged.
std::vector<KnownModel> known_models(const Catalog& catalog);
std::vector<KnownInstance> known_instances(const Catalog& catalog);

std::string models_json(const std::vector<KnownModel>& models);
std::string instances_json(const std::vector<KnownInstance>& instances);
std::string settable_json(const std::string& instance, const std::vector<SettableNumber>& numbers);

}  // namespace trnplan::io
