#include "cli/text/explained_profile_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/text/table.h"
#include "cli/text/text.h"
#include "text/diagnostic.h"
#include "text/figures.h"

namespace trnplan::cli {

namespace {

using models::ExplainedParameter;
using models::ExplainedProfile;

std::string printable_all(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (const std::string& w : words) all.push_back(printable(w, 60));
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string holds_for(const ExplainedProfile& p, bool details) {
  std::string out = fmt::format("{}: parameters of {} machines", printable(p.name), p.schema);
  if (!p.instance.empty()) out += fmt::format(", holds for {}", printable(p.instance));
  out += ".\n";
  if (!p.prior.empty()) out += fmt::format("  prior     {}\n", printable(p.prior));
  std::vector<std::string> files;
  for (const models::CalibrationFile& f : p.files) files.push_back(printable(f.name));
  if (!p.tool.empty())
    out +=
        fmt::format("  fitted    to {} by {}\n",
                    files.empty() ? "files that it does not name" : fmt::format("{}", fmt::join(files, ", ")),
                    printable(p.tool));
  else
    out += "  fitted    not by calibrate: below is what taught each parameter\n";
  std::map<std::string, std::vector<std::string>> releases;
  for (const models::StackFactor& s : p.stacks) {
    if (!s.instance.empty()) continue;
    auto& of = releases[printable(s.framework, 30)];
    if (!s.release.empty()) of.push_back(printable(s.release, 20));
  }
  for (auto& [framework, of] : releases) {
    std::stable_sort(of.begin(), of.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    out += fmt::format("  software  {}{}\n", framework,
                       of.empty() ? "" : fmt::format(" {}", fmt::join(of, ", ")));
  }
  for (const models::StackFactor& s : p.stacks) {
    if (!s.instance.empty())
      out += fmt::format("  learnt    {} on {}{}: {:.3g} times as long, give or take {:.0f} %\n",
                         printable(models::stack_name(s.framework, s.release), 50), printable(s.instance, 40),
                         s.layout.empty() ? "" : ", " + printable(s.layout, 300), s.median,
                         100 * std::expm1(s.log_sd));
  }
  if (!details) return out;
  if (!p.own_values.empty())
    out += fmt::format("  software  with values of its own: {}\n", printable_all(p.own_values));
  std::vector<std::string> ranges;
  for (const models::FittedRange& r : p.ranges)
    ranges.push_back(fmt::format("{} {:.4g} to {:.4g}", printable(r.of, 40), r.low, r.high));
  if (!ranges.empty()) out += fmt::format("  runs      {}\n", fmt::join(ranges, ", "));
  return out;
}

std::string plan_line(const ExplainedProfile& p) {
  if (!p.plan) return "";
  std::string out =
      fmt::format("\n{}: step {} s, 90 % between {} and {} s", printable(p.plan->of),
                  seconds_text(p.plan->step), seconds_text(p.plan->low), seconds_text(p.plan->high));
  if (p.plan->other)
    out += fmt::format("; by {} {} s ({:+.1f} %)", printable(p.compared), seconds_text(*p.plan->other),
                       100 * (*p.plan->other / p.plan->step - 1));
  return out + fmt::format(
                   ".\nIts doubt: {:.0f} % of the variance from these parameters, the rest from software, "
                   "configuration and repeats.\n",
                   100 * (1 - p.plan->other_doubt));
}

std::string number(const std::optional<models::Value>& v) {
  return v ? fmt::format("{:.4g}", v->median) : "-";
}

std::string factor(const models::Value& v) {
  return v.log_sd > 0 ? fmt::format("{:.2f}", std::exp(v.log_sd)) : "exact";
}

/// Change of the plan's step in % for 1 % of a parameter, and share of its doubt, from which a parameter is worth a
/// line.
constexpr double kStepWorth = 0.02, kDoubtWorth = 0.01;

/// True for what was learnt, or matters for the plan at hand.
bool is_worth(const ExplainedParameter& e, bool of_plan) {
  if (of_plan)
    return std::abs(e.step_share.value_or(0)) >= kStepWorth ||
           std::abs(e.doubt_share.value_or(0)) >= kDoubtWorth;
  const bool moved = e.prior && std::abs(e.value.median / e.prior->median - 1) >= kDoubtWorth;
  return moved || e.spread_left().value_or(1) <= 1 - kDoubtWorth;
}

}  // namespace

std::string explained_profile_text(const ExplainedProfile& p, bool details, int width) {
  std::vector<const ExplainedParameter*> rows;
  for (const ExplainedParameter& e : p.parameters) rows.push_back(&e);
  std::size_t left_out = 0;
  const bool any =
      std::any_of(rows.begin(), rows.end(), [&](const auto* e) { return is_worth(*e, p.plan.has_value()); });
  if (!details && p.compared.empty() && any)
    left_out = std::erase_if(rows, [&](const auto* e) { return !is_worth(*e, p.plan.has_value()); });
  if (p.plan) {
    std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
      return std::abs(a->step_share.value_or(0)) > std::abs(b->step_share.value_or(0));
    });
  }
  std::vector<Column> columns = {
      {"parameter", true}, {"unit", true, 3}, {"prior", false, p.compared.empty() ? 0 : 2},
      {"value"},           {"factor"},        {"left", false, 1}};
  if (!p.compared.empty()) columns.insert(columns.end(), {{"other"}, {"apart"}});
  if (p.plan) columns.insert(columns.end(), {{"step %"}, {"doubt %"}});
  Table table(columns, "taught by");
  for (const ExplainedParameter* e : rows) {
    const auto left = e->spread_left();
    std::vector<std::string> cells = {std::string(models::to_string(e->parameter)),
                                      std::string(models::unit_of(e->parameter)),
                                      number(e->prior),
                                      number(e->value),
                                      factor(e->value),
                                      left ? fmt::format("{:.2f}", *left) : "-"};
    if (!p.compared.empty()) {
      const auto apart = e->apart();
      cells.push_back(number(e->other));
      cells.push_back(apart ? fmt::format("{:+.1f}", *apart) : "-");
    }
    if (p.plan) {
      cells.push_back(e->step_share ? fmt::format("{:.2f}", *e->step_share + 0.0) : "-");
      cells.push_back(e->doubt_share ? fmt::format("{}", std::lround(100 * *e->doubt_share)) : "-");
    }
    table.row(std::move(cells), printable(e->value.source, 200));
  }
  std::string out = holds_for(p, details) + plan_line(p) + "\n" + table.text(width) +
                    "factor: one standard deviation, up or down; left: spread over the prior's";
  if (!p.compared.empty())
    out += fmt::format("; other: in {}; apart: the difference in standard deviations", printable(p.compared));
  if (p.plan)
    out += "; step %: change of the step where the value rises by 1 %; doubt %: share of its variance";
  out += "\n";
  if (left_out > 0)
    out += fmt::format("Not shown: {} that {} (--details)\n",
                       counted(static_cast<std::int64_t>(left_out), "parameter"),
                       p.plan ? "this step hardly depends on" : "nothing has taught");
  return out;
}

}  // namespace trnplan::cli
