#include "api/validate.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "api/compared_jobs.h"
#include "api/inputs.h"
#include "api/published.h"
#include "io/catalog/catalog.h"
#include "io/catalog/reliability.h"
#include "io/input/strategy_text.h"
#include "logs/table/measured_collectives.h"
#include "logs/table/measured_runs.h"
#include "text/diagnostic.h"
#include "text/document.h"

namespace trnplan::api {

namespace {

/// The profile `name` for the catalogue's published runs, jobs and collectives.
models::Profile published_profile(const io::Catalog& catalog, const std::string& name) {
  return load_profile_of(catalog, name, catalog.instance(catalog.default_instance()));
}

planner::CheckedUptime checked(const planner::PublishedUptime& p, const io::Catalog& catalog,
                               const models::Profile& profile, const planner::Reliability& reliability) {
  models::Job job;
  job.architecture = catalog.architecture(p.model);
  job.cluster = {catalog.instance(p.instance), p.nodes};
  job.training = {p.sequence, p.global_batch, p.tokens, models::Precision::mixed_precision};
  return {p, planner::check_uptime(p, job, io::parse_strategy(p.strategy, job), profile, reliability)};
}

}  // namespace

ValidateResult validate(const ValidateRequest& request, Remarks& remarks) {
  const io::Catalog catalog = io::Catalog::standard();
  const models::Profile profile = published_profile(catalog, request.profile);
  const calibrate::Published known = published(catalog);
  std::optional<std::vector<models::MeasuredRun>> asked;
  if (!request.runs.empty())
    asked = logs::parse_measured_runs(read_text(request.runs, kCsvBytes), request.runs);
  ValidateResult out{calibrate::validate_runs(known, asked, profile, request.leave_out, remarks),
                     profile.name};
  if (out.steps.validation.rows.empty()) {
    const auto& excluded = out.steps.excluded;
    throw InputError({{asked ? request.runs : known.runs_file.name, 0, 0},
                      "",
                      "no row is a training run that can be predicted",
                      excluded.empty() ? "give rows of kind train"
                                       : excluded.front().id + ": " + excluded.front().reason});
  }
  return out;
}

MemoryValidationResult validate_memory(const std::string& name) {
  const io::Catalog catalog = io::Catalog::standard();
  const models::Profile profile = published_profile(catalog, name);
  MemoryValidationResult out{
      calibrate::validate_memory(memory_cases(catalog), case_lookup(catalog), profile), {}, profile.name};
  const bool fitted = profile.calibration != nullptr;
  out.score = calibrate::memory_score(out.rows, profile,
                                      fitted ? catalog.profile(profile.calibration->prior) : profile);
  return out;
}

std::vector<calibrate::LeftOutTable> validate_collectives(const std::string& name) {
  constexpr const char* kFile = "measured-collectives.csv";
  const io::Catalog catalog = io::Catalog::standard();
  const models::Profile profile = published_profile(catalog, name);
  const topology::Instance instance = catalog.instance(catalog.default_instance());
  const auto own = [&](const std::string& build) { return instance.family + "-" + build; };
  const auto has_own = [&](const std::string& build) {
    return std::filesystem::exists(catalog.file("profiles/" + own(build) + ".json"));
  };
  auto points = logs::parse_measured_collectives(read_text(catalog.file(kFile).string()), kFile);
  std::erase_if(points, [&](const auto& p) { return p.instance != instance.name && !has_own(p.build); });
  points = calibrate::select_points(points, instance, profile).points;
  return calibrate::leave_tables_out(points, instance, [&](const std::string& build) {
    return has_own(build) ? catalog.profile(own(build)) : profile;
  });
}

UptimeValidationResult validate_uptimes(const std::string& name) {
  const io::Catalog catalog = io::Catalog::standard();
  const models::Profile profile = published_profile(catalog, name);
  const planner::Reliability reliability = io::reliability_from(*catalog.document("reliability.json"));
  UptimeValidationResult out{{}, profile.name, reliability.name};
  for (const planner::PublishedUptime& p : reliability.published)
    out.rows.push_back(checked(p, catalog, profile, reliability));
  return out;
}

}  // namespace trnplan::api
