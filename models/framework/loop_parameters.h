// Parameters of any training loop: the cost of starting its graphs and buckets. Sources and values:
// catalog/profiles.
#pragma once

#include "models/parameters/parameter.h"

namespace trnplan::models::loop {

inline constexpr ParameterInfo kParameters[] = {
    {.place = 17,
     .name = "graph_launch",
     .unit = "s",
     .meaning = "per micro-batch graph without pipeline",
     .resource = Resource::launch},
    {.place = 18,
     .name = "task_launch",
     .unit = "s",
     .meaning = "per pipeline task (each is a graph of its own)",
     .resource = Resource::launch},
    {.place = 19,
     .name = "bucket_overhead",
     .unit = "s",
     .meaning = "per bucket of gradients or weights",
     .resource = Resource::launch},
};

/// Parameters of loops on machines whose host launches single kernels.
inline constexpr ParameterInfo kHostParameters[] = {
    {.place = 48,
     .name = "poll_interval",
     .unit = "s",
     .meaning = "between two looks of the host at a message, where a loop polls what announces one",
     .resource = Resource::launch,
     .when_absent = 0.1},
};

inline constexpr Parameter graph_launch = parameter_of(kParameters, "graph_launch");
inline constexpr Parameter task_launch = parameter_of(kParameters, "task_launch");
inline constexpr Parameter bucket_overhead = parameter_of(kParameters, "bucket_overhead");
inline constexpr Parameter poll_interval = parameter_of(kHostParameters, "poll_interval");

}  // namespace trnplan::models::loop
