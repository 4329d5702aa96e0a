#include "models/collective/switched_runtime.h"

#include <algorithm>
#include <numeric>

#include "models/collective/group_members.h"
#include "models/collective/switched_parameters.h"

namespace trnplan::models {

namespace {

/// The local members in turn, once from each of them on.
std::vector<std::vector<int>> turns(const GroupShape& shape) {
  std::vector<int> order(static_cast<std::size_t>(shape.local()));
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int>> all;
  for (int channel = 0; channel < shape.local(); ++channel) {
    all.push_back(order);
    std::rotate(order.begin(), order.begin() + 1, order.end());
  }
  return all;
}

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

Description SwitchedRuntime::describe(const Fabric&, CollectiveOp op, const GroupShape& shape, Bytes bytes,
                                      Algorithm) const {
  if (op == CollectiveOp::all_to_all) return {"mesh", {to_all(shape, bytes.value / shape.ranks(), false)}};
  if (op == CollectiveOp::permute || op == CollectiveOp::send_recv)
    return {"permute", {to_next(shape, bytes.value)}};
  const bool scatters = op != CollectiveOp::all_gather, gathers = op != CollectiveOp::reduce_scatter;
  const auto orders = turns(shape);
  Description out{std::string(switched::ring.name()), {}};
  if (scatters) out.stages.push_back(ring_over_all(shape, orders, bytes.value, true, false));
  if (gathers) out.stages.push_back(ring_over_all(shape, orders, bytes.value, false, scatters));
  return out;
}

std::string SwitchedRuntime::obstacle(Algorithm, const topology::Cluster&) const {
  return "behind a switch there are rings only";
}

}  // namespace trnplan::models
