#include "cli/text/step_fit_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/text/table.h"
#include "text/diagnostic.h"
#include "text/figures.h"
#include "units/normal.h"

namespace trnplan::cli {

using calibrate::OwnStep;
using calibrate::StepCalibration;
using calibrate::StepFit;

namespace {

std::string parameters_text(const StepFit& fit, int width) {
  Table table(
      {{"parameter", true}, {"prior"}, {"factor"}, {"fitted"}, {"factor"}, {"spread left"}, {"", true}}, "",
      2);
  for (const StepFit::Estimate& e : fit.estimates) {
    const auto factor = [](const models::Value& v) { return fmt::format("{:.2f}", std::exp(v.log_sd)); };
    table.row({std::string(models::to_string(e.parameter)), fmt::format("{:.4g}", e.prior.median),
               factor(e.prior), fmt::format("{:.4g}", e.posterior.median), factor(e.posterior),
               fmt::format("{:.2f}", e.prior_share), std::string(e.verdict)});
  }
  return "\n" + table.text(width) +
         "factor: one standard deviation, up or down; spread left: share of the prior's; at prior: the data "
         "do not move it; moved: the value changed, but its spread did not shrink\n";
}

/// The factors of the user's clusters, with 90 %.
std::string sites_text(const StepCalibration& c) {
  std::string text;
  for (const models::StackFactor& f : c.fit.profile.calibration->stacks) {
    const bool ran = std::any_of(c.site_runs.begin(), c.site_runs.end(),
                                 [&](const auto& run) { return f.is_site() && applies(f, run.job); });
    if (!ran) continue;
    text += fmt::format(
        "your cluster: {} on {} takes {:.3g} times as long as {} says (90 %: {:.3g} to {:.3g}); "
        "other layouts there move with it\n",
        printable(models::stack_name(f.framework, f.release), 50), f.instance, f.median, c.parameters_of,
        f.median * std::exp(-kNinetyPercent * f.log_sd), f.median * std::exp(kNinetyPercent * f.log_sd));
  }
  return text;
}

std::string effects_text(const StepCalibration& c) {
  std::string text;
  const auto& stacks = c.fit.profile.calibration->stacks;
  if (!stacks.empty())
    text += "\nsoftware stack: the factor on every time, and one standard deviation of this factor\n";
  for (const models::StackFactor& s : stacks) {
    if (!s.instance.empty()) continue;
    text += fmt::format("  {:<16} {:<8} {:.3f}  {:.2f}\n", printable(s.framework, 30),
                        printable(s.release, 20), s.median, std::exp(s.log_sd));
  }
  if (!c.fit.configuration_effects.empty())
    text += "\nwhat the model misses in each configuration, in % of the step:\n";
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
        "your run {}: {:.4g} s{}, predicted {:.4g} ({:.4g} to {:.4g}{}) by {}; after the fit {:.4g} ({:.4g} "
        "to "
        "{:.4g})\n",
        printable(s.id, 200), s.seconds, calibrate::measured_as(s.by_rate, s.printed), s.before, s.before_low,
        s.before_high,
        s.seconds < s.before_low || s.seconds > s.before_high ? ": outside; is this the job of the log?" : "",
        c.before, s.after, s.after_low, s.after_high);
  }
  return text + sites_text(c);
}

std::string step_fit_text(const StepCalibration& c, bool published, int width) {
  std::string text = fmt::format(
      "\nfitted to {} of {} and {}{}; {} iterations\n", counted(c.fit.observations, "step"),
      counted(c.data->bench->programs(), "program"), counted(c.fit.collectives, "nccom-test point"),
      c.fit.kernels > 0 ? ", " + counted(c.fit.kernels, "kernel") : "", c.fit.iterations);
  if (published) text += parameters_text(c.fit, width);
  text += kernels_text(c.kernels, width);
  for (const auto& [op, effect] : c.fit.kernel_effects) {
    text += fmt::format("{} alone takes {:.2f} times as long as in a graph (not stored in the profile)\n",
                        to_string(op), std::exp(effect));
  }
  return published ? text + effects_text(c)
                   : text + "parameters, software stacks and published configurations: --details\n";
}

std::string kernels_text(const std::vector<calibrate::KernelRow>& rows, int width) {
  if (rows.empty()) return "";
  std::vector<double> errors;
  Table table({{"measured us"}, {"predicted us"}, {"error"}, {"of", true}}, "kernel");
  for (const calibrate::KernelRow& row : rows) {
    errors.push_back(std::abs(row.error));
    table.row({fmt::format("{:.1f}", row.point.seconds * 1e6), fmt::format("{:.1f}", row.predicted * 1e6),
               fmt::format("{:+.1f}%", row.error * 100), printable(row.point.id, 60)},
              to_string(row.point.kernel));
  }
  const std::string text = "\n" + table.text(width);
  std::sort(errors.begin(), errors.end());
  const std::size_t half = errors.size() / 2;
  const double median = errors.size() % 2 == 1 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
  return text + fmt::format("{} kernel{}: median error {:.1f} %\n", rows.size(), rows.size() == 1 ? "" : "s",
                            median * 100);
}

}  // namespace trnplan::cli
