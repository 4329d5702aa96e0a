#include "api/require.h"

#include <fmt/format.h>

#include "text/diagnostic.h"
#include "text/parse.h"
#include "units/quantity.h"

namespace trnplan::api {

namespace {

using Value = std::optional<double>;

/// A number that a requirement may name. `plan` is the recommended one.
struct Quantity {
  const char* name;
  Value (*of)(const PlanResult& result, const planner::Plan& plan);
};

Value above_zero(double x) {
  return x > 0 ? Value(x) : std::nullopt;
}

/// The answer on the whole run, if there is one.
const planner::RunAnswer* answer_of(const PlanResult& r) {
  return r.run && r.run->answer.why.empty() ? &r.run->answer : nullptr;
}

constexpr Quantity kQuantities[] = {
    {"fits", [](const PlanResult&, const planner::Plan& p) { return Value(fits_probability(p)); }},
    {"compiles", [](const PlanResult&, const planner::Plan& p) { return p.compiles; }},
    {"works", [](const PlanResult&, const planner::Plan& p) { return p.works; }},
    {"step_seconds", [](const PlanResult&, const planner::Plan& p) { return Value(p.report.step.value); }},
    {"tokens_per_second",
     [](const PlanResult&, const planner::Plan& p) { return Value(p.report.tokens_per_second); }},
    {"mfu", [](const PlanResult&, const planner::Plan& p) { return Value(p.report.mfu); }},
    {"memory_gib",
     [](const PlanResult&, const planner::Plan& p) { return Value(in_gibibytes(p.memory.worst().peak())); }},
    {"days",
     [](const PlanResult& r, const planner::Plan& p) {
       const planner::RunAnswer* run = answer_of(r);
       return above_zero(in_days(run != nullptr ? run->time : p.run));
     }},
    {"usd",
     [](const PlanResult& r, const planner::Plan& p) {
       const planner::RunAnswer* run = answer_of(r);
       return run != nullptr ? run->usd : above_zero(run_usd(p));
     }},
    {"in_time",
     [](const PlanResult& r, const planner::Plan&) {
       const planner::RunAnswer* run = answer_of(r);
       return run != nullptr && r.run->question.deadline ? Value(run->probability_in_time()) : std::nullopt;
     }},
    {"in_budget",
     [](const PlanResult& r, const planner::Plan&) {
       const planner::RunAnswer* run = answer_of(r);
       return run != nullptr && r.run->question.budget ? Value(run->probability_in_budget()) : std::nullopt;
     }},
};

std::optional<double> bound_of(std::string_view text) {
  return text.ends_with('%') ? parse_share(text) : parse_count(text);
}

Diagnostic fault(const std::string& text, std::string problem, std::string fix) {
  return {{io::kCommandLine, 0, 0}, "--require", in_quotes(text) + " " + std::move(problem), std::move(fix)};
}

}  // namespace

bool Required::met() const {
  using Sense = Requirement::Sense;
  if (!value) return false;
  switch (of.sense) {
    case Sense::less:
      return *value < of.bound;
    case Sense::at_most:
      return *value <= of.bound;
    case Sense::more:
      return *value > of.bound;
    case Sense::at_least:
      break;
  }
  return *value >= of.bound;
}

std::string requirable() {
  std::string names;
  for (const Quantity& q : kQuantities) names += (names.empty() ? "" : ", ") + std::string(q.name);
  return names;
}

std::vector<Requirement> read_requirements(const std::vector<std::string>& texts) {
  using Sense = Requirement::Sense;
  std::vector<Requirement> all;
  std::vector<Diagnostic> faults;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find_first_of("<>");
    const bool equal = sign != std::string::npos && text.substr(sign + 1, 1) == "=";
    if (sign == std::string::npos) {
      faults.push_back(fault(text, "compares nothing", "write for example fits>=99%, in quotes"));
      continue;
    }
    Requirement r{.text = text};
    r.sense =
        text[sign] == '<' ? (equal ? Sense::at_most : Sense::less) : (equal ? Sense::at_least : Sense::more);
    const std::string name = text.substr(0, sign);
    while (r.quantity < std::size(kQuantities) && name != kQuantities[r.quantity].name) ++r.quantity;
    if (r.quantity == std::size(kQuantities))
      faults.push_back(fault(text, "names nothing that a plan has", "name one of " + requirable()));
    const auto bound = bound_of(std::string_view(text).substr(sign + 1 + (equal ? 1 : 0)));
    if (!bound)
      faults.push_back(fault(text, "has no number behind the sign", "write for example 60, 2.5M or 99%"));
    r.bound = bound.value_or(0);
    all.push_back(std::move(r));
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return all;
}

std::vector<Required> judge(const std::vector<Requirement>& requirements, const PlanResult& result) {
  const planner::Plan* plan = result.search.recommended_plan();
  std::vector<Required> all;
  for (const Requirement& r : requirements)
    all.push_back({r, plan == nullptr ? std::nullopt : kQuantities[r.quantity].of(result, *plan)});
  return all;
}

std::string to_string(const Required& r) {
  if (!r.value) return fmt::format("{}: not known, so not met", printable(r.of.text));
  const bool percent = r.of.text.ends_with('%');
  const std::string value =
      percent ? fmt::format("{:.2f} %", 100 * *r.value) : fmt::format("{:.6g}", *r.value);
  return fmt::format("{}: {}, {}", printable(r.of.text), value, r.met() ? "met" : "not met");
}

}  // namespace trnplan::api
