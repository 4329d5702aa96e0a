// Links and NICs that a stage's chains share with other work. Internal to the step model.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "models/step/step_parts.h"

namespace trnplan::models {

/// Calls `visit(stage, items)` for each list of the chains in passes.
template <class Visit>
void each_chain(const StepParts& p, const Visit& visit) {
  for (int s = 0; s < p.stages; ++s) {
    for (const Chunk& chunk : p.work(s).chunks) {
      for (const Pass* pass : {&chunk.forward, &chunk.backward, &chunk.weights}) {
        for (const Chain& chain : pass->chains) visit(s, *chain.items);
      }
    }
  }
}

/// Calls `visit(stage, item, beside_passes)` for each collective of the step outside passes; those that overlap passes
/// have an engine of their own.
template <class Visit>
void each_collective_of_step(const StepParts& p, const Visit& visit) {
  for (int s = 0; s < p.stages; ++s) {
    const auto lists = p.work(s).collectives_of_step();
    for (std::size_t l = 0; l < lists.size(); ++l) {
      for (const Item& item : *lists[l]) {
        if (item.is_transfer()) visit(s, item, l < StageWork::kListsBesidePasses);
      }
    }
  }
}

/// Calls `visit(boundary, item)` for each item of the messages between stages.
template <class Visit>
void each_message(const StepParts& p, const Visit& visit) {
  for (std::size_t b = 0; b < p.boundaries.size(); ++b) {
    for (const Items* items : {p.boundaries[b].activation.get(), p.boundaries[b].gradient.get()}) {
      for (const Item& item : *items) visit(static_cast<int>(b), item);
    }
  }
}

/// Most use of each resource by the flows of a step, whatever runs at the same time.
class MostUse {
 public:
  /// A queue has one flow at a time.
  enum Queue : std::size_t { compute, engine, background, reductions, of_step, queues };

  explicit MostUse(const Fabric& fabric) : fabric_(fabric), uses_(fabric.size()) {}

  /// Adds a flow of a queue of a lane. It uses no more of a resource than what stops it alone lets it.
  void add(const Fabric::Load& load, Fabric::Id shift, int lane, Queue queue) {
    const double rate = alone(load, shift).first;
    for (const auto& [id, bytes] : load) {
      Use& use = uses_[id + shift];
      use.several = use.several || (use.lane[queue] >= 0 && use.lane[queue] != lane);
      use.lane[queue] = lane;
      use.most[queue] = std::max(use.most[queue], bytes * rate);
    }
  }
  /// Adds a message. Of several that one resource stops alone, all together get no more than it has.
  void add_message(const Fabric::Load& load, Fabric::Id shift) {
    const auto [rate, stops] = alone(load, shift);
    for (const auto& [id, bytes] : load) {
      auto& known = uses_[id + shift].messages;
      const auto same =
          std::find_if(known.begin(), known.end(), [&, s = stops](const auto& k) { return k.first == s; });
      if (same == known.end()) {
        known.emplace_back(stops, bytes * rate);
      } else {
        same->second = std::max(same->second, bytes * rate);
      }
    }
  }

  /// False if all flows together use less of the resource than there is. What stops a flow alone is in full use by it,
  /// so this rests on no resource for which it is false.
  bool may_stop(Fabric::Id id) const {
    const Use& use = uses_[id];
    double all = 0;
    for (const double most : use.most) all += most;
    for (const auto& [stops, most] : use.messages) all += most;
    constexpr double kLess = 1 - 1e-9;  // for sums of doubles
    return use.several || !(all < fabric_.capacity(id).value * kLess);
  }

 private:
  struct Use {
    std::array<int, queues> lane{-1, -1, -1, -1, -1};
    std::array<double, queues> most{};                    ///< bytes/s of a flow
    std::vector<std::pair<Fabric::Id, double>> messages;  ///< bytes/s by what stops them alone
    bool several = false;                                 ///< lanes use it in one kind of queue
  };

  /// Progress (1/s) of a flow alone, and what stops it.
  std::pair<double, Fabric::Id> alone(const Fabric::Load& load, Fabric::Id shift) const {
    std::pair<double, Fabric::Id> least{std::numeric_limits<double>::infinity(), 0};
    for (const auto& [id, bytes] : load)
      least = std::min(least, {fabric_.capacity(id + shift).value / bytes, id + shift});
    return least;
  }

  const Fabric& fabric_;
  std::vector<Use> uses_;
};

/// Resources, ascending, that the collectives in a lane's chains use while another lane may use them.
struct SharedByChains {
  std::vector<Fabric::Id> all, stopping;  ///< `stopping`: those that may stop a flow then
};

/// The resources that chains share. Such collectives must run inside the step, where the engine shares the resource
/// out. `loads` has the `fabric` and the number of `lanes` of a stage, and calls visitors with the load of each transfer
/// of an item, the shift of its resources, and its lanes: `of(stage, item, visit)`, and `between(boundary, item, visit)`
/// where lanes of the stage above come after those of the stage below. Cost: O(loads).
template <class Loads>
SharedByChains shared_by_chains(const StepParts& p, const Loads& loads) {
  const Fabric& fabric = loads.fabric();
  std::vector<int> user(fabric.size(), -1);  // the lane whose chains use a resource, among all stages'
  std::vector<Fabric::Id> shared;
  const int lanes = loads.lanes();
  MostUse most(fabric);
  each_chain(p, [&](int stage, const Items& items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!items[i].is_transfer()) continue;
      const MostUse::Queue queue = items[i].background        ? MostUse::background
                                   : runs_with_next(items, i) ? MostUse::engine
                                                              : MostUse::compute;
      loads.of(stage, items[i], [&](const Fabric::Load& load, Fabric::Id shift, const std::vector<int>& of) {
        const int lane = stage * lanes + of.front();
        most.add(load, shift, lane, queue);
        for (const auto& [id, bytes] : load) {
          int& owner = user[id + shift];
          if (owner >= 0 && owner != lane) shared.push_back(id + shift);
          owner = lane;
        }
      });
    }
  });
  // Lanes count from those of stage `first` on. Those that take part in a transfer on their queues are busy with it.
  const auto check = [&](const Fabric::Load& load, Fabric::Id shift, const std::vector<int>& of, int first,
                         bool busy) {
    for (const auto& [id, bytes] : load) {
      const int owner = user[id + shift];
      const bool own =
          busy && std::any_of(of.begin(), of.end(), [&](int lane) { return first * lanes + lane == owner; });
      if (owner >= 0 && !own) shared.push_back(id + shift);
    }
  };
  each_collective_of_step(p, [&](int stage, const Item& item, bool beside_passes) {
    loads.of(stage, item, [&](const Fabric::Load& load, Fabric::Id shift, const std::vector<int>& of) {
      most.add(load, shift, stage * lanes + of.front(),
               beside_passes ? MostUse::reductions : MostUse::of_step);
      check(load, shift, of, stage, true);
    });
  });
  each_message(p, [&](int boundary, const Item& item) {
    loads.between(boundary, item,
                  [&](const Fabric::Load& load, Fabric::Id shift, const std::vector<int>& of) {
                    most.add_message(load, shift);
                    check(load, shift, of, boundary, p.blocking());
                  });
  });
  std::sort(shared.begin(), shared.end());
  shared.erase(std::unique(shared.begin(), shared.end()), shared.end());
  std::vector<Fabric::Id> stopping = shared;
  std::erase_if(stopping, [&](Fabric::Id id) { return !most.may_stop(id); });
  return {std::move(shared), std::move(stopping)};
}

}  // namespace trnplan::models
