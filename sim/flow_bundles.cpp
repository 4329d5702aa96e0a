// Which flows are solved as one.
#include <algorithm>
#include <utility>

#include "sim/flow_network.h"
#include "sim/indexed_heap.h"

namespace trnplan::sim {

namespace {

constexpr auto kUntold = [](const auto&, std::size_t) {};
constexpr auto kLower = [](const auto& a, const auto& b) { return a.level < b.level; };

template <class User, class Moved>
void take_user(std::vector<User>& users, std::uint32_t place, Moved&& moved) {
  if (place + 1 < users.size()) {
    users[place] = users.back();
    moved(users[place]);
  }
  users.pop_back();
}

}  // namespace

FlowNetwork::BundleId FlowNetwork::new_bundle() {
  if (free_bundles_.empty()) {
    free_bundles_.push_back(static_cast<BundleId>(bundles_.size()));
    bundles_.emplace_back();
    clocks_.emplace_back();
  }
  const BundleId id = free_bundles_.back();
  free_bundles_.pop_back();
  Bundle& b = bundles_[id];
  b.level = b.ceiling = clocks_[id].settled = kNew;
  b.bottleneck = kNone;
  b.count = 0;
  return id;
}

void FlowNetwork::reshape(BundleId id) {
  if (bundles_[id].reshaped) return;
  bundles_[id].reshaped = true;
  reshaped_.push_back(id);
}

void FlowNetwork::add_use(BundleId id, ResourceId r, std::uint64_t share) {
  Bundle& b = bundles_[id];
  auto& users = resources_[r].users;
  const std::uint64_t used = b.level == kNew ? 0 : filling::Room::use(share, b.level, resources_[r].capacity);
  b.uses.push_back({r, static_cast<std::uint32_t>(users.size()), share, used});
  users.push_back({id, static_cast<std::uint32_t>(b.uses.size() - 1)});
}

void FlowNetwork::remove_use(BundleId id, std::uint32_t use) {
  Bundle& b = bundles_[id];
  take_user(resources_[b.uses[use].resource].users, b.uses[use].place,
            [&](const User& u) { bundles_[u.who].uses[u.use].place = b.uses[use].place; });
  if (use + 1 < b.uses.size()) {
    b.uses[use] = b.uses.back();
    resources_[b.uses[use].resource].users[b.uses[use].place].use = use;
  }
  b.uses.pop_back();
}

/// The last flow has left.
void FlowNetwork::drop(BundleId id) {
  Bundle& b = bundles_[id];
  while (!b.uses.empty()) remove_use(id, static_cast<std::uint32_t>(b.uses.size() - 1));
  clocks_[id].crowd.reset();
  clocks_[id].first = kNone;
  if (b.level == kNew) std::erase_if(newcomers_, [&](const Newcomer& n) { return n.bundle == id; });
  reshape(id);
  free_bundles_.push_back(id);
}

bool FlowNetwork::ends_before(Handle a, Handle b) const {
  const auto order = flows_[a].end <=> flows_[b].end;
  return order != 0 ? order < 0 : flows_[a].owner < flows_[b].owner;
}

FlowNetwork::Crowd& FlowNetwork::crowd(BundleId id) {
  Clock& c = clocks_[id];
  if (c.crowd == nullptr) {
    c.crowd = std::make_unique<Crowd>();
    if (c.first != kNone) {
      c.crowd->flows.push_back(c.first);
      for (const IdleUse& use : flows_[c.first].idle)
        add_ceiling(id, {resources_[use.resource].ceiling, use.resource});
    }
  }
  return *c.crowd;
}

void FlowNetwork::enter(BundleId id, Handle h) {
  flows_[h].bundle = id;
  reshape(id);
  Clock& c = clocks_[id];
  if (c.crowd == nullptr && c.first == kNone) {
    flows_[h].place = 0;
    c.first = h;
    return;
  }
  auto& flows = crowd(id).flows;
  indexed_heap::push(
      flows, h, [&](Handle x, Handle y) { return ends_before(x, y); },
      [&](Handle x, std::size_t place) { flows_[x].place = static_cast<std::uint32_t>(place); });
  c.first = flows.front();
}

/// The flow is no longer among its bundle's, but counts until it is removed or enters another.
void FlowNetwork::leave(Handle h) {
  const BundleId id = flows_[h].bundle;
  reshape(id);
  Clock& c = clocks_[id];
  c.first = kNone;
  if (c.crowd != nullptr) {
    auto& flows = c.crowd->flows;
    indexed_heap::erase(
        flows, flows_[h].place, [&](Handle x, Handle y) { return ends_before(x, y); },
        [&](Handle x, std::size_t place) { flows_[x].place = static_cast<std::uint32_t>(place); });
    if (!flows.empty()) c.first = flows.front();
  }
  flows_[h].place = kNone;
}

void FlowNetwork::take_out_first(BundleId b) {
  leave(clocks_[b].first);
}

void FlowNetwork::add_idle_use(Handle h, ResourceId r, std::uint64_t share) {
  auto& users = resources_[r].users;
  auto& idle = flows_[h].idle;
  idle.push_back({r, static_cast<std::uint32_t>(users.size()), share});
  users.push_back({h, static_cast<std::uint32_t>(idle.size() - 1)});
}

void FlowNetwork::remove_idle_use(Handle h, std::uint32_t use) {
  auto& idle = flows_[h].idle;
  Resource& r = resources_[idle[use].resource];
  r.load -= idle[use].share;
  take_user(r.users, idle[use].place,
            [&](const User& u) { flows_[u.who].idle[u.use].place = idle[use].place; });
  if (r.users.empty()) r.idle = false;
  if (use + 1 < idle.size()) {
    idle[use] = idle.back();
    resources_[idle[use].resource].users[idle[use].place].use = use;
  }
  idle.pop_back();
}

void FlowNetwork::add_ceiling(BundleId b, Ceiling ceiling) {
  bundles_[b].ceiling = std::min(bundles_[b].ceiling, ceiling.level);
  if (clocks_[b].crowd != nullptr) indexed_heap::push(clocks_[b].crowd->ceilings, ceiling, kLower, kUntold);
}

/// Takes the ceilings that the bundle's level has passed.
void FlowNetwork::take_passed(BundleId id) {
  const Clock& c = clocks_[id];
  Bundle& b = bundles_[id];
  b.ceiling = kNew;
  if (c.crowd == nullptr) {
    if (c.first == kNone) return;
    for (const IdleUse& use : flows_[c.first].idle) {
      const double level = resources_[use.resource].ceiling;
      if (level <= b.level) {
        taken_.push_back(use.resource);
      } else {
        b.ceiling = std::min(b.ceiling, level);
      }
    }
    return;
  }
  auto& ceilings = c.crowd->ceilings;
  while (!ceilings.empty() && ceilings.front().level <= b.level) {
    taken_.push_back(ceilings.front().resource);
    indexed_heap::erase(ceilings, 0, kLower, kUntold);
  }
  if (!ceilings.empty()) b.ceiling = ceilings.front().level;
}

/// The level at which an idle resource would be full were its flows to rise alike.
double FlowNetwork::level_alone(const Resource& r) const {
  const filling::Room room{.rising = r.load};
  return room.level(r.capacity);
}

/// A bundle like this one, without flows.
FlowNetwork::BundleId FlowNetwork::split(BundleId from) {
  const BundleId id = new_bundle();
  Bundle& b = bundles_[id];
  const Bundle& old = bundles_[from];
  b.level = old.level;
  b.bottleneck = old.bottleneck;
  clocks_[id].since = clocks_[from].since;
  clocks_[id].sequence = clocks_[from].sequence;
  clocks_[id].settled = clocks_[from].settled;
  crowd(id).moved = crowd(from).moved;
  for (const Use& use : old.uses) add_use(id, use.resource, use.share);
  if (old.noted) {
    b.noted = true;
    noted_.push_back(id);
  }
  return id;
}

/// An idle resource is needed again. What uses it leaves bundles in which others do not.
void FlowNetwork::wake(ResourceId r) {
  std::vector<User> users = std::move(resources_[r].users);
  resources_[r].users.clear();
  resources_[r].load = 0;
  resources_[r].idle = false;
  resources_[r].visits = 0;
  if (resources_[r].wakes < 10) ++resources_[r].wakes;
  struct Mover {
    BundleId bundle;
    std::uint64_t share;
    Handle flow;
  };
  std::vector<Mover> movers;
  movers.reserve(users.size());
  for (const User& u : users) {
    auto& idle = flows_[u.who].idle;
    movers.push_back({flows_[u.who].bundle, idle[u.use].share, u.who});
    if (u.use + 1 < idle.size()) {
      idle[u.use] = idle.back();
      resources_[idle[u.use].resource].users[idle[u.use].place].use = u.use;
    }
    idle.pop_back();
  }
  std::sort(movers.begin(), movers.end(), [](const Mover& a, const Mover& b) {
    if (a.bundle != b.bundle) return a.bundle < b.bundle;
    return a.share != b.share ? a.share < b.share : a.flow < b.flow;
  });
  for (auto first = movers.begin(); first != movers.end();) {
    const BundleId from = first->bundle;
    const auto end = std::find_if(
        first, movers.end(), [&](const Mover& m) { return m.bundle != from || m.share != first->share; });
    const auto count = static_cast<std::uint32_t>(end - first);
    BundleId into = from;
    if (count < bundles_[from].count) {
      into = split(from);
      bundles_[from].count -= count;
      bundles_[into].count = count;
      for (auto m = first; m != end; ++m) {
        if (flows_[m->flow].place != kNone) {
          leave(m->flow);
          enter(into, m->flow);
        }
        flows_[m->flow].bundle = into;
        for (const IdleUse& use : flows_[m->flow].idle)
          add_ceiling(into, {resources_[use.resource].ceiling, use.resource});
      }
    }
    add_use(into, r, first->share);
    first = end;
  }
}

/// Resources whose ceiling a level has passed: those that may stop somebody are touched. The level at which
/// that is felt.
double FlowNetwork::wake_passed() {
  double from = kNew;
  std::vector<ResourceId> needed;
  for (const BundleId id : passed_) {
    const double level = bundles_[id].level;
    taken_.clear();
    take_passed(id);
    for (const ResourceId which : taken_) {
      Resource& r = resources_[which];
      if (!r.idle) continue;
      if (r.ceiling <= level) {
        const double alone = level_alone(r), between = level + (alone - level) / 2;
        if (!(between > level)) {
          needed.push_back(which);
          from = std::min(from, alone);
          continue;
        }
        r.ceiling = between;
      }
      add_ceiling(id, {r.ceiling, which});
    }
  }
  passed_.clear();
  for (const ResourceId r : needed) {
    if (!resources_[r].idle) continue;
    wake(r);
    touch(r);
  }
  return from;
}

/// After a solution: lets rest what stops nobody, and joins what has become alike.
void FlowNetwork::make_bundles() {
  const std::size_t before = solved_.size();
  std::size_t rested = 0;
  for (const RoomOf& room : rooms_) {
    const ResourceId id = room.resource;
    Resource& r = resources_[id];
    filling::Load load = 0;
    double most = 0;
    std::uint64_t flows = 0;
    bool needed = false;
    for (const User& u : r.users) {
      const Bundle& b = bundles_[u.who];
      load += static_cast<filling::Load>(b.uses[u.use].share) * b.count;
      most = std::max(most, b.level);
      flows += b.count;
      if (b.bottleneck == id) needed = true;
    }
    if (needed) {
      r.visits = 0;
      continue;
    }
    if (load == 0 || std::uint64_t{r.visits} * 4 < flows << r.wakes) continue;
    r.load = load;
    r.ceiling = most + (level_alone(r) - most) / 2;
    if (!(r.ceiling > most)) continue;
    let_rest(id);
    ++rested;
  }
  join_equal();
  std::size_t after = 0;
  for (const BundleId b : solved_) after += bundles_[b].count > 0;
  work_ = 0;
  patience_ =
      rested * 8 > rooms_.size() || after * 8 < before * 7 ? 4 : std::min<std::uint64_t>(patience_ * 2, 256);
}

void FlowNetwork::let_rest(ResourceId id) {
  Resource& r = resources_[id];
  const std::vector<User> users = std::move(r.users);
  r.users.clear();
  r.idle = true;
  for (const User& u : users) {
    Bundle& b = bundles_[u.who];
    const std::uint64_t share = b.uses[u.use].share;
    visit_flows(u.who, [&](Handle h) { add_idle_use(h, id, share); });
    add_ceiling(u.who, {r.ceiling, id});
    if (u.use + 1 < b.uses.size()) {
      b.uses[u.use] = b.uses.back();
      resources_[b.uses[u.use].resource].users[b.uses[u.use].place].use = u.use;
    }
    b.uses.pop_back();
  }
}

bool FlowNetwork::same_uses(BundleId a, BundleId b) const {
  const auto& x = bundles_[a].uses;
  const auto& y = bundles_[b].uses;
  return x.size() == y.size() && std::all_of(x.begin(), x.end(), [&](const Use& use) {
           return std::any_of(y.begin(), y.end(), [&](const Use& other) {
             return use.resource == other.resource && use.share == other.share;
           });
         });
}

/// Joins bundles that have the same shares of the same resources. Those whose rate changed last at another
/// time wait: flows that end together do so in the order of that.
void FlowNetwork::join_equal() {
  struct Key {
    std::uint64_t hash;
    std::uint32_t count;
    BundleId bundle;
  };
  std::vector<Key> keys;
  keys.reserve(solved_.size());
  for (const BundleId id : solved_) {
    const Bundle& b = bundles_[id];
    const Clock& c = clocks_[id];
    if (flows_[c.first].changes < kYoung) continue;
    std::uint64_t hash = c.sequence;
    for (const Use& use : b.uses) {
      std::uint64_t h = (use.share ^ use.resource) * 0x9e3779b97f4a7c15u;
      h = (h ^ h >> 32 ^ use.resource) * 0xd6e8feb86659fd93u;
      hash += h ^ h >> 32;
    }
    keys.push_back({hash, b.count, id});
  }
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    return a.count != b.count ? a.count > b.count : a.bundle < b.bundle;
  });
  for (std::size_t i = 0, into = 0; i < keys.size(); ++i) {
    if (keys[i].hash != keys[into].hash) into = i;
    if (i == into) continue;
    if (clocks_[keys[i].bundle].sequence == clocks_[keys[into].bundle].sequence &&
        same_uses(keys[i].bundle, keys[into].bundle)) {
      join(keys[into].bundle, keys[i].bundle);
    }
  }
}

void FlowNetwork::join(BundleId into, BundleId from) {
  Crowd& a = crowd(into);
  Crowd& b = crowd(from);
  const LongInteger later = a.moved - b.moved;
  for (const Handle h : b.flows) {
    flows_[h].end += later;
    enter(into, h);
  }
  for (const Ceiling& c : b.ceilings) add_ceiling(into, c);
  bundles_[into].count += std::exchange(bundles_[from].count, 0);
  drop(from);
}

}  // namespace trnplan::sim
