#include "cli/text/nearest_text.h"

#include <fmt/format.h>

#include <utility>

#include "cli/text/text.h"
#include "cli/text/wrap.h"
#include "text/diagnostic.h"
#include "text/figures.h"

namespace trnplan::cli {

namespace {

/// Used if the lines cannot be determined.
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

std::string nearest_text(const std::vector<io::NearestJson>& nearest, int width) {
  if (nearest.empty()) return "";
  const bool recommended = nearest.front().config.recommended;
  std::string text =
      "\n" +
      wrapped(
          fmt::format("Configs that fit and are accepted, {}fewest changed keys first (each is a patch):\n",
                      recommended ? "the recommended plan, then " : ""),
          width);
  bool last = false;
  for (const io::NearestJson& n : nearest) {
    const models::StepReport& r = n.config.plan.report;
    const std::size_t keys = n.config.changes.size();
    if (!n.config.warnings.empty() && !std::exchange(last, true))
      text += "\nThese change more than the layout:\n";
    const std::string memory =
        fmt::format("{:.1f} of {:.0f} GiB", in_gibibytes(n.config.plan.memory.worst().peak()),
                    in_gibibytes(n.config.plan.memory.limit));
    std::string head =
        fmt::format("{}{} key{}: {:.4g} s a step ({:.4g} to {:.4g}), {} tokens/s, {}\n",
                    n.config.recommended ? "Recommended, " : "", keys, keys == 1 ? "" : "s", r.step.value,
                    r.low.value, r.high.value, grouped(r.tokens_per_second), unbroken(memory));
    if (n.config.plan.works && *n.config.plan.works < kSurely)
      head += fmt::format("fits and compiles: {}\n", probability_text(*n.config.plan.works));
    for (const std::string& warning : n.config.warnings)
      head += fmt::format("warning: {}\n", printable(warning, 400));
    text += "\n" + wrapped(head, width);
    text += n.diff.empty() ? changes_text(n.config.changes) : lines_text(n.diff);
  }
  return text;
}

}  // namespace trnplan::cli
