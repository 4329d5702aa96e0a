// Eight GPUs behind a switch, and a profile to time them, with invented round numbers.
#pragma once

#include "models/collective/switched_parameters.h"
#include "models/device/gpu_parameters.h"
#include "models/framework/loop_parameters.h"
#include "models/parameters/profile.h"
#include "models/schemas/schemas.h"
#include "topology/instance.h"

namespace trnplan {

/// 1000 TFLOP/s in BF16, 500 in FP32, 2000 in FP8, 4 TB/s; 400 GB/s to the switch and a NIC of 50 GB/s each.
inline topology::Instance gpu_machine() {
  topology::Instance i;
  i.name = i.family = "eight-gpus";
  i.traits.accelerator = topology::Accelerator::gpu;
  i.traits.collectives = topology::CollectiveRuntime::nccl;
  i.traits.groups = topology::GroupRule::any_group;
  i.chips = 8;
  i.switches = 1;
  i.cores_per_chip = 1;
  i.core.device = "gpu";
  i.core.bf16 = FlopsPerSecond(1000e12);
  i.core.fp32 = FlopsPerSecond(500e12);
  i.core.fp8 = FlopsPerSecond(2000e12);
  i.core.hbm = gigabytes_per_second(4000);
  i.core.memory = gibibytes(80);
  for (int chip = 0; chip < i.chips; ++chip) {
    i.links.push_back({chip, i.chips});
    i.nic_of_chip.push_back(chip);
  }
  i.link_per_direction = gigabytes_per_second(400);
  i.nics = 8;
  i.nic = gigabytes_per_second(50);
  return i;
}

/// Half of every bandwidth and of the peak for products, a quarter of it for flash attention. A collective
/// starts in 8 us. A step takes 1 us inside a node and 10 us between nodes, a layer 20 us.
inline models::Profile gpu_profile() {
  using namespace models;
  Profile p;
  p.name = "round";
  p.schema = schema_named("gpu");
  for (const Parameter parameter : p.schema->parameters()) {
    if (const auto absent = value_when_absent(parameter)) p.value(parameter) = *absent;
  }
  const auto set = [&](Parameter parameter, double median) { p.value(parameter) = {median, 0.1, "made up"}; };
  for (const Parameter share :
       {gpu::gemm_share, gpu::bandwidth_share, switched::link_share, switched::network_share}) {
    set(share, 0.5);
  }
  set(gpu::attention_share, 0.25);
  set(gpu::layer_launch, 20e-6);
  set(switched::collective_start, 8e-6);
  set(switched::step_latency, 1e-6);
  set(switched::network_latency, 10e-6);
  set(loop::graph_launch, 1e-3);
  set(loop::task_launch, 1e-3);
  set(loop::bucket_overhead, 1e-5);
  set(common::host_launch, 1e-5);
  set(common::overlap_slowdown, 1.1);
  set(common::node_spread, 0.01);
  set(common::step_overhead, 0.01);
  set(common::runtime_reserve, 2e9);
  set(common::configuration_spread, 0.05);
  set(common::stack_spread, 0.1);
  set(common::release_spread, 0.06);
  set(common::repeat_spread, 0.05);
  return p;
}

}  // namespace trnplan
