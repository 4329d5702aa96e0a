#include "io/format/schema_version.h"

namespace trnplan::io {

void check_schema(MapReader& map) {
  const Node* version = map.raw("schema_version");
  if (version == nullptr || whole_of(*version) == kSchemaVersion) return;
  map.fault("schema_version",
            in_quotes(version->scalar, 20) + " is not the version that this trnplan reads, " +
                std::to_string(kSchemaVersion),
            "use the trnplan that wrote the file, or write the file again with this one");
}

}  // namespace trnplan::io
