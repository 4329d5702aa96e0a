// Parameters of collectives over a switch: shares of data-sheet bandwidths, and latencies.
#pragma once

#include "models/parameters/parameter.h"

namespace trnplan::models::switched {

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
     .meaning = "per collective, whatever its size",
     .resource = Resource::latency},
    {.place = 10,
     .name = "step_latency",
     .unit = "s",
     .meaning = "per step inside a node",
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
     .meaning = "per step between nodes",
     .resource = Resource::latency},
};

inline constexpr Parameter link_share = parameter_of(kParameters, "link_share");
inline constexpr Parameter collective_start = parameter_of(kParameters, "collective_start");
inline constexpr Parameter step_latency = parameter_of(kParameters, "step_latency");
inline constexpr Parameter network_share = parameter_of(kParameters, "network_share");
inline constexpr Parameter network_latency = parameter_of(kParameters, "network_latency");

}  // namespace trnplan::models::switched
