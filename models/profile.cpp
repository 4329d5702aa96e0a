#include "models/profile.h"

namespace trnplan::models {

namespace {

struct Name {
  std::string_view key;
  std::string_view unit;
};

constexpr std::array<Name, static_cast<std::size_t>(Parameter::count)> kNames = {{
    {"matmul_efficiency", "1"},
    {"matmul_hbm_traffic", "1"},
    {"fp32_slowdown", "1"},
    {"hbm_fraction", "1"},
    {"flash_efficiency", "1"},
    {"score_traffic", "1"},
    {"vector_efficiency", "1"},
    {"link_fraction", "1"},
    {"dma_fraction", "1"},
    {"in_graph_alpha", "s"},
    {"hop_latency", "s"},
    {"host_launch", "s"},
    {"barrier", "s"},
    {"efa_fraction", "1"},
    {"efa_latency", "s"},
    {"overlap_slowdown", "1"},
    {"layer_overhead", "s"},
    {"graph_launch", "s"},
    {"task_launch", "s"},
    {"bucket_overhead", "s"},
    {"step_overhead", "s"},
    {"runtime_reserve", "bytes"},
    {"configuration_spread", "1"},
    {"stack_spread", "1"},
}};

}  // namespace

std::string_view to_string(Parameter p) {
  return kNames[static_cast<std::size_t>(p)].key;
}
std::string_view unit_of(Parameter p) {
  return kNames[static_cast<std::size_t>(p)].unit;
}

}  // namespace trnplan::models
