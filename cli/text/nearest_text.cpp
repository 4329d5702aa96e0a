#include "cli/text/nearest_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "cli/text/text.h"
#include "io/input/nxdt_edit.h"
#include "text/diagnostic.h"
#include "text/figures.h"

namespace trnplan::cli {

namespace {

/// Where the lines cannot be told.
std::string changes_text(const std::vector<targets::Change>& changes) {
  std::string text;
  for (const targets::Change& c : changes)
    text += fmt::format("  {}: {} -> {}\n", printable(c.key), printable(c.from), printable(c.to));
  return text;
}

std::string lines_text(const std::string& diff) {
  std::string text;
  for (std::size_t at = 0; at < diff.size();) {
    const std::size_t end = diff.find('\n', at);
    text += printable(std::string_view(diff).substr(at, end - at), 2000) + "\n";
    at = end + 1;
  }
  return text;
}

}  // namespace

std::vector<io::NearestJson> with_diffs(std::vector<targets::NearConfig> near, const std::string& text,
                                        const targets::NxdtConfig& config) {
  std::vector<io::NearestJson> all;
  for (targets::NearConfig& n : near) {
    auto edit = io::edit_nxdt(text, config, n.changes);
    if (edit) n.changes = std::move(edit->changed);
    all.push_back({std::move(n), edit ? std::move(edit->diff) : ""});
  }
  std::stable_sort(all.begin(), all.end(), [](const io::NearestJson& a, const io::NearestJson& b) {
    return std::tuple(!a.config.warnings.empty(), a.config.changes.size(), a.config.plan.report.step) <
           std::tuple(!b.config.warnings.empty(), b.config.changes.size(), b.config.plan.report.step);
  });
  return all;
}

std::string nearest_text(const std::vector<io::NearestJson>& nearest) {
  if (nearest.empty()) return "";
  std::string text =
      "\nNearest configs that fit and are accepted, fewest changed keys first (patch reads each):\n";
  bool last = false;
  for (const io::NearestJson& n : nearest) {
    const models::StepReport& r = n.config.plan.report;
    const std::size_t keys = n.config.changes.size();
    if (!n.config.warnings.empty() && !std::exchange(last, true))
      text += "\nThese change more than the layout:\n";
    text += fmt::format("\n{} key{}: {:.4g} s a step ({:.4g} to {:.4g}), {} tokens/s, {:.1f} of {:.0f} GiB\n",
                        keys, keys == 1 ? "" : "s", r.step.value, r.low.value, r.high.value,
                        grouped(r.tokens_per_second), in_gibibytes(n.config.plan.memory.worst().peak()),
                        in_gibibytes(n.config.plan.memory.limit));
    if (n.config.plan.works && *n.config.plan.works < kSurely)
      text += fmt::format("fits and compiles: {}\n", probability_text(*n.config.plan.works));
    for (const std::string& warning : n.config.warnings)
      text += fmt::format("warning: {}\n", printable(warning, 400));
    text += n.diff.empty() ? changes_text(n.config.changes) : lines_text(n.diff);
  }
  return text;
}

}  // namespace trnplan::cli
