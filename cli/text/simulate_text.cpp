#include "cli/text/simulate_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/text/plan_answer.h"
#include "cli/text/table.h"
#include "cli/text/text.h"
#include "text/diagnostic.h"

namespace trnplan::cli {

namespace {

/// Operators of the critical path in the short answer.
constexpr std::size_t kOperatorsShown = 3;

/// The step in a scenario in one sentence, and where its time differs.
std::string scenario_step(const api::ScenarioStep& s, const models::StepReport& of_ideal) {
  const Seconds ideal = of_ideal.step;
  const std::string spread = !s.runs || s.runs->runs == 1
                                 ? ""
                                 : fmt::format(" (median of {} runs, 5 to 95 %: {} to {})", s.runs->runs,
                                               seconds_text(s.runs->low), seconds_text(s.runs->high));
  const std::string parts = seconds_by_cause(s.report, of_ideal);
  return fmt::format("With {}: {} s a step{}, {:.3f} times as long as on the ideal machine below.\n",
                     printable(s.scenario), seconds_text(s.report.step), spread, s.report.step / ideal) +
         (parts.empty() ? "" : "  Along the path that decides the step, in seconds: " + parts + "\n");
}

/// By how much less the cores of each factor work than the busiest ones of their stage; "" if all have one factor.
std::string work_table(const api::ScenarioStep& s, bool stages) {
  if (std::all_of(s.work.begin(), s.work.end(), [](const models::CoreWork& w) { return w.factor == 1; }))
    return "";
  Table table({{"cores"}, {"factor"}, {"work, s"}, {"less than the busiest, s"}});
  Table by_stage({{"stage"}, {"cores"}, {"factor"}, {"work, s"}, {"less than the stage's busiest, s"}});
  for (const models::CoreWork& w : s.work) {
    std::vector<std::string> cells = {
        std::to_string(w.cores), fmt::format("{:.4g}", w.factor), fmt::format("{:.3f}", w.work.value),
        fmt::format("{:.3f}", (models::most_work(s.work, w.stage) - w.work).value)};
    if (!stages) {
      table.row(std::move(cells));
      continue;
    }
    cells.insert(cells.begin(), std::to_string(w.stage));
    by_stage.row(std::move(cells));
  }
  return (stages ? by_stage : table).text();
}

std::string short_path(const models::StepReport& r) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kOperatorsShown, r.by_operator.size()); ++i)
    text += fmt::format("{}{} {:.1f} %", i == 0 ? "" : ", ", r.by_operator[i].first,
                        100 * (r.by_operator[i].second / r.step));
  if (r.by_operator.size() > kOperatorsShown)
    text += fmt::format(", {} others", r.by_operator.size() - kOperatorsShown);
  return text.empty() ? "" : fmt::format("  longest     {}\n", text);
}

}  // namespace

std::string simulate_text(const api::SimulateResult& result, bool details, int width) {
  const planner::Plan& plan = *result.judgement.plan;
  std::string text = job_line(result.job) + strategy_words(result.strategy) + "\n";
  if (result.scenario) {
    text += scenario_step(*result.scenario, plan.report);
    if (details) text += work_table(*result.scenario, result.strategy.pipeline_parallel > 1);
    text += "\n";
  }
  text += details ? plan_details(plan, false, width) : plan_outline(plan);
  if (const std::string unmeasured = plan.network ? "" : network_words(plan); !unmeasured.empty())
    text += "  network     " + unmeasured + "\n";
  if (details) return text + critical_path(plan);
  return text + short_path(plan.report) +
         entry("Next", "--details shows memory by stage and the critical path; --format json");
}

}  // namespace trnplan::cli
