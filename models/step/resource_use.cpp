#include "models/step/resource_use.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace trnplan::models {

namespace {

std::size_t counter_of(Fabric::Kind kind) {
  switch (kind) {
    case Fabric::Kind::link:
      return 0;
    case Fabric::Kind::memory:
      return 1;
    default:
      return 2;
  }
}

}  // namespace

void ResourceUse::transfer(std::size_t lane, const Fabric::Load& load, SimTime start, SimTime end) {
  if (load.empty() || end <= start) return;
  Busy busy{};
  for (const auto& [id, bytes] : load) {
    double& most = busy[counter_of(fabric_.kind(id))];
    most = std::max(most, (Bytes(bytes) / fabric_.capacity(id)).value);
  }
  add(lane, busy, start, end);
}

void ResourceUse::pass(std::size_t lane, const Pass& pass, const LoadOf& load_of, SimTime start,
                       SimTime end) {
  const auto [it, fresh] = busy_.try_emplace({lane, &pass});
  if (fresh) {
    std::map<Fabric::Id, double> bytes;
    for (const Chain& c : pass.chains) {
      for (const Item& item : *c.items) {
        if (!item.is_transfer()) continue;
        for (const auto& [id, b] : load_of(item)) bytes[id] += b * c.times;
      }
    }
    for (const auto& [id, b] : bytes) {
      double& most = it->second[counter_of(fabric_.kind(id))];
      most = std::max(most, (Bytes(b) / fabric_.capacity(id)).value);
    }
  }
  add(lane, it->second, start, end);
}

void ResourceUse::add(std::size_t lane, const Busy& busy, SimTime start, SimTime end) {
  if (end <= start) return;
  for (std::size_t k = 0; k < busy.size(); ++k) {
    if (busy[k] == 0) continue;
    uses_.push_back({tracks_[lane][k], start, end, std::min(1.0, busy[k] / to_seconds(end - start).value)});
  }
}

void ResourceUse::write(std::vector<Timeline::Sample>& samples) const {
  struct Change {
    SimTime at;
    std::uint32_t track;
    bool starts;
    double value;
  };
  std::vector<Change> changes;
  for (const Use& u : uses_) {
    changes.push_back({u.start, u.track, true, u.value});
    changes.push_back({u.end, u.track, false, u.value});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::tuple(a.track, a.at) < std::tuple(b.track, b.at);
  });
  std::multiset<double> now;
  double shown = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Change& c = changes[i];
    if (c.starts) {
      now.insert(c.value);
    } else {
      now.erase(now.find(c.value));
    }
    const bool last = i + 1 == changes.size() || changes[i + 1].track != c.track;
    if (!last && changes[i + 1].at == c.at) continue;
    const double most = now.empty() ? 0 : *now.rbegin();
    if (most != shown) samples.push_back({c.track, c.at, most});
    shown = last ? 0 : most;
  }
}

}  // namespace trnplan::models
