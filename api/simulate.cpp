#include "api/simulate.h"

#include <filesystem>

#include <fmt/format.h>

#include "io/catalog/catalog.h"
#include "io/input/strategy_text.h"
#include "io/output/atomic_write.h"
#include "io/trace/chrome_trace.h"
#include "io/trace/perfetto.h"
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
  const models::StepModel model(job, strategy, profile, topology::ChipGraph(job.cluster.instance),
                                o.schedule);
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

/// The what-if must be one.
void check_schedule(const SimulateRequest& o, const models::Strategy& strategy, Remarks& remarks) {
  if (o.schedule == models::Schedule::nxd) return;
  const SourcePos place{"--schedule", 0, 0};
  if (strategy.pipeline_parallel == 1) {
    throw InputError({place, "", "zero-bubble is an order of pipeline stages, and there is one stage",
                      "choose pp=2 or more, or leave --schedule away"});
  }
  if (strategy.virtual_pipeline > 1) {
    throw InputError({place, "", "zero-bubble is not modelled with a virtual pipeline",
                      "choose vpp=1, or leave --schedule away"});
  }
  remarks.add("zero-bubble is a what-if: NxDT has no such schedule");
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
  const models::Profile profile = load_profile(catalog, r.profile);
  io::JobReading reading = load_job(r.job, catalog, remarks);
  settle(reading.job, remarks);
  SimulateResult out;
  out.strategy = io::parse_strategy(r.strategy, reading.job);
  out.job = std::move(reading.job);
  out.job.training.precision = out.strategy.precision;
  check_schedule(r, out.strategy, remarks);
  out.judgement = planner::judge(out.job, out.strategy, profile, r.schedule);
  remark_broken(out.judgement, remarks);
  if (!r.trace.empty()) {
    if (out.judgement.plan)
      write_trace(r, out.job, out.strategy, profile, remarks);
    else
      remarks.add("no trace was written: the strategy cannot be simulated");
  }
  if (out.judgement.plan) remark_family(catalog, profile, out.job.cluster.instance, remarks);
  return out;
}

}  // namespace trnplan::api
