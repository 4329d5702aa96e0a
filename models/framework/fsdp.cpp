#include "models/framework/fsdp.h"

#include <algorithm>

namespace trnplan::models {

namespace {

/// Bucket of plain data parallel and of a pipeline's stages: TorchTitan's 100 MB.
constexpr double kFsdpBucket = 100e6;

bool has_replicas(const Strategy& s) {
  return s.data_ranks() > 1;
}

}  // namespace

/// Bytes of a gradient on the wire: those of the policy, unless all is in fp32.
double Fsdp::reduced(const Strategy& s) const {
  return std::max(options_.reduced, s.precision == Precision::fp32 ? 4.0 : 0.0);
}

/// In fp32 there is no copy of the logits in two bytes, and their gradient has four.
KeptLogits Fsdp::kept_logits(Precision p) const {
  if (options_.loss) return options_.loss->in(p).kept;
  return p == Precision::fp32 ? KeptLogits{12, 8} : Nxd::kept_logits(p);
}

bool Fsdp::overlaps_layers(const Strategy& s) const {
  return s.context_parallel > 1 || units(s) || tensor_overlap(s);
}

PassLaunches Fsdp::launches(const Strategy& s) const {
  if (s.pipeline_parallel == 1) return {Launch::graph, Launch::none, Launch::none};
  return {Launch::task, Launch::task, Launch::none};
}

RecomputeUnits Fsdp::recomputed(const Strategy& s) const {
  RecomputeUnits again = Nxd::recomputed(s);
  if (!options_.recomputes_parts) return again;
  again.alternate = s.recompute.alternate;
  again.every = s.recompute.every;
  return again;
}

std::optional<UnitSharding> Fsdp::units(const Strategy& s) const {
  if (!s.zero1 || s.pipeline_parallel > 1 || !has_replicas(s)) return std::nullopt;
  return UnitSharding{.gathered = element_bytes(s.precision),
                      .reduced = reduced(s),
                      .again = s.sharding == Sharding::parameters,
                      .keeps_last = options_.keeps_last,
                      .buffered = options_.buffered};
}

/// Each rank's part is a piece. The compiler matches a gather that one product reads, and a reduce-scatter of
/// one product (pytorch/pytorch torch/_inductor/fx_passes/micro_pipeline_tp.py). It does not match the other
/// cases: the gradient of the input of queries, keys and values, and of gate and up, is a sum of products,
/// and the gradient of a weight reads a transposed operand.
std::optional<TensorOverlap> Fsdp::tensor_overlap(const Strategy& s) const {
  if (!options_.async_tensor || !s.sequence_parallel) return std::nullopt;
  return TensorOverlap{s.tensor_parallel, false};
}

/// Bytes of an element by operator, divided by 2. Norm (torch.nn.RMSNorm): to fp32 6, squares 8, their mean
/// 4, scaled 8, to bf16 6, times the weight 4, residual added 6. Backward: of the weight's product 4 and 8,
/// to fp32 6, of the scaling 8 and 16, of the mean 4, of the square 20, added up 12, to bf16 6, of the
/// residual 6. Rotary: to fp32 6, complex product 8, to bf16 6. Gate: 4, times up 6; backward two products
/// 12, that of the gate 6.
ElementKinds Fsdp::element_kinds() const {
  ElementKinds kinds;
  if (options_.compiled) return kinds;
  kinds.norm.streams = 21;
  kinds.norm_backward.streams = 45;
  kinds.rotary.streams = kinds.rotary_backward.streams = 10;
  kinds.gated.streams = 5;
  kinds.gated_backward.streams = 9;
  return kinds;
}

/// Bytes moved: adding a reduced gradient to its shard takes 12. The optimizer reads the gradient, 4, and
/// reads and writes weight and moments, 24.
StateBytes Fsdp::state_bytes(const Strategy& s) const {
  if (!s.zero1) return {4, 4, 8, 0, 12, 28, 0};
  const double sharers = shard_degree(s);
  // A stage of a pipeline adds up whole gradients until its last micro-batch.
  const double gathered = element_bytes(s.precision);
  if (s.pipeline_parallel > 1) return {gathered, 4, 8, 0, 12, 0, 28, 4, 4};
  return {s.sharding == Sharding::gradients ? gathered : 0.0, 0, 8, 0, 12 / sharers, 0, 28, 4, 4};
}

Exchange Fsdp::gradients(const Strategy& s) const {
  if (!s.zero1) return {CollectiveOp::all_reduce, ProcessGroup::replicas, reduced(s), Bytes(kFsdpBucket)};
  return {CollectiveOp::reduce_scatter, ProcessGroup::data, reduced(s), Bytes(kFsdpBucket)};
}

/// Scalars: the norm of the gradients, and the loss.
ScalarReduces Fsdp::scalars(const Strategy&) const {
  return {2, 2};
}

/// Gather of a pipeline's stages, done by the next step's first micro-batch.
std::optional<Exchange> Fsdp::weights(const Strategy& s) const {
  if (!s.zero1) return std::nullopt;
  return Exchange{CollectiveOp::all_gather, ProcessGroup::data, element_bytes(s.precision),
                  Bytes(kFsdpBucket)};
}

/// Zero: the fused optimizer has no buffers.
Bytes Fsdp::optimizer_buffers(const Strategy&, double /*largest_weight*/) const {
  return {};
}

}  // namespace trnplan::models
