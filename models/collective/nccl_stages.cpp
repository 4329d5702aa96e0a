#include "models/collective/nccl_stages.h"

#include <algorithm>
#include <numeric>

#include "models/collective/group_members.h"
#include "units/index.h"

namespace trnplan::models::nccl {

namespace {

/// Largest message that protocol LL carries, inside a node and between nodes. Inferred. Inside: where the
/// latencies of the library's rings meet, 4.6 us of a link's rate on existing GPUs (NVIDIA/nccl@5067397c
/// src/graph/tuning.cc). Between: the same of a NIC's rate.
constexpr double kMostLlMessage = 128 * 1024, kMostLlMessageBetween = 16 * 1024;

/// The local members in cyclic order, starting once from each of them.
std::vector<std::vector<int>> turns(const GroupShape& shape) {
  std::vector<int> order(at(shape.local()));
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int>> all;
  for (int channel = 0; channel < shape.local(); ++channel) {
    all.push_back(order);
    std::rotate(order.begin(), order.begin() + 1, order.end());
  }
  return all;
}

Pace pace_of(Way way) {
  const bool tree = way.method == Method::tree;
  switch (way.method) {
    case Method::in_switch:
      return Pace::in_switch;
    case Method::in_switch_tree:
      return Pace::in_switch_tree;
    case Method::logarithmic_tree:
      return Pace::logarithmic_tree;
    case Method::ring:
    case Method::tree:
      break;
  }
  if (way.protocol == Protocol::ll) return tree ? Pace::tree_ll : Pace::ll;
  if (way.protocol == Protocol::ll128) return tree ? Pace::tree_ll128 : Pace::ll128;
  return Pace::simple;
}

/// Copy of each rank's own part from its input to its result, through the same thread blocks that send.
Stage own_part(const GroupShape& shape, double bytes) {
  Stage s;
  s.protocol = static_cast<int>(Pace::none);
  for (int j = 0; j < shape.local(); ++j) s.relations.push_back(relation(j, j, bytes, false));
  return s;
}

/// Messages without bytes along the chain of a node: the latency of the first bytes.
Stage way_inside(const GroupShape& shape, int steps) {
  Stage s{steps, 0, 0, {}};
  for (int j = 0; j + 1 < shape.local(); ++j) s.relations.push_back(relation(j, j + 1, 0, false));
  return s;
}

/// A stage that moves, in equal steps, `inside` bytes over each GPU's links and `network` bytes over each
/// member's share of the NICs.
Stage pipelined(const GroupShape& shape, int steps, bool between, double inside, double network) {
  Stage s{steps, between ? steps : 0, between ? steps : 0, {}};
  const int last = shape.local() - 1;
  for (int j = 0; j <= last && last > 0; ++j)
    s.relations.push_back(relation(j, j < last ? j + 1 : 0, inside / steps, true));
  for (int j = 0; j <= last && between; ++j)
    s.relations.push_back(relation(j, j, network / shape.local() / steps, true, Relation::Node::shift, 1));
  return s;
}

std::vector<Stage> ring(const Tuning& tuning, Way way, CollectiveOp op, const GroupShape& shape,
                        double bytes) {
  const bool scatters = op != CollectiveOp::all_gather, gathers = op != CollectiveOp::reduce_scatter;
  const auto orders = turns(shape);
  std::vector<Stage> stages;
  if (scatters) stages.push_back(ring_over_all(shape, orders, bytes, true, false));
  if (gathers) stages.push_back(ring_over_all(shape, orders, bytes, false, scatters));
  for (Stage& stage : stages) {
    for (Relation& r : stage.relations)
      r.bytes /= r.node == Relation::Node::same ? tuning.link_share(way) : tuning.network_share(way);
  }
  if (way.protocol == Protocol::ll || (scatters && gathers)) return stages;
  stages.push_back(own_part(shape, bytes / shape.ranks()));
  return stages;
}

std::vector<Stage> other(const Tuning& tuning, Way way, const GroupShape& shape) {
  const bool several = shape.node_count() > 1;
  const double inside = tuning.link_bytes(way.method) / tuning.link_share(way),
               network = several ? tuning.network_bytes(way.method) / tuning.network_share(way) : 0;
  const int chain = 2 * (shape.local() - 1);
  switch (way.method) {
    case Method::ring:
      break;
    case Method::tree:
      if (!several) return {pipelined(shape, chain, false, inside, 0)};
      if (chain == 0) return {pipelined(shape, 2 * tuning.levels(), true, 0, network)};
      return {way_inside(shape, chain), pipelined(shape, 2 * tuning.levels(), true, inside, network)};
    case Method::in_switch:
      return {pipelined(shape, 1, false, inside, 0)};
    case Method::in_switch_tree:
      return {pipelined(shape, 2 * tuning.levels(), true, inside, network)};
    case Method::logarithmic_tree:
      return {pipelined(shape, tuning.levels(), true, 0, network)};
  }
  return {};
}

}  // namespace

Description stages_of(const Tuning& tuning, Way way, CollectiveOp op, const GroupShape& shape, double bytes) {
  Description out{to_string(way), {}};
  out.stages = way.method == Method::ring ? ring(tuning, way, op, shape, bytes) : other(tuning, way, shape);
  out.protocol = static_cast<int>(pace_of(way));
  if (way.method == Method::ring && shape.node_count() > 1 && op != CollectiveOp::all_reduce)
    out.protocol += kWaitsForNetwork;
  for (Stage& stage : out.stages) {
    if (stage.protocol == static_cast<int>(Pace::none)) continue;
    stage.protocol = out.protocol;
    stage.network_more = tuning.network_latency(way);
    if (way.method == Method::logarithmic_tree) stage.network_more /= 3.5;
  }
  return out;
}

Description all_to_all(const Tuning& tuning, const GroupShape& shape, double bytes) {
  const Way fast{Method::ring, Protocol::ll}, large{Method::ring, Protocol::simple};
  const bool small =
      bytes / shape.ranks() <= (shape.node_count() > 1 ? kMostLlMessageBetween : kMostLlMessage);
  const Way way = small ? fast : large;
  Description out{small ? "mesh LL" : "mesh", {to_all(shape, bytes / shape.ranks(), false)}};
  out.protocol = static_cast<int>(pace_of(way));
  out.stages.front().protocol = out.protocol;
  out.stages.front().network_more = tuning.network_latency(way);
  for (Relation& r : out.stages.front().relations)
    r.bytes /= r.node == Relation::Node::same ? tuning.link_share(way) : tuning.network_share(way);
  if (!small) out.stages.push_back(own_part(shape, bytes / shape.ranks()));
  return out;
}

}  // namespace trnplan::models::nccl
