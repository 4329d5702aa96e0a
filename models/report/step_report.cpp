#include "models/report/step_report.h"

namespace trnplan::models {

std::string_view to_string(Resource r) {
  constexpr std::string_view kNames[] = {"tensor", "vector", "hbm",     "dma",
                                         "link",   "efa",    "latency", "launch"};
  return kNames[static_cast<std::size_t>(r)];
}

Resource resource_of(Parameter p) {
  switch (p) {
    case Parameter::matmul_efficiency:
    case Parameter::flash_efficiency:
      return Resource::tensor;
    case Parameter::vector_efficiency:
      return Resource::vector;
    case Parameter::hbm_fraction:
      return Resource::hbm;
    case Parameter::dma_fraction:
      return Resource::dma;
    case Parameter::link_fraction:
      return Resource::link;
    case Parameter::efa_fraction:
      return Resource::efa;
    case Parameter::in_graph_alpha:
    case Parameter::hop_latency:
    case Parameter::efa_latency:
      return Resource::latency;
    case Parameter::layer_overhead:
    case Parameter::graph_launch:
    case Parameter::task_launch:
    case Parameter::host_launch:
    case Parameter::bucket_overhead:
    case Parameter::step_overhead:
      return Resource::launch;
    default:
      return Resource::count;
  }
}

double StepReport::elasticity(Resource r) const {
  double share = 0;
  for (std::size_t i = 0; i < exclusive.size(); ++i) {
    if (resource_of(static_cast<Parameter>(i)) == r) share += exclusive[i] / step;
  }
  return r == Resource::latency || r == Resource::launch ? share : 0 - share;
}

}  // namespace trnplan::models
