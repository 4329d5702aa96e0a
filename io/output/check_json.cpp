#include <string>
#include <vector>

#include "io/output/described.h"
#include "io/output/json_tree.h"
#include "io/output/plan_json.h"

namespace trnplan::io {

using planner::Plan;
using targets::Change;
using targets::Finding;

namespace {

struct ShownCheck {
  const std::string& verdict;
  const std::vector<Finding>& findings;
  const Plan* prediction;
  const std::string& no_prediction;
  const std::vector<NearestJson>& nearest;
};

}  // namespace

template <>
const Record<Change>& record() {
  static const Record<Change> described(
      "Change", "A key of a config, with its value and the value that it should have.",
      {{"key", &Change::key},
       {"from", &Change::from, "as the file writes it; `null` if the key is absent"},
       {"to", &Change::to},
       {"line", [](const Change& c) { return c.at.line; }, "0: the key is absent"},
       {"column", [](const Change& c) { return c.at.column; }}});
  return described;
}

template <>
const Record<Finding>& record() {
  static const Record<Finding> described(
      "Finding", "A finding of the linter.",
      {{"rule", &Finding::rule, "an id of [rules.md](rules.md)"},
       {"severity", &Finding::severity, "`error`, `warning` or `note`"},
       {"key", &Finding::key, "as the file writes it; empty for the whole file"},
       {"line", [](const Finding& f) { return f.at.line; }, "0 if it has no place"},
       {"column", [](const Finding& f) { return f.at.column; }},
       {"message", &Finding::message},
       {"fix", &Finding::fix},
       {"source", &Finding::source, "repository and path of the rule"}});
  return described;
}

template <>
const Record<NearestJson>& record() {
  using N = NearestJson;
  static const Record<N> described(
      "NearConfig", "A config close to a refused one that is accepted and fits.",
      {{"keys", [](const N& n) { return n.config.changes.size(); }, "the number of keys that change"},
       {"changes", [](const N& n) { return n.config.changes; }},
       {"diff", &N::diff, "of the file; empty if it cannot be made"},
       {"warnings", [](const N& n) { return n.config.warnings; }, "that the file did not have before"},
       {"fit_probability", [](const N& n) { return n.config.fit_probability; }},
       {"works_probability", [](const N& n) { return n.config.plan.works; }},
       {"plan", [](const N& n) { return n.config.plan; }}});
  return described;
}

template <>
const Record<ShownCheck>& record() {
  using C = ShownCheck;
  static const Record<C> described(
      "CheckResult", "The verdict on a config.",
      {{"verdict", [](const C& c) { return c.verdict; },
        "`refused` with any error, `warn` with any warning, else `ok`"},
       {"findings", [](const C& c) { return c.findings; },
        "errors, then warnings, then notes. Without `--instance`, a note `instance` states the assumed type"},
       {"prediction", &C::prediction,
        "`null` if the strategy cannot be simulated or the config needs something that is not modelled"},
       {"no_prediction",
        [](const C& c) { return c.no_prediction.empty() ? std::nullopt : std::optional(c.no_prediction); },
        "why there is none"},
       {"nearest", [](const C& c) { return c.nearest; },
        "if the strategy is refused: at most three configs for the same cluster, batch, sequence and "
        "precision that are accepted and at least 90 % likely to fit; those without a new warning first, "
        "then those with the fewest keys, then the faster ones"}});
  return described;
}
std::string check_json(const std::string& verdict, const std::vector<Finding>& findings,
                       const Plan* prediction, const std::vector<NearestJson>& nearest,
                       const std::string& no_prediction) {
  return document_of(ShownCheck{verdict, findings, prediction, no_prediction, nearest});
}

const Description& check_document() {
  return record<ShownCheck>().description();
}

}  // namespace trnplan::io
