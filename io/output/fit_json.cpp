#include "io/output/fit_json.h"

#include "io/output/described.h"
#include "io/output/json_tree.h"

namespace trnplan::io {

template <>
const Record<logs::StepSample>& record();  // log_json.cpp
template <>
const Record<ReadLog>& record();

using calibrate::CollectiveFit;
using calibrate::KernelRow;
using calibrate::MachineEstimate;
using calibrate::MachineRow;
using calibrate::StepFit;
using models::StackFactor;

namespace {

/// One of the two is null.
struct ShownSummary {
  const CollectiveFit* of_points = nullptr;
  const StepFit* of_runs = nullptr;
};

/// A fit, or the contents of the files; values that the kind of fit lacks are absent.
struct ShownCalibration {
  const ReadLogs* logs;
  std::optional<std::string> profile, prior, instance;
  std::optional<std::vector<CollectiveFit::Estimate>> parameters;
  std::optional<std::vector<StackFactor>> stacks;
  std::optional<std::map<std::string, double>> configurations;
  std::optional<std::vector<KernelRow>> kernels;
  std::optional<ByName<double>> kernel_effects;
  std::optional<std::vector<CollectiveFit::Row>> rows;
  std::optional<std::vector<ShownLeftOut>> left_out;
  std::optional<ShownSummary> summary;
  std::optional<std::vector<MachineEstimate>> machine;
  std::optional<std::vector<MachineRow>> shapes;
  std::optional<ShownChange> change;
};

}  // namespace

template <>
const Record<models::Value>& record() {
  static const Record<models::Value> described(
      "Estimate", "A median with the standard deviation of its logarithm.",
      {{"median", &models::Value::median}, {"log_sd", &models::Value::log_sd}});
  return described;
}

template <>
const Record<CollectiveFit::Estimate>& record() {
  using E = CollectiveFit::Estimate;
  static const Record<E> described(
      "Parameter", "A parameter of the profile before and after the fit.",
      {{"name", [](const E& e) { return to_string(e.parameter); }},
       {"unit", [](const E& e) { return unit_of(e.parameter); }},
       {"prior", &E::prior},
       {"fitted", &E::posterior},
       {"prior_share", &E::prior_share, "the remaining spread over the prior's"},
       {"verdict", &E::verdict,
        "`identified` (`prior_share` below 0.5), `weakly` (below 0.9), `moved` (the spread did not shrink, "
        "but the value moved by a tenth of the prior's spread or more) or `at prior`"}});
  return described;
}

template <>
const Record<StackFactor>& record() {
  static const Record<StackFactor> described(
      "Stack", "The factor by which every time of a framework and release is multiplied.",
      {{"framework", &StackFactor::framework},
       {"release", &StackFactor::release, "`\"\"`: of the framework"},
       {"instance", &StackFactor::instance, "of the site; `\"\"`: of published runs"},
       {"layout", &StackFactor::layout, "that was measured at the site; `\"\"`: any"},
       {"median", &StackFactor::median},
       {"log_sd", &StackFactor::log_sd}});
  return described;
}

template <>
const Record<KernelRow>& record() {
  using logs::MeasuredKernel;
  static const Record<KernelRow> described(
      "KernelRow", "A kernel with the fitted profile's prediction for it.",
      {{"id", path(&KernelRow::point, &MeasuredKernel::id)},
       {"kernel", [](const KernelRow& r) { return to_string(r.point.kernel); }, "as `--kernel` writes it"},
       {"measured_seconds", path(&KernelRow::point, &MeasuredKernel::seconds)},
       {"predicted_seconds", &KernelRow::predicted},
       {"error", &KernelRow::error, "predicted over measured, minus 1"}});
  return described;
}

template <>
const Record<CollectiveFit::Row>& record() {
  using Row = CollectiveFit::Row;
  using Point = logs::MeasuredCollective;
  const auto point = [](auto get) { return path(&Row::point, get); };
  static const Record<Row> described("CollectiveRow", "A point of nccom-test that was used.",
                                     {{"id", point(&Point::id), "that of the CSV, or file and line"},
                                      {"op", point(&Point::op)},
                                      {"ranks", point(&Point::ranks)},
                                      {"nodes", &Row::nodes, "as stated, otherwise as few as hold the ranks"},
                                      {"bytes", point(&Point::bytes)},
                                      {"algorithm", &Row::algorithm},
                                      {"measured_seconds", point(&Point::seconds)},
                                      {"predicted_seconds", &Row::predicted},
                                      {"error", &Row::error, "predicted over measured, minus 1"}});
  return described;
}

template <>
const Record<ShownLeftOut>& record() {
  static const Record<ShownLeftOut> described(
      "LeftOut", "A row that is not compared, and why.",
      {{"id", &ShownLeftOut::id},
       {"reason", &ShownLeftOut::reason},
       {"fix", &ShownLeftOut::fix, "of a point of nccom-test", Absent::left_out}});
  return described;
}

template <>
const Record<CollectiveFit>& record() {
  using Fit = CollectiveFit;
  static const Record<Fit> described(
      "", "How well a fit of collectives explains its points.",
      {{"rows", [](const Fit& f) { return f.rows.size(); }},
       {"median_ape", &Fit::median_error, "of the absolute errors"},
       {"worst_ape", &Fit::worst_error, "likewise"},
       {"worst_id", [](const Fit& f) { return f.worst->point->id; }},
       {"noise_scale",
        [](const Fit& f) { return f.estimates.empty() ? std::nullopt : std::optional(f.noise_scale); },
        "1, or the reduced chi-square by which the squared spreads of the data grew (calibrate/fit/fit.h); "
        "`null` with `--no-fit`"},
       {"explains", &Fit::explains, "`median_ape` is at most 0.25"},
       {"converged",
        [](const Fit& f) { return f.estimates.empty() ? std::nullopt : std::optional(f.converged); },
        "`null` with `--no-fit`"}});
  return described;
}

template <>
const Record<StepFit>& record() {
  static const Record<StepFit> described("", "What a fit of steps and kernels rests on.",
                                         {{"observations", &StepFit::observations},
                                          {"collectives", &StepFit::collectives},
                                          {"kernels", &StepFit::kernels, "equal ones count once"},
                                          {"iterations", &StepFit::iterations},
                                          {"converged", &StepFit::converged}});
  return described;
}

template <>
const Record<MachineEstimate>& record() {
  using E = MachineEstimate;
  static const Record<E> described(
      "MachineParameter", "A parameter of one machine before and after what was timed there.",
      {{"name", [](const E& e) { return to_string(e.parameter); }},
       {"library", &E::library, "of attention; `\"\"`: of any"},
       {"unit", [](const E& e) { return unit_of(e.parameter); }},
       {"prior", &E::prior, "with the difference between machines"},
       {"fitted", &E::posterior},
       {"prior_share", &E::prior_share, "the remaining spread over the prior's"},
       {"verdict", &E::verdict, "as of `Parameter`"},
       {"shapes", &E::rows, "distinct ones whose time follows it by a tenth or more"},
       {"most_by", &E::teacher, "index in `shapes` of that with the most information"}});
  return described;
}

template <>
const Record<MachineRow>& record() {
  using R = MachineRow;
  static const Record<R> described(
      "TimedShape", "Rows of one shape, and the predictions for them.",
      {{"shape", &R::kernel},
       {"kind", [](const R& r) { return r.kind; },
        "`product`, `attention`, `collective in a node` or `collective between nodes`"},
       {"file", [](const R& r) { return r.at.file; }},
       {"line", [](const R& r) { return r.at.line; }, "of the first row"},
       {"count", &R::count, "rows of this shape"},
       {"measured_seconds", &R::measured, "their geometric mean"},
       {"before_seconds", &R::before, "predicted, as the benchmark would print it"},
       {"after_seconds", &R::after, "likewise, by what was learnt"},
       {"misses", &R::misses, "log of measured over `after_seconds`, in standard deviations of the noise"},
       {"contradicts", &R::contradicts, "beyond 2"}});
  return described;
}

template <>
const Record<ShownSide>& record() {
  static const Record<ShownSide> described("MachinePlan", "A plan by one profile.",
                                           {{"strategy", &ShownSide::strategy, "as `--strategy` takes it"},
                                            {"step_seconds", &ShownSide::step},
                                            {"step_seconds_low", &ShownSide::low, "of the 90 % interval"},
                                            {"step_seconds_high", &ShownSide::high}});
  return described;
}

template <>
const Record<ShownChange>& record() {
  static const Record<ShownChange> described(
      "MachineChange", "What a machine's learnt values change for the job: its strategy or its best plan.",
      {{"job", &ShownChange::job},
       {"before", &ShownChange::before, "absent: no plan", Absent::left_out},
       {"held", &ShownChange::held, "that plan, by what was learnt", Absent::left_out},
       {"after", &ShownChange::after, "likewise", Absent::left_out}});
  return described;
}

/// Keys by the kind of fit.
template <>
struct Shown<ShownSummary> : Shown<CollectiveFit> {
  static Json json(const ShownSummary& s) {
    return s.of_points != nullptr ? record<CollectiveFit>()(*s.of_points) : record<StepFit>()(*s.of_runs);
  }
  static void add(Description& d) {
    Shown<CollectiveFit>::add(d);
    Shown<StepFit>::add(d);
  }
};

template <>
const Record<ShownCalibration>& record() {
  using C = ShownCalibration;
  static const Record<C> described(
      "CalibrateResult",
      "A fit, or the contents of the files; parts that this kind of fit does not have are left out.",
      {{"profile", &C::profile, "the prior, as the options say; of a fit to steps and kernels its result",
        Absent::left_out},
       {"prior", &C::prior, "of a fit to steps and kernels", Absent::left_out},
       {"instance", &C::instance, "where points were measured, as the options say", Absent::left_out},
       {"parameters", &C::parameters, "of collectives the seven that one depends on; empty with `--no-fit`",
        Absent::left_out},
       {"stacks", &C::stacks, "", Absent::left_out},
       {"configurations", &C::configurations, "log of what the model misses in each", Absent::left_out},
       {"kernels", &C::kernels, "", Absent::left_out},
       {"kernel_effects", &C::kernel_effects,
        "of each operator the log of its time alone over that in a graph", Absent::left_out},
       {"rows", &C::rows, "the points used, each once", Absent::left_out},
       {"left_out", &C::left_out,
        "points and runs that cannot be predicted. If no point is left, they are input errors (exit 2). "
        "Whole tables that are left out appear only as remarks",
        Absent::left_out},
       {"summary", &C::summary, "", Absent::left_out},
       {"machine", &C::machine, "of kernels and nccl-tests", Absent::left_out},
       {"shapes", &C::shapes, "likewise: what was timed", Absent::left_out},
       {"change", &C::change, "likewise, with `--job`", Absent::left_out},
       {"files", path(&C::logs, &ReadLogs::files), "in the order given"},
       {"steps", path(&C::logs, &ReadLogs::steps),
        "those of all files with which a prediction can be compared. With `--job` or `--config` they have "
        "its framework, release, batch and sequence, and runs that state another batch or sequence are left "
        "out, with a remark"}});
  return described;
}

std::string kernels_json(const std::vector<KernelRow>& kernels, const std::string& profile,
                         const ReadLogs& logs) {
  return document_of(ShownCalibration{.logs = &logs, .profile = profile, .kernels = kernels});
}

std::string step_fit_json(const StepFit& fit, const std::vector<calibrate::ExcludedRun>& left_out,
                          const std::vector<KernelRow>& kernels, const ReadLogs& logs) {
  ShownCalibration shown{.logs = &logs,
                         .profile = fit.profile.name,
                         .prior = fit.profile.calibration->prior,
                         .parameters = fit.estimates,
                         .stacks = fit.profile.calibration->stacks,
                         .configurations = fit.configuration_effects,
                         .kernels = kernels,
                         .kernel_effects = ByName<double>(),
                         .left_out = std::vector<ShownLeftOut>(),
                         .summary = ShownSummary{.of_runs = &fit}};
  for (const auto& [op, effect] : fit.kernel_effects)
    shown.kernel_effects->emplace_back(logs::to_string(op), effect);
  for (const calibrate::ExcludedRun& e : left_out) shown.left_out->push_back({e.id, e.reason, {}});
  return document_of(shown);
}

std::string collective_fit_json(const CollectiveFit& fit, const std::vector<calibrate::LeftOut>& left_out,
                                const std::string& instance, const ReadLogs& logs) {
  ShownCalibration shown{.logs = &logs,
                         .profile = fit.profile.name,
                         .instance = instance,
                         .parameters = fit.estimates,
                         .rows = fit.rows,
                         .left_out = std::vector<ShownLeftOut>(),
                         .summary = ShownSummary{.of_points = &fit}};
  for (const calibrate::LeftOut& l : left_out) shown.left_out->push_back({l.point.id, l.reason, l.fix});
  return document_of(shown);
}

std::string machine_fit_json(const calibrate::MachineFit& fit, const std::string& prior,
                             const std::string& instance, const std::optional<ShownChange>& change,
                             const ReadLogs& logs) {
  return document_of(ShownCalibration{.logs = &logs,
                                      .profile = fit.profile.name,
                                      .prior = prior,
                                      .instance = instance,
                                      .machine = fit.estimates,
                                      .shapes = fit.rows,
                                      .change = change});
}

std::string logs_json(const std::string& instance, const ReadLogs& logs) {
  return document_of(ShownCalibration{.logs = &logs, .instance = instance});
}

const Description& calibrate_document() {
  return record<ShownCalibration>().description();
}

}  // namespace trnplan::io
