#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "io/output/launch_json.h"
#include "launch/submit/schedulers.h"
#include "launch/submit/submit.h"

namespace trnplan::cli {

namespace {

struct Options {
  Common common;
  std::string folder, scheduler{launch::schedulers().front()->name()}, manifest = "mpijob.yaml";
  bool dry_run = false;
};

launch::SubmitRequest request_of(const Options& o) {
  return {o.folder, *launch::find_scheduler(o.scheduler), o.manifest, o.dry_run};
}

/// Whether `trnplan watch` takes the id of a job.
bool can_watch(const std::string& scheduler) {
  const launch::Scheduler* known = launch::find_scheduler(scheduler);
  return known != nullptr && known->can_watch();
}

/// "slurm, eks, or local: a smoke test of a few steps on this node".
std::string what_runs() {
  std::string text;
  for (const launch::Scheduler* one : launch::schedulers()) {
    if (!text.empty()) text += one == launch::schedulers().back() ? ", or " : ", ";
    text += std::string(one->name()) + std::string(one->remark());
  }
  return text;
}

std::string text_of(const io::LaunchStory& story, const std::string& folder) {
  std::string text;
  for (const auto& command : story.commands) text += launch::command_line(command) + "\n";
  if (story.already) text += "already submitted\n";
  for (const auto& [what, id] : story.jobs) text += fmt::format("{} {}\n", what, id);
  if (!story.jobs.empty() && can_watch(story.scheduler)) {
    text += fmt::format("next: {}\n",
                        launch::command_line({"trnplan", "watch", story.jobs.back().second, "--plan",
                                              (std::filesystem::path(folder) / "plan.json").string()}));
  }
  return text;
}

io::LaunchStory story_of(const Options& o, const launch::SubmitResult& result) {
  io::LaunchStory story{o.scheduler, false, result.already, {}, {}};
  if (result.already) story.scheduler = result.submission.scheduler;
  for (const auto& job : result.submission.jobs) story.jobs.emplace_back(job.what, job.id);
  return story;
}

/// A folder that was submitted needs no more checks.
std::optional<launch::SubmitResult> done_before(const launch::SubmitRequest& request) {
  if (!request.scheduler.keeps_record()) return std::nullopt;
  const auto before = launch::submitted(request.folder);
  if (!before || before->find("train") == nullptr) return std::nullopt;
  return launch::SubmitResult{*before, true};
}

int run(const Options& o) {
  const launch::SubmitRequest request = request_of(o);
  const auto show = [&](const io::LaunchStory& story) {
    // Never broken: commands are for pasting.
    print(o.common.json() ? io::launch_json(story) : text_of(story, o.folder));
  };
  if (!o.dry_run) {
    if (const auto before = done_before(request)) return show(story_of(o, *before)), kDone;
  }
  std::vector<std::string> notes;
  const std::vector<Diagnostic> faults =
      launch::preflight(request, io::Catalog::standard(), launch::run_program, notes);
  heard_remarks().add(notes);
  if (!faults.empty()) throw InputError(faults);
  if (o.dry_run) return show({o.scheduler, true, false, {}, launch::commands(request)}), kDone;
  try {
    show(story_of(o, launch::submit(request, launch::run_program)));
  } catch (const launch::SchedulerRefused& e) {
    remark(e.what());
    return kSchedulerRefused;
  }
  return kDone;
}

}  // namespace

void add_launch(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("launch", "Submit a folder of plan --out: compile, then train");
  command->add_option("folder", o->folder, "folder that plan --out wrote")->required()->check(not_empty());
  command->add_option("--scheduler", o->scheduler, what_runs())
      ->check(CLI::IsMember(launch::scheduler_names()))
      ->capture_default_str();
  command->add_option("--manifest", o->manifest, "what eks applies: mpijob.yaml or pytorchjob.yaml")
      ->check(CLI::IsMember({"mpijob.yaml", "pytorchjob.yaml"}))
      ->capture_default_str();
  command->add_flag("--dry-run", o->dry_run, "check everything and show the commands; submit nothing");
  add_common(*command, o->common);
  command->footer(
      "Fill in setup_env.sh of the folder first. A second call submits nothing twice; launch.json holds the "
      "job ids. Exit code 4 when the scheduler refuses, or a smoke test fails.\n"
      "Examples:\n"
      "  trnplan launch my-plan --dry-run\n"
      "  trnplan launch my-plan\n"
      "  trnplan launch my-plan --scheduler local");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
