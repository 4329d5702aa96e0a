#include "python/native/clusters.h"

#include <memory>
#include <vector>

#include "api/compare.h"
#include "api/documents.h"
#include "api/offerings.h"
#include "api/whatif_report.h"
#include "python/native/answer.h"
#include "python/native/arguments.h"
#include "python/native/page.h"
#include "targets/registry.h"

namespace trnplan::python {

namespace {

namespace py = pybind11;

constexpr double kMostMoney = 1e9;

/// Arguments of whatif and of offerings.
void read_run(Arguments& a, api::WhatIfRequest& r) {
  a.text("job", r.job.job);
  a.stated(r.job.texts);
  a.text("all_reduce_gbps", r.job.options.all_reduce);
  a.text("measured", r.job.options.measured);
  a.text("sequence", r.job.options.sequence);
  a.text("global_batch", r.job.options.global_batch);
  a.text("precision", r.job.options.precision);
  a.text("release", r.job.options.release);
  a.text("tokens", r.tokens);
  a.text("deadline", r.deadline);
  a.text("budget", r.budget);
  a.text("confidence", r.confidence);
  a.text("reliability", r.reliability);
  a.word("recovery", r.recovery, {"automatic", "manual"});
  a.number("storage_gb_per_second", r.storage_speed, 1e-3, 1e6);
  a.number("failures_per_node_day", r.failure_rate, api::kLeastFailureRate, api::kMostFailureRate);
  a.number("storage_gib", r.storage_gib, 0, kMostMoney);
  a.number("storage_usd_per_gib_month", r.storage_price, 0, kMostMoney);
  a.number("other_usd_per_hour", r.other_price, 0, kMostMoney);
  a.whole("checkpoint_steps", r.checkpoint_steps, 1, planner::kMostCheckpointSteps);
  a.flag("async_checkpoints", r.asynchronous);
  a.flag("allow_doubtful", r.allow_doubtful);
  a.risk(r.risk);
  a.text("profile", r.profile);
  a.texts("hardware", r.hardware);
}

}  // namespace

py::tuple whatif(const py::dict& given) {
  api::WhatIfRequest r;
  Arguments a(given);
  read_run(a, r);
  a.text("nodes", r.nodes);
  a.text("instances", r.instances);
  a.text("scenario", r.scenario);
  a.text("price", r.price);
  a.text("discount", r.discount);
  a.text("term", r.term);
  a.text("upfront", r.upfront);
  a.word("pricing", r.pricing,
         {"usual", "on-demand", "reserved", "capacity-block", "spot", "on_demand", "capacity_block"});
  a.word("scaling", r.scaling, {"strong", "weak"});
  a.word("prefer", r.prefer, {"fitting", "cheapest", "fastest", "smallest"});
  a.number("usd_per_node_hour", r.usd_per_node_hour, 0, kMostMoney);
  const api::ReportFile report = report_of(a, api::paths_of(r));
  std::shared_ptr<const api::WhatIfAnswered> result;
  std::vector<Remark> said;
  const py::tuple answered = answer_of([&](Remarks& remarks) {
    result = std::make_shared<const api::WhatIfAnswered>(api::whatif(r, remarks));
    said = remarks.all();
    return api::document(*result);
  });
  return with_page(
      answered, [r, result, said] { return api::whatif_report(r, words_of(r.job).options, *result, said); },
      report);
}

py::tuple offerings(const py::dict& given) {
  api::WhatIfRequest r;
  Arguments a(given);
  read_run(a, r);
  a.text("offers", r.offerings);
  a.finish();
  return answer_of([&](Remarks& remarks) { return api::document(api::whatif_offerings(r, remarks)); });
}

py::tuple compare(const py::dict& given) {
  api::CompareRequest r;
  Arguments a(given);
  a.text("first", r.first);
  a.text("second", r.second);
  a.job(r.job);
  a.word("target", r.target, targets::names());
  a.text("profile", r.profile);
  a.finish();
  return answer_of([&](Remarks& remarks) { return api::document(api::compare(r, remarks)); });
}

}  // namespace trnplan::python
