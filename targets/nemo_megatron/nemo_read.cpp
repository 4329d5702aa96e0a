#include "targets/nemo_megatron/nemo_read.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "models/architecture/limits.h"
#include "models/job/limits.h"
#include "targets/hf/nxd_preparation.h"
#include "targets/nemo_megatron/nemo_rules.h"
#include "targets/start/run_values.h"

namespace trnplan::targets {

namespace {

using models::model_limits, models::run_limits;

class Reader {
 public:
  Reader(const planner::ConfigFile& file, const StatedByName& stated, int ranks)
      : table_(nemo_start_table(stated)),
        settings_(stated, table_.keys),
        values_(settings_, file.name, settings_.faults()),
        ranks_(ranks) {
    note_others(stated);
    if (const std::string base = values_.text("--config-name"); base.starts_with("megatron_gpt_config"))
      r_.config.not_modelled.emplace_back("megatron_gpt_config, the base config of GPT");
  }

  planner::RunReading run() {
    read_model();
    read_strategy();
    planner::ConfigReading& c = r_.config;
    c.ranks_per_node = ranks_;
    c.software.in_flight = values_.whole(kInFlight);
    values_.ask(table_, {.ranks = ranks_});
    values_.finish();
    return std::move(r_);
  }

 private:
  void note_others(const StatedByName& stated) {
    std::size_t others = 0;
    for (const auto& one : stated) {
      const std::string& name = one.first;
      const auto is = [&](const StartKey& k) { return name == k.name || name == std::string("~") + k.name; };
      const bool known = std::any_of(table_.keys.begin(), table_.keys.end(), is);
      if (known && name.starts_with('~'))
        values_.fault(name, "removes a key that the run needs", "state a value for it");
      if (!known && name.find('.') != std::string::npos) ++others;
    }
    if (others > 0) {
      r_.notes.push_back(fmt::format("{} other override{} nothing that is predicted, and {} ignored", others,
                                     others == 1 ? " affects" : "s affect", others == 1 ? "was" : "were"));
    }
  }
  static bool open(const std::string& value) { return value.empty() || value == "null"; }

  void read_model() {
    models::Architecture& a = r_.architecture;
    a.name = "nemo-megatron";
    a.layers = values_.whole("model.num_layers");
    a.hidden = values_.whole("model.hidden_size");
    a.intermediate = values_.whole("model.ffn_hidden_size");
    a.heads = values_.whole("model.num_attention_heads");
    a.kv_heads = values_.within("model.num_kv_heads", 0, a.heads);
    if (a.kv_heads == 0) a.kv_heads = a.heads;
    a.head_dim = open(values_.text("model.kv_channels"))
                     ? std::max(1, a.hidden / a.heads)
                     : values_.within("model.kv_channels", 1, model_limits.attention / a.heads);
    a.rms_norm_eps = values_.number("model.layernorm_epsilon");
    a.rope_theta = values_.number("model.position_freq_base");
    a.tied_embeddings = values_.on("model.share_embeddings_and_output_weights");
    a.max_positions = values_.whole("model.encoder_seq_length");
    if (!open(values_.text("model.sliding_window_size")))
      r_.config.not_modelled.emplace_back("a sliding window");
  }

  void read_strategy() {
    models::Strategy& s = r_.config.strategy;
    s.tensor_parallel = values_.whole("model.tensor_model_parallel_size");
    s.pipeline_parallel = values_.whole("model.pipeline_model_parallel_size");
    if (!open(values_.text("model.virtual_pipeline_model_parallel_size"))) {
      s.virtual_pipeline =
          values_.within("model.virtual_pipeline_model_parallel_size", 1, model_limits.layers);
    }
    s.data_parallel = data_parallel_of(s, ranks_);
    s.sequence_parallel = values_.on("model.sequence_parallel") && s.tensor_parallel > 1;
    s.zero1 = values_.on("model.wrap_with_zero");
    s.flash_attention = values_.on("model.use_flash_attention");
    s.micro_batch = values_.whole("model.micro_batch_size");
    const std::string kept = values_.text("model.activations_checkpoint_granularity");
    s.recompute.full = kept == "full";
    s.recompute.core_attention = kept == "selective";
    s.precision = values_.on("model.zero_use_master_weight") ? models::Precision::mixed_precision
                                                             : models::Precision::bf16_sr;
    models::Training& t = r_.config.training;
    t.precision = s.precision;
    t.sequence = r_.architecture.max_positions;
    t.global_batch = values_.whole("model.global_batch_size");
  }

  const StartTable& table_;
  Settings settings_;
  RunValues values_;
  int ranks_;
  planner::RunReading r_;
};

}  // namespace

planner::RunReading nemo_reading(const planner::ConfigFile& file, int ranks) {
  return Reader(file, nemo_stated(file), ranks).run();
}

}  // namespace trnplan::targets
