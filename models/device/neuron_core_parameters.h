// Parameters of a NeuronCore: shares of published rates that its engines, HBM and DMA reach, and the cost of
// a layer besides its operators. Sources and values: catalog/profiles.
#pragma once

#include "models/parameters/parameter.h"

namespace trnplan::models::neuron {

inline constexpr ParameterInfo kCoreParameters[] = {
    {.place = 0,
     .name = "matmul_efficiency",
     .unit = "1",
     .meaning = "share of ideal tensor-engine cycles",
     .sign = TimeSign::share,
     .resource = Resource::tensor},
    {.place = 1,
     .name = "matmul_hbm_traffic",
     .unit = "1",
     .meaning = "HBM bytes of a matmul, relative to its compulsory bytes",
     .of_work = true},
    {.place = 2,
     .name = "fp32_slowdown",
     .unit = "1",
     .meaning = "tensor-engine cycles of an fp32 run, relative to bf16",
     .of_work = true},
    {.place = 3,
     .name = "hbm_fraction",
     .unit = "1",
     .meaning = "share of published HBM bandwidth",
     .sign = TimeSign::share,
     .resource = Resource::hbm},
    {.place = 4,
     .name = "flash_efficiency",
     .unit = "1",
     .meaning = "ideal causal flash-attention cycles, relative to real ones",
     .sign = TimeSign::share,
     .resource = Resource::tensor},
    {.place = 5,
     .name = "score_traffic",
     .unit = "1",
     .meaning = "HBM bytes of attention without flash, relative to the counted ones",
     .of_work = true},
    {.place = 6,
     .name = "vector_efficiency",
     .unit = "1",
     .meaning = "share of vector-engine lanes x clock",
     .sign = TimeSign::share,
     .resource = Resource::vector},
    {.place = 8,
     .name = "dma_fraction",
     .unit = "1",
     .meaning = "share of published DMA bandwidth per core",
     .sign = TimeSign::share,
     .resource = Resource::dma},
    {.place = 16,
     .name = "layer_overhead",
     .unit = "s",
     .meaning = "per layer and pass: latency of DMA and semaphores",
     .resource = Resource::launch},
    {.place = 31,
     .name = "graph_instructions",
     .unit = "1",
     .meaning =
         "instructions that the compiler makes of a graph, relative to those counted from its operators",
     .sign = TimeSign::none,
     .when_absent = 1},
};

inline constexpr Parameter matmul_efficiency = parameter_of(kCoreParameters, "matmul_efficiency");
inline constexpr Parameter matmul_hbm_traffic = parameter_of(kCoreParameters, "matmul_hbm_traffic");
inline constexpr Parameter fp32_slowdown = parameter_of(kCoreParameters, "fp32_slowdown");
inline constexpr Parameter hbm_fraction = parameter_of(kCoreParameters, "hbm_fraction");
inline constexpr Parameter flash_efficiency = parameter_of(kCoreParameters, "flash_efficiency");
inline constexpr Parameter score_traffic = parameter_of(kCoreParameters, "score_traffic");
inline constexpr Parameter vector_efficiency = parameter_of(kCoreParameters, "vector_efficiency");
inline constexpr Parameter dma_fraction = parameter_of(kCoreParameters, "dma_fraction");
inline constexpr Parameter layer_overhead = parameter_of(kCoreParameters, "layer_overhead");
inline constexpr Parameter graph_instructions = parameter_of(kCoreParameters, "graph_instructions");

}  // namespace trnplan::models::neuron
