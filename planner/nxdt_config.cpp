#include "planner/nxdt_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "units/parse.h"

namespace trnplan::planner {

// ---- leaves

const NxdtKey* NxdtConfig::find(std::string_view key) const {
  const auto it = std::find_if(keys.begin(), keys.end(), [&](const NxdtKey& k) { return k.key == key; });
  return it == keys.end() ? nullptr : &*it;
}

namespace {

bool is_null(const NxdtKey& k) {
  return !k.quoted &&
         (k.text.empty() || k.text == "null" || k.text == "~" || k.text == "Null" || k.text == "NULL");
}

/// The leaf when it is there and not null.
const NxdtKey* value_of(const NxdtConfig& config, std::string_view key) {
  const NxdtKey* found = config.find(key);
  return found == nullptr || is_null(*found) ? nullptr : found;
}

}  // namespace

std::string NxdtConfig::text(std::string_view key, std::string_view fallback) const {
  const NxdtKey* found = value_of(*this, key);
  return found == nullptr ? std::string(fallback) : found->text;
}

std::optional<int> NxdtConfig::whole(std::string_view key) const {
  const NxdtKey* found = value_of(*this, key);
  if (found == nullptr || found->quoted) return std::nullopt;
  const bool negative = found->text.starts_with('-');
  const std::optional<int> size = parse_whole(std::string_view(found->text).substr(negative ? 1 : 0));
  return size && negative ? std::optional(-*size) : size;
}

std::optional<double> NxdtConfig::number(std::string_view key) const {
  const NxdtKey* found = value_of(*this, key);
  if (found == nullptr || found->quoted || found->text.empty()) return std::nullopt;
  const char* begin = found->text.data() + (found->text[0] == '+' ? 1 : 0);
  const char* end = found->text.data() + found->text.size();
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<bool> NxdtConfig::boolean(std::string_view key) const {
  const NxdtKey* found = value_of(*this, key);
  if (found == nullptr || found->quoted) return std::nullopt;
  if (found->text == "True" || found->text == "true") return true;
  if (found->text == "False" || found->text == "false") return false;
  return std::nullopt;
}

bool NxdtConfig::has_section(std::string_view prefix) const {
  return std::any_of(keys.begin(), keys.end(), [&](const NxdtKey& k) {
    return k.key.size() > prefix.size() && k.key.starts_with(prefix) && k.key[prefix.size()] == '.';
  });
}

// ---- lists: "[a, 'b', \"c\"]"

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Text of one list item without its quotes.
std::string unquoted(std::string_view item) {
  if (item.size() < 2 || item.front() != item.back() || (item.front() != '"' && item.front() != '\'')) {
    return std::string(item);
  }
  const bool escapes = item.front() == '"';
  item = item.substr(1, item.size() - 2);
  std::string text;
  for (std::size_t i = 0; i < item.size(); ++i) {
    const bool skip = escapes ? item[i] == '\\' : item.substr(i).starts_with("''");
    if (skip && i + 1 < item.size()) ++i;
    text += item[i];
  }
  return text;
}

/// Index of the end of the item that starts at `from`: the next comma outside quotes and brackets, or the
/// size.
std::size_t item_end(std::string_view text, std::size_t from) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"')
        ++i;
      else if (c == quote)
        quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      return i;
    }
  }
  return text.size();
}

}  // namespace

std::vector<std::string> NxdtConfig::list(std::string_view key) const {
  const NxdtKey* found = value_of(*this, key);
  if (found == nullptr) return {};
  std::string_view text = trimmed(found->text);
  if (found->quoted || !text.starts_with('[') || !text.ends_with(']')) return {found->text};
  text = text.substr(1, text.size() - 2);
  std::vector<std::string> items;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = item_end(text, at);
    const std::string_view item = trimmed(text.substr(at, end - at));
    if (!item.empty()) items.push_back(unquoted(item));
    at = end + 1;
  }
  return items;
}

std::string_view to_string(Severity s) {
  switch (s) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
  }
  return "?";
}

// ---- what a config says

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
  // HF Llama forces CoreAttention when nothing is stated and the plain attention runs (llama_model.py).
  return {.core_attention = uses_hf(c) && !is_mixtral(c) && !flash};
}

models::Precision precision_of(const NxdtConfig& c) {
  const std::string type = c.text("precision.type", "mixed_precision");
  // NxDT tests another spelling for the master weights, so this one trains in bf16 with stochastic rounding.
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

/// Product that stops at `most` instead of overflowing.
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

std::vector<std::string> uncovered(const NxdtConfig& c) {
  std::vector<std::string> names;
  if (c.has_section("model_alignment_strategy")) names.push_back("model alignment (SFT, DPO, ORPO, LoRA)");
  if (describes_trn2(c)) names.push_back("trn2");
  return names;
}

}  // namespace

const NxdtKey* unresolved_degree(const NxdtConfig& c) {
  const auto it = std::find_if(c.keys.begin(), c.keys.end(), [](const NxdtKey& k) {
    const bool concerns = k.key.starts_with("distributed_strategy.") || k.key == "trainer.num_nodes" ||
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
  r.nodes = positive(config, "trainer.num_nodes", 1);
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
  r.in_flight = positive(config, "aync_exec_max_inflight_requests", 0);
  r.not_modelled = uncovered(config);
  return r;
}

// ---- the config of a strategy

namespace {

/// A float as YAML 1.1 and 1.2 both read it: with a dot, "1.0e-06".
std::string float_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find('.') != std::string::npos) return text;
  const std::size_t exponent = text.find('e');
  return text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
}

/// Letters a file name may safely hold; NxDT writes the name into checkpoint paths and format strings.
std::string safe_name(const std::string& name) {
  std::string safe;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    safe += plain || c == '.' || c == '_' || c == '-' ? c : '_';
  }
  return safe.empty() ? "hf_llama" : safe.substr(0, 80);
}

/// Appends leaves under a changing section.
class Writer {
 public:
  explicit Writer(NxdtConfig& config) : config_(&config) {}

  Writer& section(std::string_view name) {
    prefix_ = name.empty() ? "" : std::string(name) + '.';
    return *this;
  }
  Writer& put(std::string_view key, std::string_view text) { return add(key, std::string(text), false); }
  Writer& put(std::string_view key, const char* text) { return add(key, text, false); }
  Writer& put(std::string_view key, bool value) { return add(key, value ? "True" : "False", false); }
  Writer& put(std::string_view key, std::int64_t value) { return add(key, fmt::format("{}", value), false); }
  Writer& put(std::string_view key, int value) { return add(key, fmt::format("{}", value), false); }
  Writer& put(std::string_view key, double value) { return add(key, float_text(value), false); }
  Writer& string(std::string_view key, std::string text) { return add(key, std::move(text), true); }
  /// A path: quoted only when YAML could read it as something else than text.
  Writer& path(std::string_view key, const std::string& text) {
    return add(key, text, !plainly_a_path(text));
  }

 private:
  static bool plainly_a_path(const std::string& text) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto plain = [&](char c) {
      return letter(c) || (c >= '0' && c <= '9') || c == '/' || c == '_' || c == '.' || c == '-';
    };
    return text.find_first_of("/.") != std::string::npos && (letter(text[0]) || text[0] == '/') &&
           std::all_of(text.begin(), text.end(), plain);
  }
  Writer& add(std::string_view key, std::string text, bool quoted) {
    config_->keys.push_back({prefix_ + std::string(key), std::move(text), quoted, {}});
    return *this;
  }

  NxdtConfig* config_;
  std::string prefix_;
};

/// One strategy of one job, as the sections below need it.
struct Emission {
  const models::Job& job;
  const models::Strategy& strategy;
  const NxdtPaths& paths;
  std::int64_t max_steps = 0;
  bool small = true;  ///< up to about 13B parameters: the optimizer settings NxDT ships for 8B

  bool grouped_queries() const { return job.architecture.kv_heads < job.architecture.heads; }
  bool ring() const { return strategy.context_parallel > 1; }
  bool trn2() const { return job.cluster.instance.family.starts_with("trn2"); }
};

void refuse_unless_expressible(const models::Architecture& a) {
  const auto refuse = [](std::string_view why) {
    throw std::invalid_argument(fmt::format("NxDT's HF Llama path cannot express this model: {}", why));
  };
  if (a.family == models::Family::mixtral || a.experts > 0) refuse("mixture of experts");
  if (a.family != models::Family::llama) refuse("it is no Llama");
  if (a.mlp != models::Mlp::gated) refuse("its MLP is not gated (SwiGLU)");
  if (a.learned_positions) refuse("learned positions");
  if (a.biases) refuse("linear biases");
  if (a.layers < 1 || a.hidden < 1 || a.heads < 1 || a.kv_heads < 1)
    refuse("layers, hidden size or heads missing");
  if (a.head_dim != 0 && a.head_dim != a.hidden / a.heads)
    refuse("head_dim is not hidden_size / num_attention_heads");
}

std::int64_t steps_of(const models::Training& t) {
  constexpr double most = 2'000'000'000;  // max_steps + 1 must stay a 32-bit number
  if (!(t.tokens > 0) || t.sequence < 1 || t.global_batch < 1) return 10000;
  const double per_step = static_cast<double>(t.sequence) * t.global_batch;
  return static_cast<std::int64_t>(std::clamp(std::ceil(t.tokens / per_step), 1.0, most));
}

void write_head(Writer& w) {
  w.section("").put("name", "hf_llama").put("model_source", "hf").put("seed", 1234);
}

void write_trainer(Writer& w, const Emission& e) {
  const int devices = e.job.cluster.instance.cores();
  w.section("trainer").put("devices", devices);
  if (e.trn2()) w.put("lnc", devices == 128 ? 1 : 2);
  w.put("num_nodes", e.job.cluster.nodes)
      .put("max_epochs", -1)
      .put("max_steps", e.max_steps)
      .put("log_every_n_steps", 10)
      .put("val_check_interval", e.max_steps + 1)
      .put("check_val_every_n_epoch", "null")
      .put("num_sanity_val_steps", 0)
      .put("limit_val_batches", 0.0)
      .put("limit_test_batches", 0.0)
      .put("gradient_clip_val", 1.0);
  if (e.trn2()) w.put("sequential_move_factor", 32);
}

void write_checkpoints(Writer& w, const Emission& e) {
  w.section("exp_manager.checkpoint_callback_params")
      .put("monitor", "step")
      .put("save_top_k", 1)
      .put("mode", "max")
      .put("save_last", false)
      .string("filename", safe_name(e.job.architecture.name) + "--{step}-{consumed_samples}")
      .put("model_parallel_size",
           static_cast<std::int64_t>(e.strategy.tensor_parallel) * e.strategy.pipeline_parallel)
      .put("every_n_train_steps", 200)  // the shipped 10 would write a checkpoint every few minutes
      .put("use_master_weights_in_ckpt", false);
}

void write_exp_manager(Writer& w, const Emission& e) {
  w.section("exp_manager")
      .put("log_local_rank_0_only", true)
      .put("create_tensorboard_logger", true)
      .put("explicit_log_dir", "null")
      .put("exp_dir", "null")
      .put("name", "hf_llama")
      .put("resume_if_exists", true)
      .put("resume_ignore_no_checkpoint", true)
      .put("create_checkpoint_callback", true);
  write_checkpoints(w, e);
  w.section("exp_manager")
      .put("log_parameter_norm", true)
      .put("log_gradient_norm", true)
      .put("enable_recovery_time_instrumentation", false)
      .put("save_xser", true)
      .put("load_xser", true)
      .put("save_bf16", false)
      .put("async_checkpointing", false)
      .put("resume_from_checkpoint", "null");
}

void write_distribution(Writer& w, const Emission& e) {
  const models::Strategy& s = e.strategy;
  const models::Architecture& a = e.job.architecture;
  const int replicas =
      e.grouped_queries() ? std::max({1, s.tensor_parallel / a.kv_heads, s.kv_replicator}) : 1;
  w.section("distributed_strategy")
      .put("tensor_model_parallel_size", s.tensor_parallel)
      .put("pipeline_model_parallel_size", s.pipeline_parallel)
      .put("virtual_pipeline_model_parallel_size", s.virtual_pipeline)
      .put("context_parallel_size", s.context_parallel)
      .put("zero1", s.zero1)
      .put("sequence_parallel", s.sequence_parallel && s.tensor_parallel > 1)
      .put("kv_replicator", replicas);
}

void write_data(Writer& w, const Emission& e) {
  w.section("data")
      .put("micro_batch_size", e.strategy.micro_batch)
      .put("global_batch_size", e.job.training.global_batch)
      .path("train_dir", e.paths.train_dir);
}

std::string cuts_text(const std::vector<int>& cuts) {
  std::string text;
  for (const int layer : cuts) text += fmt::format("{}\"model.layers.{}\"", text.empty() ? "" : ", ", layer);
  return '[' + text + ']';
}

void write_shape(Writer& w, const Emission& e) {
  const models::Architecture& a = e.job.architecture;
  w.section("model")
      .path("model_config", e.paths.model_config)
      .put("encoder_seq_length", e.job.training.sequence)
      .put("max_position_embeddings", std::max(a.max_positions, e.job.training.sequence))
      .put("num_layers", a.layers)
      .put("hidden_size", a.hidden)
      .put("qkv_linear", e.grouped_queries());
  if (e.grouped_queries()) w.put("fuse_qkv", true);
  w.put("rope_theta", a.rope_theta);
  if (!e.strategy.pipeline_cuts.empty()) w.put("pipeline_cuts", cuts_text(e.strategy.pipeline_cuts));
}

/// "[CoreAttention, LlamaMLP]", or "null" where NxDT wants no list.
std::string recompute_list(const models::Recompute& r) {
  std::string names = models::to_string(r);
  if (r.full || names == "none") return "null";
  for (std::size_t plus = names.find('+'); plus != std::string::npos; plus = names.find('+')) {
    names.replace(plus, 1, ", ");
  }
  return '[' + names + ']';
}

void write_program(Writer& w, const Emission& e) {
  const models::Recompute& r = e.strategy.recompute;
  const std::string classes = recompute_list(r);
  w.section("model")
      .put("use_cpu_initialization", true)
      .put("activations_checkpoint_granularity", r.full              ? "full"
                                                 : classes == "null" ? "null"
                                                                     : "selective")
      .put("activations_checkpoint_recompute", std::string_view(classes));
  w.section("model.fusions")
      .put("softmax", true)
      .put("flash_attention", e.strategy.flash_attention && !e.ring());
  if (e.ring()) w.put("ring_attention", true);
  w.section("model").put("do_layer_norm_weight_decay", true);
}

/// Shipped settings: hf_llama3_8B_config.yaml for small models, hf_llama3_70B_config.yaml for large ones,
/// except that the large one's weight_decay 0.1 is written as the 0.01 NxDT really uses.
void write_optimizer(Writer& w, const Emission& e) {
  w.section("model.optim")
      .put("name", e.small ? "adamw_fp32OptState" : "adamw")
      .put("lr", e.small ? "1.5e-4" : "0.000015")
      .put("weight_decay", 0.01)
      .put("capturable", false)
      .put("betas", e.small ? "[0.9, 0.999]" : "[0.9, 0.95]");
  w.section("model.optim.sched")
      .put("name", e.small ? "LinearAnnealingWithWarmUp" : "CosineAnnealing")
      .put("warmup_steps", std::min<std::int64_t>(e.small ? 100 : 2000, e.max_steps / 5))
      .put("max_steps", e.max_steps);
  if (!e.small) w.put("min_lr", "1.0e-06").put("constant_steps", 0);
}

void write_precision(Writer& w, const Emission& e) {
  // `manual` is the one way to mixed precision with stochastic rounding; every other type ignores the five
  // values.
  const bool manual = e.strategy.precision == models::Precision::manual;
  w.section("precision")
      .string("type", std::string(models::to_string(e.strategy.precision)))
      .put("master_weights", manual)
      .put("fp32_grad_acc", manual)
      .string("xla_use_bf16", "0")
      .string("xla_downcast_bf16", manual ? "1" : "0")
      .string("neuron_rt_stochastic_rounding_en", manual ? "1" : "0");
}

void write_runtime(Writer& w, const Emission& e) {
  const bool manual = e.strategy.precision == models::Precision::manual;
  std::string flags = "--model-type transformer";
  if (manual) flags += " --enable-mixed-precision-accumulation";
  w.section("")
      .string("compiler_flags", flags)
      .path("compiler_cache_url", e.paths.compiler_cache)
      .put("aync_exec_max_inflight_requests", 5)  // NxDT's own spelling
      .put("bucket_size_collectives", 1024)
      .put("neuron_rt_exec_timeout", 100)
      .put("neuron_experimental_compress_rg", false);
}

}  // namespace

NxdtConfig to_nxdt(const models::Job& job, const models::Strategy& strategy, const NxdtPaths& paths) {
  refuse_unless_expressible(job.architecture);
  Emission e{job, strategy, paths, steps_of(job.training), true};
  e.small = static_cast<double>(models::parameters(job.architecture)) <= 14e9;
  NxdtConfig config;
  Writer w(config);
  write_head(w);
  write_trainer(w, e);
  write_exp_manager(w, e);
  write_distribution(w, e);
  write_data(w, e);
  write_shape(w, e);
  write_program(w, e);
  write_optimizer(w, e);
  write_precision(w, e);
  write_runtime(w, e);
  return config;
}

}  // namespace trnplan::planner
