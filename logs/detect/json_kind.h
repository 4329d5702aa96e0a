// Kind of a JSON document, by the tool that wrote it.
#pragma once

#include "text/json_reader.h"

namespace trnplan::logs {

enum class JsonKind { none, nccom, monitor, summary, device, kineto, flight, results, trainer, system };

/// Recognises a document by its keys at the top and one level below; reads no further than necessary.
[[nodiscard]] JsonKind json_kind_of(JsonReader& json);

}  // namespace trnplan::logs
