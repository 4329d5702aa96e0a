#include "cli/text/step_validation_text.h"

#include <map>

#include <fmt/format.h>

#include "calibrate/validate/pair_validation.h"
#include "cli/text/table.h"
#include "text/diagnostic.h"

namespace trnplan::cli {

namespace {

using calibrate::StepValidation;
using Rows = std::vector<const StepValidation::Row*>;

/// Least number of pairs for a statement on them.
constexpr std::size_t kFewPairs = 10;

/// Per cent with one digit.
std::string one_digit(double share) {
  return fmt::format("{:.1f}", 100 * share);
}

std::string with_sign(double share) {
  return fmt::format("{:+.1f}", 100 * share);
}

Table summary_table() {
  Table table({{"errors in %", true, 0, 34},
               {"rows"},
               {"median"},
               {"MAPE", false, 0, 6},
               {"p90", false, 0, 6},
               {"bias", false, 0, 6},
               {"cover", false, 0, 6},
               {"half", false, 0, 6},
               {"MFU", false, 0, 6},
               {"oracle"}},
              "", 0, 1);
  return table;
}

void add_row(Table& table, const std::string& name, const Rows& rows) {
  if (rows.empty()) return;
  const calibrate::StepSummary s = calibrate::summary_of(rows);
  table.row({printable(name, 200), fmt::to_string(s.rows), one_digit(s.median_ape), one_digit(s.mape),
             one_digit(s.p90_ape), with_sign(s.bias), one_digit(s.coverage_90),
             one_digit(s.median_half_width), one_digit(s.mape_mfu), one_digit(s.mape_oracle)});
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
std::map<std::string, Rows> rows_by(const StepValidation& v, const Key& key) {
  std::map<std::string, Rows> groups;
  for (const auto& row : v.rows) {
    if (!row.step->at_most) groups[key(row)].push_back(&row);
  }
  return groups;
}

/// Measured rows of a kind, without outliers.
auto measured(const char* kind) {
  return [kind = std::string(kind)](const StepValidation::Row& row) {
    return row.step->kind == kind && !row.step->outlier && !row.step->at_most;
  };
}

calibrate::BoundsKept bounds_of(const StepValidation& v) {
  return calibrate::bounds_kept(select(v, [](const auto&) { return true; }));
}

std::string bounds_text(const StepValidation& v) {
  const calibrate::BoundsKept b = bounds_of(v);
  if (b.rows == 0) return "";
  return fmt::format(
      "bounds: {} rows state how long a step took at most; {} are predicted within that, {} by their "
      "interval\n",
      b.rows, b.kept, b.covered);
}

std::string summaries(const StepValidation& v, const StepValidation& without_stacks) {
  Table table = summary_table();
  add_row(table, "decoders", select(v, measured("decoder")));
  add_row(table, "decoders, without stacks", select(without_stacks, measured("decoder")));
  add_row(table, "decoders, outliers too",
          select(v, [](const auto& r) { return r.step->kind == "decoder" && !r.step->at_most; }));
  if (bounds_of(v).rows > 0) {
    add_row(table, "decoders, bounds as measured",
            select(v, [](const auto& r) { return r.step->kind == "decoder" && !r.step->outlier; }));
  }
  add_row(table, "BERT", select(v, measured("bert")));
  add_row(table, "BERT, without stacks", select(without_stacks, measured("bert")));
  add_row(table, "all", select(v, [](const auto& r) { return !r.step->at_most; }));
  for (const auto& [name, rows] : rows_by(v, [](const auto& r) { return r.step->job.architecture.name; })) {
    add_row(table, name, rows);
  }
  for (const auto& [name, rows] : rows_by(v, [](const auto& r) { return r.step->job.software.framework; })) {
    add_row(table, "stack " + name, rows);
  }
  return table.text();
}

std::string configurations(const StepValidation& v) {
  Table table({{"rows"}, {"error", false, 0, 6}, {"MAPE", false, 0, 6}, {"sd", false, 0, 6}, {"oracle"}},
              "configuration (stack)", 0, 1);
  const auto key = [](const auto& row) {
    return row.step->configuration + " (" + row.step->job.software.framework + ")";
  };
  for (const auto& [name, rows] : rows_by(v, key)) {
    const calibrate::StepSummary s = calibrate::summary_of(rows);
    table.row({fmt::to_string(s.rows), with_sign(s.bias), one_digit(s.mape), one_digit(rows.front()->spread),
               one_digit(s.mape_oracle)},
              printable(name, 200));
  }
  std::map<std::string, Rows> bounds;
  for (const auto& row : v.rows) {
    if (row.step->at_most) bounds[key(row)].push_back(&row);
  }
  for (const auto& [name, rows] : bounds) {
    const calibrate::StepSummary s = calibrate::summary_of(rows);
    table.row({fmt::to_string(s.rows), with_sign(s.bias), "-", one_digit(rows.front()->spread), "-"},
              printable(name, 200) + ", a bound");
  }
  return "\n" + table.text();
}

std::string bins_text(const std::vector<calibrate::PairValidation::Bin>& bins) {
  std::string text = "  stated  ";
  for (const auto& b : bins) text += fmt::format(" {:>5.0f}", 100 * b.stated);
  text += "\n  observed";
  for (const auto& b : bins) text += fmt::format(" {:>5.0f}", 100 * b.observed);
  return text + "\n";
}

std::string part_text(const std::string& name, const calibrate::PairValidation::Part& p) {
  return fmt::format("  {:<24} {:>3} pairs: error {:.3f}, stated {:.3f}, error over stated {:.2f}\n", name,
                     p.pairs, p.error, p.stated, p.z);
}

/// Pairs of decoders: the error of predicted ratios, and how often their intervals hold. Bounds count as
/// measured if there are any.
std::string ratios_text(const StepValidation& v) {
  const auto measured_pairs = calibrate::validate_pairs(select(v, measured("decoder")));
  const auto pairs = calibrate::validate_pairs(
      select(v, [](const auto& row) { return row.step->kind == "decoder" && !row.step->outlier; }));
  const bool bounds = pairs.pairs.size() > measured_pairs.pairs.size();
  std::string text = fmt::format(
      "\nratio of two configurations of one stack (decoders): {} pairs, median error {:.1f} %, MAPE {:.1f} "
      "%\n",
      measured_pairs.pairs.size(), 100 * measured_pairs.median_ape, 100 * measured_pairs.mape);
  if (pairs.pairs.size() < kFewPairs) return text;
  text += fmt::format("by the distance of their cost breakdowns{}; root mean squares of logarithms\n",
                      bounds ? ", bounds as measured" : "");
  for (const auto& part : pairs.parts(3)) text += part_text(fmt::format("up to {:.3f}", part.farthest), part);
  text += part_text("all", pairs.all());
  if (bounds) text += part_text("without the bounds", measured_pairs.all());
  text +=
      "how often the measured ratio is in the stated central interval, %\n" + bins_text(pairs.intervals());
  text += "how often the one predicted to use its cores better did so, %, by stated probability\n" +
          bins_text(pairs.choices()) + "  pairs   ";
  for (const auto& b : pairs.choices()) text += fmt::format(" {:>5}", b.pairs);
  return text + "\n";
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
  Table table({{"id", true, 0, 6},
               {"measured s", false, 0, 10},
               {"predicted", false, 0, 10},
               {"90 % interval", false, 0, 21},
               {"error", false, 0, 7}},
              "stack", 0, 1);
  for (const auto& row : v.rows) {
    const models::Software& stack = row.step->job.software;
    table.row({printable(row.step->id, 20), fmt::format("{:.4g}", row.step->seconds),
               fmt::format("{:.4g}", row.predicted), fmt::format("{:>10.4g} {:>10.4g}", row.low, row.high),
               with_sign(row.error) + "%"},
              stack.framework + " " + printable(stack.release, 20));
  }
  return "\n" + table.text();
}

std::string excluded_text(const std::vector<calibrate::ExcludedRun>& excluded) {
  std::string text = excluded.empty() ? "" : "\nexcluded:\n";
  for (const auto& e : excluded)
    text += fmt::format("  {:<6} {}\n", printable(e.id, 20), printable(e.reason, 200));
  return text;
}

}  // namespace

std::string step_validation_text(const calibrate::RunValidation& run, bool rows) {
  const StepValidation& v = run.validation;
  const std::string text = summaries(v, run.without_stacks) + bounds_text(v) + configurations(v) +
                           ratios_text(v) + regrets_text(v) + excluded_text(run.excluded);
  return rows ? text + rows_text(v) : text;
}

}  // namespace trnplan::cli
