#include "api/launch.h"

#include <filesystem>
#include <optional>

#include "io/catalog/catalog.h"
#include "io/input/cluster_files.h"
#include "io/input/plan_file.h"
#include "io/output/emit_kubernetes.h"
#include "launch/submit/schedulers.h"
#include "launch/submit/submit.h"

namespace trnplan::api {

namespace {

std::string flavour_of(const LaunchRequest& o, const std::filesystem::path& folder) {
  if (!o.flavour.empty()) return o.flavour;
  if (!o.cluster_file.empty()) return io::kubernetes_flavour_of(o.cluster_file);
  std::error_code none;
  // The first that the folder holds: those of GPUs have no launcher of their own.
  for (const io::KubernetesFlavour& flavour : io::kubernetes_flavours()) {
    if (std::filesystem::exists(folder / io::manifest_name(flavour, "train"), none))
      return std::string(flavour.name);
  }
  return std::string(io::kubernetes_flavours().front().name);
}

launch::SubmitRequest order_of(const LaunchRequest& o, const launch::HeldFolder& folder) {
  const launch::Scheduler* scheduler = launch::find_scheduler(o.scheduler);
  if (scheduler != nullptr) return {folder, *scheduler, flavour_of(o, folder.path()), o.dry_run};
  std::string known;
  for (const std::string& name : launch::scheduler_names()) known += (known.empty() ? "" : ", ") + name;
  throw InputError({{"command line", 0, 0},
                    "--scheduler",
                    in_quotes(o.scheduler) + " is not a known scheduler",
                    "write one of " + known});
}

/// A folder that was submitted needs no more checks.
std::optional<launch::SubmitResult> done_before(const launch::SubmitRequest& request) {
  if (request.dry_run || !request.scheduler.keeps_record()) return std::nullopt;
  const auto before = launch::submitted(request.folder.path());
  if (!before || before->find("train") == nullptr) return std::nullopt;
  return launch::SubmitResult{*before, true};
}

/// What would run once the faults are mended; none where the folder holds no plan, or cannot be read.
std::vector<std::vector<std::string>> commands_of(const launch::SubmitRequest& request) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(request.folder.path() / io::kPlanFile, none)) return {};
  try {
    return launch::commands(request);
  } catch (const InputError&) {
    return {};  // settings.env cannot be read, which is among the faults
  }
}

LaunchResult result_of(const LaunchRequest& o, const launch::SubmitResult& submitted) {
  const launch::Submission& s = submitted.submission;
  return {submitted.already ? s.scheduler : o.scheduler, submitted.already, s.jobs, {}, {}};
}

}  // namespace

LaunchResult launch(const LaunchRequest& o, Remarks& remarks, const launch::Runner& runner) {
  const launch::HeldFolder folder(o.folder);
  const launch::SubmitRequest request = order_of(o, folder);
  if (const auto before = done_before(request)) return result_of(o, *before);
  std::vector<std::string> notes;
  std::vector<Diagnostic> faults = launch::preflight(request, io::Catalog::standard(), runner, notes);
  remarks.add(notes);
  if (o.dry_run) {
    LaunchResult result{o.scheduler, false, {}, commands_of(request), std::move(faults)};
    if (!result.commands.empty() || result.faults.empty()) return result;
    faults = std::move(result.faults);
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  if (const std::string waits = request.scheduler.waits_for(); !waits.empty()) remarks.add(waits);
  return result_of(o, launch::submit(request, runner));
}

}  // namespace trnplan::api
