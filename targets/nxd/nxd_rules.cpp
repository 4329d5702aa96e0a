#include "targets/nxd/nxd_rules.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "models/job/limits.h"
#include "targets/hf/nxd_preparation.h"
#include "targets/nxd/nxd_read.h"
#include "targets/start/script.h"
#include "units/product.h"

namespace trnplan::targets {

namespace {

using enum KeyKind;
using models::run_limits;

constexpr const char* kTensorProgram =
    "aws-neuron/neuronx-distributed@fbac349:examples/training/llama/tp_zero1_llama_hf_pretrain/"
    "tp_zero1_llama_hf_pretrain.py";
constexpr const char* kPipelineProgram =
    "aws-neuron/neuronx-distributed@fbac349:examples/training/llama/tp_pp_llama_hf_pretrain/run_llama_nxd.py";
constexpr const char* kGroups =
    "aws-neuron/neuronx-distributed@fbac349:src/neuronx_distributed/parallel_layers/parallel_state.py";
constexpr const char* kWrapper =
    "aws-neuron/neuronx-distributed@fbac349:src/neuronx_distributed/pipeline/model.py";

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
    {kInFlight, whole, "0", "", 0, run_limits.requests}};

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
    {kInFlight, whole, "0", "", 0, run_limits.requests}};

/// Breach if the degrees do not divide the ranks. The program for one stage has no flag for pipeline stages.
std::optional<Breach> ranks_divide(const Settings& s, const StartFacts& f) {
  const std::int64_t degrees = saturating_product(
      {s.whole("--tensor_parallel_size"), std::max<std::int64_t>(1, s.whole("--pipeline_parallel_size")),
       s.whole("--context_parallel_size")});
  if (f.ranks <= 0 || f.ranks % degrees == 0) return {};
  return undivided_ranks(degrees, f.ranks);
}

std::optional<Breach> micro_batches_divide(const Settings& s, const StartFacts&) {
  const std::int64_t batch = s.whole("--train_batch_size"), parts = s.whole("--num_microbatches");
  if (batch % parts == 0) return {};
  return Breach{fmt::format("{} sequences in {} micro-batches", batch, parts),
                fmt::format("write a multiple of {}", parts)};
}

}  // namespace

const StartTable& nxd_start_table(std::string_view program) {
  static const std::vector<StartRule> of_tensor = {{"divisibility", "ranks",
                                                    "--tensor_parallel_size --context_parallel_size",
                                                    ranks_divide, kGroups, true}};
  static const std::vector<StartRule> of_pipeline = {
      {"divisibility", "ranks", "--tensor_parallel_size --pipeline_parallel_size --context_parallel_size",
       ranks_divide, kGroups, true},
      {"batch", "micro-batches", "--train_batch_size --num_microbatches", micro_batches_divide, kWrapper,
       true}};
  static const StartTable tensor{kTensorKeys, of_tensor, kTensorProgram};
  static const StartTable pipeline{kPipelineKeys, of_pipeline, kPipelineProgram};
  return program == kPipelineScript ? pipeline : tensor;
}

std::vector<planner::StartFault> nxd_start_faults(const planner::ConfigFile& file,
                                                  const topology::Cluster& cluster) {
  Script script = script_of(file, {kTensorScript, kPipelineScript});
  const StartTable& table = nxd_start_table(script.program);
  return start_faults(table, Settings(std::move(script.stated), table.keys), {.ranks = cluster.cores()},
                      file.name);
}

}  // namespace trnplan::targets
