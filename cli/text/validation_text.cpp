#include "cli/text/validation_text.h"

#include <cmath>

#include <fmt/format.h>

#include "cli/text/table.h"
#include "cli/text/text.h"

namespace trnplan::cli {

namespace {

using calibrate::MemoryValidation;
using logs::MemoryCase;
using logs::MemoryFact;

/// The text omits the least useful columns; JSON contains them.
Table memory_table() {
  return Table({{"id", true},
                {"model", true},
                {"nodes and layout", true, 1},
                {"seq", false, 3},
                {"known", true},
                {"GiB"},
                {"of"},
                {"margin"},
                {"P fit", false, 2},
                {"verdict", true},
                {"recompute", true, 4}},
               "", 0);
}

std::string layout_text(const MemoryCase& c) {
  const models::Strategy& s = c.strategy;
  std::string text = fmt::format("{} x TP {} x PP {}", c.nodes, s.tensor_parallel, s.pipeline_parallel);
  if (s.context_parallel > 1) text += fmt::format(" x CP {}", s.context_parallel);
  return text + fmt::format(" x DP {}", s.data_parallel);
}

void add_row(Table& table, const MemoryValidation::Row& row) {
  const MemoryCase& c = row.published;
  const std::string model =
      c.model + (c.layers > 0 && c.layers < 12 ? fmt::format(", {} layers", c.layers) : "");
  const char* known = c.fact == MemoryFact::fits ? "fits" : c.fact == MemoryFact::at_most ? "limit" : "oom";
  table.row({c.id, model, layout_text(c), fmt::format("{}", c.sequence), known, gib(row.peak()),
             gib(row.limit), fmt::format("{:+.2f}", in_gibibytes(row.margin())),
             fmt::format("{:.1f}", 100 * row.fit_probability), row.right ? "right" : "WRONG",
             to_string(c.strategy.recompute)});
}

std::string left_out_text(const MemoryCase& c) {
  return fmt::format("{:<5} {:<26} {}\n", c.id, c.model, c.left_out);
}

std::string score_text(const calibrate::MemoryScore& s) {
  constexpr std::size_t kSourcesShown = 3;
  std::string text = fmt::format(
      "\n"
      "log score {:.4f} a layout; each source predicted from the others {:.4f} ({} sources)\n"
      "what ran is {:.1f} % likely to fit on average, {:.1f} % at least\n",
      s.mean, s.left_out, s.sources.size(), 100 * s.mean_fit, 100 * s.least_fit);
  for (std::size_t i = 0; i < s.sources.size() && i < kSourcesShown; ++i) {
    const auto& source = s.sources[i];
    text += fmt::format("  {:.3f} without it, {:.3f} with it, {} layout{}: {}\n", source.left_out,
                        source.mean, source.layouts, source.layouts == 1 ? "" : "s", source.name);
  }
  return text + fmt::format("from them fused_activations is {:.3f}, log-sd {:.3f}\n", s.learned.median,
                            s.learned.log_sd);
}

}  // namespace

std::string memory_validation_text(const MemoryValidation& v, const calibrate::MemoryScore& score,
                                   int width) {
  const auto is_training = [](const MemoryValidation::Row& row) { return row.published.kind == "train"; };
  Table table = memory_table();
  for (const auto& row : v.rows) {
    if (!is_training(row)) add_row(table, row);
  }
  std::string text = table.text(width);
  const auto training = v.count("train"), all = v.count("");
  text += fmt::format("\n{} training runs of {} layouts ran and so must fit: {} are predicted not to\n",
                      training.rows, training.layouts, training.wrong);
  const MemoryValidation::Row* closest = nullptr;
  Table wrong = memory_table();
  for (const auto& row : v.rows) {
    if (!is_training(row)) continue;
    if (!row.right) add_row(wrong, row);
    if (closest == nullptr || row.margin() < closest->margin()) closest = &row;
  }
  if (training.wrong > 0) text += wrong.text(width);
  if (closest != nullptr && closest->right) {
    Table near = memory_table();
    add_row(near, *closest);
    text += "closest:\n" + near.text(width);
  }
  text += "\nleft out:\n";
  for (const MemoryCase& c : v.left_out) text += left_out_text(c);
  return text +
         fmt::format("\n{} published rows, {} wrong, {} left out\n", all.rows, all.wrong, v.left_out.size()) +
         score_text(score);
}

std::string collective_validation_text(const std::vector<calibrate::LeftOutTable>& tables) {
  Table table({{"operation", true},
               {"ranks"},
               {"nodes"},
               {"build", true},
               {"points"},
               {"median"},
               {"bias"},
               {"covered"},
               {"90 %"},
               {"by", true}},
              "", 0);
  std::size_t points = 0, covered = 0;
  for (const calibrate::LeftOutTable& t : tables) {
    points += t.points;
    covered += t.covered;
    table.row({t.op, fmt::to_string(t.ranks), fmt::to_string(t.nodes), t.build, fmt::to_string(t.points),
               fmt::format("{:.1f} %", 100 * t.median_error),
               fmt::format("{:+.1f} %", 100 * std::expm1(t.bias)), fmt::to_string(t.covered),
               fmt::format("x/: {:.2f}", std::exp(t.half_width)),
               t.fitted > 0 ? fmt::format("{} others", t.fitted) : "the prior"});
  }
  return table.text() +
         fmt::format("{} of {} left-out points ({:.0f} %) are inside their 90 % interval\n", covered, points,
                     points > 0 ? 100.0 * static_cast<double>(covered) / static_cast<double>(points) : 0.0);
}

std::string uptime_text(const std::vector<planner::CheckedUptime>& rows, int width) {
  Table table({{"id", true},
               {"nodes"},
               {"recovery", true, 3},
               {"published"},
               {"predicted"},
               {"90 % interval"},
               {"MTBF h", false, 1},
               {"recov. h", false, 2},
               {"implied"}},
              "", 0);
  for (const auto& [p, check] : rows) {
    const planner::GoodputEstimate& e = check.estimate;
    table.row({p.id, fmt::format("{}", p.nodes), p.automatic ? "automatic" : "manual",
               fmt::format("{:.2f} %", 100 * p.uptime), fmt::format("{:.2f} %", 100 * e.uptime),
               fmt::format("{:.2f} - {:.2f}", 100 * e.uptime_90.low, 100 * e.uptime_90.high),
               fmt::format("{:.1f}", in_hours(e.model.mtbf)),
               fmt::format("{:.2f}", in_hours(e.model.mean_recovery())),
               fmt::format("{:.4f}", check.implied_rate)});
  }
  const std::string text = table.text(width);
  return text +
         "MTBF: mean hours between failures; recov.: mean hours of a recovery; implied: failures per node "
         "and day with which the medians would give the published uptime.\n";
}

}  // namespace trnplan::cli
