#include "calibrate/session/step_calibration.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "calibrate/fit/fit.h"
#include "calibrate/session/beyond_peak.h"
#include "calibrate/session/kernel_inputs.h"
#include "calibrate/session/own_runs.h"
#include "calibrate/validate/step_validation.h"
#include "models/parameters/common_parameters.h"
#include "models/step/step.h"
#include "models/uncertainty/spread.h"
#include "text/diagnostic.h"
#include "text/figures.h"

namespace trnplan::calibrate {

namespace {

double four_digits(double x) {
  return std::strtod(fmt::format("{:.3e}", x).c_str(), nullptr);
}

/// "2 steps and 83 nccom-test points", with kernels if there are any.
std::string data_text(const StepFit& fit) {
  std::string text =
      fmt::format("{} step{}{}{} nccom-test points", fit.observations, fit.observations == 1 ? "" : "s",
                  fit.kernels > 0 ? ", " : " and ", fit.collectives);
  if (fit.kernels > 0) text += fmt::format(" and {} kernel{}", fit.kernels, fit.kernels == 1 ? "" : "s");
  return text;
}

/// Sources of the values; a refit renews all, a site's runs those that they taught something.
void add_sources(StepFit& fit, bool refitted) {
  const std::string data = data_text(fit);
  for (StepFit::Estimate& e : fit.estimates) {
    models::Value& value = fit.profile.value(e.parameter);
    if (e.verdict != "at prior") {
      value.source = fmt::format("{}: fitted to {}; prior {:.4g}, log-sd {:.2f}", e.verdict, data,
                                 e.prior.median, e.prior.log_sd);
    } else if (refitted) {
      value.source = fmt::format("at prior: not moved by {}; prior {:.4g}, log-sd {:.2f}", data,
                                 e.prior.median, e.prior.log_sd);
    }
    e.posterior = value;
  }
}

calibrate::StepValidation own_rows(const StepData& data, const models::Profile& profile) {
  const auto own = [](const MeasuredStep& s) { return s.own; };
  return validate_steps(*data.bench, nullptr, profile, LeaveOut::none, {}, own);
}

std::vector<OwnStep> own_steps(const StepData& data, const models::Profile& before,
                               const models::Profile& after) {
  std::vector<OwnStep> steps;
  const auto then = own_rows(data, after);
  for (const auto& row : own_rows(data, before).rows) {
    const auto same =
        std::find_if(then.rows.begin(), then.rows.end(), [&](const auto& o) { return o.step == row.step; });
    if (same == then.rows.end()) continue;
    steps.push_back({row.step->id, row.step->seconds, row.step->printed, row.step->by_rate, row.predicted,
                     row.low, row.high, same->predicted, same->low, same->high});
  }
  return steps;
}

/// Doubts about the user's own steps that are far from the prediction for the given job: most likely they are
/// of another job.
std::vector<Diagnostic> doubts_of(const StepData& data, const models::Profile& profile) {
  const auto v = own_rows(data, profile);
  std::vector<Diagnostic> doubts;
  for (const auto& row : v.rows) {
    if (auto doubt = beyond_peak(row.step->seconds, row.step->job, row.step->strategy, row.step->at)) {
      doubts.push_back(std::move(*doubt));
      continue;
    }
    const double ratio = row.step->seconds / row.predicted;
    const bool known = at_known_site(profile, row.step->job);
    const double spread = std::hypot(row.spread, known ? 0 : profile[models::common::site_spread]);
    if (std::abs(std::log(ratio)) <= kDoubtful * spread) continue;
    doubts.push_back({row.step->at, "step",
                      fmt::format("{:.4g} s is {} times the {:.4g} s that {} says of {}", row.step->seconds,
                                  factor_text(ratio), row.predicted, profile.name, row.step->configuration),
                      kOfThisLog});
  }
  return doubts;
}

/// Learns the runs of the user's cluster on top of the profile of `c.fit`.
void learn_site(StepCalibration& c, const models::Profile& from) {
  SiteFit site = fit_site(c.site_runs, from);
  for (const SiteRun& run : c.site_runs) {
    c.fit.configuration_effects[layout_name(run.job, run.strategy)] =
        std::log(layout_factor(site.profile, run.job, run.strategy));
  }
  if (c.refitted) {
    for (StepFit::Estimate& e : c.fit.estimates) {
      e.posterior = site.profile.value(e.parameter);
      e.prior_share = e.posterior.log_sd / e.prior.log_sd;
      e.verdict = verdict(e.prior_share, std::log(e.posterior.median / e.prior.median) / e.prior.log_sd);
    }
  } else {
    c.fit.estimates = std::move(site.estimates);
    c.fit.iterations = site.iterations;
    c.fit.converged = site.converged;
  }
  c.fit.observations += c.site_runs.size();
  c.fit.profile = std::move(site.profile);
  c.site_rows = std::move(site.rows);
}

/// Adds the published tables, for a profile that was fitted to them.
void add_published(StepInputs& inputs, const Published& published) {
  std::set<std::string> ids;
  for (const auto& run : inputs.runs) ids.insert(run.id);
  for (const auto& run : published.runs) {
    if (!ids.contains(run.id)) inputs.runs.push_back(run);
  }
  inputs.files.push_back(published.runs_file);
  if (!inputs.points.empty()) return;  // the user's own, of another build
  inputs.points = published.points;
  inputs.files.push_back(published.points_file);
}

/// Ranges that the fitted steps cover, in addition to `ranges`.
std::vector<models::FittedRange> ranges_of(const std::vector<MeasuredStep>& steps,
                                           std::vector<models::FittedRange> ranges) {
  for (const MeasuredStep& step : steps) {
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

/// Adds the kernels in a table of runs, which states no shapes, to the excluded rows.
void name_kernels(const std::vector<models::MeasuredRun>& runs, std::vector<ExcludedRun>& excluded) {
  for (const models::MeasuredRun& run : runs) {
    if (run.kind != "kernel") continue;
    const bool complete = run.quality == "A" || run.quality == "B";
    excluded.push_back(
        {run.id, complete ? "a kernel: give it in a table of kernels, which has shapes and dtype"
                          : "a kernel of quality " + (run.quality.empty() ? "not stated" : run.quality) +
                                ": machine, shapes or dtype are missing"});
  }
}

/// Remarks on all doubts, and on parameters that kernels leave open.
void tell_kernels(const StepInputs& inputs, const models::Profile& profile, StepCalibration& c,
                  Remarks& remarks) {
  const std::vector<Diagnostic> doubts = doubts_of_kernels(inputs.kernels, inputs.core, profile);
  c.doubts.insert(c.doubts.end(), doubts.begin(), doubts.end());
  for (const Diagnostic& doubt : c.doubts) remarks.add(doubt);
  remark_short(inputs.kernels, profile, remarks);
  if (!c.data->runs.steps.empty()) return;
  remarks.add(
      "the data contain no step, so the profile has no software stack; --with-catalogue fits the published "
      "runs as well");
}

bool fitted_to(const Published& published, const models::Profile& profile) {
  if (profile.calibration == nullptr) return false;
  const auto& files = profile.calibration->files;
  return std::any_of(files.begin(), files.end(),
                     [&](const auto& file) { return file.name == published.runs_file.name; });
}

/// Remarks that a fit starts from priors: the inputs of a fitted profile must be given again.
void remark_refit(const StepInputs& inputs, const models::Profile& profile, const Published& published,
                  Remarks& remarks) {
  const models::Calibration& c = *profile.calibration;
  if (fitted_to(published, profile)) {
    remarks.add(fmt::format(
        "{} was fitted to the catalogue's runs: they are fitted again, starting from {}{}", profile.name,
        c.prior,
        inputs.profile_stated ? ""
                              : "; it is the default because steps of a log are given; --profile " + c.prior +
                                    " leaves these runs out"));
  } else {
    remarks.add(fmt::format("{} is already fitted: the fit starts again from {}", profile.name, c.prior));
  }
  for (const models::CalibrationFile& file : c.files) {
    const bool there = std::any_of(inputs.files.begin(), inputs.files.end(),
                                   [&](const auto& given) { return given.sha256 == file.sha256; });
    if (there || file.name == published.runs_file.name || file.name == published.points_file.name) continue;
    remarks.add(fmt::format(
        "{}, to which {} was fitted, is not among the files: what was learnt from it is lost; give it again",
        printable(file.name, 200), profile.name));
  }
}

}  // namespace

void round_values(models::Profile& profile, const std::vector<models::Parameter>& parameters) {
  for (const models::Parameter p : parameters) {
    models::Value& v = profile.value(p);
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

void refuse_learnt(const std::vector<models::CalibrationFile>& given,
                   const std::vector<models::CalibrationFile>& starts, const models::Profile& profile) {
  if (profile.calibration == nullptr) return;
  std::vector<Diagnostic> faults;
  const auto refuse = [&](const models::CalibrationFile& file, std::string problem, const char* fix) {
    const auto& learnt = profile.calibration->files;
    if (std::any_of(learnt.begin(), learnt.end(), [&](const auto& l) { return l.sha256 == file.sha256; }))
      faults.push_back({{"command line", 0, 0}, printable(file.name, 200), std::move(problem), fix});
  };
  for (const models::CalibrationFile& file : given)
    refuse(file, profile.name + " has already learnt this file",
           "leave it out, or start from the profile before it with --profile");
  for (const models::CalibrationFile& start : starts)
    refuse(start,
           fmt::format("has grown since {} learnt its first {} bytes, whose steps would count twice",
                       profile.name, start.bytes),
           "start from the profile before it with --profile");
  if (!faults.empty()) throw InputError(std::move(faults));
}

void add_files(models::Calibration& c, const std::vector<models::CalibrationFile>& files) {
  c.files.insert(c.files.end(), files.begin(), files.end());
  std::sort(c.files.begin(), c.files.end(), [](const auto& a, const auto& b) {
    return std::tie(a.name, a.sha256) < std::tie(b.name, b.sha256);
  });
  const auto same = [](const auto& a, const auto& b) { return a.name == b.name && a.sha256 == b.sha256; };
  c.files.erase(std::unique(c.files.begin(), c.files.end(), same), c.files.end());
}

bool has_own_steps(const StepInputs& inputs) {
  return std::any_of(inputs.logs.begin(), inputs.logs.end(), [](const RanSamples& log) {
    return !log.samples.empty() && log.ran && log.ran->strategy;
  });
}

bool has_steps(const StepInputs& inputs) {
  return !inputs.runs.empty() || inputs.with_catalogue || has_own_steps(inputs);
}

StepCalibration calibrate_steps(StepInputs inputs, const models::Profile& profile, const Published& published,
                                const std::string& name, Remarks& remarks) {
  StepCalibration out;
  // Tables, points and kernels tell about the machine, the user's runs about one cluster of it.
  out.refitted =
      !inputs.runs.empty() || inputs.with_catalogue || !inputs.points.empty() || !inputs.kernels.empty();
  if (!out.refitted) {
    refuse_learnt(inputs.files, inputs.starts, profile);
  } else {
    if (fitted_to(published, profile) || inputs.with_catalogue) add_published(inputs, published);
    if (profile.calibration != nullptr) remark_refit(inputs, profile, published, remarks);
  }
  const models::Profile prior = out.refitted ? prior_of(published, profile) : profile;
  out.data = step_data(published, inputs.runs, inputs.points, prior, remarks, [&](MappedRuns& runs) {
    for (const RanSamples& log : inputs.logs) add_samples(log, profile, runs);
  });
  name_kernels(inputs.runs, out.data->runs.excluded);
  if (out.data->runs.steps.empty() && inputs.kernels.empty()) {
    const auto& excluded = out.data->runs.excluded;
    throw InputError({{"command line", 0, 0},
                      "files",
                      "no step in them can be used",
                      excluded.empty() ? "give training rows or logs with --job and --strategy"
                                       : excluded.front().id + ": " + excluded.front().reason});
  }
  out.site_runs = site_runs(*out.data, profile[models::common::repeat_spread]);
  if (!out.refitted && out.site_runs.empty()) {
    throw InputError({{"command line", 0, 0},
                      "files",
                      "no log says which training loop ran its steps",
                      "state software.framework in the job"});
  }
  out.doubts = doubts_of(*out.data, profile);
  const std::vector<Diagnostic> uneven = uneven_runs(*out.data);
  out.doubts.insert(out.doubts.end(), uneven.begin(), uneven.end());
  remark_paces(*out.data, remarks);
  tell_kernels(inputs, profile, out, remarks);
  const KernelBench kernels(inputs.kernels, inputs.core);
  if (out.refitted) {
    StepFitOptions of_tables;
    of_tables.use = [&](const StepObservation& o) { return !out.data->runs.steps[o.rows.front()].own; };
    out.fit = fit_steps(*out.data->bench, out.data->collectives.get(), prior, of_tables, &kernels);
  }
  if (!out.site_runs.empty()) learn_site(out, out.refitted ? out.fit.profile : prior);
  if (!out.fit.converged) remarks.add("the fit did not converge; its parameters are not an optimum");
  models::Profile& fitted = out.fit.profile;
  fitted.name = name;
  fitted.base = prior.base;
  fitted.instance = prior.instance;
  fitted.of_collectives = false;
  std::vector<models::Parameter> fit_to;
  for (const StepFit::Estimate& e : out.fit.estimates) fit_to.push_back(e.parameter);
  round_values(fitted, fit_to);
  add_sources(out.fit, out.refitted);
  auto c = std::make_shared<models::Calibration>(*fitted.calibration);
  c->ranges = ranges_of(out.data->bench->steps(), std::move(c->ranges));
  c->tool = inputs.tool;
  add_files(*c, inputs.files);
  fitted.calibration = std::move(c);
  out.kernels = compare_kernels(inputs.kernels, inputs.core, fitted);
  out.own = own_steps(*out.data, profile, fitted);
  out.before = profile.name;
  const bool knows_sites = profile.calibration != nullptr &&
                           std::any_of(profile.calibration->stacks.begin(), profile.calibration->stacks.end(),
                                       [](const models::StackFactor& f) { return f.is_site(); });
  out.parameters_of = (out.refitted || knows_sites) && !prior.base.empty() ? prior.base : profile.name;
  tell_misses(out.site_runs, out.site_rows, out.fit.profile, remarks);
  return out;
}

}  // namespace trnplan::calibrate
