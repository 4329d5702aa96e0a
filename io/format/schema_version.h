// The version of the files that this project writes and reads again.
#pragma once

#include "text/document.h"

namespace trnplan::io {

inline constexpr int kSchemaVersion = 1;

/// Records a fault if the file states a schema_version other than kSchemaVersion: its keys may mean something
/// else. A file without one was written by a person.
void check_schema(MapReader& map);

}  // namespace trnplan::io
