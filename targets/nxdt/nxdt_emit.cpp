// Writes the NxDT config of a strategy.
#include "targets/nxdt/nxdt_config.h"
#include "targets/nxdt/nxdt_recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>

namespace trnplan::targets {

namespace {

/// A float as YAML 1.1 and 1.2 both read it: with a dot, "1.0e-6".
std::string float_text(double value) {
  if (std::abs(value) > 1e-30 && std::abs(value) < 1e-3) {
    const int tenth = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
    const std::string mantissa = float_text(std::stod(fmt::format("{:.12g}", value / std::pow(10, tenth))));
    const std::string text = fmt::format("{}e{}", mantissa, tenth);
    if (std::stod(text) == value) return text;
  }
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
  /// Appends a path, quoted only if YAML could read it as something other than text.
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
  Recipe recipe;  ///< overridden by the job
  std::int64_t max_steps = 0;

  bool grouped_queries() const { return job.architecture.kv_heads < job.architecture.heads; }
  bool ring() const { return strategy.context_parallel > 1; }
  const topology::Instance& instance() const { return job.cluster.instance; }
};

void write_head(Writer& w, const Emission& e) {
  w.section("")
      .put("name", "hf_llama")
      .put("model_source", "hf")
      .put("seed", e.job.learning.seed.value_or(1234));
}

void write_trainer(Writer& w, const Emission& e) {
  // A node of NxDT is a host: train.sh starts `devices` processes on each of `num_nodes`.
  const int devices = e.job.cluster.instance.host_cores();
  w.section("trainer").put("devices", devices);
  if (e.instance().traits.logical_cores) w.put("lnc", e.instance().core.lnc);
  w.put("num_nodes", e.job.cluster.hosts())
      .put("max_epochs", -1)
      .put("max_steps", e.max_steps)
      .put("log_every_n_steps", e.job.run.log_steps.value_or(e.recipe.log_steps))
      .put("val_check_interval", e.max_steps + 1)
      .put("check_val_every_n_epoch", "null")
      .put("num_sanity_val_steps", 0)
      .put("limit_val_batches", 0.0)
      .put("limit_test_batches", 0.0)
      .put("gradient_clip_val", e.job.learning.gradient_clip.value_or(1.0));
  const int stated = e.job.software.sequential_move;
  if (const int factor = stated > 0 ? stated : e.instance().traits.sequential_move_factor; factor > 0)
    w.put("sequential_move_factor", factor);
}

/// The job's interval, else the one that loses least to failures. The shipped 10 would write a checkpoint
/// every few minutes.
std::int64_t checkpoint_steps(const models::RunFiles& run) {
  const std::int64_t planned = run.planned_checkpoint_steps > 0 ? run.planned_checkpoint_steps : 200;
  return run.checkpoint_steps.value_or(planned);
}

void write_checkpoints(Writer& w, const Emission& e) {
  w.section("exp_manager.checkpoint_callback_params")
      .put("monitor", "step")
      .put("save_top_k", e.job.run.checkpoints_kept.value_or(1))
      .put("mode", "max")
      .put("save_last", false)
      .string("filename", safe_name(e.job.architecture.name) + "--{step}-{consumed_samples}")
      .put("model_parallel_size",
           static_cast<std::int64_t>(e.strategy.tensor_parallel) * e.strategy.pipeline_parallel)
      .put("every_n_train_steps", checkpoint_steps(e.job.run))
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
  if (e.grouped_queries()) w.put("fuse_qkv", e.job.software.fuse_qkv);
  w.put("rope_theta", a.rope_theta);
  if (!e.strategy.pipeline_cuts.empty()) w.put("pipeline_cuts", cuts_text(e.strategy.pipeline_cuts));
}

/// "[CoreAttention, LlamaMLP]", or "null" if NxDT takes no list.
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
  w.section("model").put("use_cpu_initialization", true);
  if (e.job.run.begins_with_weights()) w.put("weight_init_only", false);  // the first start says true
  w.put("activations_checkpoint_granularity", r.full              ? "full"
                                              : classes == "null" ? "null"
                                                                  : "selective")
      .put("activations_checkpoint_recompute", std::string_view(classes));
  w.section("model.fusions")
      .put("softmax", true)
      .put("flash_attention", e.strategy.flash_attention && !e.ring());
  if (e.ring()) w.put("ring_attention", true);
  w.section("model").put("do_layer_norm_weight_decay", true);
}

void write_optimizer(Writer& w, const Emission& e) {
  const Recipe& r = e.recipe;
  const std::string& stated = e.job.learning.optimizer;
  w.section("model.optim")
      .put("name", stated.empty() ? r.optimizer : std::string_view(stated))
      .put("lr", r.lr)
      .put("weight_decay", r.weight_decay)
      .put("capturable", false)
      .put("betas", std::string_view(fmt::format("[{}, {}]", float_text(r.beta1), float_text(r.beta2))));
  const bool linear = r.schedule == models::Decay::linear;
  w.section("model.optim.sched")
      .put("name", linear ? "LinearAnnealingWithWarmUp" : "CosineAnnealing")
      .put("warmup_steps", warmup_of(r, e.job.learning, e.max_steps))
      .put("max_steps", e.max_steps);
  if (!linear) w.put("min_lr", r.min_lr).put("constant_steps", r.constant_steps);
}

void write_precision(Writer& w, const Emission& e) {
  // `manual` is the only setting for mixed precision with stochastic rounding. Every other type ignores the
  // five values.
  const bool manual = e.strategy.precision == models::Precision::manual;
  w.section("precision")
      .string("type", std::string(models::to_string(e.strategy.precision)))
      .put("master_weights", manual)
      .put("fp32_grad_acc", manual)
      .string("xla_use_bf16", "0")
      .string("xla_downcast_bf16", manual ? "1" : "0")
      .string("neuron_rt_stochastic_rounding_en", manual ? "1" : "0");
}

/// Value for a job without a statement: that of most shipped configs.
int requests_of(const models::Software& software) {
  return software.in_flight > 0 ? software.in_flight : 5;
}

void write_runtime(Writer& w, const Emission& e) {
  const bool manual = e.strategy.precision == models::Precision::manual;
  std::string flags = "--model-type transformer";
  if (manual) flags += " --enable-mixed-precision-accumulation";
  w.section("")
      .string("compiler_flags", flags)
      .path("compiler_cache_url", e.paths.compiler_cache)
      .put("aync_exec_max_inflight_requests", requests_of(e.job.software))  // NxDT's own spelling
      .put("bucket_size_collectives", 1024)
      .put("neuron_rt_exec_timeout", 100)
      .put("neuron_experimental_compress_rg", false);
}

}  // namespace

std::string why_inexpressible(const models::Architecture& a, int sequence) {
  const auto because = [](std::string_view why) {
    return fmt::format("trnplan writes no NxDT config for this model, only for the HF Llama path: {}", why);
  };
  if (a.experts > 0) return because("mixture of experts");
  if (!models::is_llama_like(a)) return because("it is not a Llama");
  if (a.mlp != models::Mlp::gated) return because("its MLP is not gated (SwiGLU)");
  if (a.learned_positions) return because("learned positions");
  if (models::has_linear_biases(a)) return because("linear biases");
  if (a.qk_norm) return because("norms of queries and keys");
  if (a.blocks.sinks) return because("attention sinks");
  if (models::has_window(a, sequence)) {
    return because(
        fmt::format("a sliding window of {} tokens, less than the sequence of {}; train sequences of at most "
                    "{}, which the window does not cut, or set sliding_window to null in config.json",
                    a.sliding_window, sequence, a.sliding_window));
  }
  if (a.layers < 1 || a.hidden < 1 || a.heads < 1 || a.kv_heads < 1)
    return because("layers, hidden size or heads missing");
  if (a.head_dim != 0 && a.head_dim != a.hidden / a.heads)
    return because("head_dim is not hidden_size / num_attention_heads");
  return "";
}

NxdtConfig to_nxdt(const models::Job& job, const models::Strategy& strategy, const NxdtPaths& paths) {
  const std::string why = why_inexpressible(job.architecture, job.training.sequence);
  if (!why.empty()) throw std::invalid_argument(why);
  const Recipe& shipped = nxdt_recipe(job.architecture);
  const Emission e{job, strategy, paths, with_learning(shipped, job.learning),
                   steps_of(job.training, shipped)};
  NxdtConfig config;
  Writer w(config);
  write_head(w, e);
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

}  // namespace trnplan::targets
