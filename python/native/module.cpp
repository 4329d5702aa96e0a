// trnplan._native: one function per command of api/. Each takes a dict of arguments and returns the JSON
// document that the program prints, with the remarks; trnplan/ makes typed objects of it. Work is done
// without the GIL, and calls share no state, so threads may call concurrently.
#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <vector>

#include "api/catalogue.h"
#include "api/documents.h"
#include "api/plan_report.h"
#include "api/simulate_report.h"
#include "api/validate_report.h"
#include "io/catalog/catalog.h"
#include "io/output/catalogue_json.h"
#include "io/output/descriptions.h"
#include "io/output/validation_json.h"
#include "models/collective/collective_runtime.h"
#include "python/native/answer.h"
#include "python/native/arguments.h"
#include "python/native/clusters.h"
#include "python/native/page.h"
#include "targets/registry.h"
#include "text/version.h"
#include "topology/instance.h"

namespace trnplan::python {

namespace {

namespace py = pybind11;

// Limits of the program's options.
constexpr int kMostDegree = 1 << 20, kMostRanks = 1 << 24, kMostMeasuredRanks = 1'000'000;

/// Checks Python for signals, and reports the progress of a search; either may stop the search.
class Watcher {
 public:
  explicit Watcher(py::object listener) : listener_(std::move(listener)) {}

  void operator()(const planner::SearchProgress& p) {
    const auto now = std::chrono::steady_clock::now();
    if (stop_ || now - last_ < kInterval) return;
    last_ = now;
    const py::gil_scoped_acquire mine;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (!listener_.is_none())
        listener_(p.simulated, p.open,
                  p.best ? py::object(py::float_(p.best->value)) : py::object(py::none()));
    } catch (const py::error_already_set&) {
      raised_ = std::current_exception();
      stop_ = true;
    }
  }
  [[nodiscard]] const std::atomic<bool>* stop() const { return &stop_; }
  /// Re-throws an exception that Python raised meanwhile.
  void finish() const {
    if (raised_) std::rethrow_exception(raised_);
  }

 private:
  static constexpr std::chrono::milliseconds kInterval{100};
  py::object listener_;
  std::atomic<bool> stop_ = false;
  std::exception_ptr raised_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Result of with_page(), including the faults of writing `out`.
py::tuple plan(const py::dict& given, const py::object& listener) {
  api::PlanRequest r;
  Arguments a(given);
  a.job(r.job);
  a.text("out", r.out);
  a.text("baseline", r.baseline);
  a.word("target", r.target, targets::names());
  a.text("profile", r.profile);
  a.texts("hardware", r.hardware);
  a.text("price", r.price);
  a.word("pricing", r.pricing, {"usual", "on_demand", "reserved", "capacity_block", "spot"});
  a.whole("top", r.top, 1, 1000);
  a.whole("threads", r.threads, 0, 1024);
  a.number("time_limit", r.time_limit, 1e-3, 1e6);
  a.number("fit_probability", r.fit_probability, 0.01, 0.9999);
  a.number("sure", r.sure, 0.5, 0.9999);
  a.risk(r.risk);
  a.flag("allow_doubtful", r.allow_doubtful);
  const api::ReportFile report = report_of(a, api::paths_of(r));
  r.force = report.force;
  r.words = words_of(r.job);
  if (!listener.is_none() && PyCallable_Check(listener.ptr()) == 0) {
    a.fault("progress", "is not a function", "give a function of three arguments");
    a.finish();
  }
  Watcher watcher(listener);
  r.stop = watcher.stop();
  r.progress = std::ref(watcher);
  std::shared_ptr<const api::PlanResult> result;
  std::vector<Remark> said;
  const py::tuple answered = answer_of([&](Remarks& remarks) {
    result = std::make_shared<const api::PlanResult>(api::plan(r, remarks));
    said = remarks.all();
    return api::document(*result);
  });
  watcher.finish();
  r.stop = nullptr;  // data of the page outlive the call
  r.progress = nullptr;
  return with_page(
      answered, [r, result, said] { return api::plan_report(r, *result, said); }, report, result->unwritten);
}

py::tuple simulate(const py::dict& given) {
  api::SimulateRequest r;
  Arguments a(given);
  a.job(r.job);
  a.text("strategy", r.strategy);
  a.text("scenario", r.scenario);
  a.text("profile", r.profile);
  a.texts("hardware", r.hardware);
  a.text("price", r.price);
  a.text("trace", r.trace);
  const api::ReportFile report = report_of(a, api::paths_of(r));
  r.force = report.force;
  std::shared_ptr<const api::SimulateResult> result;
  std::vector<Remark> said;
  const py::tuple answered = answer_of([&](Remarks& remarks) {
    result = std::make_shared<const api::SimulateResult>(api::simulate(r, remarks));
    said = remarks.all();
    return api::document(*result);
  });
  return with_page(
      answered, [r, result, said] { return api::simulate_report(r, *result, said); }, report);
}

py::tuple check(const py::dict& given) {
  api::CheckRequest r;
  Arguments a(given);
  a.text("config", r.file);
  a.stated(r.texts);
  a.word("target", r.target, targets::names());
  a.mapping("env", r.environment);
  a.text("instance", r.instance);
  a.text("release", r.release);
  a.text("framework_version", r.version);
  a.text("profile", r.profile);
  a.whole("nodes", r.nodes, 1, topology::kMostNodes);
  a.finish();
  return answer_of([&](Remarks&) { return api::document(api::check(r)); });
}

py::tuple calibrate(const py::dict& given) {
  api::CalibrateRequest r;
  Arguments a(given);
  a.texts("files", r.files);
  a.texts("runs", r.runs);
  a.texts("kernels", r.kernels);
  a.text("build", r.points.build);
  a.text("op", r.points.op);
  a.whole("ranks", r.points.ranks, 1, kMostMeasuredRanks);
  a.whole("nodes", r.points.nodes, 1, topology::kMostNodes);
  a.text("job", r.job);
  a.text("strategy", r.strategy);
  a.text("config", r.config);
  a.stated(r.texts);
  a.text("profile", r.profile);
  a.text("instance", r.instance);
  a.text("out", r.out);
  a.flag("force", r.force);
  a.flag("no_fit", r.no_fit);
  a.flag("with_catalogue", r.with_catalogue);
  a.finish();
  bool refused = false;
  const py::tuple answered = answer_of([&](Remarks& remarks) {
    const api::CalibrateResult result = api::calibrate(r, remarks);
    refused = result.refused;
    return api::document(result);
  });
  return py::make_tuple(answered[0], answered[1], refused);
}

/// `of`: kind of validation. `page`: its data, if there is any.
std::string validated(const std::string& of, const api::ScoreRequest& scored, const api::ValidateRequest& r,
                      Remarks& remarks, PageData& page) {
  const bool table = of == "table" || (of == "steps" && !r.runs.empty() && api::is_layout_table(r.runs));
  if (!table) api::refuse_idle(of == "steps" ? api::Validated::steps : api::Validated::other, scored, false);
  if (of == "memory") return api::document(api::validate_memory(r.profile));
  if (of == "goodput") return api::document(api::validate_uptimes(r.profile));
  if (of == "collectives") {
    return io::collective_validation_json(api::validate_collectives(r.profile), api::profile_name(r.profile));
  }
  if (table) {
    const auto result = std::make_shared<const api::ScoreResult>(api::score(scored, remarks));
    page = [scored, result, said = remarks.all()] { return api::score_report(scored, *result, said); };
    return api::document(*result);
  }
  const auto result = std::make_shared<const api::ValidateResult>(api::validate(r, remarks));
  page = [r, result, said = remarks.all()] { return api::validate_report(r, *result, said); };
  return api::document(*result, r.leave_out);
}

py::tuple validate(const py::dict& given) {
  api::ValidateRequest r;
  api::ScoreRequest scored;
  std::string of = "steps", leave_out = "configuration";
  Arguments a(given);
  a.text("runs", r.runs);
  a.text("profile", scored.profile);
  a.text("predictions", scored.predictions);
  a.text("job", scored.job.job);
  a.text("instance", scored.job.options.instance);
  a.text("release", scored.job.options.release);
  a.text("framework", scored.framework);
  a.flag("network_state", scored.network_state);
  a.word("of", of, {"steps", "table", "memory", "goodput", "collectives"});
  a.word("leave_out", leave_out, {"configuration", "run_group", "none"});
  if (of == "table" && r.runs.empty()) a.fault("runs", "there is no table to score", "name a CSV");
  if (of != "table" && of != "steps" && !r.runs.empty())
    a.fault("runs", "a table of runs is for step times", "leave it out, or of=\"" + of + "\"");
  if (!scored.predictions.empty() && r.runs.empty())
    a.fault("predictions", "no table to compare the predictions with", "name the table in runs");
  if (of != "table" && of != "steps" && given.contains("report"))
    a.fault("report", "a report covers step times", "leave it out, or of=\"" + of + "\"");
  const api::ReportFile report = report_of(a, {r.runs});
  scored.table = r.runs;
  scored.leave_out = given.contains("leave_out");
  r.leave_out = *calibrate::leave_out_from(leave_out);
  if (!scored.profile.empty()) r.profile = scored.profile;
  if (!scored.predictions.empty()) of = "table";
  PageData page;
  const py::tuple answered =
      answer_of([&](Remarks& remarks) { return validated(of, scored, r, remarks, page); });
  return with_page(answered, page, report);
}

py::tuple collective(const py::dict& given) {
  api::CollectiveRequest r;
  Arguments a(given);
  a.text("op", r.op);
  a.text("bytes", r.bytes);
  a.text("most_bytes", r.most_bytes);
  a.number("factor", r.factor, 0, 1e9);
  a.text("algorithm", r.algorithm);
  a.word("datatype", r.datatype,
         {"fp32", "bf16", "fp16", "fp8", "int8", "uint8", "int16", "uint16", "int32", "uint32"});
  a.text("instance", r.instance);
  a.text("profile", r.profile);
  a.texts("hardware", r.hardware);
  a.whole("ranks", r.ranks, 1, kMostRanks);
  a.whole("nodes", r.nodes, 1, topology::kMostNodes);
  a.number("oversubscription", r.oversubscription, 1, 1e6);
  a.finish();
  return answer_of([&](Remarks& remarks) { return api::document(api::collective(r, remarks), r.sweeps()); });
}

py::tuple topology_of(const py::dict& given) {
  api::TopologyRequest r;
  Arguments a(given);
  a.text("instance", r.instance);
  a.text("neuron_ls", r.neuron_ls);
  a.text("profile", r.profile);
  a.whole("nodes", r.nodes, 1, topology::kMostNodes);
  a.whole("tp", r.tp, 1, kMostDegree);
  a.whole("pp", r.pp, 1, kMostDegree);
  a.whole("dp", r.dp, 1, kMostDegree);
  a.whole("cp", r.cp, 1, kMostDegree);
  a.finish();
  return answer_of([&](Remarks&) { return api::document(api::topology(r)); });
}

py::tuple explain(const py::dict& given) {
  api::ExplainRequest r;
  Arguments a(given);
  a.text("id", r.id);
  a.finish();
  return answer_of([&](Remarks&) { return api::document(api::explain(r)); });
}

py::tuple support(const py::dict& given) {
  api::SupportRequest r;
  Arguments a(given);
  a.text("model", r.model);
  a.text("instance", r.instance);
  a.finish();
  return answer_of([&](Remarks&) { return api::document(api::support(r)); });
}

py::tuple models_known() {
  return answer_of([](Remarks&) { return io::models_json(api::models()); });
}

py::tuple instances_known() {
  return answer_of([](Remarks&) { return io::instances_json(api::instances()); });
}

}  // namespace

}  // namespace trnplan::python

PYBIND11_MODULE(_native, m) {
  using namespace trnplan::python;
  namespace py = pybind11;
  m.doc() = "What trnplan computes, as JSON documents. Use the functions of trnplan instead.";
  m.attr("version") = trnplan::program_version();
  translate_exceptions();
  m.def("plan", &plan, py::arg("arguments"), py::arg("listener"));
  m.def("simulate", &simulate, py::arg("arguments"));
  m.def("whatif", &whatif, py::arg("arguments"));
  m.def("offerings", &offerings, py::arg("arguments"));
  m.def("compare", &compare, py::arg("arguments"));
  m.def("check", &check, py::arg("arguments"));
  m.def("calibrate", &calibrate, py::arg("arguments"));
  m.def("validate", &validate, py::arg("arguments"));
  m.def("collective", &collective, py::arg("arguments"));
  m.def("topology", &topology_of, py::arg("arguments"));
  m.def("explain", &explain, py::arg("arguments"));
  m.def("support", &support, py::arg("arguments"));
  m.def("models", &models_known);
  m.def("instances", &instances_known);
  m.def("records", &trnplan::io::records_json);
  m.def("strategy_keys", &trnplan::io::strategy_keys_json);
  m.def("catalogue", [] { return trnplan::io::Catalog::standard().folder().string(); });
}
