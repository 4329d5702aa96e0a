#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

#include "targets/torchtitan/titan_plan.h"

namespace trnplan::targets {

namespace {

/// Sections and keys of a TOML file.
class Toml {
 public:
  Toml& section(std::string_view name) {
    text_ += fmt::format("\n[{}]\n", name);
    return *this;
  }
  Toml& text(std::string_view key, std::string_view value) { return raw(key, fmt::format("\"{}\"", value)); }
  Toml& count(std::string_view key, std::int64_t value) { return raw(key, fmt::to_string(value)); }
  /// Adds a fraction, because TOML reads 1 as a whole number, which such a setting refuses.
  Toml& number(std::string_view key, double value) {
    std::string digits = fmt::format("{}", value);
    if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
    return raw(key, digits);
  }
  Toml& truth(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  Toml& texts(std::string_view key, std::span<const std::string_view> values) {
    return raw(key, fmt::format("[\"{}\"]", fmt::join(values, "\", \"")));
  }
  Toml& raw(std::string_view key, std::string_view value) {
    text_ += fmt::format("{} = {}\n", key, value);
    return *this;
  }
  Toml& comment(std::string_view text) {
    text_ += fmt::format("# {}\n", text);
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void put_parallelism(Toml& t, const models::Strategy& s, const TitanRun& run) {
  const TitanMesh mesh = *titan_mesh(s);
  t.section("parallelism").count("data_parallel_replicate_degree", mesh.replicate);
  t.count("data_parallel_shard_degree", mesh.shard);
  t.text("fsdp_reshard_after_forward", s.sharding == models::Sharding::gradients ? "never" : "default");
  t.count("tensor_parallel_degree", s.tensor_parallel).count("context_parallel_degree", s.context_parallel);
  if (s.context_parallel > 1) t.text("context_parallel_load_balancer", kTitanBalancer);
  t.truth("enable_async_tensor_parallel", titan_loop(s)->async_tp).truth("disable_loss_parallel", false);
  t.count("pipeline_parallel_degree", s.pipeline_parallel);
  if (s.pipeline_parallel == 1) return;
  t.text("pipeline_parallel_schedule", titan_schedule(s));
  t.count("pipeline_parallel_layers_per_stage", run.layers_per_stage);
  t.count("pipeline_parallel_first_stage_less_layers", 0);
  t.count("pipeline_parallel_last_stage_less_layers", 0);
  t.count("pipeline_parallel_microbatch_size", s.micro_batch);
}

void put_checkpoints(Toml& t, const models::Job& job, const TitanRun& run) {
  t.section("checkpoint")
      .truth("enable", true)
      .text("folder", "checkpoint")
      .count("interval", run.save_every);
  t.count("keep_latest_k", run.kept).truth("last_save_model_only", false);
  if (job.run.start_from == models::StartFrom::hf) t.truth("initial_load_in_hf", true);
}

}  // namespace

std::string titan_toml(const models::Job& job, const models::Strategy& s,
                       const std::vector<std::string>& heading, bool log_every_step) {
  const TitanFlavor& flavor = *titan_flavor(job.architecture);
  const TitanRun run = titan_run(job, s);
  std::string comments;
  for (const std::string& line : heading) comments += "# " + line + '\n';
  const int local = s.pipeline_parallel > 1 ? s.micro_batch * run.micro_batches : s.micro_batch;
  Toml t;
  t.section("metrics")
      .count("log_freq", log_every_step ? 1 : run.log_every)
      .truth("enable_tensorboard", true);
  t.truth("disable_color_printing", true);
  t.section("model").text("name", flavor.family).text("flavor", flavor.name);
  if (s.precision == models::Precision::fp8) t.texts("converters", kTitanConverters);
  t.section("optimizer")
      .text("name", "AdamW")
      .number("lr", run.learning.lr)
      .number("beta1", run.learning.beta1);
  t.number("beta2", run.learning.beta2).number("weight_decay", run.learning.weight_decay);
  t.section("lr_scheduler").count("warmup_steps", run.warmup).count("total_steps", run.steps);
  t.text("decay_type", models::kDecayNames[static_cast<std::size_t>(run.learning.schedule)]);
  t.number("min_lr_factor", run.min_factor);
  t.section("training").text("dataset", "c4").count("local_batch_size", local);
  t.count("global_batch_size", job.training.global_batch).count("seq_len", job.training.sequence);
  t.number("max_norm", run.clip).count("steps", run.steps);
  t.text("dtype", "float32")
      .text("mixed_precision_param", "bfloat16")
      .text("mixed_precision_reduce", "float32");
  put_parallelism(t, s, run);
  put_checkpoints(t, job, run);
  t.section("comm").comment(kTitanTimeoutNote).count("init_timeout_seconds", kTitanTimeout);
  t.count("train_timeout_seconds", kTitanTimeout);
  const TitanCheckpointing again = titan_checkpointing(s.recompute);
  t.section("activation_checkpoint").text("mode", again.mode);
  if (!again.option.empty()) t.text("selective_ac_option", again.option);
  t.section("compile").truth("enable", titan_loop(s)->compiled).texts("components", kTitanComponents);
  t.text("backend", titan_backend(job));
  if (s.precision == models::Precision::fp8) {
    t.section(kTitanFloat8).truth("enable_fsdp_float8_all_gather", false);
    t.texts("filter_fqns", kTitanWide);
  }
  if (job.learning.seed) t.section("debug").count("seed", *job.learning.seed);
  return comments + t.take();
}

}  // namespace trnplan::targets
