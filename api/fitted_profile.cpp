#include "api/fitted_profile.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/catalog/observations.h"
#include "io/input/log_stream.h"
#include "io/output/profile_json.h"
#include "launch/watch/watched_log.h"

namespace trnplan::api {

std::string collective_profile_json(const calibrate::CollectiveFit& fit, const io::Catalog& catalog,
                                    const std::vector<calibrate::CollectiveReading>& readings,
                                    const std::string& name, const std::string& instance) {
  models::Profile profile = fit.profile;
  profile.name = name;
  profile.instance = instance;
  std::set<std::string> builds;
  std::vector<std::string> files;
  for (const calibrate::CollectiveReading& r : readings) {
    const bool gave =
        std::any_of(fit.rows.begin(), fit.rows.end(), [&](const calibrate::CollectiveFit::Row& row) {
          return std::find_if(r.points.begin(), r.points.end(), [&](const logs::MeasuredCollective& p) {
                   return p.id == row.point->id && p.at.file == row.point->at.file;
                 }) != r.points.end();
        });
    if (gave) files.push_back(r.name);
  }
  for (const calibrate::CollectiveFit::Row& row : fit.rows) {
    if (!row.point->build.empty()) builds.insert(row.point->build);
  }
  const std::string build = builds.empty() ? "" : fmt::format(", build {}", fmt::join(builds, " and "));
  profile.of_collectives = true;
  std::vector<models::Parameter> stated;
  for (const calibrate::CollectiveFit::Estimate& e : fit.estimates) {
    stated.push_back(e.parameter);
    const std::string points = fmt::format("{} nccom-test point{} of {}{}", fit.rows.size(),
                                           fit.rows.size() == 1 ? "" : "s", fmt::join(files, ", "), build);
    profile.value(e.parameter).source =
        e.verdict == "at prior" ? fmt::format("at prior: not moved by {}; prior {:.4g}, log-sd {:.2f}",
                                              points, e.prior.median, e.prior.log_sd)
                                : fmt::format("{}: fitted to {}; prior {:.4g}, log-sd {:.2f}", e.verdict,
                                              points, e.prior.median, e.prior.log_sd);
  }
  std::optional<models::Profile> base;
  if (!profile.base.empty()) base = catalog.profile(profile.base);
  return io::profile_json(
      profile, base, stated,
      fmt::format("Collectives of {}, fitted to nccom-test: median error {:.1f} %, worst {:.0f} %.", instance,
                  fit.median_error * 100, fit.worst_error * 100),
      fmt::format("Fitted to nccom-test of {}: for collectives, not for planning.",
                  builds.empty() ? "an unknown build" : fmt::format("build {}", fmt::join(builds, " and "))));
}

namespace {

/// True if a log shows that memory was full, and no step after that. What watch cannot read shows nothing.
bool ended_full(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return false;
  try {
    io::LogStream bytes(path);
    launch::WatchedLog log(path);
    std::string part(kChunk, '\0');
    while (const std::size_t size = bytes.read(part.data(), part.size())) log.feed({part.data(), size});
    const launch::LogReading reading = log.now();
    return std::any_of(reading.failures.begin(), reading.failures.end(), [&](const logs::Failure& f) {
      const bool memory =
          f.kind == logs::FailureKind::device_memory || f.kind == logs::FailureKind::compile_memory;
      return memory && f.last_line >= reading.run.last_line;
    });
  } catch (const InputError&) {
    return false;
  }
}

/// The user's own layouts as observations that they had enough memory, or had not where it ended their run: plans near
/// them are tested. Runs that can hardly be of their job are none.
std::vector<planner::Observation> layouts_that_ran(const calibrate::StepCalibration& c,
                                                   const std::vector<calibrate::LogFile>& files) {
  std::vector<planner::Observation> all;
  std::map<std::string, bool> full;
  for (const calibrate::MeasuredStep& s : c.data->runs.steps) {
    const bool doubtful = std::any_of(c.doubts.begin(), c.doubts.end(), [&](const Diagnostic& d) {
      return d.at.file == s.at.file && d.at.line == s.at.line;
    });
    const auto read =
        std::find_if(files.begin(), files.end(), [&](const auto& f) { return f.path == s.at.file; });
    if (!s.own || doubtful || read == files.end()) continue;
    const auto [died, is_new] = full.try_emplace(read->path, false);
    if (is_new) died->second = ended_full(read->path);
    planner::Observation o = planner::memory_of_run(s.job, s.strategy, !died->second);
    o.file = std::filesystem::path(s.at.file).filename().string();
    o.sha256 = read->sha256;
    o.line = s.at.line;
    all.push_back(std::move(o));
  }
  return all;
}

}  // namespace

std::string step_profile_json(const calibrate::StepCalibration& c,
                              const std::vector<calibrate::LogFile>& files, const io::Catalog& catalog) {
  const models::Profile& profile = c.fit.profile;
  std::optional<models::Profile> base;
  if (!profile.base.empty()) base = catalog.profile(profile.base);
  std::vector<models::Parameter> stated;
  for (const calibrate::StepFit::Estimate& e : c.fit.estimates) stated.push_back(e.parameter);
  const std::string text = io::profile_json(
      profile, base, stated,
      fmt::format("Fitted to {} measured steps ({} configurations){} {} nccom-test points{}; prior {}.",
                  c.fit.observations, c.fit.configuration_effects.size(), c.fit.kernels > 0 ? "," : " and",
                  c.fit.collectives,
                  c.fit.kernels > 0
                      ? fmt::format(" and {} kernel{}", c.fit.kernels, c.fit.kernels == 1 ? "" : "s")
                      : "",
                  profile.calibration->prior),
      "Effective values for this model, not measurements of hardware. The covariance shows how fitted "
      "parameters depend on each other.");
  const std::vector<planner::Observation> ran = layouts_that_ran(c, files);
  return ran.empty() ? text : io::with_observations(text, ran);
}

std::string machine_profile_json(const calibrate::MachineCalibration& c, const io::Catalog& catalog) {
  const models::Profile& profile = c.fit.profile;
  std::optional<models::Profile> base;
  if (!profile.base.empty()) base = catalog.profile(profile.base);
  std::vector<models::Parameter> stated;
  for (const calibrate::MachineEstimate& e : c.fit.estimates) {
    if (e.library.empty()) stated.push_back(e.parameter);
  }
  return io::profile_json(profile, base, stated,
                          fmt::format("{} of one machine, {}, learnt from {} that were timed there.",
                                      c.before, c.instance, fmt::join(c.kinds, ", ")),
                          "Values of that machine in a training step: kernels alone run somewhat faster.");
}

}  // namespace trnplan::api
