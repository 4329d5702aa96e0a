#include <numeric>

#include "io/output/json_tree.h"
#include "io/output/plan_json.h"

namespace trnplan::io {

namespace {

Json nics_array(const topology::Instance& instance) {
  Json nics = Json::array();
  for (int n = 0; n < instance.nics; ++n) {
    Json chips = Json::array();
    for (int c = 0; c < instance.chips; ++c) {
      if (instance.nic_of_chip[static_cast<std::size_t>(c)] == n) chips.push_back(c);
    }
    const std::size_t cores = chips.size() * static_cast<std::size_t>(instance.cores_per_chip);
    nics.push_back({{"nic", n},
                    {"chips", std::move(chips)},
                    {"cores", cores},
                    {"bytes_per_second_per_direction", instance.nic.value}});
  }
  return nics;
}

Json torus_object(const topology::Instance& instance) {
  if (instance.torus_rows < 1) return nullptr;
  return {
      {"rows", instance.torus_rows}, {"columns", instance.torus_columns}, {"depth", instance.torus_depth}};
}

Json kinds_array(const topology::ChipGraph& graph, const topology::PlacementVerdict& verdict) {
  Json kinds = Json::array();
  for (const topology::KindVerdict& k : topology::by_kind(graph, verdict)) {
    kinds.push_back({{"kind", to_string(k.kind)},
                     {"groups", k.groups},
                     {"ranks", k.ranks},
                     {"verdict", to_string(k.worst.verdict)},
                     {"rule", k.worst.rule},
                     {"rings", k.rings}});
  }
  return kinds;
}

}  // namespace

std::string topology_json(const topology::Cluster& cluster, const topology::ChipGraph& graph,
                          const topology::PlacementVerdict& verdict) {
  Json j = document();
  j["instance"] = cluster.instance.name;
  j["nodes"] = cluster.nodes;
  j["groups"] = Json::array();
  for (const topology::GroupVerdict& g : verdict.groups) {
    j["groups"].push_back({{"kind", to_string(g.kind)},
                           {"ranks", g.ranks},
                           {"chips", g.chips},
                           {"nodes", g.nodes},
                           {"verdict", to_string(g.verdict)},
                           {"rule", g.rule},
                           {"message", g.message},
                           {"evidence", g.source}});
  }
  j["verdict"] = to_string(verdict.overall);
  const topology::Instance& instance = cluster.instance;
  Json links = Json::array(), rates = Json::array();
  for (const topology::Link& l : instance.links) {
    links.push_back({l.chip_a, l.chip_b});
    rates.push_back(instance.rate_of(l).value);
  }
  j["links"] = std::move(links);
  j["link_bytes_per_second_per_direction"] = std::move(rates);
  j["chips"] = instance.chips;
  j["switches"] = instance.switches;
  j["cores_per_chip"] = instance.cores_per_chip;
  j["torus"] = torus_object(instance);
  j["nics"] = nics_array(instance);
  std::vector<int> all(static_cast<std::size_t>(instance.chips));
  std::iota(all.begin(), all.end(), 0);
  j["rings"] = graph.disjoint_rings(all);
  j["kinds"] = kinds_array(graph, verdict);
  return dumped(j);
}

}  // namespace trnplan::io
