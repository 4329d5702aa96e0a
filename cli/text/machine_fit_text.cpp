#include "cli/text/machine_fit_text.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/text/table.h"
#include "text/diagnostic.h"
#include "text/figures.h"

namespace trnplan::cli {

using calibrate::MachineCalibration;
using calibrate::MachineEstimate;
using calibrate::MachineRow;

namespace {

std::string place(const MachineRow& row) {
  return printable(fmt::format("{}:{}", std::filesystem::path(row.at.file).filename().string(), row.at.line),
                   60);
}

std::string value_text(const models::Value& v) {
  return fmt::format("{:.3g} x/: {:.2f}", v.median, std::exp(v.log_sd));
}

std::string parameters_text(const MachineCalibration& c, int width) {
  Table table({{"parameter", true}, {"before"}, {"now"}, {"left"}, {"shapes"}, {"most by", true}}, "");
  for (const MachineEstimate& e : c.fit.estimates) {
    const std::string of = e.library.empty() ? "" : ", " + printable(e.library, 40);
    table.row({std::string(models::to_string(e.parameter)) + of, value_text(e.prior), value_text(e.posterior),
               fmt::format("{:.2f}", e.prior_share), fmt::format("{}", e.rows),
               place(c.fit.rows[e.teacher])});
  }
  return "\n" + table.text(width) +
         "  x/: one standard deviation, a factor up or down, before with the difference between machines;\n"
         "  left: share of that spread; shapes: distinct ones that the parameter sets a tenth of or more\n";
}

std::string rows_text(const MachineCalibration& c, bool contradictions, int width) {
  Table table({{"measured us"}, {"before"}, {"now"}, {"sd off"}, {"row", true}}, "shape");
  for (const MachineRow& row : c.fit.rows) {
    if (contradictions && !row.contradicts()) continue;
    table.row({fmt::format("{:.1f}", row.measured * 1e6), fmt::format("{:.1f}", row.before * 1e6),
               fmt::format("{:.1f}", row.after * 1e6), fmt::format("{:+.1f}", row.misses),
               place(row) + (row.count > 1 ? fmt::format(" and {} more", row.count - 1) : "")},
              row.kernel);
  }
  return table.text(width);
}

std::string change_text(const api::MachineChange& change) {
  const auto side = [](const std::optional<api::MachineChange::Side>& s) {
    if (!s) return std::string("no plan");
    return fmt::format("{:.4g} s/step (90 %: {:.4g} to {:.4g})", s->step.value, s->low.value, s->high.value);
  };
  std::string text = fmt::format("{}: {}", printable(change.job, 100), side(change.before));
  text += fmt::format("\n  by what was learnt {}", side(change.held));
  if (change.before && change.held && change.after) {
    text += fmt::format(", {:+.1f} %\n", 100 * (change.held->step / change.before->step - 1));
    const bool slower = change.after->step > change.held->step;
    text +=
        change.before->strategy == change.after->strategy
            ? fmt::format("  {}{}\n", change.searched ? "still recommended: " : "", change.after->strategy)
            : fmt::format("  of:              {}\n  recommended now: {}, {:.4g} s/step{}\n",
                          change.before->strategy, change.after->strategy, change.after->step.value,
                          slower ? ", likelier to work" : "");
    return text;
  }
  return text + "\n";
}

}  // namespace

std::string machine_fit_text(const api::CalibrateResult& result, bool details, int width) {
  const MachineCalibration& c = *result.machine;
  std::string text;
  for (const MachineEstimate& e : c.fit.estimates) {
    if (e.verdict == "at prior") continue;
    text += fmt::format("{}{} {:.3g} -> {:.3g}; ", models::to_string(e.parameter),
                        e.library.empty() ? "" : " (" + printable(e.library, 40) + ")", e.prior.median,
                        e.posterior.median);
  }
  const auto wrong = std::count_if(c.fit.rows.begin(), c.fit.rows.end(),
                                   [](const MachineRow& row) { return row.contradicts(); });
  text = fmt::format("{} by {}, on top of {}:\n{}\n", c.instance, fmt::join(c.kinds, ", "), c.before,
                     text.empty() ? "nothing moved" : text.substr(0, text.size() - 2));
  if (result.change) text += change_text(*result.change);
  text += parameters_text(c, width);
  if (details) return text + "\n" + rows_text(c, false, width);
  if (wrong == 0 && !c.fit.far_off().empty()) return text;  // a remark says what contradicts
  if (wrong == 0)
    return text +
           fmt::format(
               "No shape contradicts: all within {:.0f} standard deviations of their noise (--details)\n",
               calibrate::kContradicts);
  return text +
         fmt::format(
             "\n{} of {} contradict{}, by more than {:.0f} standard deviations of the noise, and count{} "
             "less:\n",
             wrong, counted(static_cast<std::int64_t>(c.fit.rows.size()), "shape"), wrong == 1 ? "s" : "",
             calibrate::kContradicts, wrong == 1 ? "s" : "") +
         rows_text(c, true, width);
}

}  // namespace trnplan::cli
