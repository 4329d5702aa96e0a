#include "io/output/validation_json.h"

#include <map>

#include "calibrate/validate/pair_validation.h"
#include "io/format/json_tree.h"
#include "io/output/plan_json.h"

namespace trnplan::io {

namespace {

using calibrate::StepValidation;
using Rows = std::vector<const StepValidation::Row*>;

Json row_object(const StepValidation::Row& row) {
  const calibrate::MeasuredStep& s = *row.step;
  return {{"id", s.id},
          {"run_group", s.group},
          {"quality", s.quality},
          {"kind", s.kind},
          {"model", s.job.architecture.name},
          {"configuration", s.configuration},
          {"framework", s.job.software.framework},
          {"release", s.job.software.release},
          {"outlier", s.outlier},
          {"bound", s.at_most},
          {"measured_step_seconds", s.seconds},
          {"predicted_step_seconds", row.predicted},
          {"step_seconds_90", {row.low, row.high}},
          {"error", row.error},
          {"covered", row.covered()},
          {"constant_mfu_step_seconds", row.by_mfu},
          {"oracle_step_seconds", row.by_oracle}};
}

Json part_object(const calibrate::PairValidation::Part& p) {
  return {{"pairs", p.pairs},
          {"farthest", p.farthest},
          {"rms_error", p.error},
          {"rms_stated", p.stated},
          {"rms_error_over_stated", p.z}};
}

Json bins_array(const std::vector<calibrate::PairValidation::Bin>& bins) {
  Json list = Json::array();
  for (const auto& b : bins)
    list.push_back({{"low", b.low},
                    {"high", b.high},
                    {"pairs", b.pairs},
                    {"stated", b.stated},
                    {"observed", b.observed}});
  return list;
}

/// Of the errors of all pairs, and whether what is stated of them comes true.
Json ratios_object(const calibrate::PairValidation& v) {
  Json object = {{"pairs", v.pairs.size()}, {"mape", v.mape}, {"median_ape", v.median_ape}};
  if (v.pairs.empty()) return object;
  object["job_spread"] = v.job_spread;
  object["all"] = part_object(v.all());
  object["by_distance"] = Json::array();
  for (const auto& part : v.parts(3)) object["by_distance"].push_back(part_object(part));
  object["intervals"] = bins_array(v.intervals());
  object["choices"] = bins_array(v.choices());
  return object;
}

Json summary_object(const Rows& rows) {
  const calibrate::StepSummary s = calibrate::summary_of(rows);
  return {{"rows", s.rows},
          {"observations", s.groups},
          {"mape", s.mape},
          {"median_ape", s.median_ape},
          {"p90_ape", s.p90_ape},
          {"bias", s.bias},
          {"coverage_90", s.coverage_90},
          {"median_half_width_90", s.median_half_width},
          {"constant_mfu_mape", s.mape_mfu},
          {"oracle_mape", s.mape_oracle},
          {"ratios", ratios_object(calibrate::validate_pairs(rows))}};
}

template <class Key>
Json groups_of(const Rows& rows, const Key& key) {
  std::map<std::string, Rows> groups;
  for (const auto* row : rows) groups[key(*row->step)].push_back(row);
  Json out = Json::object();
  for (const auto& [name, members] : groups) {
    out[name] = summary_object(members);
    out[name].erase("ratios");
  }
  return out;
}

}  // namespace

std::string step_validation_json(const calibrate::RunValidation& run, const std::string& profile,
                                 calibrate::LeaveOut leave_out) {
  const StepValidation& v = run.validation;
  Json j = {{"schema_version", kSchemaVersion}, {"profile", profile}, {"leave_out", to_string(leave_out)}};
  Rows all, typical, bounds;
  std::map<std::string, Rows> kinds, typical_kinds;
  j["rows"] = Json::array();
  for (const auto& row : v.rows) {
    j["rows"].push_back(row_object(row));
    if (row.step->at_most) {
      bounds.push_back(&row);
      continue;
    }
    all.push_back(&row);
    kinds[row.step->kind].push_back(&row);
    if (row.step->outlier) continue;
    typical.push_back(&row);
    typical_kinds[row.step->kind].push_back(&row);
  }
  j["excluded"] = Json::array();
  for (const auto& e : run.excluded) j["excluded"].push_back({{"id", e.id}, {"reason", e.reason}});
  Json summary = summary_object(all);
  summary["without_outliers"] = summary_object(typical);
  for (const auto& [kind, rows] : kinds) {
    summary[kind] = summary_object(rows);
    summary[kind]["without_outliers"] = summary_object(typical_kinds[kind]);
  }
  std::map<std::string, Rows> without;
  for (const auto& row : run.without_stacks.rows) {
    if (!row.step->at_most && !row.step->outlier) without[row.step->kind].push_back(&row);
  }
  for (const auto& [kind, rows] : without) summary["without_stacks"][kind] = summary_object(rows);
  const calibrate::BoundsKept kept = calibrate::bounds_kept(bounds);
  summary["bounds"] = {{"rows", kept.rows}, {"kept", kept.kept}, {"covered", kept.covered}};
  using Step = calibrate::MeasuredStep;
  summary["by_model"] = groups_of(all, [](const Step& s) { return s.job.architecture.name; });
  summary["by_stack"] = groups_of(all, [](const Step& s) { return s.job.software.framework; });
  summary["by_configuration"] = groups_of(all, [](const Step& s) { return s.configuration; });
  summary["regret"] = Json::array();
  for (const auto& r : calibrate::regrets_of(v.rows)) {
    summary["regret"].push_back({{"job", r.job},
                                 {"choices", r.choices},
                                 {"picked", r.picked},
                                 {"best", r.best},
                                 {"regret", r.regret}});
  }
  j["summary"] = std::move(summary);
  return j.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string collective_validation_json(const std::vector<calibrate::LeftOutTable>& tables,
                                       const std::string& profile) {
  Json j = {{"schema_version", kSchemaVersion}, {"profile", profile}, {"tables", Json::array()}};
  std::size_t points = 0, covered = 0;
  for (const calibrate::LeftOutTable& t : tables) {
    points += t.points;
    covered += t.covered;
    j["tables"].push_back({{"op", t.op},
                           {"ranks", t.ranks},
                           {"nodes", t.nodes},
                           {"build", t.build},
                           {"points", t.points},
                           {"fitted_points", t.fitted},
                           {"median_ape", t.median_error},
                           {"log_bias", t.bias},
                           {"covered", t.covered},
                           {"median_log_half_width_90", t.half_width}});
  }
  j["points"] = points;
  j["covered"] = covered;
  return j.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace trnplan::io
