#include "io/output/catalogue_json.h"

#include "io/output/described.h"
#include "io/output/json_tree.h"
#include "planner/check/rules.h"
#include "targets/registry.h"

namespace trnplan::io {

using models::Architecture;
using topology::Instance;

namespace {

struct ShownModels {
  std::vector<KnownModel> models;
};
struct ShownInstances {
  std::vector<KnownInstance> instances;
};

std::vector<ShownPrice> prices_of(const Instance& instance) {
  std::vector<ShownPrice> all;
  for (const topology::Price& p : instance.prices) all.push_back({&p});
  return all;
}

struct ShownNumbers {
  const std::string& instance;
  const std::vector<SettableNumber>& numbers;
};

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

template <>
const Record<PublishedTraining>& record() {
  using P = PublishedTraining;
  static const Record<P> described(
      "PublishedTraining", "How a model was trained.",
      {{"sequence", &P::sequence}, {"global_batch", &P::global_batch}, {"source", &P::source}});
  return described;
}

template <>
const Record<KnownModel>& record() {
  const auto of = [](auto get) { return path(&KnownModel::architecture, get); };
  static const Record<KnownModel> described(
      "Model", "A model of the catalogue.",
      {{"name", of(&Architecture::name)},
       {"parameters", &KnownModel::parameters},
       {"layers", of(&Architecture::layers)},
       {"hidden", of(&Architecture::hidden)},
       {"heads", of(&Architecture::heads)},
       {"kv_heads", of(&Architecture::kv_heads)},
       {"intermediate", of(&Architecture::intermediate)},
       {"vocabulary", of(&Architecture::vocabulary)},
       {"max_positions", of(&Architecture::max_positions)},
       {"experts", of(&Architecture::experts), "0: none"},
       {"training", &KnownModel::training, "`null` if none is published"}});
  return described;
}

template <>
const Record<ShownModels>& record() {
  static const Record<ShownModels> described("ModelsResult", "The models of the catalogue.",
                                             {{"models", &ShownModels::models}});
  return described;
}

template <>
const Record<KnownInstance>& record() {
  const auto of = [](auto get) { return path(&KnownInstance::instance, get); };
  static const Record<KnownInstance> described(
      "Instance", "An instance type; rates are those of a node.",
      {{"name", of(&Instance::name)},
       {"chips", of(&Instance::chips)},
       {"cores", of(&Instance::cores)},
       {"memory_bytes_per_core", of(path(&Instance::core, &topology::Core::memory))},
       {"bf16_flops", of([](const Instance& i) { return i.core.bf16 * i.cores(); })},
       {"hbm_bytes_per_second", of([](const Instance& i) { return i.core.hbm * i.cores(); })},
       {"nics", of(&Instance::nics)},
       {"nic_bytes_per_second", of([](const Instance& i) { return i.nics * i.nic; }),
        "all NICs, one direction"},
       {"prices", of(&prices_of)},
       {"ending", &KnownInstance::ending,
        "that no software which trains on it is published any more; empty while some is"},
       {"step_modelled", &KnownInstance::step_modelled, "whether a training step on it can be timed"}});
  return described;
}

template <>
const Record<ShownInstances>& record() {
  static const Record<ShownInstances> described("InstancesResult", "The instance types of the catalogue.",
                                                {{"instances", &ShownInstances::instances}});
  return described;
}

std::string models_json(const std::vector<KnownModel>& models) {
  return document_of(ShownModels{models});
}

template <>
const Record<SettableNumber>& record() {
  static const Record<SettableNumber> described("SettableNumber", "A number of an instance type.",
                                                {{"key", &SettableNumber::key, "what `--set` takes"},
                                                 {"value", &SettableNumber::value},
                                                 {"unit", &SettableNumber::unit, "`1`: none"}});
  return described;
}

template <>
const Record<ShownNumbers>& record() {
  static const Record<ShownNumbers> described(
      "InstanceNumbers", "What ``instances NAME`` prints.",
      {{"instance", [](const ShownNumbers& s) { return s.instance; }},
       {"numbers", [](const ShownNumbers& s) { return s.numbers; }, "that `--set` can change"}});
  return described;
}

std::string instances_json(const std::vector<KnownInstance>& instances) {
  return document_of(ShownInstances{instances});
}

std::string settable_json(const std::string& instance, const std::vector<SettableNumber>& numbers) {
  return document_of(ShownNumbers{instance, numbers});
}

const Description& settable_document() {
  return record<ShownNumbers>().description();
}

const Description& models_document() {
  return record<ShownModels>().description();
}

const Description& instances_document() {
  return record<ShownInstances>().description();
}

}  // namespace trnplan::io
