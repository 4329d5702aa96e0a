// Which tool wrote a JSON document.
#pragma once

#include "text/json_reader.h"

namespace trnplan::logs {

enum class JsonKind { none, nccom, monitor, summary, device, kineto, results, trainer, system };

/// By the keys at the top, and one level below; reads no further than it has to.
[[nodiscard]] JsonKind json_kind_of(JsonReader& json);

}  // namespace trnplan::logs
