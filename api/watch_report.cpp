#include "api/watch_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "units/median.h"

namespace trnplan::api {

using io::JsonValue;

namespace {

/// Most steps that a page draws; beyond, each point represents several.
constexpr std::size_t kStepsInReport = 3000;

/// Step, median seconds and longest seconds for each point of a stretch.
JsonValue points_part(const launch::Stretch& stretch, std::size_t every) {
  JsonValue points = JsonValue::List();
  for (std::size_t i = 0; i < stretch.steps.size(); i += every) {
    std::vector<double> seconds;
    for (std::size_t k = i; k < std::min(i + every, stretch.steps.size()); ++k)
      seconds.push_back(stretch.steps[k].seconds);
    points.add(JsonValue::List{stretch.steps[i].step, median(seconds),
                               *std::max_element(seconds.begin(), seconds.end())});
  }
  return points;
}

void add_steps(JsonValue& page, const launch::RunLog& run) {
  std::size_t steps = 0;
  for (const launch::Stretch& s : run.stretches) steps += s.steps.size();
  const std::size_t every = std::max<std::size_t>(1, (steps + kStepsInReport - 1) / kStepsInReport);
  JsonValue stretches = JsonValue::List();
  std::size_t shown = 0;
  for (const launch::Stretch& s : run.stretches) {
    if (++shown > kStepsInReport) break;  // each has at least one point
    stretches.add(JsonValue::object(
        {{"first", s.first}, {"last", s.last}, {"line", s.first_line}, {"points", points_part(s, every)}}));
  }
  page.add("steps_found", steps);
  page.add("steps_a_point", every);
  page.add("stretches_found", run.stretches.size());
  page.add("stretches", std::move(stretches));
}

JsonValue curve_part(const launch::CurveReading& c) {
  JsonValue points = JsonValue::List();
  for (const launch::CurvePoint& p : c.points) points.add(JsonValue::List{p.step, p.value});
  return JsonValue::object({{"last", c.last},
                            {"lowest", c.lowest},
                            {"lowest_step", c.lowest_step},
                            {"spikes", c.spikes},
                            {"values", c.seen},
                            {"every", c.every},
                            {"points", std::move(points)}});
}

JsonValue alarms_part(const io::WatchReport& r) {
  JsonValue all = JsonValue::List();
  for (const io::WatchAlarm& a : r.alarms)
    all.add(JsonValue::object(
        {{"kind", a.kind}, {"message", a.message}, {"cause", a.cause}, {"fix", a.fix}, {"line", a.line}}));
  return all;
}

JsonValue failures_part(const io::WatchReport& r) {
  JsonValue all = JsonValue::List();
  for (const io::WatchFailure& f : r.failures) {
    all.add(JsonValue::object({{"kind", f.kind},
                               {"rule", f.rule},
                               {"text", f.text},
                               {"problem", f.problem},
                               {"fix", f.fix},
                               {"file", f.file},
                               {"line", f.line},
                               {"count", f.count},
                               {"next", f.next},
                               {"next_step_seconds", f.next_step_seconds},
                               {"went_on", f.went_on}}));
  }
  return all;
}

JsonValue events_part(const io::WatchReport& r) {
  constexpr std::size_t kMost = 200;
  JsonValue all = JsonValue::List();
  for (std::size_t i = 0; i < std::min(kMost, r.events.size()); ++i)
    all.add(JsonValue::object(
        {{"kind", r.events[i].kind}, {"text", r.events[i].text}, {"line", r.events[i].line}}));
  return all;
}

/// Remarks, and what would explain slow steps, the likeliest first.
JsonValue notes_part(const io::WatchReport& r) {
  JsonValue all = JsonValue::List();
  for (const std::string& remark : r.remarks) all.add(remark);
  for (const io::WatchExplanation& e : r.explanations) {
    if (!e.as_likely) continue;
    const std::string likely = io::is_fact(e) ? "" : fmt::format("{:.0f} % likely: ", e.probability * 100);
    all.add(fmt::format("{}{}{}; look at: {}", likely, e.what,
                        e.scenario.empty() ? "" : " (simulate --scenario " + e.scenario + ")", e.check));
  }
  if (!r.to_tell.empty()) all.add("to tell these apart, run " + r.to_tell);
  return all;
}

JsonValue commands_part(const ReportFile& file, const std::vector<std::string>& words,
                        const io::WatchReport& r) {
  JsonValue all = JsonValue::List();
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> list = words;
    list.insert(list.end(), more.begin(), more.end());
    return list;
  };
  if (!r.finished && words[2] != "-")
    all.add(command_part("read the log again, and update this page",
                         with({"--once", "--report", file.path, "--force"})));
  if (!r.predicted)
    all.add(command_part("state what ran, to compare it with a prediction",
                         with({"--once", "--config", "NXDT.yaml"})));
  else if (r.timed_steps >= logs::kFewestSteps)
    all.add(command_part("learn from these steps: write a profile that explains them",
                         with({"--once", "--calibrate", "mine.json"})));
  return all;
}

}  // namespace

void write_watch_report(const ReportFile& file, const std::vector<std::string>& words,
                        const io::WatchReport& r, const launch::RunLog& run,
                        const launch::WatchContext& context, const std::vector<Remark>& remarks) {
  const topology::Instance* instance = context.plan ? &context.plan->job.cluster.instance : nullptr;
  JsonValue page = report_of("watch", remarks);
  page.add("core_word",
           std::string(topology::device_word(instance != nullptr ? instance->traits.accelerator
                                                                 : topology::Accelerator::neuron_core)));
  if (context.plan) {
    page.add("job", job_part(context.plan->job));
    page.add("strategy", strategy_part(context.plan->strategy));
    page.add("limit_bytes", context.plan->job.cluster.instance.core.memory.value);
  }
  page.add("source", r.source);
  page.add("state", r.state);
  page.add("step", r.step);
  page.add("total", r.total);
  page.add("finished", r.finished);
  page.add("how_failed", io::how_it_failed(r));
  page.add("step_seconds", r.step_seconds);
  page.add("recent_seconds", r.recent_seconds);
  page.add("timed_steps", r.timed_steps);
  page.add("predicted_seconds", r.predicted);
  if (r.predicted_90)
    page.add("predicted_seconds_90", JsonValue::List{r.predicted_90->first, r.predicted_90->second});
  page.add("tokens_per_second", r.tokens_per_second);
  page.add("memory_bytes", r.memory_bytes);
  page.add("predicted_memory_bytes", r.predicted_memory_bytes);
  page.add("wall_seconds", r.wall_seconds);
  page.add("goodput", r.goodput);
  page.add("restarts", r.restarts);
  page.add("lost_steps", r.lost_steps);
  page.add("eta_seconds", r.eta_seconds);
  page.add("usd_so_far", r.usd_so_far);
  page.add("usd_total", r.usd_total);
  page.add("steps_before", r.steps_before);
  page.add("loss", r.loss);
  page.add("loss_lost", r.loss_lost);
  page.add("losses", curve_part(run.losses));
  page.add("gradient_norms", curve_part(run.gradient_norms));
  page.add("alarms", alarms_part(r));
  page.add("failures", failures_part(r));
  page.add("events_found", r.events.size());
  page.add("events", events_part(r));
  page.add("notes", notes_part(r));
  page.add("commands", commands_part(file, words, r));
  add_steps(page, run);
  write_report(file, page);
}

}  // namespace trnplan::api
