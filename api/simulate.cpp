#include "api/simulate.h"

#include <filesystem>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "api/prices.h"
#include "api/rehearsal.h"
#include "api/scenario_step.h"
#include "io/catalog/catalog.h"
#include "io/input/scenario_text.h"
#include "io/input/strategy_text.h"
#include "io/output/atomic_write.h"
#include "io/trace/chrome_trace.h"
#include "io/trace/perfetto.h"
#include "models/framework/framework.h"
#include "text/diagnostic.h"
#include "topology/chip_graph.h"

namespace trnplan::api {

namespace {

/// Writes a timeline in the format that the file's name selects.
using Format = std::string (*)(const models::Timeline&);

Format format_of(const std::string& path) {
  if (path.ends_with(".pftrace")) return io::perfetto_trace;
  if (path.ends_with(".json")) return io::chrome_trace;
  throw InputError({{"--trace", 0, 0},
                    "",
                    "\"" + printable(path) + "\" ends neither in .pftrace nor in .json",
                    "name it .pftrace (Perfetto's own format, smaller) or .json (Chrome's)"});
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : ".";
}

void write_trace(const SimulateRequest& o, const models::Job& job, const models::Strategy& strategy,
                 const models::Profile& profile, const models::TimelineOptions& drawn, Remarks& remarks) {
  const models::StepModel model(job, strategy, profile, topology::ChipGraph(job.cluster.instance));
  const models::Timeline timeline = [&] {
    try {
      return models::timeline(model, job, strategy, profile, drawn);
    } catch (const std::overflow_error& e) {  // beyond the clock, or too many passes
      throw InputError({{"--trace", 0, 0},
                        "",
                        std::string("the step cannot be drawn: ") + e.what(),
                        "leave --trace out, or state a smaller batch"});
    }
  }();
  const std::filesystem::path path = o.trace;
  io::write_files(folder_of(path), {{path.filename().string(), format_of(o.trace)(timeline)}}, o.force);
  const std::string left_out =
      timeline.listed_micro_batches == timeline.micro_batches
          ? ""
          : fmt::format(", with passes and messages of the first {} only", timeline.listed_micro_batches);
  const int drawn_kinds = timeline.drawn_of_stage();
  const std::string kinds =
      timeline.lanes_of_stage == 1 ? ""
      : timeline.lanes_of_stage == drawn_kinds
          ? fmt::format(", {} kinds of {}s each stage", drawn_kinds, timeline.device_word)
          : fmt::format(
                ", {} of {} kinds of {}s each stage: those of each condition, the busiest and the least busy",
                drawn_kinds, timeline.lanes_of_stage, timeline.device_word);
  remarks.add(
      fmt::format("wrote {}: {} slices on {} tracks, operators of {} of {} micro-batches{}{}; open it in "
                  "ui.perfetto.dev",
                  o.trace, timeline.slices.size(), timeline.tracks.size(), timeline.detailed_micro_batches,
                  timeline.micro_batches, left_out, kinds));
}

/// Adds a remark if the schedule is a what-if.
void remark_schedule(const models::Strategy& strategy, Remarks& remarks) {
  const models::Schedule schedule = models::effective_schedule(strategy);
  const models::Framework& loop = models::framework_of(strategy);
  if (loop.runs(schedule)) return;
  remarks.add(fmt::format("{} is a what-if: {} has no such schedule", to_string(schedule), loop.name()),
              "what-if-schedule");
}

}  // namespace

void remark_broken(const planner::Judgement& judgement, Remarks& remarks) {
  for (const planner::Violation& v : judgement.broken) {
    remarks.add(
        fmt::format("{}: {}: {}; fix: {}", v.doubtful ? "doubtful" : "refused", v.rule, v.message, v.fix));
  }
}

std::vector<std::string> paths_of(const SimulateRequest& r) {
  return {r.job.job, r.profile, r.trace, io::is_scenario_file(r.scenario) ? r.scenario : ""};
}

SimulateResult simulate(const SimulateRequest& r, Remarks& remarks) {
  check_apart("--trace", r.trace, {r.job.job, r.profile});
  if (!r.trace.empty()) {
    format_of(r.trace);
    rehearse_files(folder_of(r.trace), {std::filesystem::path(r.trace).filename().string()}, r.force);
  }
  const ResolvedJob resolved = resolve(
      r, {.one_strategy = true, .loop_stated = io::states_loop(r.strategy), .amend = with_prices(r.price)},
      remarks);
  SimulateResult out;
  out.strategy = io::strategy_there(r.strategy, resolved.job());
  if (r.schedule) io::set_schedule(out.strategy, *r.schedule, {"--schedule", 0, 0}, "");
  std::optional<models::Scenario> scenario;
  if (!r.scenario.empty())
    scenario = io::read_scenario(r.scenario, resolved.job().cluster, {"--scenario", 0, 0}, r.job.texts);
  remark_schedule(out.strategy, remarks);
  resolved.remark_other_loop(out.strategy, remarks);
  Prediction p = Predictor(resolved).predict(resolved.job(), out.strategy);
  out.job = std::move(p.job);
  out.profile = *p.stack->profile;
  out.judgement = std::move(p.judgement);
  out.outlook = std::move(p.outlook);
  remark_broken(out.judgement, remarks);
  if (out.judgement.plan) remark_release(out.profile, out.job, remarks);
  if (scenario && out.judgement.plan)
    out.scenario = scenario_step(r.scenario, *scenario, out.job, out.strategy, out.profile);
  if (r.trace.empty()) return out;
  if (out.judgement.plan)
    write_trace(r, out.job, out.strategy, out.profile,
                out.scenario ? out.scenario->drawn() : models::TimelineOptions(), remarks);
  else
    remarks.add("no trace was written: the strategy cannot be simulated");
  return out;
}

}  // namespace trnplan::api
