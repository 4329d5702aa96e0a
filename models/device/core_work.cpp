#include "models/device/core_work.h"

#include <algorithm>
#include <cmath>

#include "models/device/neuron_core_parameters.h"

namespace trnplan::models {

namespace {

double tiles(double length, double tile) {
  return std::ceil(length / tile);
}

}  // namespace

Operator CoreWork::matmul(std::string_view name, double n, double k, double width) const {
  const double rows = core.array_rows, columns = core.array_columns, least = core.matmul_issue_cycles;
  double cycles = std::min(tiles(k, rows) * tiles(width, columns) * std::max(n, least),
                           tiles(k, rows) * tiles(n, columns) * std::max(width, least));
  if (fp32) cycles *= profile[neuron::fp32_slowdown];
  const Seconds engine(cycles / (core.tensor_hertz * profile[neuron::matmul_efficiency]));
  const Bytes moved(element_bytes() * (n * k + k * width + n * width) * profile[neuron::matmul_hbm_traffic]);
  const Seconds hbm = moved / (core.hbm * profile[neuron::hbm_fraction]);
  return {.name = name,
          .seconds = std::max(engine, hbm),
          .parameter = engine >= hbm ? neuron::matmul_efficiency : neuron::hbm_fraction,
          .also = engine < hbm ? neuron::matmul_hbm_traffic
                  : fp32       ? neuron::fp32_slowdown
                               : Parameter(),
          .flops = Flops(2 * n * k * width)};
}

Operator CoreWork::elements(std::string_view name, double count) const {
  return {.name = name,
          .seconds =
              Seconds(count / (core.vector_lanes * core.vector_hertz * profile[neuron::vector_efficiency])),
          .parameter = neuron::vector_efficiency};
}

Operator CoreWork::memory(std::string_view name, Category category, double bytes) const {
  return {.name = name,
          .category = category,
          .seconds = Bytes(bytes) / (core.hbm * profile[neuron::hbm_fraction]),
          .parameter = neuron::hbm_fraction};
}

double CoreWork::attention_unit_cycles(const AttentionShape& s) const {
  return s.heads * s.batch * tiles(s.sequence, core.array_columns) * tiles(s.head_dim, core.array_rows) *
         s.sequence * (fp32 ? profile[neuron::fp32_slowdown] : 1);
}

Flops CoreWork::attention_flops(const AttentionShape& s) const {
  return Flops(s.units * 2 * s.heads * s.batch * s.sequence * s.sequence * s.head_dim * std::ceil(s.blocks));
}

Operator CoreWork::flash_attention(const AttentionShape& s) const {
  return {.name = "attention",
          .seconds = Seconds(s.units * s.blocks * attention_unit_cycles(s) /
                             (core.tensor_hertz * profile[neuron::flash_efficiency])),
          .parameter = neuron::flash_efficiency,
          .also = fp32 ? neuron::fp32_slowdown : Parameter(),
          .flops = attention_flops(s)};
}

}  // namespace trnplan::models
