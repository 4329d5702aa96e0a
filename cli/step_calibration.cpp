#include "cli/step_calibration.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "calibrate/validate/step_validation.h"
#include "cli/context.h"
#include "cli/kernel_inputs.h"
#include "cli/text/table.h"
#include "io/output/profile_json.h"
#include "logs/table/measured_runs.h"
#include "models/step/step.h"
#include "models/uncertainty/spread.h"
#include "text/diagnostic.h"
#include "text/document.h"
#include "text/sha256.h"

namespace trnplan::cli {

namespace {

using calibrate::StepFit;

constexpr const char* kRuns = "measured-runs.csv";  ///< of the catalogue
constexpr const char* kPoints = "measured-collectives.csv";

double four_digits(double x) {
  return std::strtod(fmt::format("{:.3e}", x).c_str(), nullptr);
}

/// As a file holds it, so that the profile predicts the same before and after it was written.
void round_values(models::Profile& profile, const std::vector<StepFit::Estimate>& estimates) {
  for (const StepFit::Estimate& e : estimates) {
    models::Value& v = profile.value(e.parameter);
    v.median = four_digits(v.median);
    v.log_sd = four_digits(v.log_sd);
  }
  auto c = std::make_shared<models::Calibration>(*profile.calibration);
  for (models::StackFactor& s : c->stacks) {
    s.median = four_digits(s.median);
    s.log_sd = four_digits(s.log_sd);
  }
  for (auto& row : c->covariance) {
    for (double& v : row) v = four_digits(v);
  }
  profile.calibration = std::move(c);
}

/// "2 steps and 83 nccom-test points", with kernels where there are any.
std::string data_text(const StepFit& fit) {
  std::string text =
      fmt::format("{} step{}{}{} nccom-test points", fit.observations, fit.observations == 1 ? "" : "s",
                  fit.kernels > 0 ? ", " : " and ", fit.collectives);
  if (fit.kernels > 0) text += fmt::format(" and {} kernel{}", fit.kernels, fit.kernels == 1 ? "" : "s");
  return text;
}

void add_sources(StepFit& fit) {
  const std::string data = data_text(fit);
  for (StepFit::Estimate& e : fit.estimates) {
    fit.profile.value(e.parameter).source =
        e.verdict == "at prior" ? fmt::format("at prior: not moved by {}; prior {:.4g}, log-sd {:.2f}", data,
                                              e.prior.median, e.prior.log_sd)
                                : fmt::format("{}: fitted to {}; prior {:.4g}, log-sd {:.2f}", e.verdict,
                                              data, e.prior.median, e.prior.log_sd);
    e.posterior = fit.profile.value(e.parameter);
  }
}

/// What a configuration of the user is called: as a published step of the same program (tables write
/// Llama3-70B, jobs llama3-70b), else with all that sets it apart from another strategy of the same layout.
std::string known_as(const calibrate::MeasuredStep& own, const std::vector<calibrate::MeasuredStep>& steps) {
  const std::string configuration =
      calibrate::configuration_of(own.job.architecture.name, own.job, own.strategy);
  const auto lower = [](std::string text) {
    for (char& c : text) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return text;
  };
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const calibrate::MeasuredStep& s) {
    return !s.own && lower(s.configuration) == lower(configuration) && s.strategy == own.strategy &&
           s.job.training.global_batch == own.job.training.global_batch &&
           s.job.cluster.instance.name == own.job.cluster.instance.name;
  });
  if (found != steps.end()) return found->configuration;
  return fmt::format("{}, {} x {}, sequence {}, batch {}: {}", own.job.architecture.name,
                     own.job.cluster.nodes, own.job.cluster.instance.name, own.job.training.sequence,
                     own.job.training.global_batch, describe(own.strategy));
}

/// Steps of the user's own logs beside the published ones.
void add_samples(const RanSamples& log, calibrate::MappedRuns& runs) {
  if (!log.ran || !log.ran->strategy) return;
  for (const logs::StepSample& s : log.samples) {
    calibrate::MeasuredStep step;
    const std::string name = std::filesystem::path(s.at.file).filename().string();
    const std::string file = log.folder.empty() ? name : log.folder + "/" + name;
    step.id = fmt::format("{}:{}", file, s.at.line);
    step.at = s.at;
    step.own = true;
    step.group = file;
    step.quality = "A";
    step.kind = log.ran->job.architecture.family == models::Family::bert ? "bert" : "decoder";
    step.job = log.ran->job;
    if (!s.framework.empty()) step.job.software.framework = s.framework;
    step.job.software.release = s.release;
    step.strategy = *log.ran->strategy;
    step.configuration = known_as(step, runs.steps);
    step.seconds = s.wall_seconds.value_or(s.seconds);
    const std::string reason = models::StepModel::not_modelled(step.job, step.strategy);
    if (!reason.empty()) {
      runs.excluded.push_back({step.id, "not modelled: " + reason});
    } else if (step.seconds > 0) {
      runs.steps.push_back(std::move(step));
    }
  }
}

calibrate::StepValidation own_rows(const StepData& data, const models::Profile& profile) {
  const auto own = [](const calibrate::MeasuredStep& s) { return s.own; };
  return calibrate::validate_steps(*data.bench, nullptr, profile, calibrate::LeaveOut::none, {}, own);
}

std::vector<OwnStep> own_steps(const StepData& data, const models::Profile& before,
                               const models::Profile& after) {
  std::vector<OwnStep> steps;
  const auto then = own_rows(data, after);
  for (const auto& row : own_rows(data, before).rows) {
    const auto same =
        std::find_if(then.rows.begin(), then.rows.end(), [&](const auto& o) { return o.step == row.step; });
    if (same == then.rows.end()) continue;
    steps.push_back({row.step->id, row.step->seconds, row.predicted, row.low, row.high, same->predicted,
                     same->low, same->high});
  }
  return steps;
}

/// The user's own steps that are far from what the profile says of the job they are given for: most likely
/// they are of another one.
std::vector<Diagnostic> doubts_of(const StepData& data, const models::Profile& profile) {
  const auto v = own_rows(data, profile);
  std::vector<Diagnostic> doubts;
  for (const auto& row : v.rows) {
    const double ratio = row.step->seconds / row.predicted;
    if (std::abs(std::log(ratio)) <= calibrate::kDoubtful * row.spread) continue;
    doubts.push_back(
        {row.step->at, "step",
         fmt::format("{:.4g} s is {:.2g} times the {:.4g} s (90 % between {:.4g} and {:.4g}) that {} "
                     "says of {}",
                     row.step->seconds, ratio, row.predicted, row.low, row.high, profile.name,
                     row.step->configuration),
         "check that nodes, batch and strategy of the job are those of this log"});
  }
  return doubts;
}

/// The catalogue's tables, for a profile that was fitted to them.
void add_catalogue(StepInputs& inputs, const io::Catalog& catalog) {
  std::set<std::string> ids;
  for (const auto& run : inputs.runs) ids.insert(run.id);
  const std::string text = read_text(catalog.file(kRuns));
  for (auto& run : logs::parse_measured_runs(text, kRuns)) {
    if (!ids.contains(run.id)) inputs.runs.push_back(std::move(run));
  }
  inputs.files.push_back({kRuns, sha256(text)});
  if (!inputs.points.empty()) return;  // the user's own, of another build
  inputs.points = catalogue_points(catalog);
  inputs.files.push_back({kPoints, sha256(read_text(catalog.file(kPoints)))});
}

/// From where to where the fitted steps reach.
std::vector<models::FittedRange> ranges_of(const std::vector<calibrate::MeasuredStep>& steps) {
  std::vector<models::FittedRange> ranges;
  for (const calibrate::MeasuredStep& step : steps) {
    const auto traits = models::traits_of(step.job, step.strategy);
    ranges.resize(traits.size());
    for (std::size_t i = 0; i < traits.size(); ++i) {
      const auto& [name, value] = traits[i];
      models::FittedRange& r = ranges[i];
      r = r.of.empty() ? models::FittedRange{name, value, value}
                       : models::FittedRange{name, std::min(r.low, value), std::max(r.high, value)};
    }
  }
  return ranges;
}

/// Kernels of a table of runs, which says no shapes, by name.
void name_kernels(const std::vector<models::MeasuredRun>& runs,
                  std::vector<calibrate::ExcludedRun>& excluded) {
  for (const models::MeasuredRun& run : runs) {
    if (run.kind != "kernel") continue;
    const bool complete = run.quality == "A" || run.quality == "B";
    excluded.push_back(
        {run.id, complete ? "a kernel: give it in a table of kernels, which has shapes and dtype"
                          : "a kernel of quality " + (run.quality.empty() ? "not stated" : run.quality) +
                                ": machine, shapes or dtype are missing"});
  }
}

/// Remarks on all doubts and on what kernels leave open.
void tell_kernels(const StepInputs& inputs, const models::Profile& profile, StepCalibration& c) {
  const std::vector<Diagnostic> doubts = doubts_of_kernels(inputs.kernels, inputs.core, profile);
  c.doubts.insert(c.doubts.end(), doubts.begin(), doubts.end());
  for (const Diagnostic& doubt : c.doubts) remark(doubt);
  remark_short(inputs.kernels, profile);
  if (!c.data->runs.steps.empty()) return;
  remark(
      "no step is among the data, so the profile knows no software stack; --with-catalogue fits the "
      "published "
      "runs along");
}

bool fitted_to_catalogue(const models::Profile& profile) {
  if (profile.calibration == nullptr) return false;
  const auto& files = profile.calibration->files;
  return std::any_of(files.begin(), files.end(), [](const auto& file) { return file.name == kRuns; });
}

/// A fit starts from priors: what a fitted profile was made from must be there again.
void remark_refit(const StepInputs& inputs, const models::Profile& profile) {
  const models::Calibration& c = *profile.calibration;
  if (fitted_to_catalogue(profile)) {
    remark(fmt::format("{} was fitted to the catalogue's runs: they join the fit, which starts from {}{}",
                       profile.name, c.prior,
                       inputs.profile_stated ? ""
                                             : "; it is the default because steps of a log are given, and "
                                               "--profile " +
                                                   c.prior + " leaves these runs out"));
  } else {
    remark(fmt::format("{} is fitted already: the fit starts again from {}", profile.name, c.prior));
  }
  for (const models::CalibrationFile& file : c.files) {
    const bool there = std::any_of(inputs.files.begin(), inputs.files.end(),
                                   [&](const auto& given) { return given.sha256 == file.sha256; });
    if (there || file.name == kRuns || file.name == kPoints) continue;
    remark(
        fmt::format("{}, to which {} was fitted, is not among the files: what it taught is left out; give it "
                    "again",
                    printable(file.name, 200), profile.name));
  }
}

}  // namespace

bool has_own_steps(const StepInputs& inputs) {
  return std::any_of(inputs.logs.begin(), inputs.logs.end(), [](const RanSamples& log) {
    return !log.samples.empty() && log.ran && log.ran->strategy;
  });
}

bool has_steps(const StepInputs& inputs) {
  return !inputs.runs.empty() || inputs.with_catalogue || has_own_steps(inputs);
}

StepCalibration calibrate_steps(StepInputs inputs, const models::Profile& profile, const io::Catalog& catalog,
                                const std::string& name) {
  if (fitted_to_catalogue(profile) || inputs.with_catalogue) add_catalogue(inputs, catalog);
  if (profile.calibration != nullptr) remark_refit(inputs, profile);
  const models::Profile prior = prior_of(catalog, profile);
  StepCalibration out;
  out.data = step_data(catalog, inputs.runs, inputs.points, prior, [&](calibrate::MappedRuns& runs) {
    for (const RanSamples& log : inputs.logs) add_samples(log, runs);
  });
  name_kernels(inputs.runs, out.data->runs.excluded);
  if (out.data->runs.steps.empty() && inputs.kernels.empty()) {
    const auto& excluded = out.data->runs.excluded;
    throw InputError({{"command line", 0, 0},
                      "files",
                      "no step in them is of use",
                      excluded.empty() ? "give training rows or logs with --job and --strategy"
                                       : excluded.front().id + ": " + excluded.front().reason});
  }
  out.doubts = doubts_of(*out.data, profile);
  tell_kernels(inputs, profile, out);
  const calibrate::KernelBench kernels(inputs.kernels, inputs.core);
  out.fit = calibrate::fit_steps(*out.data->bench, out.data->collectives.get(), prior, {}, &kernels);
  if (!out.fit.converged) remark("the fit did not converge; its parameters are not an optimum");
  models::Profile& fitted = out.fit.profile;
  fitted.name = name;
  fitted.base = prior.base;
  fitted.instance = prior.instance;
  round_values(fitted, out.fit.estimates);
  add_sources(out.fit);
  auto c = std::make_shared<models::Calibration>(*fitted.calibration);
  c->ranges = ranges_of(out.data->bench->steps());
  c->tool = "trnplan " TRNPLAN_VERSION;
  c->files = std::move(inputs.files);
  std::sort(c->files.begin(), c->files.end(), [](const auto& a, const auto& b) {
    return std::tie(a.name, a.sha256) < std::tie(b.name, b.sha256);
  });
  const auto same = [](const auto& a, const auto& b) { return a.name == b.name && a.sha256 == b.sha256; };
  c->files.erase(std::unique(c->files.begin(), c->files.end(), same), c->files.end());
  fitted.calibration = std::move(c);
  out.kernels = calibrate::compare_kernels(inputs.kernels, inputs.core, fitted);
  out.own = own_steps(*out.data, profile, fitted);
  out.before = profile.name;
  return out;
}

namespace {

std::string counted(std::size_t count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string parameters_text(const StepFit& fit) {
  Table table(
      {{"parameter", true}, {"prior"}, {"factor"}, {"fitted"}, {"factor"}, {"spread left"}, {"", true}}, "",
      2);
  for (const StepFit::Estimate& e : fit.estimates) {
    const auto factor = [](const models::Value& v) { return fmt::format("{:.2f}", std::exp(v.log_sd)); };
    table.row({std::string(models::to_string(e.parameter)), fmt::format("{:.4g}", e.prior.median),
               factor(e.prior), fmt::format("{:.4g}", e.posterior.median), factor(e.posterior),
               fmt::format("{:.2f}", e.prior_share), std::string(e.verdict)});
  }
  return "\n" + table.text(text_width()) +
         "factor: one standard deviation, up or down; spread left: of the prior's; at prior: the data do not "
         "move it; "
         "moved: elsewhere, but no surer\n";
}

std::string effects_text(const StepCalibration& c) {
  std::string text;
  const auto& stacks = c.fit.profile.calibration->stacks;
  if (!stacks.empty())
    text += "\nsoftware stack: the factor on every time, and one standard deviation of it\n";
  for (const models::StackFactor& s : stacks) {
    text += fmt::format("  {:<16} {:<8} {:.3f}  {:.2f}\n", printable(s.framework, 30),
                        printable(s.release, 20), s.median, std::exp(s.log_sd));
  }
  if (!c.fit.configuration_effects.empty())
    text += "\nwhat the model misses of each configuration, in % of the step:\n";
  for (const auto& [name, effect] : c.fit.configuration_effects)
    text += fmt::format("  {:>+6.1f}  {}\n", 100 * std::expm1(effect), printable(name, 200));
  for (const auto& e : c.data->runs.excluded)
    text += fmt::format("left out: {}: {}\n", printable(e.id, 60), printable(e.reason, 200));
  return text;
}

}  // namespace

std::string step_answer(const StepCalibration& c) {
  std::string text;
  for (const OwnStep& s : c.own) {
    text += fmt::format(
        "your run {}: {:.4g} s, predicted {:.4g} ({:.4g} to {:.4g}) by {}; after the fit {:.4g} ({:.4g} to "
        "{:.4g})\n",
        printable(s.id, 200), s.seconds, s.before, s.before_low, s.before_high, c.before, s.after,
        s.after_low, s.after_high);
  }
  return text;
}

std::string step_fit_text(const StepCalibration& c, bool published) {
  std::string text = fmt::format(
      "\nfitted to {} of {} and {}{}; {} iterations\n", counted(c.fit.observations, "step"),
      counted(c.data->bench->programs(), "program"), counted(c.fit.collectives, "nccom-test point"),
      c.fit.kernels > 0 ? ", " + counted(c.fit.kernels, "kernel") : "", c.fit.iterations);
  if (published) text += parameters_text(c.fit);
  text += kernels_text(c.kernels);
  for (const auto& [op, effect] : c.fit.kernel_effects) {
    text += fmt::format("{} alone takes {:.2f} of its time in a graph, which is not kept\n", to_string(op),
                        std::exp(effect));
  }
  return published ? text + effects_text(c)
                   : text + "parameters, software stacks and published configurations: --details\n";
}

std::string step_profile_json(const StepCalibration& c, const io::Catalog& catalog) {
  const models::Profile& profile = c.fit.profile;
  std::optional<models::Profile> base;
  if (!profile.base.empty()) base = catalog.profile(profile.base);
  std::vector<models::Parameter> stated;
  for (const StepFit::Estimate& e : c.fit.estimates) stated.push_back(e.parameter);
  return io::profile_json(
      profile, base, stated,
      fmt::format("Fitted to {} measured steps ({} configurations){} {} nccom-test points{}; prior {}.",
                  c.fit.observations, c.fit.configuration_effects.size(), c.fit.kernels > 0 ? "," : " and",
                  c.fit.collectives,
                  c.fit.kernels > 0
                      ? fmt::format(" and {} kernel{}", c.fit.kernels, c.fit.kernels == 1 ? "" : "s")
                      : "",
                  profile.calibration->prior),
      "Effective values of this model, not measurements of hardware. What a fitted parameter is worth "
      "without "
      "the others is in the covariance.");
}

}  // namespace trnplan::cli
