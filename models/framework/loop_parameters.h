// Parameters of any training loop: the cost of starting its graphs and buckets. Sources and values:
// docs/models.md, "Parameters".
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

inline constexpr Parameter graph_launch = parameter_of(kParameters, "graph_launch");
inline constexpr Parameter task_launch = parameter_of(kParameters, "task_launch");
inline constexpr Parameter bucket_overhead = parameter_of(kParameters, "bucket_overhead");

}  // namespace trnplan::models::loop
