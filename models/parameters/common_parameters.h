// Parameters of every kind of machine: the host, the nodes' pace, memory and the unexplained spread. Sources
// and values: catalog/profiles.
#pragma once

#include "models/parameters/parameter.h"

namespace trnplan::models::common {

inline constexpr ParameterInfo kParameters[] = {
    {.place = 11,
     .name = "host_launch",
     .unit = "s",
     .meaning = "time the host takes to start a graph if nothing hides it: a collective that is its own "
                "graph, or one request in flight",
     .resource = Resource::launch},
    {.place = 15,
     .name = "overlap_slowdown",
     .unit = "1",
     .meaning =
         "length of work, relative to its length without a collective on the same core at the same time",
     .of_work = true},
    {.place = 20,
     .name = "node_spread",
     .unit = "1",
     .meaning = "log-sd of the pace of nodes; a step runs at that of the slowest",
     .of_work = true,
     .when_absent = 1e-30},  // all nodes have one pace: the smallest value that a profile may state
    {.place = 21,
     .name = "step_overhead",
     .unit = "s",
     .meaning = "per step on the host",
     .resource = Resource::launch},
    {.place = 22,
     .name = "runtime_reserve",
     .unit = "bytes",
     .meaning = "per core, held by runtime, collectives and code",
     .sign = TimeSign::none},
    {.place = 23,
     .name = "configuration_spread",
     .unit = "1",
     .meaning = "log-sd of step time between configurations, unexplained",
     .sign = TimeSign::none},
    {.place = 24,
     .name = "stack_spread",
     .unit = "1",
     .meaning = "log-sd of step time between frameworks; added when the framework is unknown",
     .sign = TimeSign::none},
    // Spreads that only a fit uses. A fit of an old profile assumes that they are small against stack_spread.
    {.place = 25,
     .name = "release_spread",
     .unit = "1",
     .meaning = "log-sd of step time between releases of a framework; added when the release is unknown",
     .sign = TimeSign::none,
     .when_absent = 0.06},
    {.place = 26,
     .name = "repeat_spread",
     .unit = "1",
     .meaning = "log-sd of step time between runs of one program on one release",
     .sign = TimeSign::none,
     .when_absent = 0.05},
    // Uncertainty of a core's memory (models/memory/fit_probability.h). A profile that does not state these
    // values treats the counted bytes as exact.
    {.place = 27,
     .name = "fused_activations",
     .unit = "1",
     .meaning = "activations kept, relative to the counted ones, if forward and backward are one graph",
     .sign = TimeSign::none,
     .when_absent = 1},
    {.place = 28,
     .name = "kept_activations",
     .unit = "1",
     .meaning = "activations kept, relative to the counted ones, if the backward pass is its own graph",
     .sign = TimeSign::none,
     .when_absent = 1},
    {.place = 29,
     .name = "transient_memory",
     .unit = "1",
     .meaning = "bytes of logits, gathered and recomputed tensors and buffers, relative to the counted ones",
     .sign = TimeSign::none,
     .when_absent = 1},
    {.place = 30,
     .name = "fragmentation",
     .unit = "1",
     .meaning = "memory held for temporary tensors, relative to their bytes",
     .sign = TimeSign::none,
     .when_absent = 1},
    {.place = 32,
     .name = "encoder_spread",
     .unit = "1",
     .meaning = "configuration_spread of networks that are not causal",
     .sign = TimeSign::none,
     .when_absent = 0.07},
    {.place = 33,
     .name = "collective_spread",
     .unit = "1",
     .meaning = "log-sd of the time of a collective to which no table of its kind was fitted",
     .sign = TimeSign::none,
     .when_absent = 1e-30},
    {.place = 34,
     .name = "operator_spread",
     .unit = "1",
     .meaning = "log-sd of an operator's seconds between configurations, unexplained; for ratios of steps",
     .sign = TimeSign::none,
     .when_absent = 0.3},
    // Wide on purpose, so that the first log of a cluster decides: no public pair of runs has one program on
    // two clusters of one type. 0.3 lets a log of half or twice the predicted step pass without a doubt.
    {.place = 35,
     .name = "site_spread",
     .unit = "1",
     .meaning = "log-sd of step time between clusters of one machine and stack, before one is measured",
     .sign = TimeSign::none,
     .when_absent = 0.3},
};

inline constexpr Parameter host_launch = parameter_of(kParameters, "host_launch");
inline constexpr Parameter overlap_slowdown = parameter_of(kParameters, "overlap_slowdown");
inline constexpr Parameter node_spread = parameter_of(kParameters, "node_spread");
inline constexpr Parameter step_overhead = parameter_of(kParameters, "step_overhead");
inline constexpr Parameter runtime_reserve = parameter_of(kParameters, "runtime_reserve");
inline constexpr Parameter configuration_spread = parameter_of(kParameters, "configuration_spread");
inline constexpr Parameter stack_spread = parameter_of(kParameters, "stack_spread");
inline constexpr Parameter release_spread = parameter_of(kParameters, "release_spread");
inline constexpr Parameter site_spread = parameter_of(kParameters, "site_spread");
inline constexpr Parameter repeat_spread = parameter_of(kParameters, "repeat_spread");
inline constexpr Parameter fused_activations = parameter_of(kParameters, "fused_activations");
inline constexpr Parameter kept_activations = parameter_of(kParameters, "kept_activations");
inline constexpr Parameter transient_memory = parameter_of(kParameters, "transient_memory");
inline constexpr Parameter fragmentation = parameter_of(kParameters, "fragmentation");
inline constexpr Parameter operator_spread = parameter_of(kParameters, "operator_spread");

inline constexpr Parameter encoder_spread = parameter_of(kParameters, "encoder_spread");
inline constexpr Parameter collective_spread = parameter_of(kParameters, "collective_spread");

}  // namespace trnplan::models::common
