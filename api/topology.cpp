#include "api/topology.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "api/inputs.h"
#include "api/observations.h"
#include "io/catalog/catalog.h"
#include "io/input/readers.h"
#include "planner/check/rules.h"
#include "text/diagnostic.h"

namespace trnplan::api {

namespace {

topology::Degrees degrees_of(const TopologyRequest& o, const topology::Cluster& cluster) {
  topology::Degrees d{std::max(1, o.tp), std::max(1, o.cp), 1, std::max(1, o.pp)};
  d.data = o.dp > 0 ? o.dp : static_cast<int>(std::max<std::int64_t>(1, cluster.cores() / d.world()));
  const std::string obstacle = topology::RankOrder::obstacle(cluster, d);
  if (obstacle.empty()) return d;
  throw InputError({{"command line", 0, 0},
                    "--tp, --pp, --dp, --cp",
                    obstacle,
                    fmt::format("choose degrees whose product is the number of {}s{}",
                                topology::device_word(cluster.instance.traits.accelerator),
                                o.dp > 0 ? ", or leave --dp out" : "")});
}

}  // namespace

TopologyResult topology(const TopologyRequest& r) {
  const io::Catalog catalog = io::Catalog::standard();
  TopologyResult out;
  topology::Cluster& cluster = out.cluster;
  cluster.instance = r.neuron_ls.empty() ? load_instance(catalog, r.instance)
                                         : io::read_neuron_ls(r.neuron_ls, catalog, r.instance);
  cluster.nodes = r.nodes;
  const topology::ChipGraph graph(cluster.instance);
  if (!r.profile.empty()) static_cast<void>(load_profile(catalog, r.profile));
  const std::vector<planner::Observation> observations = load_observations(r.profile);
  if (r.asks_for_groups()) {
    const topology::Degrees degrees = degrees_of(r, cluster);
    out.verdict = topology::judge_all(cluster, graph, topology::RankOrder(cluster, degrees));
    if (out.verdict.overall != topology::Verdict::supported) {
      if (out.verdict.offending && out.verdict.offending->rule == "no-efa")
        out.fix = no_efa_fix();
      else if (cluster.instance.traits.groups == topology::GroupRule::not_published)
        out.fix = "use an instance type whose step can be timed: trnplan instances lists them";
      else
        out.neighbours = planner::supported_neighbours(cluster, graph, degrees);
    }
  }
  out.observed = tell_observations(out.verdict, observations, cluster.instance);
  return out;
}

}  // namespace trnplan::api
