// Links and NICs that a stage's chains share with other work. Internal to the step model.
#pragma once

#include <algorithm>
#include <vector>

#include "models/step/step_parts.h"

namespace trnplan::models {

/// True if the collectives in a lane's chains use a link or NIC that another lane may use at the same time.
/// Then layers must run inside the step, where the engine shares the resource out. `loads` has the number of
/// `lanes` of a stage and of the `resources`, and calls visitors with the load of each transfer of an item,
/// the shift of its resources, and its lanes: `of(stage, item, visit)`, and `between(boundary, item, visit)`
/// where lanes of the stage above come after those of the stage below. Cost: O(loads).
template <class Loads>
bool chains_share_links(const StepParts& p, const Loads& loads) {
  std::vector<int> user(loads.resources(), -1);  // the lane whose chains use a resource, among all stages'
  const int lanes = loads.lanes();
  for (int s = 0; s < p.stages; ++s) {
    bool shared = false;
    const auto claim = [&](const Fabric::Load& load, Fabric::Id shift, const std::vector<int>& of) {
      const int me = s * lanes + of.front();
      for (const auto& [id, bytes] : load) {
        int& owner = user[id + shift];
        shared = shared || (owner >= 0 && owner != me);
        owner = me;
      }
    };
    for (const Chunk& chunk : p.work(s).chunks) {
      for (const Pass* pass : {&chunk.forward, &chunk.backward, &chunk.weights}) {
        for (const Chain& chain : pass->chains) {
          for (const Item& item : *chain.items) {
            if (item.is_transfer()) loads.of(s, item, claim);
            if (shared) return true;
          }
        }
      }
    }
  }
  bool disturbed = false;
  // Lanes count from those of stage `first` on. Those that take part in a transfer on their queues are busy
  // with it.
  const auto check = [&](int first, bool busy) {
    return [&disturbed, &user, first, busy, lanes](const Fabric::Load& load, Fabric::Id shift,
                                                   const std::vector<int>& of) {
      for (const auto& [id, bytes] : load) {
        const int owner = user[id + shift];
        const bool own = busy && std::any_of(of.begin(), of.end(),
                                             [&](int lane) { return first * lanes + lane == owner; });
        disturbed = disturbed || (owner >= 0 && !own);
      }
    };
  };
  for (int s = 0; s < p.stages; ++s) {
    for (const Items* items : p.work(s).collectives_of_step()) {
      for (const Item& item : *items) {
        if (item.is_transfer()) loads.of(s, item, check(s, true));
      }
    }
  }
  for (std::size_t b = 0; b < p.boundaries.size(); ++b) {
    const auto below = static_cast<int>(b);
    for (const Items* items : {p.boundaries[b].activation.get(), p.boundaries[b].gradient.get()}) {
      for (const Item& item : *items) loads.between(below, item, check(below, p.blocking()));
    }
  }
  return disturbed;
}

}  // namespace trnplan::models
