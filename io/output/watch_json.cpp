#include "io/output/watch_json.h"

#include <algorithm>

#include "io/format/json_tree.h"
#include "io/output/plan_json.h"

namespace trnplan::io {

namespace {

Json alarm_object(const WatchAlarm& a) {
  Json j = {{"kind", a.kind}, {"message", a.message}, {"cause", a.cause}, {"fix", a.fix}};
  j["step"] = a.step ? Json(*a.step) : Json(nullptr);
  j["line"] = a.line > 0 ? Json(a.line) : Json(nullptr);
  return j;
}

Json failure_object(const WatchFailure& f) {
  Json j = {{"kind", f.kind},   {"rule", f.rule},  {"file", f.file},       {"line", f.line},
            {"count", f.count}, {"text", f.text},  {"problem", f.problem}, {"fix", f.fix},
            {"ranks", f.ranks}, {"chips", f.chips}};
  j["next"] = f.next.empty() ? Json(nullptr) : Json(f.next);
  j["next_step_seconds"] = or_null(f.next_step_seconds);
  j["run_went_on"] = f.went_on;
  return j;
}

}  // namespace

bool broke(const WatchReport& r) {
  return !r.finished &&
         std::any_of(r.failures.begin(), r.failures.end(), [](const WatchFailure& f) { return !f.went_on; });
}

bool failed(const WatchReport& r) {
  return broke(r) ||
         std::any_of(r.alarms.begin(), r.alarms.end(), [](const WatchAlarm& a) { return a.fatal; });
}

std::string watch_json(const WatchReport& r) {
  Json interval = nullptr;
  if (r.predicted_90) interval = Json{r.predicted_90->first, r.predicted_90->second};
  Json j = {{"schema_version", kSchemaVersion},
            {"source", r.source},
            {"state", r.state},
            {"step", r.step},
            {"total_steps", r.total},
            {"step_seconds", or_null(r.step_seconds)},
            {"recent_step_seconds", or_null(r.recent_seconds)},
            {"timed_steps", r.timed_steps},
            {"predicted_step_seconds", or_null(r.predicted)},
            {"predicted_step_seconds_90", interval},
            {"tokens_per_second", or_null(r.tokens_per_second)},
            {"loss", or_null(r.loss)},
            {"memory_bytes_per_core", or_null(r.memory_bytes)},
            {"predicted_memory_bytes_per_core", or_null(r.predicted_memory_bytes)},
            {"wall_seconds", or_null(r.wall_seconds)},
            {"goodput", or_null(r.goodput)},
            {"restarts", r.restarts},
            {"lost_steps", r.lost_steps},
            {"eta_seconds", or_null(r.eta_seconds)},
            {"usd_so_far", or_null(r.usd_so_far)},
            {"usd_total", or_null(r.usd_total)},
            {"finished", r.finished},
            {"failed", failed(r)}};
  j["alarms"] = Json::array();
  for (const WatchAlarm& a : r.alarms) j["alarms"].push_back(alarm_object(a));
  j["events"] = Json::array();
  for (const WatchEvent& e : r.events)
    j["events"].push_back({{"kind", e.kind}, {"line", e.line}, {"text", e.text}});
  j["failures"] = Json::array();
  for (const WatchFailure& f : r.failures) j["failures"].push_back(failure_object(f));
  j["remarks"] = r.remarks;
  return j.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace trnplan::io
