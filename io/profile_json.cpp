#include "io/profile_json.h"

#include <nlohmann/json.hpp>

#include "io/plan_json.h"

namespace trnplan::io {

std::string profile_json(const models::Profile& profile, const std::string& base,
                         const std::vector<models::Parameter>& stated, const std::string& description) {
  nlohmann::ordered_json j;
  j["name"] = profile.name;
  j["base"] = base;
  j["description"] = description;
  j["parameters"] = nlohmann::ordered_json::object();
  for (const models::Parameter p : stated) {
    const models::Value& v = profile.value(p);
    j["parameters"][std::string(models::to_string(p))] = {
        {"median", v.median}, {"log_sd", v.log_sd}, {"unit", models::unit_of(p)}, {"source", v.source}};
  }
  return j.dump(2) + "\n";
}

std::string collective_fit_json(const calibrate::CollectiveFit& fit) {
  nlohmann::ordered_json j;
  j["schema_version"] = kSchemaVersion;
  j["parameters"] = nlohmann::ordered_json::array();
  for (const auto& e : fit.estimates) {
    j["parameters"].push_back({{"name", models::to_string(e.parameter)},
                               {"unit", models::unit_of(e.parameter)},
                               {"prior", {{"median", e.prior.median}, {"log_sd", e.prior.log_sd}}},
                               {"fitted", {{"median", e.posterior.median}, {"log_sd", e.posterior.log_sd}}},
                               {"prior_share", e.prior_share},
                               {"verdict", e.verdict}});
  }
  j["rows"] = nlohmann::ordered_json::array();
  for (const auto& r : fit.rows) {
    j["rows"].push_back({{"id", r.point->id},
                         {"op", r.point->op},
                         {"ranks", r.point->ranks},
                         {"bytes", r.point->bytes},
                         {"algorithm", r.algorithm},
                         {"measured_seconds", r.point->seconds},
                         {"predicted_seconds", r.predicted},
                         {"error", r.error}});
  }
  j["summary"] = {{"rows", fit.rows.size()},
                  {"median_ape", fit.median_error},
                  {"worst_ape", fit.worst_error},
                  {"worst_id", fit.worst->point->id},
                  {"converged", fit.converged}};
  return j.dump(2) + "\n";
}

}  // namespace trnplan::io
