#include "targets/nxd/nxd_target.h"

#include <fmt/format.h>

#include "targets/flags/flags.h"
#include "targets/flags/launch_line.h"
#include "targets/hf/hf_rules.h"
#include "targets/hf/nxd_preparation.h"
#include "targets/nxd/nxd_read.h"
#include "targets/nxd/nxd_rules.h"
#include "targets/nxd/scripts.h"

namespace trnplan::targets {

namespace {

constexpr const char* kLlamaFolder = "examples/training/llama";
constexpr const char* kClone = "https://github.com/aws-neuron/neuronx-distributed";

bool pipelined(const models::Strategy& s) {
  return s.pipeline_parallel > 1;
}

/// Both scripts recompute whole layers or a fixed set; with flash attention CoreAttention is never called.
void need_recompute(const models::Job& job, const models::Strategy& s,
                    std::vector<planner::Violation>& broken) {
  const models::Recompute r = models::canonical(s).recompute;
  const bool mlp = pipelined(s) && job.training.sequence == kMlpRecomputeSequence;
  if (r.full || (r.core_attention && r.mlp == mlp)) return;
  const char* set = mlp ? "CoreAttention+LlamaMLP" : "CoreAttention";
  broken.push_back(
      target_lacks(fmt::format("it recomputes {}; the script for {} recomputes {} or all at sequence {}",
                               models::to_string(s.recompute), pipelined(s) ? "PP > 1" : "PP 1", set,
                               job.training.sequence),
                   fmt::format("pin recompute to {} or full in the job", set)));
}

/// use_gpu_compatible_precision 1 is mixed precision with master weights, which are ZeRO-1's; 0 is bf16 with
/// stochastic rounding.
void need_precision(const models::Strategy& s, std::vector<planner::Violation>& broken) {
  if (s.precision == models::Precision::bf16_sr) return;
  if (s.precision != models::Precision::mixed_precision) {
    broken.push_back(target_lacks(fmt::format("precision {}", models::to_string(s.precision)),
                                  "write precision: mixed_precision or bf16SR in the job"));
  } else if (!s.zero1) {
    broken.push_back(target_lacks("master weights without ZeRO-1",
                                  "pin zero1 to true, or write precision: bf16SR in the job"));
  }
}

/// What modeling_llama_nxd.py and the sharded layers need; neither script pads.
void need_degrees(const models::Job& job, const models::Strategy& s,
                  std::vector<planner::Violation>& broken) {
  const models::Architecture& a = job.architecture;
  const int tp = s.tensor_parallel;
  if (a.vocabulary % tp != 0)
    broken.push_back(target_lacks("a vocabulary that TP does not divide", "pin another tensor_parallel"));
  if (!a.grouped_queries() && s.kv_replicator > 1) {
    broken.push_back(target_lacks("copies of key and value heads where every head has its own",
                                  "pin kv_replicator to 1 in the job"));
  }
  if (s.flash_attention && s.context_parallel == 1 && job.training.sequence % 2048 != 0) {
    broken.push_back(target_lacks("flash attention with a sequence that is not a multiple of 2048",
                                  "pin flash_attention to false in the job"));
  }
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
    need_llama(job, broken);
    need_plain_strategy(s, broken);
    need_recompute(job, s, broken);
    need_precision(s, broken);
    need_degrees(job, s, broken);
    if (pipelined(s)) {
      need_learning(job, pipeline_recipe(job.architecture), pipeline_learnable(), broken);
    } else {
      need_learning(job, tensor_recipe(job.architecture), tensor_learnable(), broken);
    }
    return broken;
  }

  std::vector<planner::Violation> rules(const models::Job& job,
                                        const models::Strategy& strategy) const override {
    return hf_rules(job, strategy);
  }

  planner::TargetCode code() const override {
    return {kClone, "examples/training/llama/tp_zero1_llama_hf_pretrain", kTensorScript};
  }

  planner::TargetCode code_for(const models::Job&, const models::Strategy& s) const override {
    if (!pipelined(s)) return code();
    return {kClone, "examples/training/llama/tp_pp_llama_hf_pretrain", kPipelineScript};
  }

  std::vector<planner::PersonValue> asked_for(const models::Job& job) const override {
    std::vector<planner::PersonValue> values;
    ask_for_weights(job, values);
    return values;
  }

  planner::TrainCommand command(const models::Job& job, const models::Strategy& s) const override {
    return pipelined(s) ? pipeline_script(job, s) : tensor_script(job, s);
  }

  std::optional<int> nodes_of(const planner::ConfigFile& file) const override { return launched_nodes(file); }

  std::vector<std::string_view> programs() const override { return {kTensorScript, kPipelineScript}; }

  std::optional<planner::RunReading> read_run(const planner::ConfigFile& file, int ranks,
                                              const models::Architecture* model) const override {
    return nxd_reading(file, ranks, model);
  }

  std::vector<planner::StartFault> start_faults(const planner::ConfigFile& file,
                                                const topology::Cluster& cluster) const override {
    return nxd_start_faults(file, cluster);
  }

  std::string_view neuron_stack() const override { return kXlaStack; }

  /// Packages in addition to the SDK: aws-neuron/neuronx-distributed@fbac349 examples/training/llama/requirements.txt.
  /// The script for one stage imports AdamW from transformers, which later ones lack.
  planner::Preparation preparation(const models::Job& job, const models::Strategy& s) const override {
    planner::Preparation p;
    put_release(p, *this, job);
    const models::NeuronRelease* release = planner::pinned_release(*this, job);
    if (release != nullptr) p.tag = release->nxd_tag;
    p.install = {pip_install() + neuron_packages(release),
                 "pip install transformers==4.48.0 'datasets<=3.6.0' 'huggingface-hub>=0.27.1' tensorboard "
                 "sentencepiece tenacity regex s3transfer awscrt"};
    put_data_set(p, kLlamaFolder, job);
    put_conversion(p, fmt::format("{}/convert_checkpoints.py", kLlamaFolder), job, s);
    p.remarks.emplace_back(
        "To start from converted weights, put them into pretrained_weight in the folder of checkpoints.");
    return p;
  }
};

}  // namespace

const planner::Target& nxd() {
  static const Nxd target;
  return target;
}

}  // namespace trnplan::targets
