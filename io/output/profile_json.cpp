#include "io/output/profile_json.h"

#include <algorithm>
#include <cmath>

#include "io/catalog/calibration.h"
#include "io/format/json_tree.h"
#include "models/schemas/schemas.h"

namespace trnplan::io {

namespace {

nlohmann::ordered_json limits_object(const models::AlgorithmLimits& limits, const std::string& source) {
  nlohmann::ordered_json j = nlohmann::ordered_json::object();
  const auto add = [&](const char* key, Bytes value) {
    if (std::isfinite(value.value)) j[key] = {{"value", value.value}, {"unit", "B"}, {"source", source}};
  };
  add("one_step_below", limits.one_step_below);
  add("mesh_below", limits.mesh_below);
  add("halving_below", limits.halving_below);
  add("flat_ring_from", limits.flat_ring_from);
  return j;
}

nlohmann::ordered_json calibration_object(const models::Calibration& c,
                                          const models::ParameterSchema& schema) {
  Json j = {{"prior", c.prior}, {"tool", c.tool}, {"files", Json::array()}, {"stacks", Json::array()}};
  for (const auto& f : c.files) {
    Json file = {{"name", f.name}, {"sha256", f.sha256}};
    if (f.bytes > 0) file["bytes"] = f.bytes;
    j["files"].push_back(std::move(file));
  }
  for (const auto& s : c.stacks) {
    Json stack = {{"framework", s.framework}};
    if (!s.release.empty()) stack["release"] = s.release;
    if (!s.instance.empty()) stack["instance"] = s.instance;
    if (!s.layout.empty()) stack["layout"] = s.layout;
    if (s.parameters > 0) stack["parameters"] = s.parameters;
    stack["median"] = s.median;
    stack["log_sd"] = s.log_sd;
    j["stacks"].push_back(std::move(stack));
  }
  const std::vector<std::string> names = covariance_names(c, schema);
  Json of = Json::array(), lower = Json::array();
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (c.covariance[i][i] == 0) continue;
    rows.push_back(i);
    of.push_back(names[i]);
    Json row = Json::array();
    for (const std::size_t k : rows) row.push_back(c.covariance[i][k]);
    lower.push_back(std::move(row));
  }
  if (!c.ranges.empty()) {
    Json ranges = Json::object();
    for (const models::FittedRange& r : c.ranges) ranges[r.of] = {r.low, r.high};
    j["ranges"] = std::move(ranges);
  }
  j["covariance"] = {{"of", std::move(of)}, {"lower", std::move(lower)}};
  return j;
}

Json value_object(models::Parameter p, const models::Value& v) {
  return {{"median", v.median}, {"log_sd", v.log_sd}, {"unit", models::unit_of(p)}, {"source", v.source}};
}

constexpr double kGiga = 1e9;

Json gigabytes(const std::vector<BytesPerSecond>& rates) {
  Json list = Json::array();
  for (const BytesPerSecond rate : rates) list.push_back(rate.value / kGiga);
  return list;
}

Json factors_list(const std::vector<models::Factors>& all) {
  Json list = Json::array();
  for (const models::Factors& f : all) {
    Json one = Json::object();
    if (!f.framework.empty()) one["framework"] = f.framework;
    if (!f.cluster.empty()) one["cluster"] = f.cluster;
    one["parameters"] = Json::object();
    for (const auto& [p, value] : f.values)
      one["parameters"][std::string(models::to_string(p))] = value_object(p, value);
    if (const models::NetworkState& n = f.network; n.usual.value > 0) {
      one["network_state"] = {{"usual_gb_per_s", n.usual.value / kGiga},
                              {"power", n.power},
                              {"call_per_rank_s", n.call_per_rank.value},
                              {"step_log_sd_per_doubling", n.step_spread},
                              {"congested_below_gb_per_s", gigabytes(n.congested_below)}};
    }
    if (f.slow) {
      one["slow_network"] = {{"probability", f.slow->probability}};
      if (f.slow->probability > 0) {
        one["slow_network"]["usual_gb_per_s"] = f.slow->usual.value / kGiga;
        one["slow_network"]["power"] = f.slow->power;
        one["slow_network"]["all_reduce_gb_per_s"] = gigabytes(f.slow->all_reduce);
      }
    }
    list.push_back(std::move(one));
  }
  return list;
}

bool equal(const models::Value& a, const models::Value& b) {
  return a.median == b.median && a.log_sd == b.log_sd;
}

/// True if the base has these factors, in value.
bool same_factors(const std::vector<models::Factors>& all, const std::vector<models::Factors>* base) {
  if (base == nullptr || base->size() != all.size()) return false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto &mine = all[i].values, &its = (*base)[i].values;
    if (mine.size() != its.size()) return false;
    for (std::size_t k = 0; k < mine.size(); ++k) {
      if (!equal(mine[k].second, its[k].second)) return false;
    }
  }
  return true;
}

}  // namespace

std::string profile_json(const models::Profile& profile, const std::optional<models::Profile>& base,
                         const std::vector<models::Parameter>& stated, const std::string& description,
                         const std::string& note) {
  nlohmann::ordered_json j;
  j["name"] = profile.name;
  if (base) j["base"] = base->name;
  if (!profile.instance.empty()) j["instance"] = profile.instance;
  if (profile.transferred && !(base && base->transferred)) j["transferred"] = true;
  if (profile.of_collectives && !(base && base->of_collectives)) j["of_collectives"] = true;
  // Without the key it is the default, as in files that were written before there was a second schema.
  if (profile.schema->name() != models::kDefaultSchema) j["schema"] = profile.schema->name();
  j["description"] = description;
  if (!note.empty()) j["note"] = note;
  j["parameters"] = nlohmann::ordered_json::object();
  for (const models::Parameter p : profile.schema->parameters()) {
    const models::Value& v = profile.value(p);
    const bool wanted = std::find(stated.begin(), stated.end(), p) != stated.end();
    if (!wanted && base && equal(v, base->value(p))) continue;
    j["parameters"][std::string(models::to_string(p))] = value_object(p, v);
  }
  if (!base || profile.algorithms != base->algorithms) {
    j["algorithms"] = limits_object(profile.algorithms, "as in the prior of the fit");
  }
  if (profile.calibration != nullptr)
    j["calibration"] = calibration_object(*profile.calibration, *profile.schema);
  if (profile.factors && !(base && same_factors(*profile.factors, base->factors.get())))
    j["factors"] = factors_list(*profile.factors);
  return profile_text(j);
}

}  // namespace trnplan::io
