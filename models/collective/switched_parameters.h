// Parameters of collectives over a switch: shares of data-sheet bandwidths, and latencies.
#pragma once

#include "models/parameters/parameter.h"

namespace trnplan::models::switched {

inline constexpr double kLl128Start = 3.9e-6, kSimpleStart = 15e-6, kInSwitchStart = 31e-6, kChunkStep = 3.1;

inline constexpr ParameterInfo kParameters[] = {
    {.place = 7,
     .name = "link_share",
     .unit = "1",
     .meaning = "share of published bandwidth between a chip and its switch, per direction",
     .sign = TimeSign::share,
     .resource = Resource::link},
    {.place = 9,
     .name = "collective_start",
     .unit = "s",
     .meaning = "per collective of the protocol with the least latency (LL), whatever its size",
     .resource = Resource::latency},
    {.place = 10,
     .name = "step_latency",
     .unit = "s",
     .meaning = "per step inside a node of the protocol with the least latency (LL)",
     .resource = Resource::latency},
    {.place = 13,
     .name = "network_share",
     .unit = "1",
     .meaning = "share of published bandwidth of the NICs",
     .sign = TimeSign::share,
     .resource = Resource::efa},
    {.place = 14,
     .name = "network_latency",
     .unit = "s",
     .meaning =
         "per step between nodes of a ring of protocol Simple, in addition to the machine's network_latency",
     .resource = Resource::latency},
    // Additional time of other protocols. Where absent: the fit to tables of nccl-tests on 8 A100 and 8 H100
    // (docs/accuracy.md, "NCCL").
    {.place = 36,
     .name = "ll128_start",
     .unit = "s",
     .meaning = "of a collective of protocol LL128, in addition to collective_start",
     .when_absent = kLl128Start},
    {.place = 37,
     .name = "simple_start",
     .unit = "s",
     .meaning = "of a collective of protocol Simple, in addition to collective_start",
     .when_absent = kSimpleStart},
    {.place = 38,
     .name = "in_switch_start",
     .unit = "s",
     .meaning = "of an all-reduce inside the switch, in addition to collective_start",
     .when_absent = kInSwitchStart},
    {.place = 39,
     .name = "ring_wait",
     .unit = "s",
     .meaning = "time for which each step of a ring that leaves a node, even a step inside a node, waits for "
                "the network",
     .resource = Resource::latency,
     .when_absent = 1e-30},
    {.place = 40,
     .name = "chunk_step",
     .unit = "1",
     .meaning = "ratio of a step of LL128 or Simple inside a node to one of LL",
     .when_absent = kChunkStep},
};

inline constexpr Parameter link_share = parameter_of(kParameters, "link_share");
inline constexpr Parameter collective_start = parameter_of(kParameters, "collective_start");
inline constexpr Parameter step_latency = parameter_of(kParameters, "step_latency");
inline constexpr Parameter network_share = parameter_of(kParameters, "network_share");
inline constexpr Parameter network_latency = parameter_of(kParameters, "network_latency");
inline constexpr Parameter ll128_start = parameter_of(kParameters, "ll128_start");
inline constexpr Parameter simple_start = parameter_of(kParameters, "simple_start");
inline constexpr Parameter in_switch_start = parameter_of(kParameters, "in_switch_start");
inline constexpr Parameter ring_wait = parameter_of(kParameters, "ring_wait");
inline constexpr Parameter chunk_step = parameter_of(kParameters, "chunk_step");

}  // namespace trnplan::models::switched
