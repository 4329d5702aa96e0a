#include "cli/collective_fit_text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/output/profile_json.h"

namespace trnplan::cli {

using calibrate::CollectiveFit;
using logs::MeasuredCollective;

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

std::string collective_profile_json(const CollectiveFit& fit, const io::Catalog& catalog,
                                    const std::vector<CollectiveReading>& readings, const std::string& name,
                                    const std::string& instance) {
  models::Profile profile = fit.profile;
  profile.name = name;
  profile.instance = instance;
  std::set<std::string> builds;
  std::vector<std::string> files;
  for (const CollectiveReading& r : readings) {
    const bool gave = std::any_of(fit.rows.begin(), fit.rows.end(), [&](const CollectiveFit::Row& row) {
      return std::find_if(r.points.begin(), r.points.end(), [&](const MeasuredCollective& p) {
               return p.id == row.point->id && p.at.file == row.point->at.file;
             }) != r.points.end();
    });
    if (gave) files.push_back(r.name);
  }
  for (const CollectiveFit::Row& row : fit.rows) {
    if (!row.point->build.empty()) builds.insert(row.point->build);
  }
  const std::string build = builds.empty() ? "" : fmt::format(", build {}", fmt::join(builds, " and "));
  std::vector<models::Parameter> stated;
  for (const CollectiveFit::Estimate& e : fit.estimates) {
    stated.push_back(e.parameter);
    const std::string points = fmt::format("{} nccom-test point{} of {}{}", fit.rows.size(),
                                           fit.rows.size() == 1 ? "" : "s", fmt::join(files, ", "), build);
    profile.value(e.parameter).source =
        e.verdict == "at prior" ? fmt::format("at prior: not moved by {}; prior {:.4g}, log-sd {:.2f}",
                                              points, e.prior.median, e.prior.log_sd)
                                : fmt::format("{}: fitted to {}; prior {:.4g}, log-sd {:.2f}", e.verdict,
                                              points, e.prior.median, e.prior.log_sd);
  }
  std::optional<models::Profile> base;
  if (!profile.base.empty()) base = catalog.profile(profile.base);
  return io::profile_json(
      profile, base, stated,
      fmt::format("Collectives of {}, fitted to nccom-test: median error {:.1f} %, worst {:.0f} %.", instance,
                  fit.median_error * 100, fit.worst_error * 100),
      fmt::format("Fitted to nccom-test of {}: for collectives, not for planning.",
                  builds.empty() ? "a build that is not stated"
                                 : fmt::format("build {}", fmt::join(builds, " and "))));
}

}  // namespace trnplan::cli
