#include "io/output/comparison_json.h"

#include <functional>

namespace trnplan::io {

using planner::Experiment;
using planner::TableRequest;

namespace {

std::optional<double> above_zero(double x) {
  return x > 0 ? std::optional(x) : std::nullopt;
}

/// Times of short runs, and when the second plan is the better guess by them.
struct Decision {
  std::string_view measured, is;
  double value;
};

Decision decision_of(const Experiment& m) {
  const bool first = m.runs_of_first > 0, both = first && m.runs_of_second > 0;
  return {both    ? "second_over_first"
          : first ? "first_step_seconds"
                  : "second_step_seconds",
          m.above ? "above" : "below", m.threshold};
}

/// A getter for values of runs alone, not of tables.
template <class Get>
auto of_runs(Get get) {
  return [get](const Experiment& m) {
    const auto value = std::invoke(get, m);
    return m.tables.empty() ? std::optional(value) : std::nullopt;
  };
}

std::string command_of(const TableRequest& t) {
  std::string command;
  for (const std::string& word : planner::nccom_command(t)) command += (command.empty() ? "" : " ") + word;
  return command;
}

}  // namespace

template <>
const Record<TableRequest>& record() {
  static const Record<TableRequest> described(
      "TableRequest", "A table of nccom-test.",
      {{"operation", &TableRequest::op},
       {"ranks", &TableRequest::ranks},
       {"nodes", &TableRequest::nodes},
       {"smallest_bytes", [](const TableRequest& t) { return whole_bytes(Bytes(t.smallest)); }},
       {"largest_bytes", [](const TableRequest& t) { return whole_bytes(Bytes(t.largest)); }},
       {"command", &command_of, "for two nodes `--hosts` is added"}});
  return described;
}

template <>
const Record<Decision>& record() {
  static const Record<Decision> described(
      "Decision", "The rule by which the second plan is the better choice.",
      {{"measured", &Decision::measured,
        "`second_over_first`, the ratio of the mean steps; `first_step_seconds`; `second_step_seconds`"},
       {"is", &Decision::is, "`above` or `below`"},
       {"value", &Decision::value}});
  return described;
}

template <>
const Record<Experiment>& record() {
  static const Record<Experiment> described(
      "Measurement", "A measurement that shows which of two plans is better.",
      {{"kind", [](const Experiment& m) { return m.tables.empty() ? "run" : "nccom-test"; },
        "`run`: short runs of the plans; `nccom-test`: tables of it"},
       {"probability_after", &Experiment::probability,
        "expected, before it is made: that the plan chosen after it is the better one"},
       {"expected_gain", &Experiment::gain,
        "average gain of choosing after it instead of now, as a share of the step"},
       {"expected_gain_usd", [](const Experiment& m) { return above_zero(m.gain_usd); },
        "that share of `run_usd`; `null` without tokens or price"},
       {"expected_gain_node_hours", &Experiment::gain_node_hours,
        "that share of the run; without tokens, of a week"},
       {"node_hours", &Experiment::node_hours, "its cost: compiling, starting and the steps"},
       {"usd", [](const Experiment& m) { return above_zero(m.usd); },
        "at the on-demand price; `null` if none is known"},
       {"tables",
        [](const Experiment& m) { return m.tables.empty() ? std::nullopt : std::optional(m.tables); },
        "with `nccom-test`", Absent::left_out},
       {"runs_of_first", of_runs(&Experiment::runs_of_first), "with `run`: how many times the plan runs",
        Absent::left_out},
       {"runs_of_second", of_runs(&Experiment::runs_of_second), "likewise", Absent::left_out},
       {"steps_of_a_run", of_runs([](const Experiment&) { return planner::kShortRunSteps; }), "",
        Absent::left_out},
       {"second_is_better_when", of_runs(&decision_of), "with `run`", Absent::left_out}});
  return described;
}

template <>
const Record<ShownComparison>& record() {
  using C = ShownComparison;
  static const Record<C> described(
      "Comparison", "The recommended plan and the runner-up, by their ranks.",
      {{"first", [](const C& c) { return c.of->first + 1; }, "the recommended plan"},
       {"second", [](const C& c) { return c.of->second + 1; },
        "the runner-up: the fastest, or if that is recommended, the next that is not a near twin"},
       {"probability_first_is_better", [](const C& c) { return c.of->probability; }},
       {"sure", &C::sure, "`--sure`"},
       {"told_apart", [](const C& c) { return c.of->told_apart; },
        "the ranking of the two is at least this probable"},
       {"equal", [](const C& c) { return c.of->equal; },
        "the model predicts the same step for both; no measurement is named"},
       {"measurement", [](const C& c) { return c.of->best; },
        "of the measurements that pay, the cheapest that raises `probability_after` to `sure`, otherwise the "
        "cheapest of those within 0.01 of the highest; `null` if `told_apart` or `equal`, or if no "
        "measurement helps"},
       {"measurement_decides", [](const C& c) { return c.of->decides; },
        "it raises `probability_after` to `sure`"},
       {"measurement_pays", [](const C& c) { return c.of->pays; },
        "some measurement saves more node-hours over the run than it takes; a run without tokens counts as a "
        "week"},
       {"considered", [](const C& c) { return c.of->considered; },
        "all measurements that show anything, the cheapest first"}});
  return described;
}

}  // namespace trnplan::io
