#include <numeric>

#include "io/output/described.h"
#include "io/output/json_tree.h"
#include "io/output/plan_json.h"

namespace trnplan::io {

using topology::GroupVerdict;
using topology::Instance;
using topology::KindVerdict;

namespace {

struct ShownTopology {
  const topology::Cluster* cluster;
  const topology::ChipGraph* graph;
  const topology::PlacementVerdict* verdict;
};

struct ShownTorus {
  int rows, columns, depth;
};

struct ShownNic {
  int nic;
  std::vector<int> chips;
  int cores;
  BytesPerSecond rate;
};

std::vector<ShownNic> nics_of(const Instance& instance) {
  std::vector<ShownNic> all;
  for (int n = 0; n < instance.nics; ++n) {
    ShownNic nic{n, {}, 0, instance.nic};
    for (int c = 0; c < instance.chips; ++c) {
      if (instance.nic_of_chip[static_cast<std::size_t>(c)] == n) nic.chips.push_back(c);
    }
    nic.cores = static_cast<int>(nic.chips.size()) * instance.cores_per_chip;
    all.push_back(std::move(nic));
  }
  return all;
}

std::vector<std::vector<int>> links_of(const Instance& instance) {
  std::vector<std::vector<int>> all;
  for (const topology::Link& l : instance.links) all.push_back({l.chip_a, l.chip_b});
  return all;
}

std::vector<BytesPerSecond> rates_of(const Instance& instance) {
  std::vector<BytesPerSecond> all;
  for (const topology::Link& l : instance.links) all.push_back(instance.rate_of(l));
  return all;
}

std::vector<std::vector<int>> rings_of(const ShownTopology& t) {
  std::vector<int> all(static_cast<std::size_t>(t.cluster->instance.chips));
  std::iota(all.begin(), all.end(), 0);
  return t.graph->disjoint_rings(all);
}

}  // namespace

template <>
const Record<GroupVerdict>& record() {
  static const Record<GroupVerdict> described(
      "Group", "A replica group.",
      {{"kind", &GroupVerdict::kind, "`tp`, `cp`, `dp` or `pp`"},
       {"ranks", &GroupVerdict::ranks},
       {"chips", &GroupVerdict::chips, "of the part on the first node"},
       {"nodes", &GroupVerdict::nodes, "the number of nodes in the group"},
       {"verdict", &GroupVerdict::verdict, "`supported`, `doubtful` or `refused`"},
       {"rule", &GroupVerdict::rule},
       {"message", &GroupVerdict::message},
       {"evidence", &GroupVerdict::source}});
  return described;
}

template <>
const Record<ShownTorus>& record() {
  static const Record<ShownTorus> described(
      "Torus", "`rows` x `columns` x `depth` chips.",
      {{"rows", &ShownTorus::rows}, {"columns", &ShownTorus::columns}, {"depth", &ShownTorus::depth}});
  return described;
}

template <>
const Record<ShownNic>& record() {
  static const Record<ShownNic> described("Nic", "An EFA device.",
                                          {{"nic", &ShownNic::nic},
                                           {"chips", &ShownNic::chips, "that it serves"},
                                           {"cores", &ShownNic::cores, "that share it"},
                                           {"bytes_per_second_per_direction", &ShownNic::rate}});
  return described;
}

template <>
const Record<KindVerdict>& record() {
  static const Record<KindVerdict> described(
      "Kind", "All groups of a kind, with the worst verdict among them.",
      {{"kind", &KindVerdict::kind},
       {"groups", &KindVerdict::groups, "how many"},
       {"ranks", &KindVerdict::ranks, "of each"},
       {"verdict", path(&KindVerdict::worst, &GroupVerdict::verdict), "the worst"},
       {"rule", path(&KindVerdict::worst, &GroupVerdict::rule), "of it"},
       {"rings", &KindVerdict::rings,
        "without a common link over the chips of one node, of the group that has fewest; always empty for "
        "`pp`. One chip is a ring without links"}});
  return described;
}

template <>
const Record<ShownTopology>& record() {
  using T = ShownTopology;
  const auto machine = [](auto get) { return path(&T::cluster, path(&topology::Cluster::instance, get)); };
  static const Record<T> described(
      "TopologyResult", "The fabric of a node, and the verdict on every group of a layout.",
      {{"instance", machine(&Instance::name)},
       {"nodes", path(&T::cluster, &topology::Cluster::nodes)},
       {"groups", path(&T::verdict, &topology::PlacementVerdict::groups),
        "every group of every kind with more than one rank, in the order tp, cp, dp, pp. The command has no "
        "KV degree, so groups of KV replicas (kind `kv`) are not listed; `plan`, `simulate` and `check` "
        "judge "
        "them"},
       {"verdict", path(&T::verdict, &topology::PlacementVerdict::overall),
        "the worst; `supported` without groups"},
       {"links", machine(&links_of),
        "pairs of vertices of one node: chips 0 to `chips` - 1, after them the switches"},
       {"link_bytes_per_second_per_direction", machine(&rates_of),
        "the published rate of each of `links`, in their order, as the catalogue reads it"},
       {"chips", machine(&Instance::chips)},
       {"switches", machine(&Instance::switches)},
       {"cores_per_chip", machine(&Instance::cores_per_chip)},
       {"torus", machine([](const Instance& i) {
          return i.torus_rows < 1 ? std::nullopt
                                  : std::optional(ShownTorus{i.torus_rows, i.torus_columns, i.torus_depth});
        }),
        "`null` if the fabric is not a torus or not the catalogue's"},
       {"nics", machine(&nics_of), "empty without EFA"},
       {"rings", &rings_of,
        "over all chips of a node that share no link, as found; empty when there is none"},
       {"kinds", [](const T& t) { return topology::by_kind(*t.graph, *t.verdict); },
        "one entry for each kind in `groups`"}});
  return described;
}

std::string topology_json(const topology::Cluster& cluster, const topology::ChipGraph& graph,
                          const topology::PlacementVerdict& verdict) {
  return document_of(ShownTopology{&cluster, &graph, &verdict});
}

const Description& topology_document() {
  return record<ShownTopology>().description();
}

}  // namespace trnplan::io
