#include "targets/nemo_megatron/nemo_rules.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "models/architecture/limits.h"
#include "models/job/limits.h"
#include "targets/hf/nxd_preparation.h"
#include "targets/nemo_megatron/nemo_read.h"
#include "targets/start/script.h"
#include "units/product.h"

namespace trnplan::targets {

namespace {

using enum KeyKind;
using models::model_limits, models::run_limits;

constexpr const char* kConfigs =
    "aws-neuron/neuronx-nemo-megatron@f4743ce:nemo/examples/nlp/language_modeling/conf/"
    "megatron_llama_config.yaml";
constexpr const char* kGroups =
    "aws-neuron/neuronx-nemo-megatron@f4743ce:apex/apex/transformer/parallel_state.py";
constexpr const char* kBatches =
    "aws-neuron/neuronx-nemo-megatron@f4743ce:apex/apex/transformer/microbatches.py";

/// Keys that decide the prediction, with their values in conf/megatron_llama_config.yaml, then the keys that
/// differ in conf/megatron_llama_70b_config.yaml (aws-neuron/neuronx-nemo-megatron@f4743ce
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
    {"model.layernorm_epsilon", number, "1e-5", "", 0, 1},
    {"model.position_freq_base", number, "10000", "", 1, static_cast<std::int64_t>(model_limits.rope_theta)},
    {"model.share_embeddings_and_output_weights", truth, "false"},
    {"model.activations_checkpoint_granularity", text, "selective", "selective full null"},
    {"model.sequence_parallel", truth, "true"},
    {"model.wrap_with_zero", truth, "false"},
    {"model.zero_use_master_weight", truth, "false"},
    {"model.use_flash_attention", truth, "false"},
    {"model.sliding_window_size"},
    {kInFlight, whole, "0", "", 0, run_limits.requests}};

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

/// Overrides by key, without the one or two plus signs of new keys, and with one spelling of YAML's truths.
/// "~key", which removes a key, stays under that name.
StatedByName by_resolved_name(const StatedByName& stated) {
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

std::int64_t degrees_of(const Settings& s) {
  return saturating_product(
      {s.whole("model.tensor_model_parallel_size"), s.whole("model.pipeline_model_parallel_size")});
}

std::optional<Breach> ranks_divide(const Settings& s, const StartFacts& f) {
  if (f.ranks <= 0 || f.ranks % degrees_of(s) == 0) return {};
  return undivided_ranks(degrees_of(s), f.ranks);
}

std::optional<Breach> batch_divides(const Settings& s, const StartFacts& f) {
  if (f.ranks <= 0 || f.ranks % degrees_of(s) != 0) return {};
  const std::int64_t batch = s.whole("model.global_batch_size"),
                     slice = saturating_product({s.whole("model.micro_batch_size"), f.ranks / degrees_of(s)});
  if (batch % slice == 0) return {};
  return undivided_batch(batch, slice);
}

}  // namespace

StatedByName nemo_stated(const planner::ConfigFile& file) {
  return by_resolved_name(script_of(file, {kNemoScript}).stated);
}

const StartTable& nemo_start_table(const StatedByName& stated) {
  static const std::string degrees = "model.tensor_model_parallel_size model.pipeline_model_parallel_size";
  static const std::vector<StartRule> rules = {
      {"divisibility", "ranks", degrees, ranks_divide, kGroups, true},
      {"batch", "batch", "model.global_batch_size model.micro_batch_size " + degrees, batch_divides, kBatches,
       true}};
  static const StartTable plain{kPlainKeys, rules, kConfigs}, large{large_keys(), rules, kConfigs};
  const auto name = stated.find("--config-name");
  const bool is_large = name != stated.end() && !name->second.values.empty() &&
                        name->second.values.front().starts_with("megatron_llama_70b_config");
  return is_large ? large : plain;
}

std::vector<planner::StartFault> nemo_start_faults(const planner::ConfigFile& file,
                                                   const topology::Cluster& cluster) {
  StatedByName stated = nemo_stated(file);
  const StartTable& table = nemo_start_table(stated);
  return start_faults(table, Settings(std::move(stated), table.keys), {.ranks = cluster.cores()}, file.name);
}

}  // namespace trnplan::targets
