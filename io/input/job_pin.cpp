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

/// One that the training loop has; others are what-ifs of `simulate`.
void read_schedule(MapReader& fields, Pin& pin) {
  if (!fields.has("schedule")) {
    fields.ignore({"schedule"});
    return;
  }
  const std::string text = fields.text("schedule", "any");
  if (text == "any") return;
  models::Strategy of;
  of.framework = pin.framework.value_or("");
  const models::Framework& framework = models::framework_of(of);
  std::vector<std::string> offered;
  for (const std::string_view name : models::kScheduleNames) {
    if (framework.runs(*models::schedule_from(name))) offered.emplace_back(name);
  }
  pin.schedule = models::schedule_from(text);
  if (pin.schedule && framework.runs(*pin.schedule)) return;
  fields.fault("schedule",
               in_quotes(text) + (pin.schedule ? " is none that " + std::string(framework.name()) + " has"
                                               : " is no pipeline schedule"),
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
void read_sharding(MapReader& fields, Pin& pin) {
  models::Strategy of;
  of.framework = pin.framework.value_or("");
  const models::Framework& framework = models::framework_of(of);
  if (fields.has("sharding")) {
    const std::string text = fields.text("sharding", "");
    const std::vector<models::Sharding> can = framework.shardings();
    const auto sharding = models::sharding_from(text);
    if (text != "none" && (!sharding || std::find(can.begin(), can.end(), *sharding) == can.end())) {
      std::string offered = "none";
      for (const models::Sharding s : can) offered += ", " + std::string(to_string(s));
      fields.fault("sharding", in_quotes(text) + " is none that " + std::string(framework.name()) + " has",
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
    if (!framework.has_shard_groups())
      fields.fault("shard_degree", std::string(framework.name()) + " shards over all data-parallel ranks",
                   "leave it out");
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
  read_sharding(fields, pin);
  read_recompute(fields, pin);
  read_schedule(fields, pin);
  refuse_pins(fields);
  refuse_not_modelled(fields);
  fields.finish();
}

}  // namespace trnplan::io
