// Keys that people expect in a job and that describe what is not modelled.
#pragma once

#include <string>

#include "text/document.h"

namespace trnplan::io {

/// Records a fault at each key of `map` that asks for alignment or adapters, which would be another job than
/// the one that is planned.
void refuse_not_modelled(MapReader& map);

}  // namespace trnplan::io
