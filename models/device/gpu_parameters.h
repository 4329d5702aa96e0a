// Parameters of a GPU: shares of its published peaks, losses of small shapes and single kernels, and the cost
// of the host's launches. A parameter that a profile does not need to state is neutral where it is absent.
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
     .meaning = "share of the dense peak that flash attention reaches, counting the operations it does",
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
    {.place = 4,
     .name = "gemm_ramp",
     .unit = "1",
     .meaning = "a product n x k x m takes 1 + ramp (1/n + 1/k + 1/m) times what a large one would",
     .sign = TimeSign::none,
     .when_absent = 1e-30},
    {.place = 5,
     .name = "kernel_start",
     .unit = "s",
     .meaning = "from the end of a kernel to the work of the next one",
     .resource = Resource::launch,
     .when_absent = 1e-30},
    {.place = 6,
     .name = "eager_traffic",
     .unit = "1",
     .meaning = "bytes that element-wise kernels move, relative to one fused kernel each",
     .of_work = true,
     .when_absent = 1},
    {.place = 8,
     .name = "host_layer",
     .unit = "s",
     .meaning = "time the host takes to launch a layer's pass; hidden if the device is busy for longer",
     .resource = Resource::launch,
     .when_absent = 1e-30},
    {.place = 12,
     .name = "attention_ramp",
     .unit = "1",
     .meaning = "flash attention of s tokens takes 1 + ramp / s times what a long sequence would",
     .sign = TimeSign::none,
     .when_absent = 1e-30},
    {.place = 16,
     .name = "score_traffic",
     .unit = "1",
     .meaning = "bytes that attention without flash moves, relative to the counted ones",
     .of_work = true,
     .when_absent = 1},
    {.place = 31,
     .name = "unaligned_share",
     .unit = "1",
     .meaning =
         "rate of products whose inner length is not a multiple of 8 elements, relative to that of others",
     .sign = TimeSign::none,
     .when_absent = 1},
    {.place = 41,
     .name = "fp8_share",
     .unit = "1",
     .meaning = "share of the FP8 peak that a large product reaches, relative to gemm_share",
     .sign = TimeSign::none,
     .when_absent = 0.9},
    {.place = 42,
     .name = "pass_spread",
     .unit = "1",
     .meaning = "log-sd of a pass's time between GPUs and between passes; a pass at whose end all meet takes "
                "as long "
                "as the slowest of them",
     .of_work = true,
     .when_absent = 1e-30},
    {.place = 43,
     .name = "kernel_pace",
     .unit = "1",
     .meaning =
         "time of products and of attention relative to what the shares say: the release of the libraries",
     .of_work = true,
     .when_absent = 1},
    {.place = 45,
     .name = "host_expert",
     .unit = "s",
     .meaning =
         "time the host takes to launch an expert's products in a pass; hidden if the device is busy for "
         "longer",
     .resource = Resource::launch,
     .when_absent = 1e-30},
    {.place = 46,
     .name = "dispatch_spread",
     .unit = "1",
     .meaning = "log-sd of steps with experts to which tokens are dispatched: dispatchers of frameworks and "
                "their releases differ, and none is modelled",
     .sign = TimeSign::none,
     .when_absent = 1e-30},
    {.place = 47,
     .name = "host_piece",
     .unit = "s",
     .meaning = "time the host takes to copy one rank's piece of a tensor, where a loop gathers weights so; "
                "hidden while they are gathered",
     .resource = Resource::launch,
     .when_absent = 1e-30},
};

inline constexpr Parameter gemm_share = parameter_of(kDeviceParameters, "gemm_share");
inline constexpr Parameter attention_share = parameter_of(kDeviceParameters, "attention_share");
inline constexpr Parameter bandwidth_share = parameter_of(kDeviceParameters, "bandwidth_share");
inline constexpr Parameter layer_launch = parameter_of(kDeviceParameters, "layer_launch");

inline constexpr Parameter gemm_ramp = parameter_of(kDeviceParameters, "gemm_ramp");
inline constexpr Parameter kernel_start = parameter_of(kDeviceParameters, "kernel_start");
inline constexpr Parameter eager_traffic = parameter_of(kDeviceParameters, "eager_traffic");
inline constexpr Parameter host_layer = parameter_of(kDeviceParameters, "host_layer");
inline constexpr Parameter attention_ramp = parameter_of(kDeviceParameters, "attention_ramp");
inline constexpr Parameter score_traffic = parameter_of(kDeviceParameters, "score_traffic");
inline constexpr Parameter fp8_share = parameter_of(kDeviceParameters, "fp8_share");
inline constexpr Parameter dispatch_spread = parameter_of(kDeviceParameters, "dispatch_spread");
inline constexpr Parameter host_piece = parameter_of(kDeviceParameters, "host_piece");
inline constexpr Parameter host_expert = parameter_of(kDeviceParameters, "host_expert");
inline constexpr Parameter kernel_pace = parameter_of(kDeviceParameters, "kernel_pace");
inline constexpr Parameter pass_spread = parameter_of(kDeviceParameters, "pass_spread");
inline constexpr Parameter unaligned_share = parameter_of(kDeviceParameters, "unaligned_share");

}  // namespace trnplan::models::gpu
