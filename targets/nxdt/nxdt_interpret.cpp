// Training and strategy that an NxDT config states.
#include "targets/nxdt/nxdt_config.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "text/parse.h"

namespace trnplan::targets {

namespace {

int positive(const NxdtConfig& c, std::string_view key, int fallback) {
  const std::optional<int> value = c.whole(key);
  return value && *value > 0 ? *value : fallback;
}

bool uses_hf(const NxdtConfig& c) {
  return c.text("model_source") != "megatron";
}

bool is_mixtral(const NxdtConfig& c) {
  return c.text("name").find("mixtral") != std::string::npos;
}

void apply(const NxdtConfig& c, std::string_view key, int& field) {
  field = positive(c, key, field);
}

void apply_megatron(const NxdtConfig& c, models::Architecture& a) {
  apply(c, "model.ffn_hidden_size", a.intermediate);
  apply(c, "model.num_attention_heads", a.heads);
  a.kv_heads = positive(c, "model.num_kv_heads", a.heads);
  apply(c, "model.max_position_embeddings", a.max_positions);
  a.tied_embeddings = c.boolean("model.share_embeddings_and_output_weights").value_or(a.tied_embeddings);
  a.biases = c.boolean("model.has_bias").value_or(a.biases);
  a.learned_positions = c.text("model.position_embedding_type", "rope") == "learned_absolute";
  const std::string activation = c.text("model.activation");
  if (!activation.empty()) a.mlp = activation.ends_with("glu") ? models::Mlp::gated : models::Mlp::plain;
  if (c.has_section("model.moe")) {
    a.experts = positive(c, "model.moe.num_experts", 8);
    a.experts_per_token = positive(c, "model.moe.top_k", 2);
  }
  if (a.heads > 0) a.head_dim = positive(c, "model.kv_channels", a.hidden / a.heads);
}

}  // namespace

models::Architecture trained_architecture(const NxdtConfig& c, models::Architecture a) {
  const int hidden_before = a.hidden;
  apply(c, "model.num_layers", a.layers);
  apply(c, "model.hidden_size", a.hidden);
  if (!uses_hf(c)) {
    apply_megatron(c, a);
    return a;
  }
  apply(c, "model.max_position_embeddings", a.max_positions);
  a.rope_theta = c.number("model.rope_theta").value_or(a.rope_theta);
  if (a.hidden != hidden_before && a.heads > 0) a.head_dim = a.hidden / a.heads;
  return a;
}

namespace {

constexpr std::string_view kLayerClasses[] = {"LlamaDecoderLayer", "LlamaForCausalLM", "MixtralDecoderLayer"};

models::Recompute selective_recompute(const NxdtConfig& c) {
  models::Recompute r;
  for (const std::string& name : c.list("model.activations_checkpoint_recompute")) {
    const bool whole_layer =
        std::find(std::begin(kLayerClasses), std::end(kLayerClasses), name) != std::end(kLayerClasses);
    if (whole_layer) return models::Recompute{.full = true};
    const auto one = models::recompute_from(name);
    if (!one || one->full) continue;  // NxDT drops names it does not know
    r.core_attention |= one->core_attention;
    r.mlp |= one->mlp;
    r.rms_norm |= one->rms_norm;
    r.activation_multiply |= one->activation_multiply;
  }
  return r;
}

models::Recompute recompute_of(const NxdtConfig& c, bool flash) {
  const std::string granularity = c.text("model.activations_checkpoint_granularity");
  if (granularity == "full") return {.full = true};
  if (granularity == "selective") return selective_recompute(c);
  // HF Llama forces CoreAttention if nothing is stated and plain attention runs (llama_model.py).
  return {.core_attention = uses_hf(c) && !is_mixtral(c) && !flash};
}

models::Precision precision_of(const NxdtConfig& c) {
  const std::string type = c.text("precision.type", "mixed_precision");
  // NxDT tests another spelling for the master weights, so this spelling trains in bf16 with stochastic
  // rounding.
  if (type == "mixed_precision_SR") return models::Precision::bf16_sr;
  const bool no_masters = !c.boolean("precision.master_weights").value_or(false) &&
                          !c.boolean("precision.fp32_grad_acc").value_or(false);
  if (type == "manual" && no_masters) return models::Precision::bf16_sr;
  return models::precision_from(type).value_or(models::Precision::mixed_precision);
}

std::vector<int> cuts_of(const NxdtConfig& c) {
  constexpr std::string_view prefix = "model.layers.";
  std::vector<int> cuts;
  for (const std::string& item : c.list("model.pipeline_cuts")) {
    if (!item.starts_with(prefix)) return {};
    const std::optional<int> layer = parse_whole(std::string_view(item).substr(prefix.size()));
    if (!layer) return {};
    cuts.push_back(*layer);
  }
  return cuts;
}

/// Product that stops at `most` to avoid overflow.
std::int64_t bounded_product(std::int64_t a, std::int64_t b, std::int64_t most) {
  return a > most / b ? most : a * b;
}

models::Strategy strategy_of(const NxdtConfig& c, std::int64_t world) {
  const auto degree = [&](std::string_view key) {  // NxD clamps every degree to the number of ranks
    return static_cast<int>(std::min<std::int64_t>(positive(c, key, 1), world));
  };
  models::Strategy s;
  s.tensor_parallel = degree("distributed_strategy.tensor_model_parallel_size");
  s.pipeline_parallel = degree("distributed_strategy.pipeline_model_parallel_size");
  s.virtual_pipeline = positive(c, "distributed_strategy.virtual_pipeline_model_parallel_size", 1);
  s.context_parallel = degree("distributed_strategy.context_parallel_size");
  s.expert_parallel = degree("distributed_strategy.expert_model_parallel_size");
  const std::int64_t replica = bounded_product(bounded_product(s.tensor_parallel, s.pipeline_parallel, world),
                                               s.context_parallel, world);
  s.data_parallel =
      static_cast<int>(std::min<std::int64_t>(world / replica, std::numeric_limits<int>::max()));
  s.micro_batch = positive(c, "data.micro_batch_size", 1);
  s.sequence_parallel =
      s.tensor_parallel > 1 && c.boolean("distributed_strategy.sequence_parallel").value_or(false);
  s.zero1 = c.boolean("distributed_strategy.zero1").value_or(true);
  s.flash_attention = c.boolean("model.fusions.flash_attention").value_or(false) ||
                      c.boolean("model.fusions.ring_attention").value_or(false);
  s.recompute = recompute_of(c, s.flash_attention);
  s.kv_replicator = uses_hf(c) ? positive(c, "distributed_strategy.kv_replicator", 1) : 1;
  s.precision = precision_of(c);
  s.pipeline_cuts = cuts_of(c);
  return s;
}

/// "DPO", "SFT, LoRA".
std::string alignment_kinds(const NxdtConfig& c) {
  std::string kinds;
  for (const auto& [section, name] :
       {std::pair{"sft", "SFT"}, {"dpo", "DPO"}, {"orpo", "ORPO"}, {"peft", "LoRA"}}) {
    if (!c.has_section(std::string("model_alignment_strategy.") + section)) continue;
    kinds += (kinds.empty() ? "" : ", ") + std::string(name);
  }
  return kinds.empty() ? "SFT, DPO, ORPO, LoRA" : kinds;
}

std::vector<std::string> uncovered(const NxdtConfig& c) {
  std::vector<std::string> names;
  if (c.has_section("model_alignment_strategy"))
    names.push_back("model alignment (" + alignment_kinds(c) + ")");
  return names;
}

}  // namespace

const NxdtKey* unresolved_degree(const NxdtConfig& c) {
  const auto it = std::find_if(c.keys.begin(), c.keys.end(), [](const NxdtKey& k) {
    const bool concerns = k.key.starts_with("distributed_strategy.") || k.key == kNumNodes ||
                          k.key == "trainer.devices" || k.key == "data.micro_batch_size" ||
                          k.key == "data.global_batch_size" || k.key == "model.encoder_seq_length";
    return concerns && !k.quoted && k.text.find("${") != std::string::npos;
  });
  return it == c.keys.end() ? nullptr : &*it;
}

bool describes_trn2(const NxdtConfig& c) {
  const int devices = c.whole("trainer.devices").value_or(0);
  return devices == 64 || devices == 128 || c.whole("trainer.lnc").value_or(1) > 1;
}

NxdtReading interpret(const NxdtConfig& config, const models::Architecture& architecture) {
  NxdtReading r;
  r.devices = positive(config, "trainer.devices", 32);
  r.nodes = positive(config, kNumNodes, 1);
  const std::int64_t world = static_cast<std::int64_t>(r.devices) * r.nodes;
  r.strategy = strategy_of(config, world);
  r.training.sequence =
      positive(config, "model.encoder_seq_length",
               positive(config, "data.seq_length", std::max(1, architecture.max_positions)));
  const std::int64_t one_micro_batch_each =
      bounded_product(r.strategy.micro_batch, r.strategy.data_parallel, std::numeric_limits<int>::max());
  r.training.global_batch =
      positive(config, "data.global_batch_size", static_cast<int>(one_micro_batch_each));
  r.training.precision = r.strategy.precision;
  const double steps = positive(config, "trainer.max_steps", 0);
  r.training.tokens = steps * r.training.sequence * r.training.global_batch;
  r.software.framework = kNxdtName;
  r.software.in_flight = positive(config, "aync_exec_max_inflight_requests", 0);
  r.software.fuse_qkv = config.boolean("model.fuse_qkv").value_or(true);
  r.software.sequential_move = positive(config, "trainer.sequential_move_factor", 0);
  r.not_modelled = uncovered(config);
  return r;
}

}  // namespace trnplan::targets
