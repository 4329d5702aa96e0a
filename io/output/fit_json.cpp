#include "io/output/fit_json.h"

#include <utility>

#include "io/output/json_tree.h"

namespace trnplan::io {

namespace {

template <class Estimates>
Json estimates_array(const Estimates& estimates) {
  Json all = Json::array();
  for (const auto& e : estimates) {
    all.push_back({{"name", models::to_string(e.parameter)},
                   {"unit", models::unit_of(e.parameter)},
                   {"prior", {{"median", e.prior.median}, {"log_sd", e.prior.log_sd}}},
                   {"fitted", {{"median", e.posterior.median}, {"log_sd", e.posterior.log_sd}}},
                   {"prior_share", e.prior_share},
                   {"verdict", e.verdict}});
  }
  return all;
}

Json kernels_array(const std::vector<calibrate::KernelRow>& kernels) {
  Json all = Json::array();
  for (const auto& row : kernels) {
    all.push_back({{"id", row.point.id},
                   {"kernel", to_string(row.point.kernel)},
                   {"measured_seconds", row.point.seconds},
                   {"predicted_seconds", row.predicted},
                   {"error", row.error}});
  }
  return all;
}

/// With what was read behind the other keys.
std::string text_of(Json j, const ReadLogs& logs) {
  add_logs(j, logs);
  return dumped(j);
}

}  // namespace

std::string kernels_json(const std::vector<calibrate::KernelRow>& kernels, const std::string& profile,
                         const ReadLogs& logs) {
  return text_of(
      {{"schema_version", kSchemaVersion}, {"profile", profile}, {"kernels", kernels_array(kernels)}}, logs);
}

std::string step_fit_json(const calibrate::StepFit& fit, const std::vector<calibrate::ExcludedRun>& left_out,
                          const std::vector<calibrate::KernelRow>& kernels, const ReadLogs& logs) {
  const models::Calibration& c = *fit.profile.calibration;
  Json j = {{"schema_version", kSchemaVersion}, {"profile", fit.profile.name}, {"prior", c.prior}};
  j["parameters"] = estimates_array(fit.estimates);
  j["stacks"] = Json::array();
  for (const auto& s : c.stacks) {
    j["stacks"].push_back(
        {{"framework", s.framework}, {"release", s.release}, {"median", s.median}, {"log_sd", s.log_sd}});
  }
  j["configurations"] = Json::object();
  for (const auto& [name, effect] : fit.configuration_effects) j["configurations"][name] = effect;
  j["kernels"] = kernels_array(kernels);
  j["kernel_effects"] = Json::object();
  for (const auto& [op, effect] : fit.kernel_effects) {
    j["kernel_effects"][std::string(logs::to_string(op))] = effect;
  }
  j["left_out"] = Json::array();
  for (const auto& e : left_out) j["left_out"].push_back({{"id", e.id}, {"reason", e.reason}});
  j["summary"] = {{"observations", fit.observations},
                  {"collectives", fit.collectives},
                  {"kernels", fit.kernels},
                  {"iterations", fit.iterations},
                  {"converged", fit.converged}};
  return text_of(std::move(j), logs);
}

std::string collective_fit_json(const calibrate::CollectiveFit& fit,
                                const std::vector<calibrate::LeftOut>& left_out, const std::string& instance,
                                const ReadLogs& logs) {
  Json j;
  j["schema_version"] = kSchemaVersion;
  j["profile"] = fit.profile.name;
  j["instance"] = instance;
  j["parameters"] = estimates_array(fit.estimates);
  j["rows"] = Json::array();
  for (const auto& r : fit.rows) {
    j["rows"].push_back({{"id", r.point->id},
                         {"op", r.point->op},
                         {"ranks", r.point->ranks},
                         {"nodes", r.nodes},
                         {"bytes", r.point->bytes},
                         {"algorithm", r.algorithm},
                         {"measured_seconds", r.point->seconds},
                         {"predicted_seconds", r.predicted},
                         {"error", r.error}});
  }
  j["left_out"] = Json::array();
  for (const auto& l : left_out) {
    j["left_out"].push_back({{"id", l.point.id}, {"reason", l.reason}, {"fix", l.fix}});
  }
  const bool fitted = !fit.estimates.empty();
  j["summary"] = {{"rows", fit.rows.size()},
                  {"median_ape", fit.median_error},
                  {"worst_ape", fit.worst_error},
                  {"worst_id", fit.worst->point->id},
                  {"noise_scale", fitted ? Json(fit.noise_scale) : Json()},
                  {"explains", fit.explains()},
                  {"converged", fitted ? Json(fit.converged) : Json()}};
  return text_of(std::move(j), logs);
}

}  // namespace trnplan::io
