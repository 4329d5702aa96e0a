// Lint rules on devices, degrees and shapes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include "targets/nxdt/nxdt_lint_rules.h"

namespace trnplan::targets {

namespace {

// ---- devices

constexpr const char* kWholeNode = "use all cores of the node: 32 on trn1, 64 on trn2";

void devices_allowed(const Context& x, Report& report) {
  constexpr std::string_view key = "trainer.devices";
  if (!x.has(key)) {
    if (x.config.has_section("trainer")) {
      report.error(
          {key, "missing; train.sh reads the processes per node from this line", "write devices: 32"});
    }
    return;
  }
  const std::string text = x.config.text(key, "null");
  if (!x.config.find(key)->quoted && one_of(text, {"1", "2", "8", "32", "64", "128"})) return;
  report.error({key,
                fmt::format("{} devices: only 1, 2, 8, 32, 64 and 128 are accepted", printable(text, 40)),
                kWholeNode, nxdt("patches/lightning_neuron_patch.py:34-46")});
}

void devices_whole_node(const Context& x, Report& report) {
  if (x.reading.nodes == 1 || !one_of(x.config.text("trainer.devices"), {"1", "2", "8"})) return;
  report.warning(
      {"trainer.devices",
       fmt::format("{} devices on each of {} nodes leave cores idle", x.reading.devices, x.reading.nodes),
       kWholeNode, nxdt("patches/lightning_neuron_patch.py:34-46")});
}

/// Places of the text `devices:` in the file: keys with names that end in it, and values that contain it.
std::set<std::string> stated_devices_lines(const NxdtConfig& config) {
  std::set<std::string> places;
  for (const NxdtKey& leaf : config.keys) {
    for (std::string_view path = leaf.key; !path.empty(); path = parent_of(path)) {
      if (last_of(path).ends_with("devices")) places.emplace(path);
    }
    if (leaf.text.find("devices:") != std::string::npos) places.insert(leaf.key + " (value)");
  }
  return places;
}

/// Reads the lines of the file, because train.sh sees comments too.
void devices_grepped(const Context& x, Report& report) {
  const NxdtKey* leaf = x.config.find("trainer.devices");
  const std::string source = nxdt_examples("train.sh");
  const std::vector<GreppedLine>& lines = *x.config.devices_lines;
  if (leaf == nullptr) return;  // devices_allowed reports it
  const auto own = std::find_if(lines.begin(), lines.end(),
                                [&](const GreppedLine& line) { return line.at.line == leaf->at.line; });
  if (own == lines.end() || (!leaf->quoted && own->second_word != leaf->text)) {
    report.error({leaf->key,
                  "train.sh reads the second word of the line with `devices:` as the processes of a node, "
                  "and finds another word here",
                  "write it on a line of its own: devices: 32"});
  }
  for (const GreppedLine& line : lines) {
    if (line.at.line == leaf->at.line) continue;
    report.error({leaf->key,
                  fmt::format("line {} also has `devices:`, and train.sh greps every line for it, even "
                              "comments, to count processes",
                              line.at.line),
                  "reword or remove that line", source, line.at});
    return;
  }
}

void devices_once(const Context& x, Report& report) {
  if (x.config.devices_lines) {
    devices_grepped(x, report);
    return;
  }
  std::set<std::string> places = stated_devices_lines(x.config);
  if (places.erase("trainer.devices") == 0 || places.empty()) return;
  const std::string key = places.begin()->substr(0, places.begin()->find(' '));
  report.error({key,
                "`devices:` occurs in the file more than once; train.sh greps the word to count processes",
                "rename or remove the other one"});
}

// ---- degrees and shapes

void clamped_degrees(const Context& x, Report& report) {
  for (const std::string_view key : {kTp, kPp, kCp, kEp}) {
    const int stated = x.config.whole(key).value_or(1);
    if (stated <= x.world) continue;
    report.warning(
        {key, fmt::format("{} is more than the {} ranks and is silently cut to {}", stated, x.world, x.world),
         "use a degree the cluster has"});
  }
}

void world_divides(const Context& x, Report& report) {
  const models::Strategy& s = x.strategy();
  const auto divides = [&](std::string_view key, std::string_view what, std::string_view line, int third) {
    // Degrees are at most `world`, so the quotients never overflow, while the products could.
    const bool whole = x.world % s.tensor_parallel == 0 &&
                       (x.world / s.tensor_parallel) % s.pipeline_parallel == 0 &&
                       (x.world / s.tensor_parallel / s.pipeline_parallel) % third == 0;
    if (whole) return;
    report.error(
        {key,
         fmt::format("{} ranks ({} nodes x {} devices) do not divide by {}: {} x {} x {}", x.world,
                     x.reading.nodes, x.reading.devices, what, s.tensor_parallel, s.pipeline_parallel, third),
         "choose degrees whose product divides the number of ranks",
         nxd(fmt::format("parallel_layers/parallel_state.py:{}", line))});
  };
  divides(kTp, "TP x PP x CP", "572-579", s.context_parallel);
  if (s.expert_parallel > 1) divides(kEp, "TP x PP x EP", "582-589", s.expert_parallel);
}

void intermediate_divides(const Context& x, Report& report) {
  const int tp = x.strategy().tensor_parallel;
  if (x.trained.intermediate <= 0 || x.trained.intermediate % tp == 0) return;
  report.error({kTp, fmt::format("intermediate size {} does not divide by TP {}", x.trained.intermediate, tp),
                "choose a TP that divides it", nxd("parallel_layers/utils.py")});
}

void heads_divide(const Context& x, Report& report) {
  const models::Architecture& a = x.trained;
  const int tp = x.strategy().tensor_parallel;
  if (a.heads <= 0) return;
  if (a.heads % tp != 0) {
    report.error({kTp, fmt::format("{} attention heads do not divide by TP {}", a.heads, tp),
                  "choose a TP that divides the attention heads"});
  }
  if (a.hidden % a.heads != 0) {
    report.error({"model.hidden_size",
                  fmt::format("hidden size {} does not divide by {} heads", a.hidden, a.heads),
                  "make hidden_size a multiple of num_attention_heads"});
  }
  if (a.kv_heads > 0 && x.megatron && a.heads % a.kv_heads != 0) {
    report.error(
        {"model.num_kv_heads", fmt::format("{} heads do not divide by {} KV heads", a.heads, a.kv_heads),
         "choose num_kv_heads that divides num_attention_heads", nxdt("models/megatron/transformer.py")});
  }
}

void head_size(const Context& x, Report& report) {
  const models::Architecture& a = x.given;
  if (x.megatron || a.heads <= 0 || a.head_dim <= 0 || a.head_dim == a.hidden / a.heads) return;
  report.warning({"model.hidden_size",
                  fmt::format("NxDT takes head_dim as hidden / heads = {}, not the {} of config.json",
                              a.hidden / a.heads, a.head_dim),
                  "use a model whose head_dim is hidden_size / num_attention_heads",
                  nxdt("lightning_modules/model/hf_models/llama_model.py:34-48")});
}

void kv_heads_megatron(const Context& x, Report& report) {
  const int tp = x.strategy().tensor_parallel;
  if (!x.megatron || x.trained.kv_heads <= 0 || x.trained.kv_heads % tp == 0) return;
  report.error({kTp,
                fmt::format("{} KV heads do not divide by TP {}; Megatron models cannot replicate them",
                            x.trained.kv_heads, tp),
                fmt::format("use TP of at most {} that divides it, or model_source: hf", x.trained.kv_heads),
                nxdt("models/megatron/transformer.py")});
}

void kv_replicator_megatron(const Context& x, Report& report) {
  const int copies = x.config.whole(kReplicator).value_or(1);
  if (!x.megatron || copies <= 1) return;
  report.warning({kReplicator, "Megatron models do not replicate KV heads, so this has no effect",
                  "remove it, and keep TP at or below num_kv_heads", nxdt("models/megatron/transformer.py")});
}

int wanted_replicator(const Context& x) {
  return std::max(1, x.strategy().tensor_parallel / std::max(1, x.trained.kv_heads));
}

void kv_heads_divide(const Context& x, Report& report) {
  const models::Strategy& s = x.strategy();
  const models::Architecture& a = x.trained;
  if (x.megatron || a.kv_heads <= 0) return;
  const std::int64_t copies = static_cast<std::int64_t>(a.kv_heads) * s.kv_replicator;
  if (copies % s.tensor_parallel == 0) return;
  // Nobody has run the shipped Mixtral configs against this rule, so for them it is a warning.
  report.add(x.hf_llama() ? Severity::error : Severity::warning,
             {kReplicator,
              fmt::format("{} KV heads x kv_replicator {} do not divide by TP {}", a.kv_heads,
                          s.kv_replicator, s.tensor_parallel),
              fmt::format("write kv_replicator: {} and qkv_linear: True", wanted_replicator(x))});
}

void kv_replicator_divides(const Context& x, Report& report) {
  const models::Strategy& s = x.strategy();
  if (x.megatron || !x.is_true("model.qkv_linear") || s.tensor_parallel % s.kv_replicator == 0) return;
  report.error({kReplicator,
                fmt::format("TP {} does not divide by kv_replicator {}", s.tensor_parallel, s.kv_replicator),
                fmt::format("write kv_replicator: {}", wanted_replicator(x)),
                nxd("modules/qkv_linear.py:444-447")});
}

void kv_replicator_fits(const Context& x, Report& report) {
  const models::Strategy& s = x.strategy();
  const models::Architecture& a = x.trained;
  if (!x.hf_llama() || a.kv_heads <= 0) return;
  const bool linear = x.is_true("model.qkv_linear");
  if (linear && a.kv_heads < a.heads && s.kv_replicator > wanted_replicator(x)) {
    report.warning(
        {kReplicator,
         fmt::format("{} copies of the KV heads although {} would be enough: this wastes memory and traffic",
                     s.kv_replicator, wanted_replicator(x)),
         fmt::format("write kv_replicator: {} (max(1, TP / KV heads))", wanted_replicator(x))});
  }
  if (linear) return;
  const bool split_by_copies =
      static_cast<std::int64_t>(a.kv_heads) * s.kv_replicator % s.tensor_parallel == 0;
  if (s.tensor_parallel < a.kv_heads && a.kv_heads % s.tensor_parallel != 0 && split_by_copies) {
    report.error(
        {"model.qkv_linear",
         fmt::format("without the layer that replicates KV heads the {} KV heads must divide by TP {}",
                     a.kv_heads, s.tensor_parallel),
         "write qkv_linear: True, or choose a TP that divides the KV heads"});
  } else if (s.tensor_parallel > a.kv_heads) {
    report.error({"model.qkv_linear",
                  fmt::format("TP {} above {} KV heads needs the layer that replicates KV heads",
                              s.tensor_parallel, a.kv_heads),
                  fmt::format("write qkv_linear: True and kv_replicator: {}", wanted_replicator(x))});
  } else if (s.kv_replicator > 1) {
    report.warning({kReplicator, "has no effect without qkv_linear", "write kv_replicator: 1"});
  }
}

void kv_replicator_mha(const Context& x, Report& report) {
  const models::Architecture& a = x.trained;
  if (x.megatron || a.kv_heads != a.heads || !x.is_true("model.qkv_linear") || x.is_false("model.fuse_qkv"))
    return;
  report.warning(
      {"model.qkv_linear",
       "with as many KV heads as heads the fused QKV branch splits a tuple (read from the code, not run)",
       "write qkv_linear: False and kv_replicator: 1", modeling_llama("418-424")});
}

void vocabulary_divides(const Context& x, Report& report) {
  const int tp = x.strategy().tensor_parallel;
  if (x.megatron || x.trained.vocabulary <= 0 || x.trained.vocabulary % tp == 0) return;
  report.error({kTp,
                fmt::format("vocabulary {} does not divide by TP {}; HF models are not padded",
                            x.trained.vocabulary, tp),
                "choose a TP that divides it, or pad vocab_size in config.json"});
}

std::int64_t stages_of(const models::Strategy& s) {
  return static_cast<std::int64_t>(s.pipeline_parallel) * s.virtual_pipeline;
}

void layers_suffice(const Context& x, Report& report) {
  const models::Strategy& s = x.strategy();
  const std::int64_t stages = stages_of(s);
  if (x.trained.layers <= 0 || stages <= 1) return;
  if (x.trained.layers < stages) {
    report.error({kPp, fmt::format("{} layers for {} pipeline stages", x.trained.layers, stages),
                  "use fewer stages (PP x VPP)"});
    return;
  }
  if (!x.megatron) return;
  const std::string source = nxdt("models/megatron/transformer.py");
  if (x.trained.layers % s.pipeline_parallel != 0) {
    report.error(
        {kPp,
         fmt::format("Megatron: {} layers do not divide by PP {}", x.trained.layers, s.pipeline_parallel),
         "choose a PP that divides the layers", source});
  } else if ((x.trained.layers / s.pipeline_parallel) % s.virtual_pipeline != 0) {
    report.error({kVpp,
                  fmt::format("Megatron: {} layers of a stage do not divide by VPP {}",
                              x.trained.layers / s.pipeline_parallel, s.virtual_pipeline),
                  "choose a VPP that divides them", source});
  }
}

void layers_uneven(const Context& x, Report& report) {
  const models::Strategy& s = x.strategy();
  const int per_stage = x.trained.layers / s.pipeline_parallel;
  const int rest = x.trained.layers % s.pipeline_parallel;
  if (x.megatron || per_stage < 1 || rest == 0 || s.virtual_pipeline > 1 || x.states("model.pipeline_cuts"))
    return;
  report.note({kPp,
               fmt::format("{} layers over {} stages: the last {} stages get {} layers, the others {}",
                           x.trained.layers, s.pipeline_parallel, rest, per_stage + 1, per_stage),
               "model.pipeline_cuts moves the long stages away from the loss"});
}

void pipeline_cuts(const Context& x, Report& report) {
  constexpr std::string_view key = "model.pipeline_cuts";
  if (!x.states(key)) return;
  const models::Strategy& s = x.strategy();
  const std::int64_t stages = stages_of(s);
  const std::int64_t cuts = static_cast<std::int64_t>(x.config.list(key).size());
  const std::string source = nxd("pipeline/model.py:75-115");
  if (cuts != stages - 1) {
    report.error({key, fmt::format("{} cuts for {} pipeline stages", cuts, stages),
                  fmt::format("name the last layer of each stage except the last: {} cuts", stages - 1),
                  source});
    return;
  }
  const std::vector<int>& at = s.pipeline_cuts;
  const bool rising = std::adjacent_find(at.begin(), at.end(), std::greater_equal<>()) == at.end();
  const bool inside = at.empty() || x.trained.layers <= 0 || at.back() < x.trained.layers - 1;
  if (static_cast<std::int64_t>(at.size()) == cuts && rising && inside) return;
  report.error({key, "cuts must be names model.layers.N, rising, and before the last layer",
                "write for example [\"model.layers.18\", \"model.layers.39\"]", source});
}

void pipeline_parity(const Context& x, Report& report) {
  const int pp = x.strategy().pipeline_parallel;
  if (pp == 1 || pp % 2 == 0) return;
  report.warning(
      {kPp,
       fmt::format("PP {} is odd; send and receive pairs are chosen by parity (read from the code, not run)",
                   pp),
       "use an even PP"});
}

constexpr Rule kParallelRules[] = {
    {"devices", devices_allowed},
    {"devices", devices_whole_node},
    {"devices", devices_once},
    {"divisibility", clamped_degrees},
    {"divisibility", world_divides},
    {"heads", intermediate_divides},
    {"heads", heads_divide},
    {"heads", head_size},
    {"kv-replicator", kv_heads_megatron},
    {"kv-replicator", kv_replicator_megatron},
    {"kv-replicator", kv_heads_divide},
    {"kv-replicator", kv_replicator_divides},
    {"kv-replicator", kv_replicator_fits},
    {"kv-replicator", kv_replicator_mha},
    {"vocabulary", vocabulary_divides},
    {"layers", layers_suffice},
    {"layers", layers_uneven},
    {"layers", pipeline_cuts},
    {"pipeline-parity", pipeline_parity},
};

}  // namespace

std::span<const Rule> parallel_rules() {
  return kParallelRules;
}

}  // namespace trnplan::targets
