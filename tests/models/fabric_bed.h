// Clusters to run collectives on, with every node on its own.
#pragma once

#include <utility>
#include <vector>

#include "models/collective/collective_algorithm.h"
#include "models/collective/fabric.h"
#include "models/collective/neuron_algorithms.h"
#include "tests/models/setup.h"
#include "tests/topology/machines.h"
#include "topology/placement.h"

namespace trnplan::models {

/// Every algorithm of the Neuron runtime.
inline const std::vector<Algorithm> kAlgorithms = [] {
  std::vector<Algorithm> all;
  for (const neuron::LocalAlgorithm& local : neuron::kLocalAlgorithms) all.push_back(local.algorithm);
  all.insert(all.end(), {neuron::hierarchical, neuron::flat_ring, neuron::one_step});
  return all;
}();

/// A cluster on which no node represents others.
struct FlatBed {
  topology::Cluster cluster;
  topology::ChipGraph graph;
  topology::Placement placement;
  Profile profile = datasheet();
  Fabric fabric;

  explicit FlatBed(topology::Cluster c)
      : cluster(std::move(c)),
        graph(cluster.instance),
        placement(topology::Placement::flat(cluster)),
        fabric(cluster, graph, placement, profile) {}
  FlatBed(const char* instance, int nodes) : FlatBed({test_catalog().instance(instance), nodes}) {}
};

/// An instance as a torus of single-core chips.
inline topology::Cluster as_torus(topology::Cluster c, int rows, int columns) {
  c.instance.chips = rows * columns;
  c.instance.cores_per_chip = 1;
  c.instance.torus_rows = rows;
  c.instance.torus_columns = columns;
  c.instance.links = topology::torus_links({rows, columns});
  c.instance.nics = 0;
  c.instance.nic_of_chip.clear();
  return c;
}

/// Single-core chips in a torus, and no NIC.
inline topology::Cluster torus_cluster(int rows, int columns, int nodes = 1) {
  return as_torus({test_catalog().instance("trn1.32xlarge"), nodes}, rows, columns);
}

/// 0, step, 2 step, ...: `count` numbers.
inline std::vector<int> first(int count, int step = 1) {
  std::vector<int> all;
  for (int i = 0; i < count; ++i) all.push_back(i * step);
  return all;
}

/// Cores of a trn1 node, two per chip: one core, both of a chip, one of each of two chips, two chips, one
/// core per chip of a row, of a column, of three chips; a row, two rows.
inline std::vector<std::vector<int>> trn1_groups() {
  return {{5}, {0, 1}, {0, 8}, {0, 1, 2, 3}, {0, 2, 4, 6}, {0, 8, 16, 24}, {0, 2, 4}, first(8), first(16)};
}

}  // namespace trnplan::models
