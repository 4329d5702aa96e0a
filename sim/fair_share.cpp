#include "sim/fair_share.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>

#include "units/quantity.h"

namespace trnplan::sim {

namespace filling {

std::uint64_t share_of(double bytes, double scale) {
  double quotient = bytes / scale;
  if (std::fma(quotient, scale, -bytes) < 0)
    quotient = std::nextafter(quotient, 2 * kMostFlowsInOne);  // was rounded down
  return static_cast<std::uint64_t>(std::ceil(quotient * kShareUnits));
}

double scale_of(const Flow& flow) {
  if (flow.scale > 0 && !flow.weights.empty()) return flow.scale;
  double most = 0;
  for (const Weight& w : flow.weights) most = std::max(most, w.bytes);
  return most;
}

std::optional<SimTime> end_after(SimTime since, double ticks) {
  const auto room = static_cast<double>(std::numeric_limits<std::int64_t>::max() - since.ps);
  if (!(ticks < room)) return std::nullopt;
  auto whole = static_cast<std::int64_t>(ticks);
  if (static_cast<double>(whole) < ticks) ++whole;
  if (!(static_cast<double>(whole) < room * (1 - 0x1p-52))) return std::nullopt;
  return since + SimTime{whole};
}

}  // namespace filling

SimTime LoneFlow::length() const {
  if (bytes_ == 0) return {};
  const auto end = filling::end_after({}, filling::ticks_at(filling::rate_at(level_, scale_), 1));
  if (!end) throw std::overflow_error("a transfer ends beyond the simulation clock");
  return *end;
}

std::vector<double> fair_rates(const std::vector<const Flow*>& active, const std::vector<double>& capacity) {
  std::vector<filling::Room> rooms(capacity.size());
  std::vector<double> rate(active.size(), kInfinity), scale(active.size());
  std::vector<bool> rising(active.size());
  for (std::size_t f = 0; f < active.size(); ++f) {
    scale[f] = filling::scale_of(*active[f]);
    rising[f] = scale[f] > 0;
    for (const Weight& w : active[f]->weights) {
      rooms[w.resource].rising += filling::share_of(w.bytes, scale[f]);
    }
  }
  while (true) {
    std::size_t tightest = capacity.size();
    double level = kInfinity;
    for (std::size_t r = 0; r < capacity.size(); ++r) {
      if (rooms[r].rising == 0 || rooms[r].level(capacity[r]) >= level) continue;
      level = rooms[r].level(capacity[r]);
      tightest = r;
    }
    if (tightest == capacity.size()) return rate;
    for (std::size_t f = 0; f < active.size(); ++f) {
      const auto& weights = active[f]->weights;
      if (!rising[f] || std::none_of(weights.begin(), weights.end(),
                                     [&](const Weight& w) { return w.resource == tightest; })) {
        continue;
      }
      rising[f] = false;
      rate[f] = filling::rate_at(level, scale[f]);
      for (const Weight& w : weights) {
        const std::uint64_t share = filling::share_of(w.bytes, scale[f]);
        rooms[w.resource].fix(share, filling::Room::use(share, level, capacity[w.resource]));
      }
    }
  }
}

}  // namespace trnplan::sim
