#include "sim/flow_network.h"

#include <algorithm>

namespace trnplan::sim {

FlowNetwork::FlowNetwork(std::vector<double> capacity) : resources_(capacity.size()) {
  for (std::size_t r = 0; r < capacity.size(); ++r) resources_[r].capacity = capacity[r];
}

void FlowNetwork::touch(ResourceId r) {
  if (resources_[r].touched) return;
  resources_[r].touched = true;
  touched_.push_back(r);
}

FlowNetwork::Handle FlowNetwork::add(const Flow& flow) {
  if (free_.empty()) {
    free_.push_back(static_cast<Handle>(flows_.size()));
    flows_.emplace_back();
  }
  const Handle h = free_.back();
  free_.pop_back();
  newest_ = h;
  ActiveFlow& f = flows_[h];
  f.scale = filling::scale_of(flow);
  f.level = kNew;
  f.rate = 0;
  f.uses.clear();
  for (const Weight& w : flow.weights) {
    Resource& r = resources_[w.resource];
    const auto use = static_cast<std::uint32_t>(f.uses.size());
    f.uses.push_back(
        {w.resource, static_cast<std::uint32_t>(r.users.size()), filling::share_of(w.bytes, f.scale), 0});
    r.users.push_back({h, use});
    r.grown = true;
    touch(w.resource);
  }
  return h;
}

void FlowNetwork::remove(Handle h) {
  ActiveFlow& f = flows_[h];
  lowest_removed_ = std::min(lowest_removed_, f.level);
  for (const Use& use : f.uses) {
    auto& users = resources_[use.resource].users;
    users[use.place] = users.back();
    flows_[users[use.place].flow].uses[users[use.place].use].place = use.place;
    users.pop_back();
    touch(use.resource);
  }
  f.uses.clear();
  if (h == newest_) newest_ = kNone;
  free_.push_back(h);
}

/// No flow that came to `r` is stopped there below this level. Were all users to rise it would be C / load;
/// those that stopped lower, elsewhere, leave more. A hair low, because the sums here are floating point.
double FlowNetwork::level_felt(const Resource& r) const {
  double level = 0;
  for (int pass = 0; pass < 2; ++pass) {
    double left = 1, rising = 0;
    for (const User& u : r.users) {
      const ActiveFlow& f = flows_[u.flow];
      if (f.level < level) {
        left -= static_cast<double>(f.uses[u.use].used) / filling::kCapacityUnits;
      } else {
        rising += static_cast<double>(f.uses[u.use].share) / filling::kShareUnits;
      }
    }
    level = std::max(level, r.capacity * left / rising * (1 - 1e-9));
  }
  return level;
}

void FlowNetwork::visit(ResourceId r) {
  if (resources_[r].seen) return;
  resources_[r].seen = true;
  seen_.push_back(r);
}

/// Collects the flows at or above `from` that are joined to a touched resource.
void FlowNetwork::gather(double from) {
  for (const ResourceId r : touched_) visit(r);
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    Resource& r = resources_[seen_[i]];
    r.room = {};
    for (const User& u : r.users) {
      ActiveFlow& f = flows_[u.flow];
      const Use& use = f.uses[u.use];
      if (f.level < from) {
        r.room.left -= use.used;
        continue;
      }
      r.room.rising += use.share;
      if (f.rising) continue;
      f.rising = true;
      solved_.push_back(u.flow);
      for (const Use& other : f.uses) visit(other.resource);
    }
  }
}

void FlowNetwork::fix(Handle h, double level) {
  ActiveFlow& f = flows_[h];
  f.rising = false;
  if (level != f.level) {
    f.level = level;
    f.rate = filling::rate_at(level, f.scale);
    changed_.push_back(h);
  }
  for (Use& use : f.uses) {
    Resource& r = resources_[use.resource];
    use.used = filling::Room::use(use.share, level, r.capacity);
    r.room.fix(use.share, use.used);
    r.stale = true;
  }
}

/// Progressive filling of the resources in `seen_`. Fixing a flow never lowers a resource's level, so a stale
/// candidate only has to be looked at again when it comes up.
void FlowNetwork::fill() {
  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.level != b.level ? a.level > b.level : a.resource > b.resource;
  };
  for (const ResourceId r : seen_) {
    resources_[r].stale = false;
    if (resources_[r].room.rising == 0) continue;
    heap_.push_back({resources_[r].room.level(resources_[r].capacity), r});
  }
  std::make_heap(heap_.begin(), heap_.end(), later);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    Candidate& last = heap_.back();
    Resource& r = resources_[last.resource];
    if (r.room.rising == 0) {
      heap_.pop_back();
    } else if (r.stale) {
      r.stale = false;
      last.level = r.room.level(r.capacity);
      std::push_heap(heap_.begin(), heap_.end(), later);
    } else {
      const double level = last.level;
      heap_.pop_back();
      for (const User& u : r.users) {
        if (flows_[u.flow].rising) fix(u.flow, level);
      }
    }
  }
}

/// The common case: what is touched carries nothing, or one flow that has just come. True when that was so.
bool FlowNetwork::settle_lone() {
  for (const ResourceId r : touched_) {
    const auto& users = resources_[r].users;
    if (users.size() > 1 || (users.size() == 1 && users[0].flow != newest_)) return false;
  }
  if (newest_ == kNone || flows_[newest_].level != kNew) return true;
  double level = kNew;
  ActiveFlow& f = flows_[newest_];
  for (const Use& use : f.uses) {
    const filling::Room room{.rising = use.share};
    level = std::min(level, room.level(resources_[use.resource].capacity));
  }
  fix(newest_, level);
  return true;
}

const std::vector<FlowNetwork::Handle>& FlowNetwork::settle() {
  changed_.clear();
  if (settle_lone()) {
    forget_changes();
    return changed_;
  }
  double from = lowest_removed_;
  for (const ResourceId r : touched_) {
    if (resources_[r].grown && !resources_[r].users.empty()) {
      from = std::min(from, level_felt(resources_[r]));
    }
  }
  gather(from);
  fill();
  for (const ResourceId r : seen_) resources_[r].seen = false;
  seen_.clear();
  solved_.clear();
  forget_changes();
  return changed_;
}

void FlowNetwork::forget_changes() {
  for (const ResourceId r : touched_) resources_[r].touched = resources_[r].grown = false;
  touched_.clear();
  newest_ = kNone;
  lowest_removed_ = kNew;
}

}  // namespace trnplan::sim
