#include "api/validate_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "units/median.h"

namespace trnplan::api {

using io::JsonValue;

namespace {

/// A row of the page, for every kind of prediction.
struct PageRow {
  std::string id, source, model;
  double measured = 0, predicted = 0;
  std::optional<double> low, high;
  std::vector<std::string> mechanisms;
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

/// Properties of machine and framework that a layout uses: each of them has a model of its own.
std::vector<std::string> mechanisms_of(const models::Strategy& s, int nodes) {
  std::vector<std::string> all;
  const auto add = [&](bool used, const char* name) {
    if (used) all.emplace_back(name);
  };
  add(s.tensor_parallel > 1, "tensor parallel");
  add(s.pipeline_parallel > 1, "pipeline parallel");
  add(s.virtual_pipeline > 1, "virtual pipeline");
  add(s.context_parallel > 1, "context parallel");
  add(s.expert_parallel > 1, "expert parallel");
  add(s.data_parallel > 1, "data parallel");
  add(s.data_parallel > 1 && s.zero1 && s.sharding == models::Sharding::parameters,
      "sharded weights (ZeRO-3)");
  add(s.recompute.full, "all recomputed");
  add(!s.recompute.full && s.recompute != models::Recompute(), "some recomputed");
  add(s.micro_batch > 1, "micro-batches of several sequences");
  add(nodes > 1, "several nodes");
  if (all.empty()) all.emplace_back("none of them");
  return all;
}

double quantile(const std::vector<double>& ascending, double p) {
  const double at = p * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, ascending.size() - 1);
  return ascending[below] + (at - static_cast<double>(below)) * (ascending[above] - ascending[below]);
}

/// Errors of groups of rows: the median, and the interval that contains nine of ten.
JsonValue groups_part(const std::map<std::string, std::vector<const PageRow*>>& groups) {
  JsonValue all = JsonValue::List();
  for (const auto& [name, rows] : groups) {
    std::vector<double> errors, sizes;
    std::size_t covered = 0, intervals = 0;
    for (const PageRow* r : rows) {
      errors.push_back(r->error());
      sizes.push_back(std::abs(r->error()));
      intervals += r->low && r->high;
      covered += r->low && r->high && *r->low <= r->measured && r->measured <= *r->high;
    }
    std::sort(errors.begin(), errors.end());
    JsonValue one =
        JsonValue::object({{"name", name},
                           {"rows", rows.size()},
                           {"median_error", median(errors)},
                           {"error_90", JsonValue::List{quantile(errors, 0.05), quantile(errors, 0.95)}},
                           {"median_ape", median(sizes)}});
    if (intervals > 0) one.add("coverage_90", static_cast<double>(covered) / static_cast<double>(intervals));
    all.add(std::move(one));
  }
  return all;
}

/// Interval of the rows that are shown.
std::size_t stride_of(std::size_t rows) {
  return (rows + kRowsInReport - 1) / kRowsInReport;
}

void add_rows(JsonValue& page, const std::vector<PageRow>& rows) {
  std::map<std::string, std::vector<const PageRow*>> sources, mechanisms, named;
  for (const PageRow& r : rows) {
    sources[r.source].push_back(&r);
    for (const std::string& m : r.mechanisms) mechanisms[m].push_back(&r);
    if (!r.model.empty()) named[r.model].push_back(&r);
  }
  std::map<std::string, int> places;
  JsonValue names = JsonValue::List(), list = JsonValue::List();
  for (const auto& [name, of] : sources) {
    places.emplace(name, static_cast<int>(places.size()));
    names.add(name);
  }
  const std::size_t stride = std::max<std::size_t>(1, stride_of(rows.size()));
  for (std::size_t i = 0; i < rows.size(); i += stride) {
    const PageRow& r = rows[i];
    list.add(JsonValue::List{r.id, places[r.source], r.measured, r.predicted, r.low, r.high});
  }
  page.add("rows_found", rows.size());
  page.add("sources", std::move(names));
  page.add("rows", std::move(list));
  page.add("by_source", groups_part(sources));
  page.add("by_mechanism", groups_part(mechanisms));
  page.add("by_model", groups_part(named));
}

JsonValue page_of(const std::string& table, const std::string& profiles, const std::vector<Remark>& remarks) {
  JsonValue page = report_of("validate", remarks);
  page.add("table", table);
  page.add("profile", profiles);
  return page;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words) text += (text.empty() ? "" : ", ") + w;
  return text;
}

}  // namespace

JsonValue validate_report(const ValidateRequest& o, const ValidateResult& v,
                          const std::vector<Remark>& remarks) {
  JsonValue page =
      page_of(o.runs.empty() ? "the published runs of the catalogue" : o.runs, v.profile, remarks);
  std::vector<PageRow> rows;
  std::vector<const calibrate::StepValidation::Row*> counted;
  for (const auto& row : v.steps.validation.rows) {
    if (row.step->at_most) continue;  // a bound is no measurement
    counted.push_back(&row);
    const calibrate::MeasuredStep& s = *row.step;
    const std::string& framework = s.job.software.framework;
    rows.push_back({s.id, framework.empty() ? "framework not stated" : framework, s.job.architecture.name,
                    s.seconds, row.predicted, row.low, row.high,
                    mechanisms_of(s.strategy, s.job.cluster.nodes)});
  }
  const calibrate::StepSummary s = calibrate::summary_of(counted);
  page.add("source_is", "framework");
  page.add("leave_out", calibrate::to_string(o.leave_out));
  page.add("summary", JsonValue::object({{"rows", s.rows},
                                         {"skipped", v.steps.excluded.size()},
                                         {"mape", s.mape},
                                         {"median_ape", s.median_ape},
                                         {"bias", s.bias},
                                         {"coverage_90", s.coverage_90},
                                         {"half_width_90", s.median_half_width},
                                         {"constant_mfu_mape", s.mape_mfu},
                                         {"oracle_mape", s.mape_oracle}}));
  std::map<std::string, std::size_t> skipped;
  for (const auto& e : v.steps.excluded) ++skipped[e.reason];
  JsonValue reasons = JsonValue::List();
  for (const auto& [reason, n] : skipped) reasons.add(JsonValue::List{reason, n});
  page.add("skipped", std::move(reasons));
  add_rows(page, rows);
  return page;
}

JsonValue score_report(const ScoreRequest& o, const ScoreResult& v, const std::vector<Remark>& remarks) {
  JsonValue page = page_of(
      o.table, o.predictions.empty() ? joined(v.profiles) : "predictions of " + o.predictions, remarks);
  std::vector<PageRow> rows;
  for (const calibrate::ScoredRow& r : v.scores.rows) {
    if (!r.scored() || r.quality == "D") continue;
    std::vector<std::string> mechanisms;
    if (r.strategy) mechanisms = mechanisms_of(*r.strategy, r.nodes);
    rows.push_back({r.id, r.source, "", *r.measured, *r.predicted, r.low, r.high, std::move(mechanisms)});
  }
  const calibrate::ScoreSummary s = calibrate::score_of(v.scores.of("", "D"));
  const calibrate::FitScore fit = calibrate::fit_score_of(v.scores.of(""));
  page.add("source_is", "source");
  JsonValue summary = JsonValue::object({{"rows", s.rows}, {"skipped", s.skipped}});
  if (s.predicted() > 0) {
    summary.add("mape", s.mape);
    summary.add("median_ape", s.median_ape);
    summary.add("bias", s.bias);
  }
  if (s.intervals > 0) {
    summary.add("coverage_90", s.coverage_90);
    summary.add("half_width_90", s.half_width);
  }
  page.add("summary", std::move(summary));
  page.add("fit", JsonValue::object({{"rows", fit.rows},
                                     {"right", fit.right},
                                     {"oom", fit.oom},
                                     {"oom_caught", fit.oom_caught},
                                     {"fitting", fit.fitting},
                                     {"false_refusals", fit.false_refusals}}));
  std::vector<const calibrate::GroupRegret*> groups;
  for (const calibrate::GroupRegret& g : v.scores.groups) groups.push_back(&g);
  if (!groups.empty()) {
    const calibrate::RegretSummary regret = calibrate::regret_of(groups);
    page.add("regret", JsonValue::object({{"groups", regret.groups},
                                          {"best_found", regret.best_found},
                                          {"mean", regret.mean},
                                          {"worst", regret.worst},
                                          {"random", regret.random}}));
  }
  JsonValue reasons = JsonValue::List();
  for (const auto& [reason, n] : v.scores.skipped) reasons.add(JsonValue::List{reason, n});
  page.add("skipped", std::move(reasons));
  add_rows(page, rows);
  return page;
}

void write_validate_report(const ReportFile& file, const ValidateRequest& request,
                           const ValidateResult& result, const std::vector<Remark>& remarks) {
  write_report(file, validate_report(request, result, remarks));
}

void write_score_report(const ReportFile& file, const ScoreRequest& request, const ScoreResult& result,
                        const std::vector<Remark>& remarks) {
  write_report(file, score_report(request, result, remarks));
}

}  // namespace trnplan::api
