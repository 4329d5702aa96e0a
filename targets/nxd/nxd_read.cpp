#include "targets/nxd/nxd_read.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/job/limits.h"
#include "targets/hf/nxd_preparation.h"
#include "targets/nxd/nxd_rules.h"
#include "targets/nxd/scripts.h"
#include "targets/start/run_values.h"
#include "targets/start/script.h"

namespace trnplan::targets {

namespace {

using models::run_limits;

class Reader {
 public:
  Reader(const planner::ConfigFile& file, const Script& script, int ranks, const models::Architecture* model)
      : pipelined_(script.program == kPipelineScript),
        table_(nxd_start_table(script.program)),
        settings_(script.stated, table_.keys),
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
    s.data_parallel = data_parallel_of(s, ranks_);
    read_batch(s);
    read_program(s);
    planner::ConfigReading& c = r_.config;
    c.training.sequence = values_.whole("--seq_len");
    c.training.precision = s.precision;
    // Selective checkpointing takes LlamaMLP too in one of the programs, for one length (scripts.h).
    s.recompute.mlp =
        pipelined_ && s.recompute.core_attention && c.training.sequence == kMlpRecomputeSequence;
    c.ranks_per_node = ranks_;
    c.software.in_flight = values_.whole(kInFlight);
    c.software.fuse_qkv = values_.on("--fuse_qkv");
    values_.ask(table_, {.ranks = ranks_});
    values_.finish();
    return std::move(r_);
  }

 private:
  void read_batch(models::Strategy& s) {
    std::int64_t of_replica = 0;
    if (pipelined_) {
      const int batch = values_.whole("--train_batch_size");
      const int parts = values_.whole("--num_microbatches");
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
        values_.on(pipelined_ ? "--use_sequence_parallel" : "--sequence_parallel_enabled") &&
        s.tensor_parallel > 1;
    s.zero1 = values_.on(pipelined_ ? "--use_zero1_optimizer" : "--use_zero_1");
    // Ring attention takes the place of flash attention.
    s.flash_attention = values_.on("--use_flash_attention") || s.context_parallel > 1;
    s.recompute.core_attention =
        values_.on(pipelined_ ? "--use_selective_checkpoint" : "--selective_checkpoint_enabled");
    s.recompute.full = !s.recompute.core_attention;
    const bool masters =
        values_.on("--use_gpu_compatible_precision") && (pipelined_ || values_.on("--use_mix_precision"));
    s.precision = masters ? models::Precision::mixed_precision : models::Precision::bf16_sr;
    if (r_.architecture.grouped_queries() && values_.on("--qkv_linear"))
      s.kv_replicator = values_.whole("--kv_replicator");
  }

  bool pipelined_;
  const StartTable& table_;
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
