#include "io/output/catalogue_json.h"

#include "io/format/json_tree.h"
#include "io/output/plan_json.h"
#include "planner/check/rules.h"
#include "targets/registry.h"

namespace trnplan::io {

namespace {

std::string listed(const char* key, Json list) {
  const Json document = {{"schema_version", kSchemaVersion}, {key, std::move(list)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json prices_of(const topology::Instance& instance) {
  Json prices = Json::array();
  for (const topology::Price& p : instance.prices)
    prices.push_back(
        {{"kind", p.kind}, {"usd_per_hour", p.usd_per_hour}, {"region", p.region}, {"date", p.date}});
  return prices;
}

}  // namespace

std::vector<KnownModel> known_models(const Catalog& catalog) {
  std::vector<KnownModel> all;
  for (const std::string& name : catalog.models()) {
    models::Architecture a = catalog.architecture(name);
    const auto parameters = static_cast<double>(models::parameters(a));
    all.push_back({std::move(a), parameters, catalog.training(name)});
  }
  return all;
}

std::vector<KnownInstance> known_instances(const Catalog& catalog) {
  std::vector<KnownInstance> all;
  const auto releases = catalog.neuron_releases();
  for (const std::string& name : catalog.instances()) {
    topology::Instance instance = catalog.instance(name);
    const bool timed = planner::times_steps_on(instance);
    std::string ending = targets::ending_on(instance.traits, *releases);
    all.push_back({std::move(instance), std::move(ending), timed});
  }
  return all;
}

std::string models_json(const std::vector<KnownModel>& models) {
  Json list = Json::array();
  for (const KnownModel& m : models) {
    const models::Architecture& a = m.architecture;
    Json training;
    if (m.training)
      training = {{"sequence", m.training->sequence},
                  {"global_batch", m.training->global_batch},
                  {"source", m.training->source}};
    list.push_back({{"name", a.name},
                    {"parameters", m.parameters},
                    {"layers", a.layers},
                    {"hidden", a.hidden},
                    {"heads", a.heads},
                    {"kv_heads", a.kv_heads},
                    {"intermediate", a.intermediate},
                    {"vocabulary", a.vocabulary},
                    {"max_positions", a.max_positions},
                    {"experts", a.experts},
                    {"training", training}});
  }
  return listed("models", std::move(list));
}

std::string instances_json(const std::vector<KnownInstance>& instances) {
  Json list = Json::array();
  for (const KnownInstance& k : instances) {
    const topology::Instance& i = k.instance;
    list.push_back({{"name", i.name},
                    {"chips", i.chips},
                    {"cores", i.cores()},
                    {"memory_bytes_per_core", i.core.memory.value},
                    {"bf16_flops", i.core.bf16.value * i.cores()},
                    {"hbm_bytes_per_second", i.core.hbm.value * i.cores()},
                    {"nics", i.nics},
                    {"nic_bytes_per_second", i.nics * i.nic.value},
                    {"prices", prices_of(i)},
                    {"ending", k.ending},
                    {"step_modelled", k.step_modelled}});
  }
  return listed("instances", std::move(list));
}

}  // namespace trnplan::io
