// Parameter of the memory allocator of GPUs, in addition to those of all machines
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
};

inline constexpr Parameter mixed_fragmentation = parameter_of(kParameters, "mixed_fragmentation");

}  // namespace trnplan::models::allocator
