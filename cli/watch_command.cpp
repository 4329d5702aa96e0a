#include <CLI/CLI.hpp>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "api/watch.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/text/watch_text.h"
#include "cli/text/wrap.h"
#include "io/input/log_stream.h"
#include "text/diagnostic.h"
#include "topology/device_name.h"

namespace trnplan::cli {

namespace {

constexpr const char* kExplained = "explained";  ///< not a kind of alarm

struct WatchOptions {
  Common common;  ///< its profile is in the request
  api::WatchRequest request;
};

std::string how_to_compare(const std::string& source) {
  return fmt::format(
      "to see whether that is as fast as it should be, state what ran: {} or {}\n",
      command_text({"trnplan", "watch", source == io::kStandardInputName ? io::kStandardInput : source,
                    "--config", "FILE"}),
      never_broken("--job JOB.yaml --strategy tp=8,pp=4"));
}

/// Status, and alarms of kinds that the last look did not have; the first time also what explains slow steps.
std::string looked(const io::WatchReport& r, std::set<std::string>& alarmed) {
  std::string text = status_line(r);
  std::set<std::string> now;
  for (const io::WatchAlarm& a : r.alarms) {
    if (now.insert(a.kind).second && !alarmed.contains(a.kind)) text += alarm_text(a);
  }
  if (!r.explanations.empty() && now.insert(kExplained).second && !alarmed.contains(kExplained))
    text += explanations_text(r);
  alarmed = std::move(now);
  return text;
}

void show(const Common& common, const io::WatchReport& r, bool whole, bool assumed,
          std::set<std::string>& alarmed) {
  if (common.json()) return print(io::watch_json(r));
  std::string text = whole ? report_text(r) : looked(r, alarmed);
  for (const std::string& note : r.remarks) text += note + "\n";
  if (whole && r.step_seconds && assumed) text += how_to_compare(r.source);
  print_text(text);
}

int run(const WatchOptions& o) {
  Remarks remarks = printed_remarks();
  std::set<std::string> alarmed;
  const auto shown = [&](const io::WatchReport& r, bool whole, bool assumed) {
    show(o.common, r, whole, assumed, alarmed);
  };
  return api::watch(o.request, shown, remarks) ? kNoPlan : kDone;
}

}  // namespace

void add_watch(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<WatchOptions>();
  CLI::App* command =
      app.add_subcommand("watch", "Compare a run with its plan while it goes on, and explain why it failed");
  command->add_option("targets", o->request.targets, "a Slurm job id, log files, or - for standard input")
      ->required()
      ->check(not_empty());
  command->add_flag("--once", o->request.once, "report once and exit, instead of following the log");
  command
      ->add_option("--plan", o->request.ran.plan, "plan.json of the folder that was launched, or the folder")
      ->check(not_empty());
  command->add_option("--job", o->request.ran.job, "the job that ran, if there is no plan.json")
      ->check(not_empty());
  command->add_option("--strategy", o->request.ran.strategy, "its strategy, written as for simulate")
      ->check(not_empty());
  command->add_option("--config", o->request.ran.config, "the config that ran, or the script that started it")
      ->check(not_empty());
  command
      ->add_option("--instance", o->request.ran.instance,
                   "instance type on which --config, or the log alone, ran; instead of that of --job")
      ->check(not_empty())
      ->default_str(api::usual_instance());
  command
      ->add_option("--nodes", o->request.ran.nodes,
                   "nodes on which --job, or the script of --config, ran, if it states others or none")
      ->check(whole_number(1, topology::kMostNodes));
  command
      ->add_option("--calibrate", o->request.calibrate,
                   "write a profile that explains the observed steps (.json)")
      ->check(not_empty());
  command
      ->add_option(
          "--record", o->request.record,
          "add the replica groups and memory that the log shows to the observations of this profile (.json)")
      ->check(not_empty());
  add_report(*command, o->request.report.path);
  command->add_flag("--force", o->request.force, "overwrite --calibrate and --report");
  command->add_option("--interval", o->request.interval, "seconds between two readings of the log")
      ->check(whole_number(1, 3600))
      ->capture_default_str();
  add_common(*command, o->common);
  command->footer(
      "--format json prints one JSON object per line. Exit code 3: the run failed: a failure with no step "
      "after it, a loss that is NaN, steps that are all skipped, or a job that Slurm ended early; or "
      "--calibrate wrote nothing.\n"
      "Examples:\n"
      "  trnplan watch 1742 --plan my-plan/plan.json\n"
      "  trnplan watch train-1742.out --plan my-plan/plan.json --once --calibrate mine.json\n"
      "  kubectl logs -f my-pod | trnplan watch - --config nxdt.yaml\n"
      "  trnplan watch slurm-17.out --once --record mine.json; trnplan topology --tp 16 --profile mine.json\n"
      "  trnplan watch slurm-17.out --once --format json | jq .failures");
  command->callback([o, &chosen] {
    chosen = [o] {
      o->request.profile = o->common.profile;
      o->request.report.force = o->request.force;
      return run(*o);
    };
  });
}

}  // namespace trnplan::cli
