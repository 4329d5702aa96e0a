#include "io/output/compare_json.h"

#include "io/output/described.h"
#include "io/output/json_tree.h"

namespace trnplan::io {

using planner::ComparedPlan;
using planner::KeyDifference;
using planner::PartSeconds;
using planner::PlanComparison;

template <>
const Record<ComparedPlan>& record() {
  static const Record<ComparedPlan> described(
      "ComparedPlan", "A side of a comparison.",
      {{"name", &ComparedPlan::name, "as it was asked for"},
       {"plan", &ComparedPlan::plan},
       {"violations", &ComparedPlan::broken, "rules that it breaks"}});
  return described;
}

template <>
const Record<KeyDifference>& record() {
  static const Record<KeyDifference> described(
      "KeyDifference", "A key in which two plans differ.",
      {{"key", &KeyDifference::key}, {"values", &KeyDifference::values, "of both, as words"}});
  return described;
}

template <>
const Record<PartSeconds>& record() {
  static const Record<PartSeconds> described(
      "PartSeconds", "A part of the critical paths of two plans.",
      {{"part", &PartSeconds::part},
       {"seconds", &PartSeconds::seconds, "of both, for the tokens of a step of the first"}});
  return described;
}

template <>
const Record<PlanComparison>& record() {
  static const Record<PlanComparison> described(
      "CompareResult", "Two plans of one job.",
      {{"sides",
        [](const PlanComparison& c) {
          return std::vector<ComparedPlan>{c.plans[0], c.plans[1]};
        }},
       {"differs", &PlanComparison::differs},
       {"times_as_long", [](const PlanComparison& c) { return planner::times_as_long(c.ratio)[1]; },
        "time of the second over that of the first, for the same tokens"},
       {"times_as_long_90",
        [](const PlanComparison& c) {
          const auto times = planner::times_as_long(c.ratio);
          return std::array{times[0], times[2]};
        },
        "the 90 % interval"},
       {"probability_first_is_faster", [](const PlanComparison& c) { return c.ratio.positive(); }},
       {"shared", &PlanComparison::shared,
        "one machine and one stack: what is uncertain of these counts for neither"},
       {"usd_per_1e9_tokens",
        [](const PlanComparison& c) {
          std::vector<std::optional<double>> usd;
          for (const ComparedPlan& p : c.plans) {
            const double all = planner::usd_per_billion_tokens(p.plan);
            usd.push_back(all > 0 ? std::optional(all) : std::nullopt);
          }
          return usd;
        }},
       {"by_cause", &PlanComparison::by_cause},
       {"by_operator", &PlanComparison::by_operator, "the largest difference first"}});
  return described;
}

std::string compare_json(const PlanComparison& comparison) {
  return document_of(comparison);
}

const Description& compare_document() {
  return record<PlanComparison>().description();
}

}  // namespace trnplan::io
