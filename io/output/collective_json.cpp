#include "io/output/collective_json.h"

#include <cmath>

#include "io/format/json_tree.h"
#include "io/output/plan_json.h"

namespace trnplan::io {

namespace {

constexpr double kGiga = 1e9;

Json verdict_object(const topology::GroupVerdict& v) {
  return {
      {"verdict", to_string(v.verdict)}, {"rule", v.rule}, {"message", v.message}, {"evidence", v.source}};
}

Json phases_array(const std::vector<models::CollectiveTiming::Part>& parts) {
  Json all = Json::array();
  for (const auto& p : parts) {
    all.push_back({{"steps", p.steps},
                   {"latency_seconds", p.latency.value},
                   {"transfer_seconds", p.transfer.value},
                   {"limit", p.limit}});
  }
  return all;
}

/// null where there is no time.
Json gbps(double rate, const models::CollectiveTiming& t) {
  return std::isfinite(t.nccom_seconds.value) ? Json(rate / kGiga) : Json();
}

Json interval(const models::SecondsRange& r) {
  return {r.low.value, r.high.value};
}

/// What is the same for all sizes.
Json setting(const topology::Cluster& cluster, const models::Profile& profile) {
  return {{"nodes", cluster.nodes},
          {"instance", cluster.instance.name},
          {"oversubscription", cluster.oversubscription},
          {"profile", profile.name}};
}

Json collective_object(const topology::Cluster& cluster, const models::Profile& profile,
                       const models::TimedCollective& timed) {
  const models::CollectiveTiming& t = timed.timing;
  Json object = {{"op", to_string(timed.run.op)},
                 {"ranks", timed.run.ranks},
                 {"bytes", static_cast<std::int64_t>(timed.run.bytes.value)},
                 {"algorithm", t.algorithm},
                 {"seconds", t.seconds.value},
                 {"seconds_90", interval(t.seconds_90)},
                 {"nccom_seconds", t.nccom_seconds.value},
                 {"nccom_seconds_90", interval(t.nccom_seconds_90)},
                 {"busbw_gbps", gbps(t.busbw, t)},
                 {"algbw_gbps", gbps(t.algbw, t)}};
  object.update(setting(cluster, profile));
  object["verdict"] = verdict_object(t.verdict);
  object["alpha_seconds"] = t.alpha.value;
  object["phases"] = phases_array(t.parts);
  object["host_launch_seconds"] = t.host_launch.value;
  object["barrier_seconds"] = t.barrier.value;
  return object;
}

std::string dump(const Json& j) {
  return j.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string collective_json(const topology::Cluster& cluster, const models::Profile& profile,
                            const models::TimedCollective& timed) {
  Json j = {{"schema_version", kSchemaVersion}};
  j.update(collective_object(cluster, profile, timed));
  return dump(j);
}

std::string collective_sweep_json(const topology::Cluster& cluster, const models::Profile& profile,
                                  const std::vector<models::TimedCollective>& all) {
  Json j = {{"schema_version", kSchemaVersion},
            {"op", to_string(all.front().run.op)},
            {"ranks", all.front().run.ranks}};
  j.update(setting(cluster, profile));
  j["verdict"] = verdict_object(all.front().timing.verdict);
  j["results"] = Json::array();
  for (const models::TimedCollective& timed : all)
    j["results"].push_back(collective_object(cluster, profile, timed));
  return dump(j);
}

}  // namespace trnplan::io
