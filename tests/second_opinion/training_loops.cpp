#include "tests/second_opinion/training_loops.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "tests/second_opinion/schedules.h"
#include "units/index.h"

namespace trnplan::second_opinion {

using models::Architecture;
using models::Precision;
using models::Sharding;
using models::Strategy;

namespace {

constexpr TrainingLoop fsdp(std::string_view name) {
  return {.name = name,
          .kernels = Kernels::fused,
          .messages = 1,
          .copies = 3,  // computing, arriving, copied out
          .reduced = 4,
          .shards_gradients_alone = true,
          .recomputes_parts = true};
}

constexpr TrainingLoop megatron(std::string_view name, double logits) {
  return {.name = name,
          .logits_forward = logits,
          .logits_backward = logits,
          .kernels = Kernels::fused,
          .messages = 0,
          .copies_states = true};
}

constexpr TrainingLoop nanotron(std::string_view name) {
  return {.name = name,
          .logits_forward = 8,
          .logits_backward = 6,
          .kernels = Kernels::eager,
          .messages = 1,
          .reduces_after_with_zero1 = true};
}

constexpr std::array kLoops = {
    TrainingLoop{.name = "nxd", .reduces_with_backward = false, .capacity = 2},
    TrainingLoop{.name = "overlapped", .capacity = 2},
    megatron("megatron", 6),
    megatron("megatron-bridge", 2),
    megatron("megatron-flex", 6),
    megatron("megatron-bridge-flex", 2),
    megatron("megatron-ep-overlap", 6),
    megatron("megatron-flex-ep-overlap", 6),
    megatron("megatron-bridge-ep-overlap", 2),
    megatron("megatron-bridge-flex-ep-overlap", 2),
    TrainingLoop{.name = "megatron-deepspeed",
                 .kernels = Kernels::fused,
                 .messages = 1,
                 .reduces_with_backward = false,
                 .capacity = 1},
    TrainingLoop{.name = "megatron-deepspeed-fp16",
                 .kernels = Kernels::fused,
                 .messages = 1,
                 .reduces_with_backward = false,
                 .capacity = 1},
    nanotron("nanotron"),
    fsdp("fsdp"),
    fsdp("fsdp-async-tp"),
    fsdp("fsdp-eager"),
    TrainingLoop{.name = "fsdp1",
                 .logits_forward = 2,
                 .logits_backward = 4,
                 .kernels = Kernels::fused,
                 .messages = 1,
                 .copies = 4,  // one more that another stream still holds
                 .reduced = 4,
                 .shards_gradients_alone = true},
    TrainingLoop{.name = "fsdp1-compiled",
                 .kernels = Kernels::fused,
                 .messages = 1,
                 .copies = 4,
                 .reduced = 2,
                 .shards_gradients_alone = true,
                 .recomputes_parts = true},
    nanotron("nanotron-sync"),
    nanotron("nanotron-polling"),
    TrainingLoop{.name = "megatron-fsdp",
                 .logits_forward = 2,
                 .logits_backward = 2,
                 .kernels = Kernels::fused,
                 .messages = 1,
                 .copies = 3,
                 .reduced = 2},
};

int replicas(const Strategy& s) {
  return s.data_parallel * s.context_parallel;
}

/// aws-neuron/neuronx-distributed src/neuronx_distributed/trainer/trainer.py: bf16 weights and fp32 gradient sums on
/// every rank, fp32 master weights and moments in shards; without ZeRO-1 no master weights and no sums.
StateBytes nxd_states(const Strategy& s) {
  const double parameter = s.precision == Precision::fp32 ? 4 : 2;
  const double wide = s.precision == Precision::bf16_sr ? 2 : 4;  // master weights, moments, gradients
  if (!s.zero1) return {2 * parameter, 2 * wide, 0};
  return {parameter + wide, 3 * wide, wide};
}

/// Fp32 weights, gradients and moments in shards; with them whole parts in bf16, and a pipeline's gradients.
StateBytes fsdp_states(const Strategy& s) {
  const double everything = 4 + 4 + 8;
  if (!s.zero1) return {0, everything, 0};  // a shard is all of it
  if (s.pipeline_parallel > 1) return {gathered_bytes(s) + 4, everything, 0};
  return {s.sharding == Sharding::gradients ? gathered_bytes(s) : 0.0, everything, 0};
}

/// NxD counts the elements of buckets with 8 bytes that have 4 on the device; the gathered one is cut into the ranks'
/// shards by whole megabytes.
struct NxdBuckets {
  double scattered, gathered;
};
NxdBuckets nxd_buckets(const Strategy& s) {
  constexpr double kHalfMegabyte = 0.5e6;
  return {kHalfMegabyte * s.bucket_mb, kHalfMegabyte * std::max(1, s.bucket_mb / replicas(s)) * replicas(s)};
}

/// What does not divide, one each, from the first part on or at the last ones.
std::vector<int> spread(int layers, int parts, bool at_the_end) {
  std::vector<int> all(at(parts), 0);
  for (int i = 0; i < layers; ++i) ++all[at(i % parts)];
  if (at_the_end) std::reverse(all.begin(), all.end());
  return all;
}

/// Embedding and head count as a layer each.
std::vector<int> spread_with_ends(int layers, int parts) {
  std::vector<int> all = spread(layers + 2, parts, false);
  --all.front();
  --all.back();
  return all;
}

/// Those between the ends have the mean rounded up, or down where that would leave an end empty.
std::vector<int> megatron_parts(int layers, int parts) {
  for (const int up : {1, 0}) {
    const int each = layers / parts + up, left = layers - each * (parts - 2);
    if (each == 0 || left < 2) continue;
    std::vector<int> all(at(parts), each);
    all.front() = left - left / 2;
    all.back() = left / 2;
    return all;
  }
  return spread(layers, parts, true);
}

/// A block opens the next stage once those before it cost their share of the model's.
std::vector<int> parts_by_cost(const Architecture& a, int parts) {
  const double h = a.hidden, block = h * (4 * h + 3.0 * a.intermediate), head = h * a.vocabulary;
  std::vector<int> all(at(parts), 0);
  int part = 0;
  double spent = 0;
  for (int i = 0; i < a.layers; ++i) {
    ++all[at(part)];
    spent += block;
    if (spent * parts >= (a.layers * block + head) * (part + 1) && part + 1 < parts) ++part;
  }
  return all;
}

}  // namespace

const TrainingLoop& training_loop(std::string_view name) {
  if (name.empty()) return kLoops.front();
  for (const TrainingLoop& loop : kLoops) {
    if (loop.name == name) return loop;
  }
  throw std::invalid_argument("no training loop " + std::string(name));
}

bool is_pretrain_gpt(std::string_view loop) {
  return loop == "megatron" || loop.starts_with("megatron-flex") || loop == "megatron-ep-overlap";
}

LogitBytes logit_bytes(const TrainingLoop& loop, const Strategy& s) {
  const LogitBytes usual{loop.logits_forward, loop.logits_backward};
  const bool counted = loop.kernels == Kernels::fused && !loop.name.starts_with("megatron-deepspeed");
  if (s.precision != Precision::fp32 || !counted) return usual;
  if (loop.name.starts_with("fsdp") && loop.name != "fsdp1") return {3 * 4, 2 * 4};
  if (is_pretrain_gpt(loop.name)) return {4, 4};   // all in one place
  return {2 * usual.forward, 2 * usual.backward};  // one kernel
}

double gathered_bytes(const Strategy& s) {
  return s.precision == Precision::fp32 ? 4 : 2;
}

double reduced_bytes(const TrainingLoop& loop, const Strategy& s) {
  return s.precision == Precision::fp32 ? 4 : loop.reduced;
}

bool attends(const TrainingLoop& loop, const Strategy& s) {
  if (s.precision != Precision::fp32) return true;
  return loop.name != "fsdp1" &&
         (!loop.name.starts_with("megatron") || loop.name.starts_with("megatron-deep"));
}

int cuts_of_expert(const Strategy& s) {
  if (s.expert_tensor_parallel > 0) return s.expert_tensor_parallel;
  const bool whole = s.expert_parallel > 1 && s.framework.starts_with("megatron-bridge");
  return whole ? 1 : s.tensor_parallel;
}

StateBytes state_bytes(const TrainingLoop& loop, const Strategy& s) {
  if (loop.shards_weights()) return fsdp_states(s);
  // In FP8 weights are kept as they are and transposed, together with those in 16 bits or in their place.
  const double weights = s.precision == Precision::fp8 ? 4 : 2;
  const bool deepspeed = loop.name.starts_with("megatron-deepspeed");
  if (loop.name.starts_with("megatron") && !deepspeed && s.precision == Precision::fp32)
    return {4 + 4, 4 + 4, 0};
  if (is_pretrain_gpt(loop.name)) return {weights + 4, 12, 0};
  if (loop.name.starts_with("megatron-bridge")) return {weights + 2, 12, 0};
  if (loop.name == "megatron-deepspeed-fp16") return {2 + 2, 12, s.zero1 ? 4.0 : 0.0};
  if (loop.name == "megatron-deepspeed") {
    // The fp32 sum, the last pass's gradients and, while they are reduced, a copy of the sum in bf16.
    return s.zero1 ? StateBytes{2 + 4 + 2, 12, 0, 2} : StateBytes{2 + 2, 12, 0};
  }
  if (loop.name.starts_with("nanotron")) return {2 + 4 + (replicas(s) > 1 && !s.zero1 ? 2.0 : 0.0), 12, 0};
  return nxd_states(s);
}

double step_buffers(const TrainingLoop& loop, const Strategy& s, double largest_weight) {
  if (loop.name.starts_with("nanotron")) return 4 * largest_weight;
  if (!s.zero1) return 0;
  if (loop.name.starts_with("megatron-deepspeed")) return 2 * 5e8;
  if (loop.kernels != Kernels::nxd) return 0;
  const NxdBuckets buckets = nxd_buckets(s);
  return std::max({buckets.scattered, buckets.gathered, 4 * largest_weight});
}

double backward_buffers(const TrainingLoop& loop, const Strategy& s) {
  constexpr double kMebibyte = 1024.0 * 1024.0;
  if (loop.name.starts_with("nanotron")) return 25 * kMebibyte;
  if (loop.name == "overlapped") return s.zero1 ? nxd_buckets(s).scattered : 512e6;
  return 0;
}

std::vector<int> even_parts(const TrainingLoop& loop, const Architecture& a, int stages, int chunks) {
  const int layers = a.layers, parts = stages * chunks;
  if (loop.name.starts_with("nanotron")) return parts_by_cost(a, parts);
  if (layers % parts == 0) return spread(layers, parts, false);
  if (loop.name.starts_with("megatron-deepspeed")) {
    const bool room = 2 * parts <= layers + 2;  // for a block in addition to embedding and head
    return room ? spread_with_ends(layers, parts) : spread(layers, parts, false);
  }
  if (loop.name.starts_with("megatron-bridge") && (layers + 2) % parts == 0)
    return spread_with_ends(layers, parts);
  if (loop.name.starts_with("megatron") && !loop.shards_weights()) {
    if (chunks == 1) return megatron_parts(layers, parts);
    // Embedding and loss, or the loss alone, as a layer each.
    if ((layers + 2) % parts == 0) return spread_with_ends(layers, parts);
    if ((layers + 1) % parts == 0) {
      std::vector<int> all(at(parts), (layers + 1) / parts);
      --all.back();
      return all;
    }
    if (layers % chunks != 0) return {};
    Architecture shallow = a;
    shallow.layers = layers / chunks;
    const std::vector<int> once = even_parts(loop, shallow, stages, 1);
    std::vector<int> all;
    while (at(parts) > all.size()) all.insert(all.end(), once.begin(), once.end());
    return all;
  }
  return spread(layers, parts, true);
}

int sharers_of(const Strategy& s) {
  if (!s.zero1) return 1;
  return s.shard_ranks > 0 ? s.shard_ranks : replicas(s);
}

std::string cannot(const TrainingLoop& loop, const Strategy& s) {
  const bool splits = definition_of(defined_schedule(s)).value_or(Definition{}).splits;
  const bool during = loop.reduces_with_backward && !(loop.reduces_after_with_zero1 && s.zero1);
  if (splits && during && !loop.shards_weights()) return "reduce during a split backward pass";
  const models::Recompute& r = s.recompute;
  const bool again = r.full || r.alternate || (r.core_attention && !s.flash_attention) || r.mlp ||
                     r.rms_norm || r.activation_multiply;
  if (splits && loop.shards_weights() && again) return "recompute in a split backward pass";
  const bool in_units = loop.shards_weights() && s.zero1 && s.pipeline_parallel == 1 && replicas(s) > 1;
  if (in_units && s.expert_parallel > 1) return "gather the weights of experts that are shared out";
  if ((s.recompute.alternate || s.recompute.every > 1) && !loop.recomputes_parts)
    return "recompute a part of the layers or every second product";
  const bool known = !loop.shards_weights()              ? s.sharding == Sharding::states
                     : s.sharding == Sharding::gradients ? loop.shards_gradients_alone
                                                         : s.sharding == Sharding::parameters;
  if (s.zero1 && !known) return "shard just that";
  if (s.shard_ranks == 0) return "";
  if (!loop.shards_weights() && !loop.copies_states) return "shard over groups";
  if (s.shard_ranks < 2 || replicas(s) % s.shard_ranks != 0) return "form such groups";
  const bool experts = s.expert_parallel > 1 || cuts_of_expert(s) < s.tensor_parallel;
  if (loop.copies_states && s.zero1) return experts ? "copy the states of experts" : "";
  return s.pipeline_parallel > 1 ? "shard over groups within a pipeline's stages" : "";
}

}  // namespace trnplan::second_opinion
