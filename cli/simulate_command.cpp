#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "api/inputs.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/job_argument.h"
#include "cli/options.h"
#include "cli/text/text.h"
#include "io/input/readers.h"
#include "io/input/strategy_text.h"
#include "io/output/atomic_write.h"
#include "io/output/plan_json.h"
#include "io/trace/chrome_trace.h"
#include "io/trace/perfetto.h"
#include "models/step/timeline.h"
#include "planner/check/judge.h"
#include "text/diagnostic.h"
#include "topology/chip_graph.h"

namespace trnplan::cli {

namespace {

struct Options {
  Common common;
  JobArgument job;
  std::string strategy, trace, schedule = "nxd";
  bool force = false;

  models::Schedule order() const {
    return schedule == "nxd" ? models::Schedule::nxd : models::Schedule::zero_bubble;
  }
};

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

void write_trace(const Options& o, const models::Job& job, const models::Strategy& strategy,
                 const models::Profile& profile) {
  const models::StepModel model(job, strategy, profile, topology::ChipGraph(job.cluster.instance), o.order());
  const models::Timeline timeline = models::timeline(model, job, strategy, profile);
  const std::filesystem::path path = o.trace;
  io::write_files(folder_of(path), {{path.filename().string(), format_of(o.trace)(timeline)}}, o.force);
  const std::string left_out =
      timeline.listed_micro_batches == timeline.micro_batches
          ? ""
          : fmt::format(", passes and messages of the first {} only", timeline.listed_micro_batches);
  remark(
      fmt::format("wrote {}: {} slices on {} tracks, operators of {} of {} micro-batches{}; open it in "
                  "ui.perfetto.dev",
                  o.trace, timeline.slices.size(), timeline.tracks.size(), timeline.detailed_micro_batches,
                  timeline.micro_batches, left_out));
}

/// The what-if must be one.
void check_schedule(const Options& o, const models::Strategy& strategy) {
  if (o.order() == models::Schedule::nxd) return;
  const SourcePos place{"--schedule", 0, 0};
  if (strategy.pipeline_parallel == 1) {
    throw InputError({place, "", "zero-bubble is an order of pipeline stages, and there is one stage",
                      "choose pp=2 or more, or leave --schedule away"});
  }
  if (strategy.virtual_pipeline > 1) {
    throw InputError({place, "", "zero-bubble is not modelled with a virtual pipeline",
                      "choose vpp=1, or leave --schedule away"});
  }
  remark("zero-bubble is a what-if: NxDT has no such schedule");
}

int run(const Options& o) {
  Remarks remarks = heard_remarks();
  if (!o.trace.empty()) {
    format_of(o.trace);
    io::check_files(folder_of(o.trace), {std::filesystem::path(o.trace).filename().string()}, o.force);
  }
  const io::Catalog catalog = io::Catalog::standard();
  const models::Profile profile = api::load_profile(catalog, o.common.profile);
  io::JobReading reading = api::load_job(o.job, catalog, remarks);
  api::settle(reading.job, remarks);
  const models::Strategy strategy = io::parse_strategy(o.strategy, reading.job);
  reading.job.training.precision = strategy.precision;
  check_schedule(o, strategy);
  const planner::Judgement judgement = planner::judge(reading.job, strategy, profile, o.order());

  for (const planner::Violation& v : judgement.broken) {
    remark(fmt::format("{}: {}: {}; fix: {}", v.doubtful ? "doubtful" : "refused", v.rule, v.message, v.fix));
  }
  if (!o.trace.empty()) {
    if (judgement.plan) {
      write_trace(o, reading.job, strategy, profile);
    } else {
      remark("no trace was written: the strategy cannot be simulated");
    }
  }
  if (judgement.plan) {
    api::remark_family(catalog, profile, reading.job.cluster.instance, remarks);
    if (o.common.json()) {
      print(io::plan_json(*judgement.plan, judgement.broken));
    } else {
      print_text(job_line(reading.job) + strategy_words(strategy) + "\n" +
                 plan_details(*judgement.plan, false, text_width()) + critical_path(judgement.plan->report));
    }
  } else if (o.common.json()) {
    print(io::refusal_json(judgement.broken));
  }
  return judgement.refused() ? kNoPlan : kDone;
}

}  // namespace

void add_simulate(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("simulate", "Simulate one strategy of a job in detail");
  add_job_argument(*command, o->job, {JobPart::cluster, JobPart::training});
  command
      ->add_option(
          "--strategy", o->strategy,
          "key=value joined by commas: tp pp vpp cp ep dp mbs sp zero1 recompute kv precision flash cuts "
          "bucket")
      ->required();
  command->add_option("--trace", o->trace, "file for the timeline: .pftrace or .json, for ui.perfetto.dev")
      ->check(not_empty());
  command->add_flag("--force", o->force, "overwrite the file of --trace");
  command->add_option("--schedule", o->schedule, "order of pipeline stages: nxd, or zero-bubble as a what-if")
      ->check(CLI::IsMember({"nxd", "zero-bubble"}))
      ->capture_default_str();
  add_common(*command, o->common);
  command->footer(
      "A refused strategy is simulated all the same where that makes sense; the exit code is then 3.\n"
      "Examples:\n"
      "  trnplan simulate job.yaml --strategy tp=32\n"
      "  trnplan simulate job.yaml --strategy tp=8,pp=4 --trace step.pftrace\n"
      "  trnplan simulate job.yaml --strategy tp=8,recompute=CoreAttention+LlamaMLP --format json");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
