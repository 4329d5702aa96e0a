#include "io/output/score_json.h"

#include <optional>

#include "io/format/json_tree.h"
#include "io/format/schema_version.h"

namespace trnplan::io {

namespace {

using calibrate::GroupRegret;
using calibrate::RowScores;
using calibrate::ScoredRow;
using ScoredRows = std::vector<const ScoredRow*>;

Json row_object(const ScoredRow& r) {
  Json row = {{"id", r.id},
              {"group", r.group},
              {"source", r.source},
              {"quality", r.quality},
              {"out_of_memory", r.out_of_memory},
              {"measured_step_seconds", or_null(r.measured)},
              {"predicted_step_seconds", or_null(r.predicted)},
              {"step_seconds_90", Json::array()},
              {"error", r.scored() ? Json(r.error()) : Json()},
              {"measured_memory_bytes", or_null(r.measured_memory)},
              {"predicted_memory_bytes", or_null(r.predicted_memory)},
              {"fits", r.fit_probability ? Json(r.fits()) : Json()},
              {"fit_probability", or_null(r.fit_probability)}};
  if (r.low && r.high) row["step_seconds_90"] = {*r.low, *r.high};
  if (!r.skipped.empty()) row["skipped"] = r.skipped;
  return row;
}

Json regret_object(const std::vector<const GroupRegret*>& groups) {
  const calibrate::RegretSummary r = calibrate::regret_of(groups);
  return {{"groups", r.groups},
          {"median", r.median},
          {"mean", r.mean},
          {"worst", r.worst},
          {"best_found", r.best_found},
          {"random_mean", r.random},
          {"median_rank_correlation", r.rank_correlation}};
}

Json fit_object(const ScoredRows& rows) {
  const calibrate::FitScore f = calibrate::fit_score_of(rows);
  return {{"rows", f.rows},       {"right", f.right},
          {"unknown", f.unknown}, {"oom_caught", f.oom_caught},
          {"oom", f.oom},         {"missed", f.oom - f.oom_caught},
          {"fitting", f.fitting}, {"false_refusals", f.false_refusals}};
}

/// Of some rows and groups; quality D stands apart.
Json summary_object(const RowScores& scores, const std::string& source) {
  const ScoredRows rows = scores.of(source, "D"), every = scores.of(source);
  const calibrate::ScoreSummary s = calibrate::score_of(rows);
  const calibrate::MemoryErrors m = calibrate::memory_errors_of(every);
  Json j = {{"rows", s.rows},
            {"skipped", s.skipped},
            {"mape", s.mape},
            {"median_ape", s.median_ape},
            {"median_ape_90", Json::array()},
            {"bias", s.bias},
            {"mape_with_skipped", s.mape_with_skipped},
            {"median_ape_with_skipped", s.median_with_skipped},
            {"intervals", s.intervals},
            {"coverage_90", s.coverage_90},
            {"median_half_width_90", s.half_width},
            {"memory", {{"rows", m.rows}, {"mape", m.mape}, {"median_ape", m.median_ape}, {"bias", m.bias}}}};
  if (s.median_90) j["median_ape_90"] = {s.median_90->first, s.median_90->second};
  const calibrate::ScoreSummary slow = calibrate::score_of(scores.of(source, "", "D"));
  j["quality_d"] = {
      {"rows", slow.rows}, {"skipped", slow.skipped}, {"mape", slow.mape}, {"median_ape", slow.median_ape}};
  std::vector<const GroupRegret*> groups;
  for (const GroupRegret& g : scores.groups) {
    if (source.empty() || g.source == source) groups.push_back(&g);
  }
  j["regret"] = regret_object(groups);
  j["fit"] = fit_object(every);
  return j;
}

}  // namespace

std::string row_scores_json(const RowScores& scores, const std::vector<std::string>& profiles) {
  Json j = {{"schema_version", kSchemaVersion}, {"profiles", profiles}, {"rows", Json::array()}};
  for (const ScoredRow& r : scores.rows) j["rows"].push_back(row_object(r));
  j["skipped"] = Json::object();
  for (const auto& [reason, rows] : scores.skipped) j["skipped"][reason] = rows;
  j["groups"] = Json::array();
  for (const GroupRegret& g : scores.groups) {
    j["groups"].push_back({{"group", g.group},
                           {"source", g.source},
                           {"layouts", g.layouts},
                           {"predicted", g.predicted},
                           {"picked", g.picked},
                           {"best", g.best},
                           {"regret", g.regret},
                           {"random", g.random},
                           {"rank_correlation", g.rank_correlation}});
  }
  j["summary"] = summary_object(scores, "");
  j["summary"]["by_source"] = Json::object();
  for (const std::string& source : scores.sources())
    j["summary"]["by_source"][source] = summary_object(scores, source);
  return j.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace trnplan::io
