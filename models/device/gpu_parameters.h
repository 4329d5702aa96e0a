// Parameters of a GPU as a roofline: shares of its published peaks, and what a layer's launches cost.
#pragma once

#include "models/parameters/parameter.h"

namespace trnplan::models::gpu {

inline constexpr ParameterInfo kDeviceParameters[] = {
    {.place = 0,
     .name = "gemm_share",
     .unit = "1",
     .meaning = "share of the dense peak that a large matrix product reaches",
     .sign = TimeSign::share,
     .resource = Resource::tensor},
    {.place = 1,
     .name = "attention_share",
     .unit = "1",
     .meaning = "share of the dense peak that flash attention reaches, of the operations it does",
     .sign = TimeSign::share,
     .resource = Resource::tensor},
    {.place = 2,
     .name = "bandwidth_share",
     .unit = "1",
     .meaning = "share of published memory bandwidth",
     .sign = TimeSign::share,
     .resource = Resource::hbm},
    {.place = 3,
     .name = "layer_launch",
     .unit = "s",
     .meaning = "per layer and pass: launches of kernels that nothing hides",
     .resource = Resource::launch},
};

inline constexpr Parameter gemm_share = parameter_of(kDeviceParameters, "gemm_share");
inline constexpr Parameter attention_share = parameter_of(kDeviceParameters, "attention_share");
inline constexpr Parameter bandwidth_share = parameter_of(kDeviceParameters, "bandwidth_share");
inline constexpr Parameter layer_launch = parameter_of(kDeviceParameters, "layer_launch");

}  // namespace trnplan::models::gpu
