// Collectives as coflows: what one costs to describe, fold and run, by ranks.
#include <benchmark/benchmark.h>

#include <numeric>

#include "io/catalog/catalog.h"
#include "models/collective/collective.h"
#include "models/collective/neuron_algorithms.h"
#include "sim/exchange.h"
#include "sim/executor.h"

namespace {

using namespace trnplan;
using namespace trnplan::models;

/// A cluster and the fabric of its one node class, made once.
struct Bed {
  topology::Cluster cluster;
  topology::ChipGraph graph;
  topology::Placement placement;
  Profile profile;
  Fabric fabric;
  std::vector<std::vector<int>> world;

  Bed(topology::Cluster c, int ranks)
      : cluster(std::move(c)),
        graph(cluster.instance),
        placement(topology::Placement::uniform(cluster)),
        profile(io::Catalog(TRNPLAN_SOURCE_DIR "/catalog").profile("trn1-datasheet")),
        fabric(cluster, graph, placement, profile),
        world(1, std::vector<int>(static_cast<std::size_t>(ranks))) {
    std::iota(world[0].begin(), world[0].end(), 0);
  }
};

topology::Cluster trn1(int nodes) {
  return {io::Catalog(TRNPLAN_SOURCE_DIR "/catalog").instance("trn1.32xlarge"), nodes};
}

/// One node of `size` x `size` chips of one core.
topology::Cluster torus(int size) {
  topology::Cluster c = trn1(1);
  topology::Instance& i = c.instance;
  i.chips = size * size;
  i.cores_per_chip = 1;
  i.torus_rows = i.torus_columns = size;
  i.nics = 0;
  i.nic_of_chip.clear();
  i.links.clear();
  for (int row = 0; row < size; ++row) {
    for (int column = 0; column < size; ++column) {
      i.links.push_back({row * size + column, row * size + (column + 1) % size});
      i.links.push_back({row * size + column, (row + 1) % size * size + column});
    }
  }
  return c;
}

/// All-reduce of 64 MiB from description to the end of its simulation, on resources made before.
void run(benchmark::State& state, const Bed& bed, Algorithm algorithm) {
  double seconds = 0;
  std::uint64_t events = 0;
  sim::Program fabric;
  for (const double rate : bed.fabric.capacities()) fabric.add_resource({}, BytesPerSecond(rate));
  for (auto _ : state) {
    const Collective c =
        collective(bed.fabric, CollectiveOp::all_reduce, bed.world, mebibytes(64), algorithm);
    sim::Program program = fabric;
    const sim::DeviceId device = program.add_device("collective");
    for (const Phase& phase : c.phases) {
      std::vector<sim::Weight> weights;
      for (const auto& [id, bytes] : phase.load) weights.push_back({id, bytes});
      program.add_transfer({device}, program.add_flow(std::move(weights)), to_sim_time(phase.latency()));
    }
    const sim::Run run = sim::execute(program);
    seconds = to_seconds(run.end).value;
    events = run.events;
  }
  state.counters["events"] = static_cast<double>(events);
  state.counters["simulated_ms"] = seconds * 1e3;
}

void all_reduce_flat_ring(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0));
  run(state, Bed(trn1((ranks + 31) / 32), ranks), neuron::flat_ring);
}
BENCHMARK(all_reduce_flat_ring)->Arg(16)->Arg(1024)->Unit(benchmark::kMicrosecond);

void all_reduce_torus(benchmark::State& state) {
  const int size = static_cast<int>(state.range(0));
  run(state, Bed(torus(size), size * size), neuron::torus);
}
BENCHMARK(all_reduce_torus)->Arg(4)->Arg(32)->Unit(benchmark::kMicrosecond);

void all_reduce_hierarchical(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  run(state, Bed(trn1(nodes), nodes * 32), neuron::hierarchical);
}
BENCHMARK(all_reduce_hierarchical)->Arg(2)->Arg(1875)->Unit(benchmark::kMicrosecond);

/// The same, every message of its own.
void all_reduce_flat_ring_by_message(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0));
  const Bed bed(trn1(ranks / 32), ranks);
  const topology::Placement flat = topology::Placement::flat(bed.cluster);
  const Fabric fabric(bed.cluster, bed.graph, flat, bed.profile);
  std::uint64_t messages = 0;
  for (auto _ : state) {
    const auto exchanges =
        expand(fabric, CollectiveOp::all_reduce, bed.world, mebibytes(64), neuron::flat_ring);
    messages += sim::run_exchanges(fabric.capacities(), exchanges).messages;
  }
  state.counters["messages/s"] =
      benchmark::Counter(static_cast<double>(messages), benchmark::Counter::kIsRate);
}
BENCHMARK(all_reduce_flat_ring_by_message)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
