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
#include "models/job/limits.h"
#include "targets/registry.h"
#include "targets/stacks.h"

namespace trnplan::io {

namespace {

using models::Pin;

void unsupported(MapReader& map, std::string_view key, const std::string& what, std::string fix) {
  if (map.raw(key) != nullptr) map.fault(key, what + " is not supported yet", std::move(fix));
}

void read_recompute(MapReader& fields, Pin& pin) {
  if (!fields.has("recompute")) {
    fields.ignore({"recompute"});
    return;
  }
  const std::string text = fields.text("recompute", "none");
  pin.recompute = models::recompute_from(text);
  if (!pin.recompute) {
    fields.fault("recompute", in_quotes(text) + " names no recompute policy",
                 "write none, full, full/2 for every second layer, SelectiveOp, or classes joined by '+': "
                 "CoreAttention, LlamaMLP, LlamaRMSNorm, "
                 "ActivationMultiplyMLP");
  }
}

/// The training loop.
void read_framework(MapReader& fields, Pin& pin) {
  if (!fields.has("framework")) {
    fields.ignore({"framework"});
    return;
  }
  const std::string name = fields.text("framework", "");
  const std::vector<std::string_view> known = models::framework_names();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    fields.fault("framework", in_quotes(name) + " is no framework that is modelled", loop_fix(name));
    return;
  }
  pin.framework = models::stated_framework(name);
}

/// Training loops that may train the job, each once: that of the stack which is stated or pinned, else those that are
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

/// One that a training loop has; others are what-ifs of `simulate`.
void read_schedule(MapReader& fields, const Loops& loops, Pin& pin) {
  if (!fields.has("schedule")) {
    fields.ignore({"schedule"});
    return;
  }
  const std::string text = fields.text("schedule", "any");
  if (text == "any") return;
  const auto runs = [&](models::Schedule s) {
    return any_of(loops, [&](const models::Framework& f) { return f.runs(s); });
  };
  std::vector<std::string> offered;
  for (const std::string_view name : models::kScheduleNames) {
    if (runs(*models::schedule_from(name))) offered.emplace_back(name);
  }
  pin.schedule = models::schedule_from(text);
  if (pin.schedule && runs(*pin.schedule)) return;
  fields.fault("schedule",
               in_quotes(text) +
                   (pin.schedule ? " is none that " + named(loops) + " has" : " is no pipeline schedule"),
               "write any, or one of: " + joined(offered));
}

/// Keys of the plan's JSON that are no free part of a strategy, or not yet.
void refuse_pins(MapReader& fields) {
  const std::pair<const char*, const char*> elsewhere[] = {
      {"precision", "write training.precision"},
      {"nodes", "write cluster.nodes"},
      {"instance", "write cluster.instance"},
      {"micro_batches", "it follows from training.global_batch, micro_batch and data_parallel"}};
  for (const auto& [key, fix] : elsewhere) {
    if (fields.raw(key) != nullptr) fields.fault(key, "this cannot be pinned", fix);
  }
  unsupported(fields, "pipeline_cuts", "pinning pipeline_cuts", "leave it out; stages are cut automatically");
}

/// What the training loop shards over how many ranks.
void read_sharding(MapReader& fields, const Loops& loops, Pin& pin) {
  if (fields.has("sharding")) {
    const std::string text = fields.text("sharding", "");
    std::vector<models::Sharding> can;
    for (const models::Framework* f : loops) {
      for (const models::Sharding s : f->shardings()) {
        if (std::find(can.begin(), can.end(), s) == can.end()) can.push_back(s);
      }
    }
    const auto sharding = models::sharding_from(text);
    if (text != "none" && (!sharding || std::find(can.begin(), can.end(), *sharding) == can.end())) {
      std::string offered = "none";
      for (const models::Sharding s : can) offered += ", " + std::string(to_string(s));
      fields.fault("sharding", in_quotes(text) + " is none that " + named(loops) + " has",
                   "use one of: " + offered);
    } else {
      if (pin.zero1 && *pin.zero1 != (text != "none"))
        fields.fault("sharding", "contradicts zero1", "keep one of them");
      pin.zero1 = text != "none";
      pin.sharding = sharding;
    }
  }
  if (fields.has("shard_degree")) {
    pin.shard_degree = fields.whole("shard_degree", 1, 1, models::run_limits.ranks);
    if (!any_of(loops, [](const models::Framework& f) { return f.has_shard_groups(); }))
      fields.fault("shard_degree", named(loops) + " shards over all data-parallel ranks", "leave it out");
  }
}

}  // namespace

void read_job_pin(JobDraft& d, MapReader& map) {
  const Node* node = map.raw("pin");
  if (node == nullptr || node->is_null()) return;
  MapReader fields(*node, "pin", d.faults);
  Pin& pin = d.job().pin;
  // That of an NxDT YAML goes with its TP.
  if (fields.has("tensor_parallel") && !fields.has("kv_replicator")) pin.kv_replicator.reset();
  const std::pair<const char*, std::optional<int> Pin::*> degrees[] = {
      {"tensor_parallel", &Pin::tensor_parallel},   {"pipeline_parallel", &Pin::pipeline_parallel},
      {"virtual_pipeline", &Pin::virtual_pipeline}, {"context_parallel", &Pin::context_parallel},
      {"expert_parallel", &Pin::expert_parallel},   {"data_parallel", &Pin::data_parallel},
      {"micro_batch", &Pin::micro_batch},           {"kv_replicator", &Pin::kv_replicator}};
  for (const auto& [key, member] : degrees) {
    if (fields.has(key)) pin.*member = fields.whole(key, 1, 1, models::run_limits.ranks);
    fields.ignore({key});
  }
  const int layers = d.job().architecture.layers;  // 0: the model could not be read
  if (layers > 0 && pin.virtual_pipeline.value_or(1) > layers) {
    fields.fault("virtual_pipeline", "more chunks than the model's " + std::to_string(layers) + " layers",
                 "write at most " + std::to_string(layers) + ", or leave it out");
  }
  const std::pair<const char*, std::optional<bool> Pin::*> switches[] = {
      {"sequence_parallel", &Pin::sequence_parallel}, {"zero1", &Pin::zero1}};
  if (const Node* zero1 = fields.raw("zero1"); zero1 != nullptr && zero1->scalar == "any") {
    d.job().space.zero1 = true;
    pin.zero1.reset();
  }
  if (const Node* flash = fields.raw("flash_attention"); flash != nullptr && flash->scalar == "any") {
    pin.flash_attention.reset();
    fields.ignore({"flash_attention"});
  } else if (fields.has("flash_attention")) {
    pin.flash_attention = fields.boolean("flash_attention", false);
  }
  for (const auto& [key, member] : switches) {
    if (member == &Pin::zero1 && d.job().space.zero1) continue;
    if (fields.has(key)) pin.*member = fields.boolean(key, false);
    fields.ignore({key});
  }
  fields.ignore({"flash_attention"});
  read_framework(fields, pin);
  Loops loops;
  const bool asks = fields.has("sharding") || fields.has("shard_degree") || fields.has("schedule");
  if (asks) d.collect([&] { loops = loops_of(d); });
  read_sharding(fields, loops, pin);
  read_recompute(fields, pin);
  read_schedule(fields, loops, pin);
  refuse_pins(fields);
  refuse_not_modelled(fields);
  fields.finish();
}

}  // namespace trnplan::io
