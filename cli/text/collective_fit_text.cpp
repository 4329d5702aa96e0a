#include "cli/text/collective_fit_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/text/table.h"

namespace trnplan::cli {

using calibrate::CollectiveFit;

namespace {

std::string value_text(models::Parameter p, const models::Value& v) {
  const bool seconds = models::unit_of(p) == "s";
  return fmt::format("{:.4g}{} x/: {:.2f}", seconds ? v.median * 1e6 : v.median, seconds ? " us" : "",
                     std::exp(v.log_sd));
}

std::string estimates_text(const CollectiveFit& fit) {
  Table table({{"parameter", true, 0, 14}, {"prior", false, 0, 20}, {"fitted", false, 0, 20}},
              "share of prior spread", 0, 1);
  for (const CollectiveFit::Estimate& e : fit.estimates) {
    table.row({std::string(models::to_string(e.parameter)), value_text(e.parameter, e.prior),
               value_text(e.parameter, e.posterior)},
              fmt::format("{:.2f} {}", e.prior_share, e.verdict));
  }
  std::string text = "\n" + table.text() +
                     "x/: one standard deviation, as a factor up or down; at prior: the points do not move "
                     "it; moved: the value changed, but its spread did not shrink\n";
  if (fit.noise_scale > 1) {
    text += fmt::format(
        "the rows deviate by more than the noise of 10 % (reduced chi-square {:.1f}), so the spreads were "
        "widened\n",
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
  Table table({{"operation", true, 0, 14},
               {"ranks"},
               {"bytes", false, 0, 11},
               {"measured us", false, 0, 12},
               {"predicted us"},
               {"error", false, 0, 7}},
              "algorithm", 0, 1);
  for (const CollectiveFit::Row& row : fit.rows) {
    const logs::MeasuredCollective& p = *row.point;
    table.row({p.op, fmt::to_string(p.ranks), fmt::format("{:.0f}", p.bytes),
               fmt::format("{:.1f}", p.seconds * 1e6), fmt::format("{:.1f}", row.predicted * 1e6),
               fmt::format("{:+.1f}%", row.error * 100)},
              row.algorithm);
  }
  text += "\n" + table.text();
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
