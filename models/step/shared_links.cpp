#include "models/step/shared_links.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "units/index.h"

namespace trnplan::models {

namespace {

/// Loads with one lane per stage.
struct LoadsOfStages {
  const StepParts& parts;

  int lanes() const { return 1; }
  const Fabric& fabric() const { return parts.fabric; }
  template <class Visit>
  void of(int stage, const Item& item, const Visit& visit) const {
    static const std::vector<int> kOnly{0};
    visit(item.load, parts.parts[at(stage)].shift, kOnly);
  }
  template <class Visit>
  void between(int boundary, const Item& item, const Visit& visit) const {
    static const std::vector<int> kBoth{0, 1};
    visit(item.load, parts.boundaries[at(boundary)].shift, kBoth);
  }
};

}  // namespace

void StepParts::find_shared() {
  const auto [all, shared] = shared_by_chains(*this, LoadsOfStages{*this});
  shares_links = !all.empty();
  must_expand = !shared.empty();
  if (!must_expand) return;
  std::set<const Item*> sharing;
  each_chain(*this, [&](int stage, const Items& items) {
    for (const Item& item : items) {
      const bool shares = std::any_of(item.load.begin(), item.load.end(), [&](const auto& use) {
        return std::binary_search(shared.begin(), shared.end(), use.first + parts[at(stage)].shift);
      });
      if (shares) sharing.insert(&item);
    }
  });
  std::map<const Items*, std::shared_ptr<const Items>> known;
  std::map<const StageWork*, std::shared_ptr<const StageWork>> works;
  for (StagePart& part : parts) {
    const auto [work, fresh] = works.try_emplace(part.work.get());
    if (fresh) {
      StageWork joined = *part.work;
      for (Chunk& chunk : joined.chunks) {
        for (Pass* pass : {&chunk.forward, &chunk.backward, &chunk.weights}) {
          for (Chain& c : pass->chains) {
            const auto [items, first] = known.try_emplace(c.items.get());
            if (first) items->second = joined_where_alone(*c.items, sharing);
            c.joined = items->second;
          }
        }
      }
      work->second = std::make_shared<const StageWork>(std::move(joined));
    }
    part.work = work->second;
  }
}

/// A chain's operators, those that nothing else meets joined to one as far as they come one after the other; null where
/// some are in the background, and so meet the others.
std::shared_ptr<const Items> StepParts::joined_where_alone(const Items& items,
                                                           const std::set<const Item*>& sharing) const {
  if (std::any_of(items.begin(), items.end(), [](const Item& item) { return item.background; })) return {};
  auto joined = std::make_shared<Items>();
  Items alone;
  const auto join = [&] {
    if (alone.size() > 1 || (!alone.empty() && alone.front().is_transfer())) {
      const ChainRun run = run_chain(fabric, alone, slowdown());
      Item all;
      all.name = alone.front().name;
      all.fixed = run.attribution;
      all.length = run.length;
      joined->push_back(std::move(all));
    } else {
      joined->insert(joined->end(), alone.begin(), alone.end());
    }
    alone.clear();
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool overlaps = runs_with_next(items, i) || (i > 0 && runs_with_next(items, i - 1));
    if (!overlaps && !sharing.contains(&items[i])) {
      alone.push_back(items[i]);
      continue;
    }
    join();
    joined->push_back(items[i]);
  }
  join();
  return joined;
}

}  // namespace trnplan::models
