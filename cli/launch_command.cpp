#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "api/launch.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "io/input/plan_file.h"
#include "io/output/emit_kubernetes.h"
#include "io/output/launch_json.h"
#include "launch/submit/schedulers.h"
#include "text/shell_words.h"

namespace trnplan::cli {

namespace {

struct LaunchOptions {
  Common common;
  api::LaunchRequest request;
};

/// "slurm, eks, or local: a smoke test of a few steps on this node".
std::string what_runs() {
  std::string text;
  for (const launch::Scheduler* one : launch::schedulers()) {
    if (!text.empty()) text += one == launch::schedulers().back() ? ", or " : ", ";
    text += std::string(one->name()) + std::string(one->remark());
  }
  return text;
}

/// "NAME fits CLUSTER; ..."; the first is the default.
std::string what_flavours() {
  std::string text;
  for (const io::KubernetesFlavour& f : io::kubernetes_flavours())
    text += fmt::format("{}{} fits {}", text.empty() ? "" : "; ", f.name, f.fits);
  return text + ". Default: the first";
}

/// Command that watches the training job; "" if nothing was submitted.
std::string next_line(const io::LaunchStory& story, const std::string& folder) {
  const launch::Scheduler* scheduler = launch::find_scheduler(story.scheduler);
  if (story.jobs.empty() || scheduler == nullptr) return "";
  const std::string plan = (std::filesystem::path(folder) / io::kPlanFile).string();
  const std::string& id = story.jobs.back().second;
  if (scheduler->can_watch())
    return fmt::format("next: {}\n", command_line({"trnplan", "watch", id, "--plan", plan}));
  const std::vector<std::string> printing = scheduler->prints_log(id);
  if (printing.empty()) return "";
  return fmt::format("next: {} | {}\n", command_line(printing),
                     command_line({"trnplan", "watch", "-", "--plan", plan}));
}

std::string text_of(const io::LaunchStory& story, const std::string& folder) {
  std::string text = story.faults.empty() ? "" : "When that is fixed, this runs:\n";
  for (const auto& command : story.commands) text += command_line(command) + "\n";
  if (story.already) text += "already submitted\n";
  for (const auto& [what, id] : story.jobs) text += fmt::format("{} {}\n", what, id);
  return text + next_line(story, folder);
}

io::LaunchStory story_of(const LaunchOptions& o, const api::LaunchResult& result) {
  io::LaunchStory story{result.scheduler, o.request.dry_run, result.already, {},
                        result.commands,  result.faults};
  for (const auto& job : result.jobs) story.jobs.emplace_back(job.what, job.id);
  return story;
}

int run(const LaunchOptions& o) {
  Remarks remarks = printed_remarks();
  try {
    const api::LaunchResult result = api::launch(o.request, remarks);
    const io::LaunchStory story = story_of(o, result);
    if (!result.faults.empty()) report_faults(InputError(result.faults));
    // Never broken, because commands are for pasting.
    print(o.common.json() ? io::launch_json(story) : text_of(story, o.request.folder));
    return result.faults.empty() ? kDone : kBadInput;
  } catch (const launch::SchedulerRefused& e) {
    remark(e.what());
    return kSchedulerRefused;
  }
}

}  // namespace

void add_launch(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<LaunchOptions>();
  CLI::App* command = app.add_subcommand("launch", "Submit a folder of plan --out: compile, then train");
  command->add_option("folder", o->request.folder, "folder written by plan --out")
      ->required()
      ->check(not_empty());
  command->add_option("--scheduler", o->request.scheduler, what_runs())
      ->check(CLI::IsMember(launch::scheduler_names()))
      ->capture_default_str();
  command->add_option("--cluster-flavour", o->request.flavour, "for eks: " + what_flavours())
      ->check(CLI::IsMember(io::flavour_names()));
  command
      ->add_option("--cluster-file", o->request.cluster_file,
                   "for eks: the file from which a HyperPod cluster is created; it states the flavour")
      ->check(not_empty());
  command->add_flag("--dry-run", o->request.dry_run,
                    "check everything and show the commands, even after a failed check; submit nothing");
  add_common(*command, o->common);
  command->footer(
      "Fill in the folder's settings.env first. A second call submits nothing twice; launch.json holds the "
      "job ids. Exit code 4: the scheduler refused, or a smoke test failed.\n"
      "Examples:\n"
      "  trnplan launch my-plan --dry-run\n"
      "  trnplan launch my-plan\n"
      "  trnplan launch my-plan --scheduler local");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
