#include "io/output/launch_json.h"

#include "io/format/json_tree.h"
#include "io/output/plan_json.h"

namespace trnplan::io {

std::string launch_json(const LaunchStory& story) {
  Json jobs = Json::object();
  for (const auto& [what, id] : story.jobs) jobs[what] = id;
  Json j = {{"schema_version", kSchemaVersion},
            {"scheduler", story.scheduler},
            {"dry_run", story.dry_run},
            {"already_submitted", story.already},
            {"jobs", jobs},
            {"commands", story.commands}};
  for (const Diagnostic& d : story.faults) {
    j["faults"].push_back({{"file", d.at.file},
                           {"line", d.at.line},
                           {"column", d.at.column},
                           {"key", d.key},
                           {"problem", d.problem},
                           {"fix", d.fix}});
  }
  return j.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace trnplan::io
