#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/input/framework_names.h"
#include "io/input/job_keys.h"
#include "io/input/job_sections.h"
#include "models/framework/framework.h"
#include "models/framework/strategy_keys.h"
#include "targets/registry.h"
#include "targets/stacks.h"

namespace trnplan::io {

namespace {

using models::Pin;

/// True for "any", which leaves the value to the search.
bool is_any(const Node& node) {
  return node.kind == Node::Kind::scalar && node.scalar == "any";
}

/// Reads a key of the strategy, as in documents.
void read_key(MapReader& fields, const models::StrategyKey& key, Pin& pin) {
  using Kind = models::StrategyKey::Kind;
  if (key.kind == Kind::whole) {
    key.pin(pin, fields.whole(key.name, 1, 1, key.most));
  } else if (key.kind == Kind::flag) {
    key.pin(pin, fields.boolean(key.name, false));
  } else {
    const std::string text = fields.text(key.name, "");
    if (!key.pin(pin, text))
      fields.fault(key.name, in_quotes(text) + " is not a " + std::string(key.noun),
                   key.kind == Kind::loop ? loop_fix(text) : "write " + std::string(key.words));
  }
}

/// Training loops that may train the job, each once: that of the stated or pinned stack, else those that are
/// searched, on every machine that the job may use.
using Loops = std::vector<const models::Framework*>;

Loops loops_of(JobDraft& d) {
  const targets::StackChoice choice{targets::find(d.target), d.job().pin.framework.has_value(), false};
  std::vector<topology::Instance> machines = d.job().space.instances;
  if (machines.empty()) machines.push_back(d.job().cluster.instance);
  const std::vector<std::string> searched = d.catalog.searched_stacks();
  Loops loops;
  for (const topology::Instance& machine : machines) {
    models::Job at = d.job();
    at.cluster.instance = machine;
    for (const targets::Stack& stack : targets::stacks_on(searched, at, choice)) {
      models::Strategy of;
      of.framework = stack.loop;
      const models::Framework* loop = &models::framework_of(of);
      if (std::find(loops.begin(), loops.end(), loop) == loops.end()) loops.push_back(loop);
    }
  }
  return loops;
}

template <class Has>
bool any_of(const Loops& loops, const Has& has) {
  return std::any_of(loops.begin(), loops.end(), [&](const models::Framework* f) { return has(*f); });
}

/// "megatron or fsdp"
std::string named(const Loops& loops) {
  std::string names;
  for (const models::Framework* f : loops) names += (names.empty() ? "" : " or ") + std::string(f->name());
  return names;
}

/// Checks that a training loop has the schedule; others are what-ifs of `simulate`.
void check_schedule(MapReader& fields, const Loops& loops, const Pin& pin) {
  if (!pin.schedule) return;
  std::vector<std::string> offered;
  for (const std::string_view name : models::kScheduleNames) {
    const auto runs = [&](const models::Framework& f) { return f.runs(*models::schedule_from(name)); };
    if (any_of(loops, runs)) offered.emplace_back(name);
  }
  const std::string name(to_string(*pin.schedule));
  if (std::find(offered.begin(), offered.end(), name) == offered.end())
    fields.fault("schedule", in_quotes(name) + " is not one that " + named(loops) + " has",
                 "write any, or one of: " + joined(offered));
}

/// Refuses keys of the plan's JSON that are no free part of a strategy, or not yet.
void refuse_pins(MapReader& fields) {
  const std::pair<const char*, const char*> elsewhere[] = {
      {"precision", "write training.precision"},
      {"nodes", "write cluster.nodes"},
      {"instance", "write cluster.instance"},
      {"micro_batches", "leave it out: it follows from training.global_batch, micro_batch and data_parallel"},
      {"pipeline_cuts", "leave it out: stages are cut automatically"}};
  for (const auto& [key, fix] : elsewhere) {
    fields.ignore({key});
    if (fields.has(key)) fields.fault(key, "this cannot be pinned", fix);
  }
}

/// Checks what the training loop shards, and over how many ranks.
void check_sharding(MapReader& fields, const Loops& loops, const Pin& pin) {
  if (pin.sharding) {
    std::string offered = "none";
    bool has = false;
    for (const auto sharding :
         {models::Sharding::states, models::Sharding::gradients, models::Sharding::parameters}) {
      const auto can = [&](const models::Framework& f) {
        const std::vector<models::Sharding> all = f.shardings();
        return std::find(all.begin(), all.end(), sharding) != all.end();
      };
      if (!any_of(loops, can)) continue;
      offered += ", " + std::string(to_string(sharding));
      has = has || sharding == *pin.sharding;
    }
    if (!has)
      fields.fault("sharding",
                   in_quotes(fields.text("sharding", "")) + " is not one that " + named(loops) + " has",
                   "use one of: " + offered);
  }
  if (pin.shard_degree && !any_of(loops, [](const models::Framework& f) { return f.has_shard_groups(); }))
    fields.fault("shard_degree", named(loops) + " shards over all data-parallel ranks", "leave it out");
}

}  // namespace

void read_job_pin(JobDraft& d, MapReader& map) {
  const Node* node = map.raw("pin");
  if (node == nullptr || node->is_null()) return;
  MapReader fields = job_section(*node, "pin", d.faults);
  Pin& pin = d.job().pin;
  // The replicator of an NxDT YAML belongs to its TP.
  if (fields.has("tensor_parallel") && !fields.has("kv_replicator")) pin.kv_replicator.reset();
  for (const models::StrategyKey& key : models::strategy_keys()) {
    if (key.pinned == models::StrategyKey::Pinned::by_strategy) continue;
    if (!fields.has(key.name)) continue;
    if (is_any(*fields.raw(key.name))) {
      if (key.name == "zero1") d.job().space.zero1 = true;
      continue;
    }
    const std::optional<bool> zero1 = pin.zero1;
    read_key(fields, key, pin);
    if (key.name == "sharding" && zero1 && fields.has("zero1") && pin.zero1 != zero1)
      fields.fault("sharding", "contradicts zero1", "keep one of them");
  }
  const int layers = d.job().architecture.layers;  // 0: the model could not be read
  if (layers > 0 && pin.virtual_pipeline.value_or(1) > layers) {
    fields.fault("virtual_pipeline", "more chunks than the model's " + std::to_string(layers) + " layers",
                 "write at most " + std::to_string(layers) + ", or leave it out");
  }
  if (pin.sharding || pin.shard_degree || pin.schedule) {
    Loops loops;
    d.collect([&] { loops = loops_of(d); });
    check_sharding(fields, loops, pin);
    check_schedule(fields, loops, pin);
  }
  refuse_pins(fields);
  refuse_not_modelled(fields);
  fields.finish();
}

}  // namespace trnplan::io
