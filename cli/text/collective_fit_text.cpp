#include "cli/text/collective_fit_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace trnplan::cli {

using calibrate::CollectiveFit;

namespace {

std::string value_text(models::Parameter p, const models::Value& v) {
  const bool seconds = models::unit_of(p) == "s";
  return fmt::format("{:.4g}{} x/: {:.2f}", seconds ? v.median * 1e6 : v.median, seconds ? " us" : "",
                     std::exp(v.log_sd));
}

std::string estimates_text(const CollectiveFit& fit) {
  std::string text = fmt::format("\n{:<14} {:>20} {:>20}  {}\n", "parameter", "prior", "fitted",
                                 "spread left of the prior's");
  for (const CollectiveFit::Estimate& e : fit.estimates) {
    text += fmt::format("{:<14} {:>20} {:>20}  {:.2f} {}\n", models::to_string(e.parameter),
                        value_text(e.parameter, e.prior), value_text(e.parameter, e.posterior), e.prior_share,
                        e.verdict);
  }
  text +=
      "x/: one standard deviation, a factor up or down; at prior: the points do not move it; moved: "
      "elsewhere, but no surer\n";
  if (fit.noise_scale > 1) {
    text += fmt::format(
        "the rows lie farther off than the noise of 10 % (reduced chi-square {:.1f}); the spreads grew for "
        "it\n",
        fit.noise_scale);
  }
  return text;
}

std::string bytes_text(double bytes) {
  return fmt::format("{:.0f} byte{}", bytes, bytes == 1 ? "" : "s");
}

}  // namespace

std::string collective_fit_text(const CollectiveFit& fit) {
  std::string text = fit.estimates.empty() ? "" : estimates_text(fit);
  text += fmt::format("\n{:<14} {:>5} {:>11} {:>12} {:>12} {:>7}  {}\n", "operation", "ranks", "bytes",
                      "measured us", "predicted us", "error", "algorithm");
  for (const CollectiveFit::Row& row : fit.rows) {
    text += fmt::format("{:<14} {:>5} {:>11.0f} {:>12.1f} {:>12.1f} {:>+6.1f}%  {}\n", row.point->op,
                        row.point->ranks, row.point->bytes, row.point->seconds * 1e6, row.predicted * 1e6,
                        row.error * 100, row.algorithm);
  }
  text += fmt::format("{} point{}: median error {:.1f} %, worst {:+.1f} % ({} of {}, {} rank{})\n",
                      fit.rows.size(), fit.rows.size() == 1 ? "" : "s", fit.median_error * 100,
                      fit.worst->error * 100, fit.worst->point->op, bytes_text(fit.worst->point->bytes),
                      fit.worst->point->ranks, fit.worst->point->ranks == 1 ? "" : "s");
  if (!fit.estimates.empty() && !fit.explains()) {
    text +=
        fmt::format("the fit does not explain these rows (median error {:.1f} %)\n", fit.median_error * 100);
  }
  return text;
}

}  // namespace trnplan::cli
