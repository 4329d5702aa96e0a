#include "cli/text/explain_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/text/plan_answer.h"

namespace trnplan::cli {

using api::RuleRow;
using api::RuleSet;

std::string explain_text(const std::vector<RuleSet>& sets) {
  std::string text;
  for (const RuleSet& set : sets) {
    for (const RuleRow& row : set.rules) {
      text += fmt::format("{}{}: {}\n", text.empty() ? "" : "\n", row.id, set.title);
      text += entry("What", row.what) + entry("Why", row.why) + entry("Fix", row.fix);
      for (const std::string& source : row.sources)
        text += entry(source == row.sources.front() ? "Source" : "", source);
    }
  }
  return text;
}

std::string explain_list(const std::vector<RuleSet>& sets) {
  std::string text = "trnplan explain ID says more about each\n";
  for (const RuleSet& set : sets) {
    text += fmt::format("\n{}\n", set.title);
    for (const RuleRow& row : set.rules)
      text += fmt::format("{:<18}  {}\n", row.id, row.what.substr(0, row.what.find(';')));
  }
  return text;
}

std::string rules_page(const std::vector<RuleSet>& sets) {
  std::string text =
      "# Rules\n"
      "\n"
      "Every refusal, every finding and every remark on an assumption or a doubt prints the id of a row "
      "below: in JSON as `rule`, in text before the message or in brackets after\n"
      "it. `trnplan explain ID` prints the row, `trnplan explain --format json` all of them. This page is "
      "made from api/rules/*.yaml by\n"
      "`trnplan explain --format markdown`; the test `docs` compares.\n";
  for (const RuleSet& set : sets) {
    text +=
        fmt::format("\n## {}\n\n{}\n\n| id | what | why | fix | source |\n| --- | --- | --- | --- | --- |\n",
                    set.title, set.about);
    for (const RuleRow& row : set.rules)
      text += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.id, row.what, row.why, row.fix,
                          fmt::join(row.sources, "; "));
  }
  return text;
}

}  // namespace trnplan::cli
