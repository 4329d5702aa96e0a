#include "calibrate/session/step_calibration.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "calibrate/session/kernel_inputs.h"
#include "calibrate/validate/step_validation.h"
#include "models/step/step.h"
#include "models/uncertainty/spread.h"
#include "text/diagnostic.h"

namespace trnplan::calibrate {

namespace {

double four_digits(double x) {
  return std::strtod(fmt::format("{:.3e}", x).c_str(), nullptr);
}

/// Rounds the values as in a file, so that the profile predicts the same before and after it was written.
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

/// "2 steps and 83 nccom-test points", with kernels if there are any.
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

/// Name of a user's configuration: that of a published step of the same program (tables write Llama3-70B,
/// jobs llama3-70b), else all that distinguishes it from another strategy of the same layout.
std::string known_as(const MeasuredStep& own, const std::vector<MeasuredStep>& steps) {
  const std::string configuration = configuration_of(own.job.architecture.name, own.job, own.strategy);
  const auto lower = [](std::string text) {
    for (char& c : text) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return text;
  };
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const MeasuredStep& s) {
    return !s.own && lower(s.configuration) == lower(configuration) && s.strategy == own.strategy &&
           s.job.training.global_batch == own.job.training.global_batch &&
           s.job.cluster.instance.name == own.job.cluster.instance.name;
  });
  if (found != steps.end()) return found->configuration;
  return fmt::format("{}, {} x {}, sequence {}, batch {}: {}", own.job.architecture.name,
                     own.job.cluster.nodes, own.job.cluster.instance.name, own.job.training.sequence,
                     own.job.training.global_batch, describe(own.strategy));
}

/// Adds steps of the user's own logs to the published ones.
void add_samples(const RanSamples& log, MappedRuns& runs) {
  if (!log.ran || !log.ran->strategy) return;
  for (const logs::StepSample& s : log.samples) {
    MeasuredStep step;
    const std::string name = std::filesystem::path(s.at.file).filename().string();
    const std::string file = log.folder.empty() ? name : log.folder + "/" + name;
    step.id = fmt::format("{}:{}", file, s.at.line);
    step.at = s.at;
    step.own = true;
    step.group = file;
    step.quality = "A";
    step.kind = log.ran->job.architecture.causal ? "decoder" : "bert";
    step.job = log.ran->job;
    if (!s.framework.empty()) step.job.software.framework = s.framework;
    step.job.software.release = s.release;
    step.strategy = *log.ran->strategy;
    step.configuration = known_as(step, runs.steps);
    step.seconds = s.wall_seconds.value_or(s.seconds);
    if (s.wall_seconds && s.seconds < *s.wall_seconds) step.printed = s.seconds;
    const std::string reason = models::StepModel::not_modelled(step.job, step.strategy);
    if (!reason.empty()) {
      runs.excluded.push_back({step.id, "not modelled: " + reason});
    } else if (step.seconds > 0) {
      runs.steps.push_back(std::move(step));
    }
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
    steps.push_back({row.step->id, row.step->seconds, row.step->printed, row.predicted, row.low, row.high,
                     same->predicted, same->low, same->high});
  }
  return steps;
}

/// Doubts about the user's own steps that are far from the prediction for the given job: most likely they are
/// of another job.
std::vector<Diagnostic> doubts_of(const StepData& data, const models::Profile& profile) {
  const auto v = own_rows(data, profile);
  std::vector<Diagnostic> doubts;
  for (const auto& row : v.rows) {
    const double ratio = row.step->seconds / row.predicted;
    if (std::abs(std::log(ratio)) <= kDoubtful * row.spread) continue;
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

/// Ranges that the fitted steps cover.
std::vector<models::FittedRange> ranges_of(const std::vector<MeasuredStep>& steps) {
  std::vector<models::FittedRange> ranges;
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
  if (fitted_to(published, profile) || inputs.with_catalogue) add_published(inputs, published);
  if (profile.calibration != nullptr) remark_refit(inputs, profile, published, remarks);
  const models::Profile prior = prior_of(published, profile);
  StepCalibration out;
  out.data = step_data(published, inputs.runs, inputs.points, prior, remarks, [&](MappedRuns& runs) {
    for (const RanSamples& log : inputs.logs) add_samples(log, runs);
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
  out.doubts = doubts_of(*out.data, profile);
  tell_kernels(inputs, profile, out, remarks);
  const KernelBench kernels(inputs.kernels, inputs.core);
  out.fit = fit_steps(*out.data->bench, out.data->collectives.get(), prior, {}, &kernels);
  if (!out.fit.converged) remarks.add("the fit did not converge; its parameters are not an optimum");
  models::Profile& fitted = out.fit.profile;
  fitted.name = name;
  fitted.base = prior.base;
  fitted.instance = prior.instance;
  round_values(fitted, out.fit.estimates);
  add_sources(out.fit);
  auto c = std::make_shared<models::Calibration>(*fitted.calibration);
  c->ranges = ranges_of(out.data->bench->steps());
  c->tool = inputs.tool;
  c->files = std::move(inputs.files);
  std::sort(c->files.begin(), c->files.end(), [](const auto& a, const auto& b) {
    return std::tie(a.name, a.sha256) < std::tie(b.name, b.sha256);
  });
  const auto same = [](const auto& a, const auto& b) { return a.name == b.name && a.sha256 == b.sha256; };
  c->files.erase(std::unique(c->files.begin(), c->files.end(), same), c->files.end());
  fitted.calibration = std::move(c);
  out.kernels = compare_kernels(inputs.kernels, inputs.core, fitted);
  out.own = own_steps(*out.data, profile, fitted);
  out.before = profile.name;
  return out;
}

}  // namespace trnplan::calibrate
