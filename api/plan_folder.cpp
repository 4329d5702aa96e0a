#include "api/plan_folder.h"

#include <filesystem>

#include <fmt/format.h>

#include "api/rehearsal.h"
#include "io/catalog/catalog.h"
#include "io/catalog/measuring.h"
#include "io/catalog/reliability.h"
#include "io/input/price_list.h"
#include "io/output/atomic_write.h"
#include "launch/folder/bundle.h"
#include "launch/folder/checkpoints.h"
#include "launch/folder/cluster_kinds.h"
#include "launch/folder/measure.h"
#include "launch/submit/schedulers.h"
#include "planner/cost/run_forecast.h"
#include "targets/registry.h"
#include "text/diagnostic.h"
#include "text/document.h"
#include "text/shell_words.h"

namespace trnplan::api {

namespace {

/// Changes that let --out write something; only those that would help.
std::string remedy(const planner::Target& own, const models::Job& job, const models::Strategy& strategy) {
  if (!planner::beyond_mending(own, job, strategy))
    return "pin what --target can express, choose another --target, or drop --out";
  std::string others;
  for (const planner::Target* target : targets::all()) {
    if (!target->trains_on(job.cluster.instance.traits) || planner::beyond_mending(*target, job, strategy))
      continue;
    others += (others.empty() ? "" : " or ") + std::string(target->name());
  }
  return others.empty() ? "drop --out: trnplan writes no config that trains this model"
                        : "plan with --target " + others + ", or drop --out";
}

std::vector<io::OutputFile> bundle_of(const models::Job& job, const planner::Target& target,
                                      const planner::Plan& plan, const PlanRequest& o, Remarks& remarks) {
  models::Job planned = planner::as_planned(job, plan);
  const io::Catalog catalog = io::Catalog::standard();
  planned.run.planned_checkpoint_steps = planner::best_checkpoint_steps(
      planned, plan, io::reliability_from(*catalog.document("reliability.json")));
  if (const auto why = planner::inexpressible(target, planned, plan.strategy)) {
    throw InputError({{o.job.job, 0, 0}, "--out", *why, remedy(target, planned, plan.strategy)});
  }
  if (const std::string why = launch::no_folder_for(planned.cluster.instance); !why.empty())
    throw InputError({{o.job.job, 0, 0}, "--out", why, "drop --out, or plan for another --instance"});
  if (const std::string doubt = planner::release_doubt(target, planned); !doubt.empty())
    remarks.add(doubt, "packages");
  if (const std::string note = launch::checkpoint_note(planned, plan.strategy, target); !note.empty())
    remarks.add(note, "checkpoint");
  return launch::bundle(planned, plan, target);
}

/// What is worth timing on the plan's machine.
planner::MachineShapes shapes_of(const models::Job& job, const planner::SearchResult& result,
                                 const models::Profile& profile) {
  const io::Catalog catalog = io::Catalog::standard();
  return planner::machine_shapes(job, *result.recommended_plan(), profile,
                                 io::machine_spreads_from(*catalog.document("measuring.json")).machine);
}

/// Experiment that distinguishes the recommended plan from the second, unless the target cannot run it; and the
/// measurement of the plan's machine, as measure_machine.sh, or as measure.sh if no experiment is needed.
std::vector<io::OutputFile> measure_files_of(const models::Job& job, const planner::Target& target,
                                             const planner::SearchResult& result,
                                             const models::Profile& profile,
                                             const planner::Confidence& confidence, const PlanRequest& o,
                                             Remarks& remarks) {
  bool decides = confidence.comparison && confidence.comparison->best;
  const planner::MachineShapes shapes = shapes_of(job, result, profile);
  if (!decides && shapes.empty()) return {};
  if (job.run.scheduler == models::SubmitBy::eks) {
    if (!decides) return {};
    remarks.add(
        "no measure.sh is written: it runs under Slurm or directly on a node, and the folder is for EKS",
        "measure");
    return {};
  }
  if (o.job.texts.states(o.job.job)) {
    if (!decides) return {};
    remarks.add("no measure.sh is written: it plans again, and the job is not in a file", "measure");
    return {};
  }
  const auto absolute = [](const std::string& path) { return std::filesystem::absolute(path).string(); };
  const bool own_profile = o.profile.ends_with(".json");
  launch::MeasureUse use{o.words.job, own_profile ? absolute(o.profile) : o.profile, o.words.options};
  const auto repeat = [&](const char* option, const std::string& value) {
    use.options.insert(use.options.end(), {option, value});
  };
  repeat("--top", fmt::to_string(o.top));
  repeat("--fit-probability", fmt::to_string(o.fit_probability));
  repeat("--sure", fmt::to_string(o.sure));
  if (o.risk != planner::RiskAttitude::neutral) repeat("--risk", std::string(to_string(o.risk)));
  if (!o.target.empty()) repeat("--target", o.target);
  if (o.pricing != PlanRequest{}.pricing) repeat("--pricing", o.pricing);
  if (!o.price.empty()) repeat("--price", io::is_price_file(o.price) ? absolute(o.price) : o.price);
  if (o.allow_doubtful) use.options.push_back("--allow-doubtful");
  use.job_alone = o.words.options.empty();
  const std::vector<planner::Plan>& plans = result.plans;
  if (decides && confidence.comparison->best->runs_of_second > 0) {
    const planner::Plan& second = plans[confidence.comparison->second];
    if (const auto why = planner::inexpressible(target, planner::as_planned(job, second), second.strategy)) {
      remarks.add(fmt::format("no measure.sh that decides is written: plan {}: {}",
                              confidence.comparison->second + 1, *why),
                  "measure");
      decides = false;
    }
  }
  std::vector<io::OutputFile> files;
  if (decides)
    files =
        launch::measure_files(job, plans[confidence.comparison->first], plans[confidence.comparison->second],
                              *confidence.comparison->best, target, use);
  if (!shapes.empty())
    files.push_back(launch::measure_machine_file(job, *result.recommended_plan(), shapes, target, use,
                                                 decides ? "measure_machine.sh" : "measure.sh"));
  return files;
}

}  // namespace

std::optional<std::string> why_no_folder(const planner::Target& target, const models::Job& planned,
                                         const models::Strategy& strategy) {
  if (auto why = planner::inexpressible(target, planned, strategy)) return why;
  std::string why = launch::no_folder_for(planned.cluster.instance);
  return why.empty() ? std::nullopt : std::optional(std::move(why));
}

void check_out(const PlanRequest& o, const planner::Target* target) {
  if (!o.out.empty() && target != nullptr) rehearse_files(o.out, launch::bundle_names(*target), o.force);
}

std::string write_plan_folder(const models::Job& job, const planner::Target* target,
                              const planner::SearchResult& result, const models::Profile& profile,
                              const planner::Confidence& confidence, const PlanRequest& o, Remarks& remarks) {
  if (target == nullptr) {
    throw InputError({{o.job.job, 0, 0},
                      "--out",
                      "no target writes the training loop that the job pins for this machine",
                      "drop --out, or pin another loop"});
  }
  std::vector<io::OutputFile> files = bundle_of(job, *target, *result.recommended_plan(), o, remarks);
  std::vector<io::OutputFile> more = measure_files_of(job, *target, result, profile, confidence, o, remarks);
  files.insert(files.end(), more.begin(), more.end());
  io::write_files(o.out, files, o.force);
  const std::filesystem::path folder = o.out;
  std::vector<std::string> next = launch::launch_command(o.out, job.run);
  next.emplace_back("--dry-run");
  remarks.add(fmt::format("wrote {} files to {}; next: {}", files.size(), o.out, command_line(next)));
  return more.empty() ? "" : (folder / more.front().name).string();
}

}  // namespace trnplan::api
