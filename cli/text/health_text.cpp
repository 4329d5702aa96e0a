#include "cli/text/health_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "cli/text/wrap.h"
#include "text/diagnostic.h"
#include "text/figures.h"

namespace trnplan::cli {

namespace {

constexpr std::size_t kNodesShown = 4;

/// Spread of the runs that did not fail.
std::string spread_text(const io::HealthReport& r) {
  double least = 0, most = 0;
  bool any = false;
  for (const io::HealthTest& t : r.tests) {
    if (!t.ratio) continue;
    least = any ? std::min(least, *t.ratio) : *t.ratio;
    most = any ? std::max(most, *t.ratio) : *t.ratio;
    any = true;
  }
  return any ? fmt::format("; runs took {:.2f} to {:.2f} times as long as they should", least, most) : "";
}

}  // namespace

std::string health_text(const io::HealthReport& r) {
  std::string text;
  if (r.slow.empty()) {
    text = fmt::format("every node is as fast as it should be: {}, {} on one node and {} on several{}\n",
                       counted(r.nodes, "node"), counted(r.alone, "run"), r.pairs, spread_text(r));
    const auto odd = std::count_if(r.tests.begin(), r.tests.end(), [](const auto& t) { return t.slow; });
    if (odd > 0)
      text += fmt::format("{} slow, on nodes that were as fast as they should be in other runs\n",
                          odd == 1 ? "1 run was" : fmt::format("{} runs were", odd));
  } else {
    text = fmt::format("slow: {} of {}\n", counted(static_cast<int>(r.slow.size()), "node"), r.nodes);
  }
  for (std::size_t i = 0; i < std::min(r.slow.size(), kNodesShown); ++i) {
    const io::SlowNode& n = r.slow[i];
    text +=
        fmt::format("{}: {}\n  fix: {}: {}\n", n.name, printable(n.problem), n.fix, command_text(n.command));
  }
  if (r.slow.size() > kNodesShown) {
    std::string others;
    for (std::size_t i = kNodesShown; i < r.slow.size(); ++i)
      others += (others.empty() ? "" : ", ") + r.slow[i].name;
    text += "also: " + others + "\n";
  }
  if (static_cast<int>(r.slow.size()) == r.nodes && r.nodes > 2)
    text +=
        "all of them: check the fabric as a whole (EFA, placement group), or state the right --instance\n";
  text += fmt::format(
      "slow: longer than {:.3g} times (--slow-factor) the time of the fastest quarter of such runs or of the "
      "upper end of the predicted 90 % interval, whichever is less ({}, profile {})\n",
      r.factor, r.instance, r.profile);
  return text;
}

}  // namespace trnplan::cli
