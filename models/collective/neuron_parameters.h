// Parameters of collectives on Neuron: shares of published bandwidths, and latencies. The shares of a core's
// own memory and DMA belong to the device (models/device/neuron_core_parameters.h). Sources and values:
// catalog/profiles.
#pragma once

#include "models/parameters/parameter.h"

namespace trnplan::models::neuron {

inline constexpr ParameterInfo kCollectiveParameters[] = {
    {.place = 7,
     .name = "link_fraction",
     .unit = "1",
     .meaning = "share of published NeuronLink bandwidth per direction",
     .sign = TimeSign::share,
     .resource = Resource::link},
    {.place = 9,
     .name = "in_graph_alpha",
     .unit = "s",
     .meaning = "per collective inside a compiled graph",
     .resource = Resource::latency},
    {.place = 10,
     .name = "hop_latency",
     .unit = "s",
     .meaning = "per NeuronLink hop",
     .resource = Resource::latency},
    {.place = 12,
     .name = "barrier",
     .unit = "s",
     .meaning = "a collective that is its own graph makes the nodes of its group wait for each other"},
    {.place = 13,
     .name = "efa_fraction",
     .unit = "1",
     .meaning = "share of published EFA bandwidth",
     .sign = TimeSign::share,
     .resource = Resource::efa},
    {.place = 14,
     .name = "efa_latency",
     .unit = "s",
     .meaning = "per message between nodes",
     .resource = Resource::latency},
};

inline constexpr Parameter link_fraction = parameter_of(kCollectiveParameters, "link_fraction");
inline constexpr Parameter in_graph_alpha = parameter_of(kCollectiveParameters, "in_graph_alpha");
inline constexpr Parameter hop_latency = parameter_of(kCollectiveParameters, "hop_latency");
inline constexpr Parameter barrier = parameter_of(kCollectiveParameters, "barrier");
inline constexpr Parameter efa_fraction = parameter_of(kCollectiveParameters, "efa_fraction");
inline constexpr Parameter efa_latency = parameter_of(kCollectiveParameters, "efa_latency");

}  // namespace trnplan::models::neuron
