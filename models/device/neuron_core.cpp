#include "models/device/neuron_core.h"

#include <algorithm>
#include <cmath>

#include "models/device/neuron_core_parameters.h"

namespace trnplan::models {

namespace {

double tiles(double length, double tile) {
  return std::ceil(length / tile);
}

/// Stationary tiles of the physical core that has the most: a logical core distributes them over its physical
/// ones.
double dealt(const topology::Core& core, double stationary) {
  return core.lnc == 1 ? stationary : std::ceil(stationary / core.lnc);
}

/// Columns of the moving tile of one matmul instruction (nki.language.tile_size.gemm_moving_fmax), and
/// elements of a lane that one vector instruction takes.
constexpr double kMovingColumns = 512;
/// Instructions of a product of tiles: one loads the stationary tile, one moves the other.
constexpr double kPerProduct = 2;
/// Vector passes of softmax for each unit of attention, forward and backward alike: scaled, masked,
/// exponents, sums.
constexpr double kSoftmaxPasses = 2;
/// The most instructions of a graph; above it compilation fails (neuron_core.h).
constexpr double kMostInstructions = 5e6;

double vector_instructions(const topology::Core& core, double elements) {
  return std::ceil(elements / (core.vector_lanes * kMovingColumns));
}

double matmul_instructions(const topology::Core& core, const MatmulShape& shape) {
  const auto& [n, k, width, fp8, cast, tf32] = shape;
  const double rows = core.array_rows, columns = core.array_columns;
  const double results = std::min(tiles(width, columns) * tiles(n, kMovingColumns),
                                  tiles(n, columns) * tiles(width, kMovingColumns));
  return (kPerProduct * tiles(k, rows) + 1) * results;
}

/// Instructions of all units of an attention.
double attention_instructions(const topology::Core& core, const AttentionShape& s) {
  const double squares = s.heads * s.batch * s.blocks * s.units;
  const double products = kPerProduct * tiles(s.sequence, core.array_columns) *
                          tiles(s.head_dim, core.array_rows) * tiles(s.sequence, kMovingColumns);
  return squares * (products + vector_instructions(core, kSoftmaxPasses * s.sequence * s.sequence));
}

/// Tensor-engine cycles of one unit over one square at full rate.
double attention_unit_cycles(const DeviceContext& on, const AttentionShape& s) {
  return dealt(on.core, s.heads * s.batch * tiles(s.sequence, on.core.array_columns)) *
         tiles(s.head_dim, on.core.array_rows) * s.sequence *
         (on.fp32 ? on.profile[neuron::fp32_slowdown] : 1);
}

/// The longer of the times of the tensor engine and of HBM; `traffic` multiplies the bytes of HBM.
Work longer(const DeviceContext& on, Seconds engine, Seconds hbm, Parameter traffic, Flops flops) {
  return {.seconds = std::max(engine, hbm),
          .parameter = engine >= hbm ? neuron::matmul_efficiency : neuron::hbm_fraction,
          .also = engine < hbm ? traffic
                  : on.fp32    ? neuron::fp32_slowdown
                               : Parameter(),
          .flops = flops};
}

}  // namespace

std::vector<std::string_view> NeuronCore::needs() const {
  return {"array_rows",   "array_columns", "matmul_issue_cycles", "tensor_clock",
          "vector_lanes", "vector_clock",  "dma_bandwidth"};
}

Work NeuronCore::matmul(const DeviceContext& on, const MatmulShape& shape) const {
  const auto& [n, k, width, fp8, cast, tf32] = shape;
  const topology::Core& core = on.core;
  const double rows = core.array_rows, columns = core.array_columns, least = core.matmul_issue_cycles;
  double cycles = std::min(tiles(k, rows) * dealt(core, tiles(width, columns)) * std::max(n, least),
                           tiles(k, rows) * dealt(core, tiles(n, columns)) * std::max(width, least));
  if (on.fp32) cycles *= on.profile[neuron::fp32_slowdown];
  const Seconds engine(cycles / (core.tensor_hertz * on.profile[neuron::matmul_efficiency]));
  const Bytes moved(on.element_bytes() * (n * k + k * width + n * width) *
                    on.profile[neuron::matmul_hbm_traffic]);
  const Seconds hbm = moved / (core.hbm * on.profile[neuron::hbm_fraction]);
  Work work = longer(on, engine, hbm, neuron::matmul_hbm_traffic, Flops(2 * n * k * width));
  work.instructions = matmul_instructions(core, shape);
  return work;
}

Work NeuronCore::elements(const DeviceContext& on, const ElementKind& kind, double rows, double width) const {
  const double count = kind.passes * rows * width;
  return {.seconds = Seconds(count / (on.core.lnc * on.core.vector_lanes * on.core.vector_hertz *
                                      on.profile[neuron::vector_efficiency])),
          .parameter = neuron::vector_efficiency,
          .instructions = vector_instructions(on.core, count)};
}

Work NeuronCore::memory(const DeviceContext& on, Bytes bytes) const {
  return {.seconds = bytes / (on.core.hbm * on.profile[neuron::hbm_fraction]),
          .parameter = neuron::hbm_fraction,
          .instructions = vector_instructions(on.core, bytes.value / on.element_bytes())};
}

Work NeuronCore::flash_attention(const DeviceContext& on, const AttentionShape& s) const {
  return {.seconds = Seconds(s.units * s.blocks * attention_unit_cycles(on, s) /
                             (on.core.tensor_hertz * on.profile[neuron::flash_efficiency])),
          .parameter = neuron::flash_efficiency,
          .also = on.fp32 ? neuron::fp32_slowdown : Parameter(),
          .flops = attention_flops(s),
          .instructions = attention_instructions(on.core, s)};
}

Work NeuronCore::plain_attention(const DeviceContext& on, const AttentionShape& s, Bytes traffic) const {
  const Seconds engine(s.units * s.blocks * attention_unit_cycles(on, s) /
                       (on.core.tensor_hertz * on.profile[neuron::matmul_efficiency]));
  const Seconds hbm =
      traffic * on.profile[neuron::score_traffic] / (on.core.hbm * on.profile[neuron::hbm_fraction]);
  Work work = longer(on, engine, hbm, neuron::score_traffic, attention_flops(s));
  work.instructions = attention_instructions(on.core, s);
  return work;
}

Work NeuronCore::layer_start(const DeviceContext& on) const {
  return {.seconds = Seconds(on.profile[neuron::layer_overhead]), .parameter = neuron::layer_overhead};
}

Rate NeuronCore::message_memory(const topology::Core& core, const Profile& profile) const {
  // Every access uses both HBM and DMA.
  const BytesPerSecond dma = core.dma * profile[neuron::dma_fraction];
  const BytesPerSecond hbm = core.hbm * profile[neuron::hbm_fraction];
  return dma <= hbm ? Rate{dma, neuron::dma_fraction} : Rate{hbm, neuron::hbm_fraction};
}

Seconds NeuronCore::least_elements(const topology::Core& core, double passes, double elements) const {
  return Seconds(passes * elements / (core.lnc * core.vector_lanes * core.vector_hertz));
}

std::optional<GraphLimit> NeuronCore::graph_limit() const {
  return GraphLimit{kMostInstructions, neuron::graph_instructions};
}

}  // namespace trnplan::models
