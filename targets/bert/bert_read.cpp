#include "targets/bert/bert_read.h"

#include <fmt/format.h>

#include "models/job/limits.h"
#include "targets/start/run_values.h"
#include "targets/start/script.h"

namespace trnplan::targets {

namespace {

using enum KeyKind;
using models::run_limits;

/// aws-neuron/aws-neuron-samples@2015d65
/// torch-neuronx/training/dp_bert_hf_pretrain/dp_bert_large_hf_pretrain_hdf5.py.
const std::vector<StartKey> kKeys = {{"--batch_size", whole, "8", "", 1, run_limits.micro_batch},
                                     {"--grad_accum_usteps", whole, "64", "", 1, run_limits.micro_batch},
                                     {"--seq_len", whole, "128", "", 1, run_limits.sequence},
                                     {"--enable_pt_autocast", toggle},
                                     {"--enable_fp32", toggle}};

}  // namespace

const models::Architecture& bert_large() {
  static const models::Architecture fixed = [] {
    models::Architecture a;
    a.name = "bert-large";
    a.layers = 24;
    a.hidden = 1024;
    a.intermediate = 4096;
    a.heads = a.kv_heads = 16;
    a.head_dim = 64;
    a.vocabulary = 30522;
    a.max_positions = 512;
    a.token_types = 2;
    a.mlp = models::Mlp::plain;
    a.norm = models::Norm::layer;
    a.biases = a.learned_positions = a.tied_embeddings = a.dropout = true;
    a.causal = a.flash_attention = false;
    return a;
  }();
  return fixed;
}

planner::RunReading bert_reading(const planner::ConfigFile& file, int ranks) {
  const Settings settings(script_of(file, {kBertScript}).stated, kKeys);
  RunValues values(settings, file.name, settings.faults());
  planner::RunReading r;
  r.architecture = bert_large();
  planner::ConfigReading& c = r.config;
  models::Strategy& s = c.strategy;
  s.data_parallel = ranks;
  s.zero1 = s.sequence_parallel = s.flash_attention = false;
  s.micro_batch = values.whole("--batch_size");
  using enum models::Precision;
  s.precision = settings.on("--enable_fp32")          ? fp32
                : settings.on("--enable_pt_autocast") ? autocast
                                                      : bf16_sr;
  c.training.precision = s.precision;
  c.training.sequence = values.whole("--seq_len");
  const std::int64_t batch = std::int64_t{s.micro_batch} * ranks * values.whole("--grad_accum_usteps");
  if (batch > run_limits.global_batch) {
    values.fault("--grad_accum_usteps", fmt::format("more than {} sequences a step", run_limits.global_batch),
                 "write fewer");
  } else {
    c.training.global_batch = static_cast<int>(batch);
  }
  c.ranks_per_node = ranks;
  values.finish();
  return r;
}

}  // namespace trnplan::targets
