#include "targets/nxd/nxd_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "targets/flags/flags.h"

namespace trnplan::targets {

namespace {

/// One flag and its value.
void add(planner::TrainCommand& c, std::string_view flag, std::string value) {
  c.arguments.push_back(std::string(flag));
  c.arguments.push_back(std::move(value));
}

class Nxd : public planner::Target {
 public:
  std::string_view name() const override { return "nxd"; }
  std::string_view log_format() const override { return "nxd"; }

  /// aws-neuron/aws-neuron-sdk@81ce03ae
  /// about-neuron/announcements/neuron2.x/announce-maintenance-nxdt-nxd-core-training.rst.
  std::string support() const override {
    return "Needs NxD's training API: stay on Neuron SDK 2.28 with PyTorch 2.9. It is in maintenance since "
           "Neuron 2.30, like NxDT, which is no longer supported from 2.32 on.";
  }

  std::vector<planner::Violation> violations(const models::Job& job,
                                             const models::Strategy& s) const override {
    std::vector<planner::Violation> broken;
    need_flags(job, s, broken);
    if (!s.zero1) broken.push_back(target_lacks("no ZeRO-1", "pin zero1 to true in the job"));
    if (s.tensor_parallel > 1 && !s.sequence_parallel) {
      broken.push_back(target_lacks("no sequence parallel", "pin sequence_parallel to true in the job"));
    }
    need_precision(s, models::Precision::mixed_precision, broken);
    // Its selective recompute is that of attention: none at all cannot be said without flash attention.
    if (!s.recompute.full && !s.recompute.core_attention && !s.flash_attention) {
      broken.push_back(target_lacks("no recompute", "pin recompute to CoreAttention or full in the job"));
    }
    return broken;
  }

  planner::TargetCode code() const override {
    return {"https://github.com/aws-neuron/neuronx-distributed",
            "examples/training/llama/tp_pp_llama_hf_pretrain", "run_llama_nxd.py"};
  }

  planner::TrainCommand command(const models::Job& job, const models::Strategy& s) const override {
    planner::TrainCommand c{{}, steps_of(job.training), runtime_environment(s)};
    const int micro_batches = models::micro_batches(job.training, s);
    const bool grouped = job.architecture.kv_heads < job.architecture.heads;
    const auto whole = [](std::int64_t n) { return fmt::format("{}", n); };
    add(c, "--train_batch_size", whole(job.training.global_batch / s.data_parallel));
    add(c, "--use_meta_device_init", "1");
    add(c, "--training_dir", "$TRNPLAN_DATA");
    add(c, "--training_config", "$plan");
    add(c, "--max_steps", "$steps");
    add(c, "--seq_len", whole(job.training.sequence));
    add(c, "--pipeline_parallel_size", whole(s.pipeline_parallel));
    add(c, "--tensor_parallel_size", whole(s.tensor_parallel));
    add(c, "--num_microbatches", whole(micro_batches));
    add(c, "--lr", "0.000015");
    add(c, "--min_lr", "1e-06");
    add(c, "--beta1", "0.9");
    add(c, "--beta2", "0.95");
    add(c, "--weight_decay", "0.1");
    add(c, "--warmup_steps", whole(std::min<std::int64_t>(2000, c.steps / 5)));
    add(c, "--constant_steps", "0");
    add(c, "--use_zero1_optimizer", "1");
    add(c, "--use_selective_checkpoint", s.recompute.full ? "0" : "1");
    add(c, "--use_flash_attention", s.flash_attention ? "1" : "0");
    add(c, "--qkv_linear", grouped ? "1" : "0");
    add(c, "--kv_replicator", whole(grouped ? s.kv_replicator : 1));
    add(c, "--checkpoint_freq", "200");
    add(c, "--checkpoint_dir", "$results");
    add(c, "--num_kept_checkpoint", "2");
    add(c, "--loading_step", "latest_if_exists");
    add(c, "--tb_dir", "$results/tensorboard");
    return c;
  }
};

}  // namespace

const planner::Target& nxd() {
  static const Nxd target;
  return target;
}

}  // namespace trnplan::targets
