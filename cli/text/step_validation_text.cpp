#include "cli/text/step_validation_text.h"

#include <map>

#include <fmt/format.h>

#include "text/diagnostic.h"

namespace trnplan::cli {

namespace {

using calibrate::StepValidation;
using Rows = std::vector<const StepValidation::Row*>;

constexpr const char* kHead = "{:<34} {:>4} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}\n";
constexpr const char* kLine =
    "{:>4} {:>6.1f} {:>6.1f} {:>6.1f} {:>+6.1f} {:>6.1f} {:>6.1f} {:>6.1f} {:>6.1f}";

std::string cells(const Rows& rows) {
  const calibrate::StepSummary s = calibrate::summary_of(rows);
  return fmt::format(kLine, s.rows, 100 * s.median_ape, 100 * s.mape, 100 * s.p90_ape, 100 * s.bias,
                     100 * s.coverage_90, 100 * s.median_half_width, 100 * s.mape_mfu, 100 * s.mape_oracle);
}

std::string line(const std::string& name, const Rows& rows) {
  return rows.empty() ? "" : fmt::format("{:<34} {}\n", printable(name, 200), cells(rows));
}

template <class Select>
Rows select(const StepValidation& v, const Select& wanted) {
  Rows rows;
  for (const auto& row : v.rows) {
    if (wanted(row)) rows.push_back(&row);
  }
  return rows;
}

template <class Key>
std::map<std::string, Rows> grouped(const StepValidation& v, const Key& key) {
  std::map<std::string, Rows> groups;
  for (const auto& row : v.rows) groups[key(row)].push_back(&row);
  return groups;
}

std::string summaries(const StepValidation& v) {
  std::string text;
  const auto of = [](const char* kind, bool outliers) {
    return [kind = std::string(kind), outliers](const StepValidation::Row& row) {
      return row.step->kind == kind && (outliers || !row.step->outlier);
    };
  };
  text += line("decoders", select(v, of("decoder", false)));
  text += line("decoders, outliers too", select(v, of("decoder", true)));
  text += line("BERT", select(v, of("bert", true)));
  text += line("all", select(v, [](const auto&) { return true; }));
  for (const auto& [name, rows] : grouped(v, [](const auto& r) { return r.step->job.architecture.name; })) {
    text += line(name, rows);
  }
  for (const auto& [name, rows] : grouped(v, [](const auto& r) { return r.step->job.software.framework; })) {
    text += line("stack " + name, rows);
  }
  return text;
}

std::string configurations(const StepValidation& v) {
  std::string text = fmt::format("\n{:>4} {:>6} {:>6} {:>6} {:>6}  {}\n", "rows", "error", "MAPE", "sd",
                                 "oracle", "configuration (stack)");
  const auto key = [](const auto& row) {
    return row.step->configuration + " (" + row.step->job.software.framework + ")";
  };
  for (const auto& [name, rows] : grouped(v, key)) {
    const calibrate::StepSummary s = calibrate::summary_of(rows);
    text += fmt::format("{:>4} {:>+6.1f} {:>6.1f} {:>6.1f} {:>6.1f}  {}\n", s.rows, 100 * s.bias,
                        100 * s.mape, 100 * rows.front()->spread, 100 * s.mape_oracle, printable(name, 200));
  }
  return text;
}

std::string ratios_text(const StepValidation& v) {
  const auto r = calibrate::ratio_errors(
      select(v, [](const auto& row) { return row.step->kind == "decoder" && !row.step->outlier; }));
  return fmt::format(
      "\nratio of two configurations of one stack (decoders): {} pairs, median error {:.1f} %, MAPE {:.1f} "
      "%\n",
      r.pairs, 100 * r.median_ape, 100 * r.mape);
}

std::string regrets_text(const StepValidation& v) {
  const auto regrets = calibrate::regrets_of(v.rows);
  std::string text = fmt::format("jobs measured with several strategies: {}\n", regrets.size());
  for (const auto& r : regrets) {
    text += fmt::format(
        "  {}: of {}, picked {}{}\n", printable(r.job, 200), r.choices, r.picked,
        r.regret <= 0 ? ", the best" : fmt::format(", {:.1f} % slower than {}", 100 * r.regret, r.best));
  }
  return text;
}

std::string rows_text(const StepValidation& v) {
  std::string text = fmt::format("\n{:<6} {:>10} {:>10} {:>21} {:>7}  {}\n", "id", "measured s", "predicted",
                                 "90 % interval", "error", "stack");
  for (const auto& row : v.rows) {
    text += fmt::format("{:<6} {:>10.4g} {:>10.4g} {:>10.4g} {:>10.4g} {:>+6.1f}%  {} {}\n",
                        printable(row.step->id, 20), row.step->seconds, row.predicted, row.low, row.high,
                        100 * row.error, row.step->job.software.framework,
                        printable(row.step->job.software.release, 20));
  }
  return text;
}

std::string excluded_text(const std::vector<calibrate::ExcludedRun>& excluded) {
  std::string text = excluded.empty() ? "" : "\nexcluded:\n";
  for (const auto& e : excluded)
    text += fmt::format("  {:<6} {}\n", printable(e.id, 20), printable(e.reason, 200));
  return text;
}

}  // namespace

std::string step_validation_text(const StepValidation& v, const std::vector<calibrate::ExcludedRun>& excluded,
                                 bool rows) {
  std::string text = fmt::format(kHead, "errors in %", "rows", "median", "MAPE", "p90", "bias", "cover",
                                 "half", "MFU", "oracle");
  text += summaries(v) + configurations(v) + ratios_text(v) + regrets_text(v) + excluded_text(excluded);
  return rows ? text + rows_text(v) : text;
}

}  // namespace trnplan::cli
