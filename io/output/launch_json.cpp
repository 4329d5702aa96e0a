#include "io/output/launch_json.h"

#include <nlohmann/json.hpp>

#include "io/output/plan_json.h"

namespace trnplan::io {

std::string launch_json(const LaunchStory& story) {
  using Json = nlohmann::ordered_json;
  Json jobs = Json::object();
  for (const auto& [what, id] : story.jobs) jobs[what] = id;
  const Json j = {{"schema_version", kSchemaVersion},
                  {"scheduler", story.scheduler},
                  {"dry_run", story.dry_run},
                  {"already_submitted", story.already},
                  {"jobs", jobs},
                  {"commands", story.commands}};
  return j.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace trnplan::io
