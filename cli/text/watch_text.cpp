#include "cli/text/watch_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cli/text/wrap.h"
#include "launch/watch/watch.h"
#include "text/diagnostic.h"
#include "text/figures.h"
#include "topology/verdict.h"
#include "units/quantity.h"

namespace trnplan::cli {

namespace {

/// Part by which a step may differ and is still called as expected.
constexpr double kAsExpected = 0.1;
/// Probability of an explanation that is not worth a line.
constexpr double kHardly = 1e-3;

std::string time_words(double seconds) {
  if (seconds >= kDay) return fmt::format("{:.1f} days", seconds / kDay);
  if (seconds >= kHour) return fmt::format("{:.1f} h", seconds / kHour);
  return seconds >= 60 ? fmt::format("{:.1f} min", seconds / 60) : fmt::format("{:.0f} s", seconds);
}

std::string bar(std::int64_t step, std::int64_t total) {
  constexpr int width = 30;
  if (total <= 0) return fmt::format("step {}", step);
  const int done =
      static_cast<int>(width * static_cast<double>(std::min(step, total)) / static_cast<double>(total));
  return fmt::format("[{}{}] {}/{} steps", std::string(static_cast<std::size_t>(done), '#'),
                     std::string(static_cast<std::size_t>(width - done), '.'), step, total);
}

std::string numbers(const std::vector<int>& all) {
  return all.size() > 16 ? topology::number_list(all) : [&] {
    std::string text;
    for (const int n : all) text += (text.empty() ? "" : ", ") + std::to_string(n);
    return text;
  }();
}

std::string failure_text(const io::WatchFailure& f) {
  const std::string where = f.line == 0 ? std::string("by the scheduler")
                                        : fmt::format("{} line{}, first {}:{}", f.count,
                                                      f.count == 1 ? "" : "s", printable(f.file), f.line);
  std::string text = fmt::format("failure: {}, {}{}\n", f.kind, where, f.went_on ? "; the run went on" : "");
  text += "  " + f.text + "\n";
  if (!f.rule.empty())
    text += fmt::format("  rule {}: {}\n", f.rule, f.problem);
  else
    text += fmt::format("  {}\n", f.problem);
  if (!f.ranks.empty()) text += fmt::format("  ranks {{{}}}, chips {}\n", numbers(f.ranks), numbers(f.chips));
  return text + "  fix: " + f.fix + "\n";
}

/// States that the run has failed, and whether it is as fast as it should be.
std::string verdict_text(const io::WatchReport& r) {
  std::string failed = io::how_it_failed(r);
  if (!failed.empty()) failed = "FAILED: " + failed + "\n";
  if (!r.predicted || !r.step_seconds) return failed;
  const double step = io::drifts(r) ? *r.recent_seconds : *r.step_seconds, off = step / *r.predicted - 1;
  const std::string how =
      io::has_alarm(r, io::kBeyondPeak)                  ? "faster than that job can be"
      : step > r.predicted_90->second && r.smaller_batch ? "slower than predicted, as smaller batches are"
      : step > r.predicted_90->second                    ? "slower than it should be"
      : step < r.predicted_90->first                     ? "faster than predicted"
      : std::abs(off) <= kAsExpected                     ? "as fast as it should be"
                                     : fmt::format("{:.0f} % {} than expected, within the 90 % interval",
                                                   100 * std::abs(off), off > 0 ? "slower" : "faster");
  return fmt::format("{}{}{}: your run {:.4g} s a step{}, predicted {:.4g} (90 %: {:.4g} to {:.4g})\n",
                     failed, failed.empty() ? "" : "its steps before: ", how, step,
                     io::drifts(r) ? " of late" : "", *r.predicted, r.predicted_90->first,
                     r.predicted_90->second);
}

}  // namespace

std::string explanations_text(const io::WatchReport& r) {
  if (r.explanations.empty()) return "";
  std::string facts, text, least;
  std::vector<std::string> simulate;
  for (const io::WatchExplanation& e : r.explanations) {
    if (io::is_fact(e)) {
      facts += fmt::format("{}\n  look at: {}\n", e.what, e.check);
      continue;
    }
    if (text.empty()) text = "what would explain it, by how likely it is (a node stands for any like it):\n";
    if (e.probability < kHardly) continue;
    if (!e.as_likely) {
      least += fmt::format("{}{} ({:.2g} %)", least.empty() ? "" : "; ", e.what, e.probability * 100);
      continue;
    }
    text += fmt::format("  {:>3.0f} %  {}\n", e.probability * 100, e.what);
    if (!e.scenario.empty()) text += "         " + never_broken("--scenario " + e.scenario) + "\n";
    if (simulate.empty() && !e.command.empty()) simulate.assign(e.command.begin(), e.command.end() - 2);
    text += fmt::format("         look at: {}\n", e.check);
  }
  if (!simulate.empty()) text += "  each is shown by\n" + command_lines(simulate, 4);
  if (!r.to_tell.empty())
    text += fmt::format("  this log cannot tell these apart; to tell, run {}\n", r.to_tell);
  return facts + text + (least.empty() ? "" : fmt::format("  less likely: {}\n", least));
}

std::string alarm_text(const io::WatchAlarm& a) {
  return fmt::format("ALARM {}: {}\n  cause: {}\n  fix: {}\n", a.kind, a.message, a.cause, a.fix);
}

std::string status_line(const io::WatchReport& r) {
  std::string text = bar(r.step, r.total);
  if (r.step_seconds) text += fmt::format(", {:.4g} s a step", *r.step_seconds);
  if (r.predicted)
    text += fmt::format(" (predicted {:.4g}, {:.4g} to {:.4g})", *r.predicted, r.predicted_90->first,
                        r.predicted_90->second);
  if (r.goodput) text += fmt::format(", goodput {:.1f} %", *r.goodput * 100);
  if (r.eta_seconds && !r.finished) text += ", " + time_words(*r.eta_seconds) + " left";
  if (r.usd_so_far)
    text += fmt::format(", {:.2f} USD {}", *r.usd_so_far, r.steps_before > 0 ? "in this log" : "so far");
  if (!r.state.empty()) text += ", " + r.state;
  return text + "\n";
}

std::string report_text(const io::WatchReport& r) {
  std::string text = printable(r.source) + "\n" + verdict_text(r);
  if (r.step > 0) text += status_line(r);
  if (r.recent_seconds) {
    text += fmt::format("last {}: {:.4g} s; {} timed",
                        r.recent_steps == 1 ? "step" : fmt::format("{} steps", r.recent_steps),
                        *r.recent_seconds, counted(r.timed_steps, "step"));
    if (r.tokens_per_second) text += fmt::format("; {} tokens/s", grouped(*r.tokens_per_second));
    if (r.loss)
      text += fmt::format(fmt::runtime(r.loss_lost ? "; loss NaN, {:.4g} before" : "; loss {:.4g}"), *r.loss);
    text += "\n";
  }
  if (r.memory_bytes) {
    text += fmt::format("memory: {:.2f} GiB in the fullest {}", *r.memory_bytes / kGiB, r.device);
    if (r.predicted_memory_bytes) text += fmt::format(", {:.2f} predicted", *r.predicted_memory_bytes / kGiB);
    text += "\n";
  }
  if (r.restarts > 0) {
    text += fmt::format("restarts: {}, {} steps repeated\n", r.restarts, r.lost_steps);
  }
  if (r.usd_total && r.steps_before > 0)
    text +=
        fmt::format("cost: {:.2f} USD of this log, {:.2f} of the whole run at this pace, with {} before it\n",
                    *r.usd_so_far, *r.usd_total, counted(r.steps_before, "step"));
  else if (r.usd_total)
    text +=
        fmt::format("cost: {:.2f} USD so far, {:.2f} in total at this pace\n", *r.usd_so_far, *r.usd_total);
  const auto failure_at = [&](int line) {
    return std::any_of(r.failures.begin(), r.failures.end(),
                       [&](const io::WatchFailure& f) { return f.line == line; });
  };
  for (const io::WatchEvent& e : r.events)
    if (!failure_at(e.line)) text += fmt::format("{}: line {}: {}\n", e.kind, e.line, e.text);
  for (const io::WatchAlarm& a : r.alarms) text += alarm_text(a);
  text += explanations_text(r);
  for (const io::WatchFailure& f : r.failures) text += failure_text(f);
  if (r.step == 0 && r.failures.empty()) text += "no step yet\n";
  if (r.step > 0 && !r.step_seconds)
    text += "no step is timed yet: the first one includes compiling and loading\n";
  return text;
}

}  // namespace trnplan::cli
