#include "sim/fair_share.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace trnplan::sim {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double largest_weight(const Flow& f) {
  double most = 0;
  for (const Weight& w : f.weights) most = std::max(most, w.bytes);
  return most;
}

/// A lone flow runs at the rate of its tightest resource.
double lone_rate(const Flow& f, const std::vector<double>& capacity) {
  double rate = kInfinity;
  for (const Weight& w : f.weights) rate = std::min(rate, capacity[w.resource] / w.bytes);
  return rate;
}

}  // namespace

std::vector<double> fair_rates(const std::vector<const Flow*>& active, const std::vector<double>& capacity) {
  if (active.size() == 1) return {lone_rate(*active[0], capacity)};

  // Only the resources in use take part; `slot` maps them to a dense index.
  std::vector<ResourceId> used;
  for (const Flow* f : active) {
    for (const Weight& w : f->weights) used.push_back(w.resource);
  }
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  const auto slot = [&](ResourceId r) {
    return static_cast<std::size_t>(std::lower_bound(used.begin(), used.end(), r) - used.begin());
  };

  std::vector<double> left(used.size()), load(used.size(), 0.0);
  for (std::size_t i = 0; i < used.size(); ++i) left[i] = capacity[used[i]];
  std::vector<double> rate(active.size(), kInfinity), scale(active.size());
  std::vector<bool> rising(active.size());
  std::size_t open = 0;
  for (std::size_t f = 0; f < active.size(); ++f) {
    scale[f] = largest_weight(*active[f]);
    rising[f] = scale[f] > 0;
    if (!rising[f]) continue;
    ++open;
    for (const Weight& w : active[f]->weights) load[slot(w.resource)] += w.bytes / scale[f];
  }

  while (open > 0) {
    std::size_t tightest = 0;
    double level = kInfinity;
    for (std::size_t r = 0; r < used.size(); ++r) {
      if (load[r] <= 0) continue;
      const double here = std::max(left[r], 0.0) / load[r];
      if (here < level) {
        level = here;
        tightest = r;
      }
    }
    for (std::size_t f = 0; f < active.size(); ++f) {
      if (!rising[f]) continue;
      const auto& weights = active[f]->weights;
      const bool bound = std::any_of(weights.begin(), weights.end(),
                                     [&](const Weight& w) { return w.resource == used[tightest]; });
      if (!bound) continue;
      rising[f] = false;
      --open;
      rate[f] = level / scale[f];
      for (const Weight& w : weights) {
        const std::size_t r = slot(w.resource);
        left[r] -= w.bytes * rate[f];
        load[r] -= w.bytes / scale[f];
      }
    }
    load[tightest] = 0;  // all its flows are fixed; what rounding left must not be chosen again
  }
  return rate;
}

}  // namespace trnplan::sim
