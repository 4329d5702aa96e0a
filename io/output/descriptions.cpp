#include "io/output/descriptions.h"

#include <algorithm>

#include "io/output/described.h"
#include "models/framework/strategy_keys.h"

namespace trnplan::io {

namespace {

/// All documents in the order of docs/json.md, without their schema_version.
std::vector<const Description*> documents() {
  return {&search_document(),
          &simulation_document(),
          &check_document(),
          &topology_document(),
          &collective_document(),
          &sweep_document(),
          &health_document(),
          &models_document(),
          &instances_document(),
          &settable_document(),
          &explain_document(),
          &support_document(),
          &whatif_document(),
          &offerings_document(),
          &compare_document(),
          &cluster_document(),
          &calibrate_document(),
          &explained_profile_document(),
          &gpu_fit_document(),
          &step_validation_document(),
          &scores_document(),
          &memory_validation_document(),
          &collective_validation_document(),
          &uptime_document(),
          &launch_document(),
          &watch_document()};
}

void add_with_parts(std::vector<const Description*>& all, const Description& d) {
  if (std::find(all.begin(), all.end(), &d) != all.end()) return;
  if (d.base != nullptr) add_with_parts(all, *d.base);
  for (const auto& part : d.inside) add_with_parts(all, part());
  if (std::find(all.begin(), all.end(), &d) == all.end()) all.push_back(&d);
}

}  // namespace

std::string records_json() {
  std::vector<const Description*> all;
  for (const Description* d : documents()) add_with_parts(all, *d);
  Json records = Json::array();
  for (const Description* d : all) {
    if (d->name.empty()) continue;  // a dict in Python
    Json keys = Json::array();
    for (const Description::Key& key : d->keys)
      keys.push_back({{"name", key.name}, {"type", key.type}, {"says", key.says}});
    records.push_back({{"name", d->name},
                       {"says", d->says},
                       {"base", d->base == nullptr ? Json() : Json(d->base->name)},
                       {"keys", keys}});
  }
  return dumped(records);
}

std::string strategy_keys_json() {
  Json keys = Json::array();
  for (const models::StrategyKey& key : models::strategy_keys()) keys.push_back({key.name, key.brief});
  return dumped(keys);
}

}  // namespace trnplan::io
