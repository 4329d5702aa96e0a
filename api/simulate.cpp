#include "api/simulate.h"

#include <filesystem>

#include <fmt/format.h>

#include "api/known_jobs.h"
#include "api/known_runs.h"
#include "api/observations.h"
#include "api/risk.h"
#include "io/catalog/catalog.h"
#include "io/input/strategy_text.h"
#include "io/output/atomic_write.h"
#include "io/trace/chrome_trace.h"
#include "io/trace/perfetto.h"
#include "models/framework/framework.h"
#include "targets/registry.h"
#include "text/diagnostic.h"
#include "topology/chip_graph.h"

namespace trnplan::api {

namespace {

/// Writes a timeline in a form that the file's name asks for.
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
                 const models::Profile& profile, Remarks& remarks) {
  const models::StepModel model(job, strategy, profile, topology::ChipGraph(job.cluster.instance));
  const models::Timeline timeline = models::timeline(model, job, strategy, profile);
  const std::filesystem::path path = o.trace;
  io::write_files(folder_of(path), {{path.filename().string(), format_of(o.trace)(timeline)}}, o.force);
  const std::string left_out =
      timeline.listed_micro_batches == timeline.micro_batches
          ? ""
          : fmt::format(", passes and messages of the first {} only", timeline.listed_micro_batches);
  remarks.add(
      fmt::format("wrote {}: {} slices on {} tracks, operators of {} of {} micro-batches{}; open it in "
                  "ui.perfetto.dev",
                  o.trace, timeline.slices.size(), timeline.tracks.size(), timeline.detailed_micro_batches,
                  timeline.micro_batches, left_out));
}

/// A what-if is called one.
void remark_schedule(const models::Strategy& strategy, Remarks& remarks) {
  const models::Schedule schedule = models::settled_schedule(strategy);
  if (models::framework_of(strategy).runs(schedule)) return;
  remarks.add(fmt::format("{} is a what-if: NxDT has no such schedule", to_string(schedule)));
}

}  // namespace

void remark_broken(const planner::Judgement& judgement, Remarks& remarks) {
  for (const planner::Violation& v : judgement.broken) {
    remarks.add(
        fmt::format("{}: {}: {}; fix: {}", v.doubtful ? "doubtful" : "refused", v.rule, v.message, v.fix));
  }
}

SimulateResult simulate(const SimulateRequest& r, Remarks& remarks) {
  if (!r.trace.empty()) {
    format_of(r.trace);
    io::check_files(folder_of(r.trace), {std::filesystem::path(r.trace).filename().string()}, r.force);
  }
  const io::Catalog catalog = io::Catalog::standard();
  models::Profile stated = load_profile(catalog, r.profile);
  io::JobReading reading = load_job(r.job, catalog, remarks);
  const models::Profile profile =
      profile_for(catalog, std::move(stated), r.profile_given, reading.job.cluster.instance, remarks);
  settle(reading.job, remarks);
  SimulateResult out;
  out.strategy = io::parse_strategy(r.strategy, reading.job);
  out.job = std::move(reading.job);
  out.job.training.precision = out.strategy.precision;
  take_loop(out.job, profile, out.strategy.framework);
  if (r.schedule) io::set_schedule(out.strategy, *r.schedule, {"--schedule", 0, 0}, "");
  remark_schedule(out.strategy, remarks);
  out.judgement = planner::judge(out.job, out.strategy, profile, &targets::of(out.job));
  remark_broken(out.judgement, remarks);
  if (!r.trace.empty()) {
    if (out.judgement.plan)
      write_trace(r, out.job, out.strategy, profile, remarks);
    else
      remarks.add("no trace was written: the strategy cannot be simulated");
  }
  if (out.judgement.plan) {
    tell_nearest(*out.judgement.plan, load_known_jobs(catalog, profile, asks_for_gpus(out.job)), out.job);
    planner::Plan& plan = *out.judgement.plan;
    const KnownRisk risk(catalog, load_observations(r.profile), out.job.architecture, asks_for_gpus(out.job));
    out.outlook = risk.advisor(out.job, profile).outlook(plan, plan);
    planner::tell_risk(plan, out.outlook);
  }
  if (out.judgement.plan) {
    remark_family(catalog, profile, out.job.cluster.instance, remarks);
    remark_release(profile, out.job.software, remarks);
  }
  out.profile = profile;
  return out;
}

}  // namespace trnplan::api
