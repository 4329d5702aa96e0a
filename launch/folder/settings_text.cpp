#include <fmt/format.h>

#include "launch/folder/folder_settings.h"
#include "launch/folder/script_parts.h"
#include "launch/folder/templates.h"

namespace trnplan::launch {

namespace {

/// A value that a person edits, and its description.
std::string setup_line(std::string_view name, std::string_view meaning, std::string_view stated) {
  return fmt::format("# {}\n{}={}\n", meaning, name, stated);
}

/// Lines of settings.env for values that only a person knows, each with its description.
std::string asked_lines(const ScriptContext& c) {
  std::string text;
  for (const planner::PersonValue& v : c.target.asked_for(c.job)) {
    text += setup_line(v.name, v.meaning,
                       v.stated != nullptr && plain_path(c.job.run.*v.stated) ? c.job.run.*v.stated : "");
  }
  text += setup_line("TRNPLAN_RESULTS",
                     "Logs and checkpoints of this plan only, on a volume that all nodes share.",
                     plain_path(c.job.run.log_dir) ? c.job.run.log_dir : "./run");
  text.pop_back();
  return text;
}

/// Data set of a target that reads one, and values that only prepare.sh needs.
std::string data_lines(const ScriptContext& c) {
  const planner::Preparation p = c.target.preparation(c.job, c.plan.strategy);
  std::string text;
  if (c.target.reads_data(c.job)) {
    text += setup_line("TRNPLAN_DATA", data_meaning(p),
                       plain_path(c.job.run.data) ? c.job.run.data : p.data_made);
  }
  for (const planner::PersonValue& v : p.values) text += setup_line(v.name, kForPreparing + v.meaning, "");
  if (!text.empty()) text.pop_back();
  return text;
}

constexpr const char* kHealthValues =
    "# Whether dcgmi and all_reduce_perf look for broken and slow nodes before training (yes or no). A node "
    "is slow if the\n"
    "# fastest has more than TRNPLAN_SLOW times its bandwidth.\n"
    "TRNPLAN_HEALTH=yes\n"
    "TRNPLAN_SLOW=1.25";

}  // namespace

std::string settings_env(const ScriptContext& c) {
  return filled(form_of(c, "settings.env", "eager_settings.env"),
                {{"about", about(c)},
                 {"clone", c.target.code_for(c.job, c.plan.strategy).clone},
                 {"data", plain_path(c.job.run.data) ? c.job.run.data : ""},
                 {"data_lines", data_lines(c)},
                 {"health", has_health(c) ? kHealthValues : ""},
                 {"asked", asked_lines(c)},
                 {"local", local_cache(c) ? " Graphs are copied to it before training: this cluster is large."
                                          : " Not used: this cluster is small enough to share."}});
}

std::string setup_env_sh(const ScriptContext& c) {
  std::string names;
  for (const auto& setting : read_settings(settings_env(c)).values)
    names += (names.empty() ? "" : " | ") + setting.first + "=*";
  return filled("setup_env.sh", {{"about", about(c)}, {"names", names}});
}

}  // namespace trnplan::launch
