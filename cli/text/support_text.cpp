#include "cli/text/support_text.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/text/plan_answer.h"
#include "cli/text/table.h"
#include "text/diagnostic.h"

namespace trnplan::cli {

namespace {

using api::Support;

std::string listed(const std::vector<std::string>& names) {
  return names.empty() ? "-" : fmt::format("{}", fmt::join(names, " "));
}

/// Steps of support, in order; a pair reaches one of them.
constexpr const char* kReaches[] = {"-", "timed", "planned", "written"};
std::size_t reach(const Support& s) {
  return !s.timed ? 0 : !s.planned ? 1 : s.written().empty() ? 2 : 3;
}

std::string pair_text(const Support& s) {
  std::string text = fmt::format("{} on {}\n", printable(s.model), s.instance);
  text += entry("Time", s.timed ? "simulate and whatif time a step" : "no: " + s.why_not);
  text += entry("Plan", s.planned ? "plan searches its strategies" : s.timed ? "no: " + s.why_not : "no");
  text += entry("Written", listed(s.written()));
  for (const api::SupportedTarget& t : s.targets) {
    if (!t.why_not.empty()) text += entry("", t.why_not);
    if (t.why_not.empty() && !t.ending.empty()) text += entry("", fmt::format("{}: {}", t.name, t.ending));
  }
  return text + entry("Launched", listed(s.launched));
}

std::string table_text(const std::vector<Support>& pairs, bool by_model, int width) {
  Table table(
      {{by_model ? "type" : "model", true}, {"plan", true}, {"written by", true}, {"launched by", true}}, "",
      0);
  for (const Support& s : pairs)
    table.row({by_model ? s.instance : s.model,
               s.planned ? "yes"
               : s.timed ? "timed"
                         : "-",
               listed(s.written()), listed(s.launched)});
  return table.text(width) +
         "plan: plan finds strategies and their time; timed: only simulate does; support MODEL TYPE says "
         "why\n";
}

/// One row per model, one column per family, which counts its type with the most support.
std::string matrix_text(const std::vector<Support>& pairs, int width) {
  std::vector<std::string> families;
  std::vector<Column> columns = {{"model", true}};
  for (const Support& s : pairs) {
    if (std::find(families.begin(), families.end(), s.family) != families.end()) continue;
    families.push_back(s.family);
    columns.push_back({s.family, true});
  }
  Table table(std::move(columns), "", 0);
  for (auto first = pairs.begin(); first != pairs.end();) {
    std::map<std::string, std::size_t> reached;
    const std::string model = first->model;
    for (; first != pairs.end() && first->model == model; ++first)
      reached[first->family] = std::max(reached[first->family], reach(*first));
    std::vector<std::string> cells = {model};
    for (const std::string& family : families) cells.emplace_back(kReaches[reached[family]]);
    table.row(std::move(cells));
  }
  return table.text(width) +
         "written: plan --out writes it for a type of the family; planned: only plan; timed: only simulate\n"
         "trnplan support MODEL, TYPE or both: which types and targets, and why not\n";
}

}  // namespace

std::string support_text(const api::SupportResult& result, int width) {
  const std::vector<Support>& pairs = result.pairs;
  if (pairs.size() == 1) return pair_text(pairs.front());
  const bool one_model = pairs.front().model == pairs.back().model;
  if (one_model || pairs.front().instance == pairs.back().instance)
    return table_text(pairs, one_model, width);
  return matrix_text(pairs, width);
}

}  // namespace trnplan::cli
