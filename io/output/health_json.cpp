#include "io/output/health_json.h"

#include "io/format/json_tree.h"
#include "io/output/plan_json.h"

namespace trnplan::io {

namespace {

Json row_object(const HealthRow& r) {
  return {{"bytes", r.bytes},
          {"seconds", r.seconds},
          {"predicted_seconds", r.predicted},
          {"predicted_seconds_90", {r.predicted_90.first, r.predicted_90.second}},
          {"peer_seconds", or_null(r.peers)},
          {"ratio", r.ratio}};
}

Json test_object(const HealthTest& t) {
  Json j = {{"nodes", t.nodes}, {"slow", t.slow}, {"ratio", or_null(t.ratio)}};
  j["failure"] = t.failure.empty() ? Json(nullptr) : Json(t.failure);
  j["file"] = t.file;
  j["line"] = t.line;
  j["sizes"] = Json::array();
  for (const HealthRow& r : t.rows) j["sizes"].push_back(row_object(r));
  return j;
}

}  // namespace

std::string health_json(const HealthReport& r) {
  Json j = {{"schema_version", kSchemaVersion},
            {"verdict", r.slow.empty() ? "ok" : "slow"},
            {"instance", r.instance},
            {"profile", r.profile},
            {"slow_factor", r.factor},
            {"nodes", r.nodes},
            {"alone", r.alone},
            {"pairs", r.pairs}};
  j["slow_nodes"] = Json::array();
  for (const SlowNode& n : r.slow) {
    j["slow_nodes"].push_back({{"node", n.name},
                               {"alone", n.alone},
                               {"in_pairs", n.in_pairs},
                               {"problem", n.problem},
                               {"fix", n.fix},
                               {"command", n.command}});
  }
  j["tests"] = Json::array();
  for (const HealthTest& t : r.tests) j["tests"].push_back(test_object(t));
  return j.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace trnplan::io
