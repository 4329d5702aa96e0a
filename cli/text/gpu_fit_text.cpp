#include "cli/text/gpu_fit_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/text/table.h"
#include "text/diagnostic.h"

namespace trnplan::cli {

namespace {

std::string in_percent(const calibrate::GpuFitErrors::Errors& e) {
  return fmt::format("{:.1f} / {:.1f}", 100 * e.median, 100 * e.mean);
}

std::string parameters(const calibrate::GpuFit& fit, int width) {
  Table table({{"parameter", true}, {"prior"}, {"fitted"}, {"log-sd"}, {"shipped"}, {"moved, sd"}});
  for (const calibrate::FittedGpuParameter& p : fit.parameters) {
    table.row({p.name + (p.scope.empty() ? "" : "@" + printable(p.scope, 40)),
               fmt::format("{:.3g}", p.prior.median), fmt::format("{:.3g}", p.value.median),
               fmt::format("{:.3f}", p.value.log_sd), fmt::format("{:.3g}", p.shipped),
               fmt::format("{:+.2f}", p.moved)});
  }
  return table.text(width);
}

std::string errors(const calibrate::GpuFit& fit, int width) {
  Table table({{"source", true}, {"rows"}, {"errors %"}, {"no source"}, {"no network"}});
  for (const calibrate::GpuFitErrors& e : fit.errors) {
    if (e.rows == 0)
      table.row({printable(e.source, 40), "0", "-", "-", "-"});
    else
      table.row({printable(e.source, 40), fmt::to_string(e.rows), in_percent(e.fitted),
                 in_percent(e.without_source), in_percent(e.without_network)});
  }
  return table.text(width);
}

}  // namespace

std::string gpu_fit_text(const calibrate::GpuFit& fit, bool from_shipped, int width) {
  double most = 0;
  for (const calibrate::FittedGpuParameter& p : fit.parameters) most = std::max(most, std::abs(p.moved));
  const std::string how =
      from_shipped ? fmt::format(
                         "one iteration from its values moves no parameter by more than {:.2f} of its "
                         "standard\ndeviations",
                         most)
                   : fmt::format("fitted from {} in {} iterations", printable(fit.prior, 40), fit.iterations);
  return fmt::format("{}, {} rows: {}.\n\n", printable(fit.profile, 40), fit.rows, how) +
         parameters(fit, width) + "\n" + errors(fit, width) +
         "errors: median / mean; no source: by a fit to the other sources; no network: by a\n"
         "  fit to no row of the same layers and hidden size\n";
}

}  // namespace trnplan::cli
