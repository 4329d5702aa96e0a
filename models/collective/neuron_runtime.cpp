#include "models/collective/neuron_runtime.h"

#include <algorithm>
#include <utility>

#include "models/collective/neuron_algorithms.h"
#include "models/collective/neuron_parameters.h"

namespace trnplan::models {

namespace {

using namespace neuron;

const LocalAlgorithm* local_algorithm(Algorithm a) {
  for (const LocalAlgorithm& local : kLocalAlgorithms) {
    if (local.algorithm == a) return &local;
  }
  return nullptr;
}

/// The wanted algorithm where it can run; else ring, which always can.
const LocalAlgorithm& possible(const GroupMembers& group, Algorithm wanted) {
  const LocalAlgorithm* local = local_algorithm(wanted);
  const bool can = local != nullptr && (local->can_run == nullptr || local->can_run(group));
  return can ? *local : *local_algorithm(ring);
}

std::vector<Stage> inside(const LocalAlgorithm& algorithm, const GroupMembers& group, double gathered,
                          bool reduce) {
  if (group.shape().local() < 2) return {};
  std::vector<Stage> stages = algorithm.stages(group, gathered, reduce);
  if (reduce) std::reverse(stages.begin(), stages.end());
  return stages;
}

std::vector<Stage> between(Algorithm algorithm, const GroupShape& shape, double gathered, bool reduce) {
  if (shape.node_count() < 2) return {};
  std::vector<Stage> stages = stages_between(algorithm, shape, gathered, reduce);
  if (reduce) std::reverse(stages.begin(), stages.end());
  return stages;
}

/// The algorithm for a size: `bytes` gathered in total, `piece` of them on each chip.
Algorithm by_size(const AlgorithmLimits& limits, double bytes, double piece, Algorithm large) {
  if (bytes < limits.mesh_below.value) return mesh;
  return piece < limits.halving_below.value ? halving_doubling : large;
}

/// The algorithm of the whole group.
Algorithm choose(const Fabric& fabric, CollectiveOp op, const GroupShape& shape, double bytes,
                 Algorithm wanted) {
  const AlgorithmLimits& limits = fabric.profile().algorithms;
  if (wanted == one_step && op != CollectiveOp::all_reduce) wanted = mesh;
  if (wanted == ring && shape.node_count() > 1) return flat_ring;
  if (wanted != Algorithm::automatic) return wanted;
  if (op == CollectiveOp::all_reduce && bytes < limits.one_step_below.value * shape.ranks()) return one_step;
  const bool has_flat_ring = fabric.cluster().instance.traits.flat_ring;
  if (has_flat_ring && shape.node_count() > 1 &&
      bytes >= limits.flat_ring_from.value * static_cast<double>(shape.chips.size()) * shape.node_count()) {
    return flat_ring;
  }
  return hierarchical;
}

void append(std::vector<Stage>& all, std::vector<Stage> more) {
  for (Stage& s : more) all.push_back(std::move(s));
}

bool gathers_or_scatters(CollectiveOp op) {
  return op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter ||
         op == CollectiveOp::all_reduce;
}

Description gather_and_scatter(const Fabric& fabric, CollectiveOp op, const GroupShape& shape, double bytes,
                               const AlgorithmChoice& choice) {
  const GroupMembers group(fabric, shape);
  const auto& [whole, inner, outer] = choice;
  const bool scatters = op != CollectiveOp::all_gather, gathers = op != CollectiveOp::reduce_scatter;
  Description out{std::string(whole.name()), {}};
  if (whole == one_step) {
    out.stages.push_back(to_all(shape, bytes, true));
    return out;
  }
  if (whole == flat_ring) {
    std::vector<std::vector<int>> orders;
    for (const std::vector<int>& chips : fabric.channels(shape.chips)) orders.push_back(group.along(chips));
    if (scatters) out.stages.push_back(ring_over_all(shape, orders, bytes, true, false));
    if (gathers) out.stages.push_back(ring_over_all(shape, orders, bytes, false, scatters));
    return out;
  }
  const double per_rank = bytes / shape.local();
  const LocalAlgorithm& local = possible(group, inner);
  if (scatters) {
    append(out.stages, inside(local, group, bytes, true));
    append(out.stages, between(outer, shape, per_rank, true));
  }
  if (gathers) {
    append(out.stages, between(outer, shape, per_rank, false));
    append(out.stages, inside(local, group, bytes, false));
  }
  const std::string inside_node(local.algorithm.name()), between_nodes(outer.name());
  out.algorithm = shape.node_count() == 1 ? inside_node
                  : shape.local() == 1    ? between_nodes
                                          : "hierarchical (" + between_nodes + ", " + inside_node + ")";
  return out;
}

}  // namespace

const RuntimeParameters& NeuronRuntime::parameters() const {
  static constexpr RuntimeParameters kParameters{.start = in_graph_alpha,
                                                 .step = hop_latency,
                                                 .between = efa_latency,
                                                 .link = link_fraction,
                                                 .network = efa_fraction,
                                                 .barrier = barrier};
  return kParameters;
}

std::vector<Algorithm> NeuronRuntime::algorithms() const {
  std::vector<Algorithm> all;
  for (const LocalAlgorithm& local : kLocalAlgorithms) all.push_back(local.algorithm);
  for (const Algorithm whole : {hierarchical, flat_ring, one_step}) all.push_back(whole);
  return all;
}

std::optional<AlgorithmChoice> NeuronRuntime::choice(const Fabric& fabric, CollectiveOp op,
                                                     const GroupShape& shape, Bytes bytes,
                                                     Algorithm algorithm) const {
  constexpr Algorithm none = Algorithm::automatic;
  if (!gathers_or_scatters(op)) return AlgorithmChoice{none, none, none};
  const Algorithm whole = choose(fabric, op, shape, bytes.value, algorithm);
  if (whole == one_step || whole == flat_ring) return AlgorithmChoice{whole, none, none};
  const AlgorithmLimits& limits = fabric.profile().algorithms;
  const double per_chip = bytes.value / static_cast<double>(shape.chips.size());
  const bool is_local = local_algorithm(whole) != nullptr;
  const Algorithm inner = is_local ? whole : by_size(limits, bytes.value, per_chip, kangaring);
  const Algorithm asked =
      is_local ? whole : by_size(limits, bytes.value, per_chip / shape.node_count(), ring);
  return AlgorithmChoice{whole, inner, asked == mesh || asked == halving_doubling ? asked : ring};
}

Description NeuronRuntime::describe(const Fabric& fabric, CollectiveOp op, const GroupShape& shape,
                                    Bytes bytes, const AlgorithmChoice& choice) const {
  if (gathers_or_scatters(op)) return gather_and_scatter(fabric, op, shape, bytes.value, choice);
  if (op == CollectiveOp::all_to_all) return {"mesh", {to_all(shape, bytes.value / shape.ranks(), false)}};
  return {"permute", {to_next(shape, bytes.value)}};
}

Description NeuronRuntime::describe(const Fabric& fabric, CollectiveOp op, const GroupShape& shape,
                                    Bytes bytes, Algorithm algorithm) const {
  return describe(fabric, op, shape, bytes, *choice(fabric, op, shape, bytes, algorithm));
}

std::string NeuronRuntime::obstacle(Algorithm asked, const topology::Cluster& cluster) const {
  const LocalAlgorithm* local = local_algorithm(asked);
  if (local != nullptr && !local->needs.empty()) return std::string(local->needs);
  if (asked == hierarchical)
    return cluster.nodes == 1 ? "on one node there is one level"
                              : "with one rank per node there is one level";
  if (asked == one_step) return "it is for all_reduce only";
  return "the group is too small for it";
}

}  // namespace trnplan::models
