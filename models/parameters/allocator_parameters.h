// Parameters of the memory allocator of GPUs, in addition to those of all machines
// (models/parameters/common_parameters.h, fragmentation).
#pragma once

#include "models/parameters/parameter.h"

namespace trnplan::models::allocator {

inline constexpr ParameterInfo kParameters[] = {
    {.place = 44,
     .name = "mixed_fragmentation",
     .unit = "1",
     .meaning =
         "memory held for tensors, relative to their bytes, where whole ones and those that tensor parallel "
         "divides share segments that do not expand; fragmentation otherwise",
     .sign = TimeSign::none,
     .when_absent = 1},
    {.place = 49,
     .name = "queued_tensors",
     .unit = "1",
     .meaning =
         "activations of a whole micro-batch whose memory, though freed, waits for collectives, where the "
         "host launches as far ahead of the device as CUDA lets it",
     .sign = TimeSign::none,
     .when_absent = 1e-30},
};

inline constexpr Parameter mixed_fragmentation = parameter_of(kParameters, "mixed_fragmentation");
inline constexpr Parameter queued_tensors = parameter_of(kParameters, "queued_tensors");

}  // namespace trnplan::models::allocator
