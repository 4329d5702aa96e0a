#include "targets/nemo_megatron/nemo_read.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "models/architecture/limits.h"
#include "models/job/limits.h"
#include "targets/start/run_values.h"
#include "targets/start/script.h"
#include "units/product.h"

namespace trnplan::targets {

namespace {

using enum KeyKind;
using models::model_limits, models::run_limits;

constexpr const char* kInFlight = "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS";

/// Keys that decide what is predicted, with the values of conf/megatron_llama_config.yaml and, behind them, of those keys that
/// conf/megatron_llama_70b_config.yaml has otherwise (aws-neuron/neuronx-nemo-megatron@f4743ce
/// nemo/examples/nlp/language_modeling).
const std::vector<StartKey> kPlainKeys = {
    {"--config-name"},
    {"model.micro_batch_size", whole, "4", "", 1, run_limits.micro_batch},
    {"model.global_batch_size", whole, "8", "", 1, run_limits.global_batch},
    {"model.tensor_model_parallel_size", whole, "1", "", 1, run_limits.ranks},
    {"model.pipeline_model_parallel_size", whole, "1", "", 1, run_limits.ranks},
    {"model.virtual_pipeline_model_parallel_size"},
    {"model.encoder_seq_length", whole, "512", "", 1, run_limits.sequence},
    {"model.num_layers", whole, "12", "", 1, model_limits.layers},
    {"model.hidden_size", whole, "768", "", 1, model_limits.hidden},
    {"model.ffn_hidden_size", whole, "3072", "", 1, model_limits.intermediate},
    {"model.num_attention_heads", whole, "12", "", 1, model_limits.heads},
    {"model.num_kv_heads", whole, "0"},
    {"model.kv_channels"},
    {"model.layernorm_epsilon", number, "1e-5"},
    {"model.position_freq_base", number, "10000"},
    {"model.share_embeddings_and_output_weights", truth, "false"},
    {"model.activations_checkpoint_granularity", text, "selective", "selective full null"},
    {"model.sequence_parallel", truth, "true"},
    {"model.wrap_with_zero", truth, "false"},
    {"model.zero_use_master_weight", truth, "false"},
    {"model.use_flash_attention", truth, "false"},
    {"model.sliding_window_size"},
    {kInFlight, whole, "0"}};

const std::vector<StartKey>& large_keys() {
  static const std::vector<StartKey> keys = [] {
    std::vector<StartKey> all = kPlainKeys;
    const auto set = [&](std::string_view name, const char* usual) {
      std::find_if(all.begin(), all.end(), [&](const StartKey& k) { return name == k.name; })->usual = usual;
    };
    set("model.encoder_seq_length", "2048");
    set("model.num_layers", "80");
    set("model.hidden_size", "8192");
    set("model.ffn_hidden_size", "28672");
    set("model.num_attention_heads", "64");
    set("model.num_kv_heads", "8");
    set("model.kv_channels", "128");
    return all;
  }();
  return keys;
}

/// Overrides name new keys with a plus, keys that may be new with two, and YAML's truths have several spellings. "~key"
/// takes a key away: it stays under that name.
StatedByName settled_names(const StatedByName& stated) {
  StatedByName all;
  for (const auto& [name, value] : stated) {
    Stated& one = all[name.substr(std::min(name.find_first_not_of('+'), name.size()))] = value;
    for (std::string& word : one.values) {
      if (word == "True" || word == "TRUE") word = "true";
      if (word == "False" || word == "FALSE") word = "false";
    }
  }
  return all;
}

const std::vector<StartKey>& keys_of(const StatedByName& stated) {
  const auto name = stated.find("--config-name");
  const bool large = name != stated.end() && !name->second.values.empty() &&
                     name->second.values.front().starts_with("megatron_llama_70b_config");
  return large ? large_keys() : kPlainKeys;
}

class Reader {
 public:
  Reader(const planner::ConfigFile& file, const StatedByName& stated, int ranks)
      : settings_(stated, keys_of(stated)), values_(settings_, file.name, settings_.faults()), ranks_(ranks) {
    note_others(stated);
    if (const std::string base = settings_.text("--config-name"); base.starts_with("megatron_gpt_config"))
      r_.config.not_modelled.emplace_back("megatron_gpt_config, the base config of GPT");
  }

  planner::RunReading run() {
    read_model();
    read_strategy();
    planner::ConfigReading& c = r_.config;
    c.ranks_per_node = ranks_;
    c.software.in_flight = static_cast<int>(settings_.whole(kInFlight));
    values_.finish();
    return std::move(r_);
  }

 private:
  void note_others(const StatedByName& stated) {
    std::size_t others = 0;
    for (const auto& one : stated) {
      const std::string& name = one.first;
      const auto is = [&](const StartKey& k) { return name == k.name || name == std::string("~") + k.name; };
      const bool known = std::any_of(kPlainKeys.begin(), kPlainKeys.end(), is);
      if (known && name.starts_with('~'))
        values_.fault(name, "takes away a key that the run needs", "state a value for it");
      if (!known && name.find('.') != std::string::npos) ++others;
    }
    if (others > 0) {
      r_.notes.push_back(fmt::format("{} other override{} nothing that is predicted, and {} not looked at",
                                     others, others == 1 ? " decides" : "s decide",
                                     others == 1 ? "was" : "were"));
    }
  }
  double number(const char* name, double least, double most) {
    const double value = settings_.number(name);
    if (settings_.readable(name) && value >= least && value <= most) return value;
    if (settings_.readable(name)) {
      values_.fault(
          name, fmt::format("{} is no number from {} to {}", in_quotes(settings_.text(name)), least, most),
          "write a number that is");
    }
    return least;
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
    a.head_dim = open(settings_.text("model.kv_channels"))
                     ? std::max(1, a.hidden / a.heads)
                     : values_.within("model.kv_channels", 1, model_limits.attention / a.heads);
    a.rms_norm_eps = number("model.layernorm_epsilon", 0, 1);
    a.rope_theta = number("model.position_freq_base", 1, model_limits.rope_theta);
    a.tied_embeddings = settings_.on("model.share_embeddings_and_output_weights");
    a.max_positions = values_.whole("model.encoder_seq_length");
    if (!open(settings_.text("model.sliding_window_size")))
      r_.config.not_modelled.emplace_back("a sliding window");
  }

  void read_strategy() {
    models::Strategy& s = r_.config.strategy;
    s.tensor_parallel = values_.whole("model.tensor_model_parallel_size");
    s.pipeline_parallel = values_.whole("model.pipeline_model_parallel_size");
    if (!open(settings_.text("model.virtual_pipeline_model_parallel_size"))) {
      s.virtual_pipeline =
          values_.within("model.virtual_pipeline_model_parallel_size", 1, model_limits.layers);
    }
    s.data_parallel = data_parallel_of(values_, s, ranks_, "model.tensor_model_parallel_size");
    s.sequence_parallel = settings_.on("model.sequence_parallel") && s.tensor_parallel > 1;
    s.zero1 = settings_.on("model.wrap_with_zero");
    s.flash_attention = settings_.on("model.use_flash_attention");
    s.micro_batch = values_.whole("model.micro_batch_size");
    const std::string kept = settings_.text("model.activations_checkpoint_granularity");
    s.recompute.full = kept == "full";
    s.recompute.core_attention = kept == "selective";
    s.precision = settings_.on("model.zero_use_master_weight") ? models::Precision::mixed_precision
                                                               : models::Precision::bf16_sr;
    models::Training& t = r_.config.training;
    t.precision = s.precision;
    t.sequence = r_.architecture.max_positions;
    t.global_batch = values_.whole("model.global_batch_size");
    const std::int64_t slice = saturating_product({s.micro_batch, s.data_parallel});
    if (t.global_batch % slice != 0) {
      values_.fault("model.global_batch_size", undivided_batch(t.global_batch, slice));
    }
  }

  Settings settings_;
  RunValues values_;
  int ranks_;
  planner::RunReading r_;
};

}  // namespace

planner::RunReading nemo_reading(const planner::ConfigFile& file, int ranks) {
  const StatedByName stated = settled_names(script_of(file, {kNemoScript}).stated);
  return Reader(file, stated, ranks).run();
}

}  // namespace trnplan::targets
