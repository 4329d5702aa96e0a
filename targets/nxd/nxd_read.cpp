#include "targets/nxd/nxd_read.h"

#include <fmt/format.h>

#include "models/job/limits.h"
#include "targets/nxd/scripts.h"
#include "targets/start/run_values.h"
#include "targets/start/script.h"

namespace trnplan::targets {

namespace {

using enum KeyKind;
using models::run_limits;

constexpr const char* kInFlight = "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS";

/// Flags that decide what is predicted, with the programs' own values (aws-neuron/neuronx-distributed@fbac349
/// examples/training/llama/tp_zero1_llama_hf_pretrain/tp_zero1_llama_hf_pretrain.py).
const std::vector<StartKey> kTensorKeys = {
    {"--model_path"},
    {"--tensor_parallel_size", whole, "2", "", 1, run_limits.ranks},
    {"--context_parallel_size", whole, "1", "", 1, run_limits.ranks},
    {"--batch_size", whole, "8", "", 1, run_limits.micro_batch},
    {"--grad_accum_usteps", whole, "64", "", 1, run_limits.global_batch},
    {"--seq_len", whole, "2048", "", 1, run_limits.sequence},
    {"--sequence_parallel_enabled", toggle},
    {"--selective_checkpoint_enabled", toggle},
    {"--use_flash_attention", whole, "1"},
    {"--qkv_linear", toggle},
    {"--kv_replicator", whole, "1", "", 1, run_limits.ranks},
    {"--fuse_qkv", whole, "1"},
    {"--use_mix_precision", toggle},
    {"--use_gpu_compatible_precision", whole, "1"},
    {"--use_zero_1", toggle},
    {kInFlight, whole, "0"}};

/// The same of examples/training/llama/tp_pp_llama_hf_pretrain/run_llama_nxd.py.
const std::vector<StartKey> kPipelineKeys = {
    {"--training_config"},
    {"--tensor_parallel_size", whole, "8", "", 1, run_limits.ranks},
    {"--pipeline_parallel_size", whole, "1", "", 1, run_limits.ranks},
    {"--virtual_pipeline_size", whole, "1", "", 1, run_limits.ranks},
    {"--context_parallel_size", whole, "1", "", 1, run_limits.ranks},
    {"--train_batch_size", whole, "16", "", 1, run_limits.global_batch},
    {"--num_microbatches", whole, "8", "", 1, run_limits.global_batch},
    {"--seq_len", whole, "4096", "", 1, run_limits.sequence},
    {"--use_sequence_parallel", whole, "1"},
    {"--use_selective_checkpoint", whole, "0"},
    {"--use_flash_attention", whole, "0"},
    {"--qkv_linear", whole, "0"},
    {"--kv_replicator", whole, "1", "", 1, run_limits.ranks},
    {"--fuse_qkv", whole, "1"},
    {"--use_gpu_compatible_precision", whole, "1"},
    {"--use_zero1_optimizer", whole, "0"},
    {kInFlight, whole, "0"}};

class Reader {
 public:
  Reader(const planner::ConfigFile& file, const Script& script, int ranks, const models::Architecture* model)
      : pipelined_(script.program == kPipelineScript),
        settings_(script.stated, pipelined_ ? kPipelineKeys : kTensorKeys),
        values_(settings_, file.name, settings_.faults()),
        ranks_(ranks) {
    r_.architecture = model_beside(values_, model, pipelined_ ? "--training_config" : "--model_path");
  }

  planner::RunReading run() {
    models::Strategy& s = r_.config.strategy;
    s.tensor_parallel = values_.whole("--tensor_parallel_size");
    s.context_parallel = values_.whole("--context_parallel_size");
    if (pipelined_) {
      s.pipeline_parallel = values_.whole("--pipeline_parallel_size");
      s.virtual_pipeline = values_.whole("--virtual_pipeline_size");
    }
    s.data_parallel = data_parallel_of(values_, s, ranks_, "--tensor_parallel_size");
    read_batch(s);
    read_program(s);
    planner::ConfigReading& c = r_.config;
    c.training.sequence = values_.whole("--seq_len");
    c.training.precision = s.precision;
    // Selective checkpointing takes LlamaMLP too in one of the programs, for one length (scripts.h).
    s.recompute.mlp =
        pipelined_ && s.recompute.core_attention && c.training.sequence == kMlpRecomputeSequence;
    c.ranks_per_node = ranks_;
    c.software.in_flight = static_cast<int>(settings_.whole(kInFlight));
    c.software.fuse_qkv = settings_.whole("--fuse_qkv") != 0;
    values_.finish();
    return std::move(r_);
  }

 private:
  bool on(const char* flag) const { return pipelined_ ? settings_.whole(flag) != 0 : settings_.on(flag); }

  void read_batch(models::Strategy& s) {
    std::int64_t of_replica = 0;
    if (pipelined_) {
      const int batch = values_.whole("--train_batch_size");
      const int parts = values_.whole("--num_microbatches");
      if (batch % parts != 0) {
        values_.fault("--train_batch_size", fmt::format("{} sequences in {} micro-batches", batch, parts),
                      fmt::format("write a multiple of {}", parts));
      }
      s.micro_batch = std::max(1, batch / parts);
      of_replica = batch;
    } else {
      s.micro_batch = values_.whole("--batch_size");
      of_replica = std::int64_t{s.micro_batch} * values_.whole("--grad_accum_usteps");
    }
    const std::int64_t batch = of_replica * s.data_parallel;
    if (of_replica > run_limits.global_batch || batch > run_limits.global_batch) {
      values_.fault(pipelined_ ? "--train_batch_size" : "--grad_accum_usteps",
                    fmt::format("more than {} sequences a step", run_limits.global_batch), "write fewer");
      return;
    }
    r_.config.training.global_batch = static_cast<int>(batch);
  }

  void read_program(models::Strategy& s) {
    s.sequence_parallel =
        on(pipelined_ ? "--use_sequence_parallel" : "--sequence_parallel_enabled") && s.tensor_parallel > 1;
    s.zero1 = on(pipelined_ ? "--use_zero1_optimizer" : "--use_zero_1");
    // Ring attention takes the place of flash attention.
    s.flash_attention = settings_.whole("--use_flash_attention") != 0 || s.context_parallel > 1;
    s.recompute.core_attention =
        on(pipelined_ ? "--use_selective_checkpoint" : "--selective_checkpoint_enabled");
    s.recompute.full = !s.recompute.core_attention;
    const bool masters = settings_.whole("--use_gpu_compatible_precision") != 0 &&
                         (pipelined_ || settings_.on("--use_mix_precision"));
    s.precision = masters ? models::Precision::mixed_precision : models::Precision::bf16_sr;
    if (r_.architecture.grouped_queries() && on("--qkv_linear"))
      s.kv_replicator = values_.whole("--kv_replicator");
  }

  bool pipelined_;
  Settings settings_;
  RunValues values_;
  int ranks_;
  planner::RunReading r_;
};

}  // namespace

planner::RunReading nxd_reading(const planner::ConfigFile& file, int ranks,
                                const models::Architecture* model) {
  const Script script = script_of(file, {kTensorScript, kPipelineScript});
  return Reader(file, script, ranks, model).run();
}

}  // namespace trnplan::targets
