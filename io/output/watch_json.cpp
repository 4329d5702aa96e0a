#include "io/output/watch_json.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "io/output/described.h"
#include "io/output/json_tree.h"

namespace trnplan::io {

bool broke(const WatchReport& r) {
  return !r.finished &&
         std::any_of(r.failures.begin(), r.failures.end(), [](const WatchFailure& f) { return !f.went_on; });
}

bool has_alarm(const WatchReport& r, std::string_view kind) {
  return std::any_of(r.alarms.begin(), r.alarms.end(), [&](const WatchAlarm& a) { return a.kind == kind; });
}

bool drifts(const WatchReport& r) {
  return r.recent_seconds && has_alarm(r, "drift");
}

bool is_fact(const WatchExplanation& e) {
  return e.kind == "checkpoint";
}

bool is_lost(const WatchReport& r) {
  return std::any_of(r.alarms.begin(), r.alarms.end(), [](const WatchAlarm& a) { return a.fatal; });
}

bool failed(const WatchReport& r) {
  return broke(r) || is_lost(r);
}

namespace {

/// Kinds of failures that their names alone do not explain.
constexpr std::pair<std::string_view, std::string_view> kInWords[] = {
    {"device-memory", "out of memory on a device"},
    {"host-memory", "out of memory on a host"},
    {"compile-memory", "a graph needs more memory than a device has"},
    {"compile-instructions", "a graph is too large for the compiler"},
    {"replica-group", "the runtime refused a replica group"},
    {"not-finite", "a value is not finite"},
    {"failed", "the scheduler reports a failure"}};

}  // namespace

std::string how_it_failed(const WatchReport& r) {
  const auto fatal = std::find_if(r.alarms.begin(), r.alarms.end(), [](const auto& a) { return a.fatal; });
  if (fatal != r.alarms.end()) return fatal->message;
  const auto ended =
      std::find_if(r.failures.begin(), r.failures.end(), [](const auto& f) { return !f.went_on; });
  if (r.finished || ended == r.failures.end()) return "";
  std::string words = ended->kind;
  std::replace(words.begin(), words.end(), '-', ' ');
  for (const auto& [kind, meaning] : kInWords)
    if (ended->kind == kind) words = meaning;
  return words + (r.step > 0 ? ", after step " + std::to_string(r.step) : ", before the first step");
}

template <>
const Record<WatchAlarm>& record() {
  using A = WatchAlarm;
  static const Record<A> described(
      "WatchAlarm", "An alarm about a run; the kinds are below.",
      {{"kind", &A::kind},
       {"message", &A::message},
       {"cause", &A::cause},
       {"fix", &A::fix},
       {"step", &A::step, "where it began"},
       {"line", [](const A& a) { return a.line > 0 ? std::optional(a.line) : std::nullopt; }, "of the log"}});
  return described;
}

template <>
const Record<WatchEvent>& record() {
  static const Record<WatchEvent> described(
      "WatchEvent", "An event of the run, as the log reports it.",
      {{"kind", &WatchEvent::kind,
        "start, failed, requeued, stopped (by the health check), auto-resume, node-failure, cancelled, "
        "finished"},
       {"line", &WatchEvent::line},
       {"text", &WatchEvent::text}});
  return described;
}

template <>
const Record<WatchFailure>& record() {
  using F = WatchFailure;
  static const Record<F> described(
      "WatchFailure", "A failure of a run, with its cause.",
      {{"kind", &F::kind,
        "replica-group, compile-memory, compile-instructions, device-memory, execution-timeout, network, "
        "hardware, compile-failed, host-memory, import-error, rendezvous, configuration: a script refuses "
        "its options, data or degrees; time-limit, node-failure, cancelled; device-error: CUDA reports that "
        "a "
        "kernel failed; storage: a file system is full; not-finite: the framework stops at a NaN; crashed: "
        "by a "
        "signal; lost-rank: the process of another rank ended; error: the log ends in an error that no other "
        "kind "
        "names; failed: Slurm reports it, but the log does not say why"},
       {"rule", &F::rule, "of [rules.md](rules.md), or `\"\"`"},
       {"file", &F::file},
       {"line", &F::line, "the first; 0 if only the scheduler reports it"},
       {"count", &F::count, "of its lines, likewise"},
       {"text", &F::text},
       {"problem", &F::problem},
       {"fix", &F::fix},
       {"ranks", &F::ranks, "of a refused group"},
       {"chips", &F::chips, "likewise"},
       {"next", [](const F& f) { return f.next.empty() ? std::nullopt : std::optional(f.next); },
        "a strategy"},
       {"next_step_seconds", &F::next_step_seconds},
       {"run_went_on", &F::went_on, "steps follow it"}});
  return described;
}

template <>
const Record<WatchExplanation>& record() {
  using E = WatchExplanation;
  static const Record<E> described(
      "WatchExplanation", "What would explain slow steps.",
      {{"kind", &E::kind,
        "a key of `--scenario`; `prediction`: nothing is slow, the prediction is too low; `checkpoint`: the "
        "log states how long saves take"},
       {"what", &E::what},
       {"probability", [](const E& e) { return is_fact(e) ? std::nullopt : std::optional(e.probability); },
        "that this is the cause, of those listed; its prior is assumed; `null`: a fact of the log"},
       {"as_likely", &E::as_likely, "as the first: it is at most 3 times as likely"},
       {"value", &E::value, "with which the step is as long; `null`: none of that kind is"},
       {"times", &E::times, "length of the step over an ideal one; without a value, the most it can be"},
       {"step_seconds", &E::step_seconds, "length of the step with the value"},
       {"scenario", [](const E& e) { return e.scenario.empty() ? std::nullopt : std::optional(e.scenario); },
        "as `simulate --scenario` takes it; a node stands for any"},
       {"command", &E::command, "words of the command that simulates it; empty without a scenario"},
       {"check", &E::check, "what to look at on the machine"}});
  return described;
}

template <>
const Record<WatchReport>& record() {
  using R = WatchReport;
  static const Record<R> described(
      "WatchResult", "The state of a run; what is not known is `null`.",
      {{"source", &R::source, "the log"},
       {"state", &R::state, "of the job as Slurm calls it, `\"\"` for a file"},
       {"step", &R::step, "the last"},
       {"total_steps", &R::total, "of the whole run, 0 when unknown"},
       {"step_seconds", &R::step_seconds,
        "median of the steps since the last restart with five timed ones, else of all. Steps shorter than 10 "
        "s in a log with a clock of whole seconds and no "
        "times are timed together, 30 s of them at a time. If a log reports its steps only at the end "
        "(Trainer metrics, BERT's results), their mean"},
       {"recent_step_seconds", &R::recent_seconds, "mean of the last 20 without pauses"},
       {"timed_steps", &R::timed_steps, "a line of a log may state the mean of several"},
       {"predicted_step_seconds", &R::predicted,
        "of `--plan`, or of what `--config`, or `--job` with `--strategy`, names"},
       {"predicted_step_seconds_90",
        [](const R& r) {
          const auto& range = r.predicted_90;
          return range ? std::optional(std::array{range->first, range->second}) : std::nullopt;
        }},
       {"tokens_per_second", &R::tokens_per_second, "at the median step"},
       {"loss", &R::loss, "the last one that is a number"},
       {"memory_bytes_per_core", &R::memory_bytes,
        "of the fullest core or GPU: neuron-monitor's reports, or what TorchTitan or Megatron reserved"},
       {"predicted_memory_bytes_per_core", &R::predicted_memory_bytes, "likewise"},
       {"wall_seconds", &R::wall_seconds},
       {"goodput", &R::goodput},
       {"restarts", &R::restarts},
       {"lost_steps", &R::lost_steps, "that were repeated"},
       {"eta_seconds", &R::eta_seconds,
        "at this step time, or that of the last 20 with an alarm `drift`, with the losses so far except "
        "those of the first start"},
       {"usd_so_far", &R::usd_so_far, "by the log, at the price of the plan"},
       {"usd_total", &R::usd_total, "likewise, of the whole run, with its steps before the log"},
       {"finished", &R::finished, "the last step is done, by the number of steps in the log or the plan"},
       {"failed", &failed,
        "exit code 3: a failure and no step after it, a loss that is NaN, steps that are all skipped, or a "
        "job "
        "that Slurm ended before it was done"},
       {"alarms", &R::alarms},
       {"events", &R::events},
       {"failures", &R::failures},
       {"explanations", &R::explanations,
        "of steps above the interval, or that became slower; the likeliest first"},
       {"to_tell", &R::to_tell, "what to run to tell those apart that are as likely; `\"\"` if one is not"},
       {"remarks", &R::remarks,
        "what `--calibrate` learnt and `--record` wrote, and what the log and the job count differently"}});
  return described;
}

std::string watch_json(const WatchReport& r) {
  return document_of(r, -1);
}

const Description& watch_document() {
  return record<WatchReport>().description();
}

}  // namespace trnplan::io
