#include "models/collective/switched_runtime.h"

#include <optional>

#include "models/collective/group_members.h"
#include "models/collective/nccl_stages.h"
#include "models/collective/nccl_tuning.h"
#include "models/collective/switched_parameters.h"

namespace trnplan::models {

namespace {

/// The profile's value or, for a profile of another kind of machine, the parameter's default.
double stated(const Profile& profile, Parameter p) {
  return profile.schema->contains(p) ? profile[p] : *p.info().when_absent;
}

std::optional<nccl::Method> method_of(Algorithm asked) {
  if (asked == switched::ring) return nccl::Method::ring;
  if (asked == switched::tree) return nccl::Method::tree;
  if (asked == switched::in_switch) return nccl::Method::in_switch;
  if (asked == switched::in_switch_tree) return nccl::Method::in_switch_tree;
  if (asked == switched::logarithmic_tree) return nccl::Method::logarithmic_tree;
  return std::nullopt;
}

/// Microseconds of a step between nodes (NVIDIA/nccl@5067397c src/graph/tuning.cc). The profile states that
/// of Simple.
constexpr double kSimple = 14, kRingLl = 2.7, kRingLl128 = 4, kTreeLl = 5, kTreeLl128 = 8.5,
                 kInSwitchTree = 20.9;
/// Number of parallel trees whose steps are under way at the same time.
constexpr double kLogarithmicTree = 3.5;

}  // namespace

const RuntimeParameters& SwitchedRuntime::parameters() const {
  static constexpr RuntimeParameters kParameters{.start = switched::collective_start,
                                                 .step = switched::step_latency,
                                                 .between = switched::network_latency,
                                                 .link = switched::link_share,
                                                 .network = switched::network_share,
                                                 .barrier = {}};
  return kParameters;
}

std::vector<Algorithm> SwitchedRuntime::algorithms() const {
  return {switched::ring, switched::tree, switched::in_switch, switched::in_switch_tree,
          switched::logarithmic_tree};
}

Latencies SwitchedRuntime::latencies(const Profile& profile, int protocol) const {
  if (protocol >= nccl::kWaitsForNetwork) {
    const Latencies alone = latencies(profile, protocol - nccl::kWaitsForNetwork);
    const double wait = stated(profile, switched::ring_wait);
    return {alone.start, alone.step + wait, alone.between + wait};
  }
  const double start = profile[switched::collective_start], step = profile[switched::step_latency],
               between = profile[switched::network_latency] / kSimple,
               chunk = step * stated(profile, switched::chunk_step);
  const auto started = [&](Parameter more) { return start + stated(profile, more); };
  switch (static_cast<nccl::Pace>(protocol)) {
    case nccl::Pace::ll:
      return {start, step, between * kRingLl};
    case nccl::Pace::ll128:
      return {started(switched::ll128_start), chunk, between * kRingLl128};
    case nccl::Pace::simple:
      return {started(switched::simple_start), chunk, between * kSimple};
    case nccl::Pace::tree_ll:
      return {start, step, between * kTreeLl};
    case nccl::Pace::tree_ll128:
      return {started(switched::ll128_start), chunk, between * kTreeLl128};
    case nccl::Pace::in_switch:
      return {started(switched::in_switch_start), 0, 0};
    case nccl::Pace::in_switch_tree:
      return {started(switched::in_switch_start), 0, between * kInSwitchTree};
    case nccl::Pace::logarithmic_tree:
      return {started(switched::simple_start), chunk, between * kSimple / kLogarithmicTree};
    case nccl::Pace::message:
      return {start, step, between * kSimple};
    case nccl::Pace::none:
      break;
  }
  return {};
}

Description SwitchedRuntime::describe(const Fabric& fabric, CollectiveOp op, const GroupShape& shape,
                                      Bytes bytes, Algorithm asked) const {
  const nccl::Tuning tuning(fabric.cluster().instance, op, shape, bytes.value);
  if (op == CollectiveOp::all_to_all) return nccl::all_to_all(tuning, shape, bytes.value);
  if (op == CollectiveOp::permute || op == CollectiveOp::send_recv) {
    Description out{"permute", {to_next(shape, bytes.value)}};
    out.protocol = out.stages.front().protocol = static_cast<int>(nccl::Pace::message);
    out.stages.front().network_more = tuning.network_latency({nccl::Method::ring, nccl::Protocol::ll});
    return out;
  }
  return nccl::stages_of(tuning, tuning.best(method_of(asked)), op, shape, bytes.value);
}

std::string SwitchedRuntime::obstacle(Algorithm asked, const topology::Cluster& cluster) const {
  if (asked == switched::tree) return "trees are for all-reduces";
  if (asked == switched::in_switch)
    return "it reduces inside a switch that can do so, for all-reduces on one node";
  if (asked == switched::in_switch_tree)
    return "it needs several nodes whose switches reduce, and is for all-reduces";
  if (asked == switched::logarithmic_tree) return "it gathers and scatters between nodes with one rank each";
  return cluster.nodes > 1 ? "behind a switch there are rings and trees"
                           : "behind a switch there are rings, trees and reductions in the switch";
}

}  // namespace trnplan::models
