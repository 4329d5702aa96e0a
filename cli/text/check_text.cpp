#include "cli/text/check_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/text/plan_answer.h"
#include "cli/text/text.h"
#include "cli/text/wrap.h"
#include "text/diagnostic.h"
#include "text/figures.h"

namespace trnplan::cli {

using targets::Finding;
using targets::Severity;

namespace {

std::vector<Finding> of(const std::vector<Finding>& findings, Severity severity) {
  std::vector<Finding> some;
  std::copy_if(findings.begin(), findings.end(), std::back_inserter(some),
               [&](const Finding& f) { return f.severity == severity; });
  return some;
}

std::string prediction_text(const planner::Plan& p) {
  const std::string step = fmt::format("{} s a step (90 %: {} to {})", seconds_text(p.report.step),
                                       seconds_text(p.report.low), seconds_text(p.report.high));
  const std::string speed = fmt::format("{} tokens/s", grouped(p.report.tokens_per_second));
  const std::string memory =
      fmt::format("{:.1f} of {:.0f} GiB (fits: {})", in_gibibytes(p.memory.worst().peak()),
                  in_gibibytes(p.memory.limit), probability_text(fits_probability(p)));
  return entry("Predicted", unbroken(step) + "   " + unbroken(speed) + "   " + unbroken(memory)) +
         entry("",
               fmt::format("{}, on {} x {}", strategy_words(p.strategy), p.nodes, printable(p.instance))) +
         (p.known ? entry("Nearest", nearest_case_text(*p.known)) : "") +
         graph_warning(p, p.graph.compile_probability());
}

/// True for a finding that explains why there is no prediction, or what it assumes.
bool explains(const Finding& f) {
  return f.rule == "not-modelled" || f.rule == "instance" || f.rule == "memory";
}

}  // namespace

std::string check_text(const std::string& verdict, const std::vector<Finding>& findings,
                       const planner::Plan* prediction, const std::string& no_prediction, bool details,
                       int width, std::size_t not_judged) {
  const std::vector<Finding> errors = of(findings, Severity::error);
  const std::vector<Finding> warnings = of(findings, Severity::warning);
  const std::vector<Finding> notes = of(findings, Severity::note);
  std::string text = fmt::format("verdict: {} ({}, {}, {}{})\n", verdict, counted(errors.size(), "error"),
                                 counted(warnings.size(), "warning"), counted(notes.size(), "note"),
                                 not_judged == 0 ? "" : "; " + counted(not_judged, "flag") + " not judged");
  text += findings_text(errors, details) + findings_text(warnings, details);
  if (prediction != nullptr) text += prediction_text(*prediction);
  if (prediction == nullptr && !no_prediction.empty())
    text += "No prediction: " + printable(no_prediction, 600) + "\n";
  if (details) {
    text += findings_text(notes, true);
    if (prediction == nullptr) return text;
    return text +
           fmt::format("\nPrediction on {} x {}: {}\n", prediction->nodes, printable(prediction->instance),
                       strategy_words(prediction->strategy)) +
           plan_details(*prediction, false, width);
  }
  if (prediction == nullptr) {
    std::vector<Finding> why;
    std::copy_if(notes.begin(), notes.end(), std::back_inserter(why), explains);
    text += findings_text(why, false);
  }
  return text;
}

std::string check_next(const std::vector<Finding>& findings, const planner::Plan* prediction, bool details,
                       const std::string& command) {
  std::string text = command.empty() ? "" : command + "; ";
  if (!details) {
    const bool notes = !of(findings, Severity::note).empty();
    text += fmt::format("--details shows {}; ",
                        prediction != nullptr
                            ? notes ? "the notes, sources, time and memory" : "sources, time and memory"
                        : notes ? "the notes and sources"
                                : "sources");
  }
  return entry("Next", text + "--format json");
}

}  // namespace trnplan::cli
