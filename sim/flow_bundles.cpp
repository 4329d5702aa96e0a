// Which flows are solved as one.
#include <algorithm>
#include <utility>

#include "sim/flow_network.h"
#include "sim/indexed_heap.h"

namespace trnplan::sim {

namespace {

constexpr auto kUntold = [](const auto&, std::size_t) {};
constexpr auto kLower = [](const auto& a, const auto& b) { return a.step < b.step; };

/// A resource that has a second user will likely have more.
constexpr std::size_t kFewUsers = 4;

/// Room for so many entries, and for a quarter more than there is: less than a vector would take.
template <class T>
void make_room(std::vector<T>& list, std::size_t entries) {
  if (entries > list.capacity()) list.reserve(std::max(entries, list.capacity() + list.capacity() / 4));
}

template <class User, class Moved>
void take_user(ShortList<User>& users, std::uint32_t place, Moved&& moved) {
  if (place + 1 < users.size()) {
    users[place] = users.back();
    moved(users[place]);
  }
  users.pop_back();
}

}  // namespace

FlowNetwork::BundleId FlowNetwork::new_bundle() {
  BundleId id = free_bundle_;
  if (id == kNone) {
    id = static_cast<BundleId>(bundles_.size());
    bundles_.emplace_back();
    clocks_.emplace_back();
  } else {
    free_bundle_ = bundles_[id].bottleneck;
  }
  Bundle& b = bundles_[id];
  b.level = kNew;
  b.ceiling = kNoCeiling;
  b.bottleneck = kNone;
  b.count = 0;
  return id;
}

/// The end of the first flow of a bundle, by the clock of its convoy.
LongInteger FlowNetwork::end_in_convoy(BundleId id) const {
  const Clock& c = clocks_[id];
  return c.crowd == kNone ? flows_[c.first].end : flows_[c.first].end - crowds_[c.crowd].moved;
}

/// A convoy without members, for what is stopped as this bundle.
FlowNetwork::BundleId FlowNetwork::new_convoy(BundleId like) {
  const BundleId id = new_bundle();
  Bundle& b = bundles_[id];
  b.is_convoy = true;
  b.level = bundles_[like].level;
  b.bottleneck = bundles_[like].bottleneck;
  Clock& c = clocks_[id];
  c.since = clocks_[like].since;
  c.sequence = clocks_[like].sequence;
  if (free_convoys_.empty()) {
    free_convoys_.push_back(static_cast<std::uint32_t>(convoys_.size()));
    convoys_.emplace_back();
  }
  c.crowd = free_convoys_.back();
  free_convoys_.pop_back();
  resources_[b.bottleneck].convoy = id;
  return id;
}

/// The bundle's rate has changed last when the convoy's has.
void FlowNetwork::enter_convoy(BundleId id, BundleId convoy) {
  Clock& c = clocks_[id];
  Convoy& into = convoys_[clocks_[convoy].crowd];
  if (c.crowd == kNone) {
    flows_[c.first].end += into.moved;
  } else {
    crowds_[c.crowd].moved -= into.moved;
  }
  bundles_[id].in_convoy = true;
  c.seat.convoy = convoy;
  make_room(into.members, std::max<std::size_t>(6, into.members.size() + 1));
  indexed_heap::push(
      into.members, id, [&](BundleId x, BundleId y) { return ends_before_in_convoy(x, y); },
      [&](BundleId x, std::size_t place) { clocks_[x].seat.place = static_cast<std::uint32_t>(place); });
  clocks_[convoy].first = clocks_[into.members.front()].first;
  reshape(id);
}

void FlowNetwork::leave_convoy(BundleId id) {
  Clock& c = clocks_[id];
  const BundleId convoy = c.seat.convoy;
  Clock& shared = clocks_[convoy];
  Convoy& from = convoys_[shared.crowd];
  if (bundles_[id].noted == kNone && bundles_[convoy].noted != kNone) note(id, level_before(convoy));
  indexed_heap::erase(
      from.members, c.seat.place, [&](BundleId x, BundleId y) { return ends_before_in_convoy(x, y); },
      [&](BundleId x, std::size_t place) { clocks_[x].seat.place = static_cast<std::uint32_t>(place); });
  if (c.crowd == kNone) {
    flows_[c.first].end -= from.moved;
  } else {
    crowds_[c.crowd].moved += from.moved;
  }
  bundles_[id].in_convoy = false;
  c.since = shared.since;
  c.sequence = shared.sequence;
  reshape(id);
  reshape(convoy);
  if (!from.members.empty()) {
    shared.first = clocks_[from.members.front()].first;
    return;
  }
  from = {};
  free_convoys_.push_back(std::exchange(shared.crowd, kNone));
  shared.first = kNone;
  Bundle& b = bundles_[convoy];
  b.is_convoy = false;
  resources_[b.bottleneck].convoy = kNone;
  if (b.noted == kNone) {
    b.bottleneck = std::exchange(free_bundle_, convoy);
  } else {
    b.level = levels_before_[b.noted];  // for advance_clocks(), which does that
  }
}

/// Puts what changed by itself in a settlement into a convoy, if what the same resource stops has changed too and is one,
/// or enough to make one.
void FlowNetwork::make_convoys() {
  constexpr BundleId kCount = 1u << 31;  // what would be in a convoy is counted where its number will be
  constexpr std::size_t kFewest = 4;
  // A bundle that has been joined to another may have given its number to a convoy since.
  const auto is_gone = [&](BundleId b) { return clocks_[b].first == kNone || bundles_[b].is_convoy; };
  const auto together = [&](const Clock& a, const Clock& b) {
    return a.since == b.since && a.sequence == b.sequence;
  };
  bool enough = false, some_new = false;
  for (const BundleId id : singles_) {
    if (is_gone(id)) continue;
    BundleId& convoy = resources_[bundles_[id].bottleneck].convoy;
    if (convoy == kNone) convoy = kCount;
    if ((convoy & kCount) == 0) continue;
    ++convoy;
    enough = enough || convoy >= (kCount | kFewest);
  }
  for (const BundleId id : singles_) {
    if (is_gone(id)) continue;
    BundleId& convoy = resources_[bundles_[id].bottleneck].convoy;
    if (convoy == kNone) continue;
    if ((convoy & kCount) != 0) {
      // Rather than grow the bundles' memory a convoy waits until one is no more.
      const bool room = free_bundle_ != kNone || bundles_.size() < bundles_.capacity();
      if (convoy < (kCount | kFewest) || !room) {
        convoy = kNone;
        continue;
      }
      if (!std::exchange(some_new, true))
        std::erase_if(changed_, [&](BundleId b) { return clocks_[b].first == kNone; });
      changed_.push_back(new_convoy(id));
    }
    if (!together(clocks_[convoy], clocks_[id])) continue;
    enter_convoy(id, convoy);
    enough = true;
  }
  singles_.clear();
  if (enough) std::erase_if(changed_, [&](BundleId b) { return bundles_[b].in_convoy; });
}

void FlowNetwork::reshape(BundleId id) {
  if (bundles_[id].reshaped) return;
  bundles_[id].reshaped = true;
  reshaped_.push_back(id);
}

void FlowNetwork::add_use(BundleId id, ResourceId r, std::uint64_t share) {
  Bundle& b = bundles_[id];
  ShortList<User>& users = resources_[r].users;
  lists_.push(b.uses, {share, r, static_cast<std::uint32_t>(users.size())});
  lists_.push(users, user(id, b.uses.size() - 1, share), kFewUsers);
}

void FlowNetwork::remove_use(BundleId id, std::uint32_t use) {
  Bundle& b = bundles_[id];
  take_user(resources_[b.uses[use].resource].users, b.uses[use].place,
            [&](const User& u) { bundles_[u.who].uses[u.use].place = b.uses[use].place; });
  if (use + 1 < b.uses.size()) {
    b.uses[use] = b.uses.back();
    resources_[b.uses[use].resource].users[b.uses[use].place].use = use & kMostUses;
  }
  b.uses.pop_back();
}

/// The last flow has left.
void FlowNetwork::drop(BundleId id) {
  Bundle& b = bundles_[id];
  while (!b.uses.empty()) remove_use(id, static_cast<std::uint32_t>(b.uses.size() - 1));
  lists_.clear(b.uses);
  if (clocks_[id].crowd != kNone) {
    crowds_[clocks_[id].crowd] = {};
    free_crowds_.push_back(std::exchange(clocks_[id].crowd, kNone));
  }
  clocks_[id].first = kNone;
  if (b.level == kNew) std::erase_if(newcomers_, [&](const Newcomer& n) { return n.bundle == id; });
  reshape(id);
  b.bottleneck = std::exchange(free_bundle_, id);
}

bool FlowNetwork::ends_before_in_convoy(BundleId a, BundleId b) const {
  if (lone(a) && lone(b)) return ends_before(clocks_[a].first, clocks_[b].first);
  const auto order = end_in_convoy(a) <=> end_in_convoy(b);
  return order != 0 ? order < 0 : flows_[clocks_[a].first].owner < flows_[clocks_[b].first].owner;
}

bool FlowNetwork::ends_before(Handle a, Handle b) const {
  const auto order = flows_[a].end <=> flows_[b].end;
  return order != 0 ? order < 0 : flows_[a].owner < flows_[b].owner;
}

FlowNetwork::Crowd& FlowNetwork::crowd(BundleId id) {
  Clock& c = clocks_[id];
  if (c.crowd == kNone) {
    if (free_crowds_.empty()) {
      free_crowds_.push_back(static_cast<std::uint32_t>(crowds_.size()));
      crowds_.emplace_back();
    }
    c.crowd = free_crowds_.back();
    free_crowds_.pop_back();
    if (c.first != kNone) {
      crowds_[c.crowd].flows.push_back(c.first);
      for (const Use& use : flows_[c.first].idle) add_ceiling(id, use.resource);
    }
  }
  return crowds_[c.crowd];
}

void FlowNetwork::enter(BundleId id, Handle h) {
  flows_[h].bundle = id;
  reshape(id);
  Clock& c = clocks_[id];
  if (c.crowd == kNone && c.first == kNone) {
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
  if (bundles_[id].in_convoy) leave_convoy(id);
  reshape(id);
  Clock& c = clocks_[id];
  c.first = kNone;
  if (c.crowd != kNone) {
    auto& flows = crowds_[c.crowd].flows;
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
  ShortList<User>& users = resources_[r].users;
  ShortList<Use>& idle = flows_[h].idle;
  lists_.push(idle, {share, r, static_cast<std::uint32_t>(users.size())});
  lists_.push(users, user(h, idle.size() - 1, share), kFewUsers);
}

void FlowNetwork::remove_idle_use(Handle h, std::uint32_t use) {
  auto& idle = flows_[h].idle;
  Resource& r = resources_[idle[use].resource];
  rest(r).load -= idle[use].share;
  take_user(r.users, idle[use].place,
            [&](const User& u) { flows_[u.who].idle[u.use].place = idle[use].place; });
  if (r.users.empty()) end_rest(r);
  if (use + 1 < idle.size()) {
    idle[use] = idle.back();
    resources_[idle[use].resource].users[idle[use].place].use = use & kMostUses;
  }
  idle.pop_back();
}

/// The bundle has a flow that uses an idle resource.
void FlowNetwork::add_ceiling(BundleId b, ResourceId r) {
  const Ceiling ceiling{step_of(rest(resources_[r]).ceiling), r};
  bundles_[b].ceiling = std::min(bundles_[b].ceiling, ceiling.step);
  if (clocks_[b].crowd == kNone) return;
  indexed_heap::push(crowds_[clocks_[b].crowd].ceilings, ceiling, kLower, kUntold);
}

/// Takes the ceilings that the bundle's level has passed.
void FlowNetwork::take_passed(BundleId id) {
  const Clock& c = clocks_[id];
  Bundle& b = bundles_[id];
  b.ceiling = kNoCeiling;
  const std::uint32_t step = step_of(b.level);
  if (c.crowd == kNone) {
    if (c.first == kNone) return;
    for (const Use& use : flows_[c.first].idle) {
      const std::uint32_t ceiling = step_of(rest(resources_[use.resource]).ceiling);
      if (ceiling <= step) {
        taken_.push_back(use.resource);
      } else {
        b.ceiling = std::min(b.ceiling, ceiling);
      }
    }
    return;
  }
  auto& ceilings = crowds_[c.crowd].ceilings;
  while (!ceilings.empty() && ceilings.front().step <= step) {
    taken_.push_back(ceilings.front().resource);
    indexed_heap::erase(ceilings, 0, kLower, kUntold);
  }
  if (!ceilings.empty()) b.ceiling = ceilings.front().step;
}

/// The level at which an idle resource would be full were its flows to rise alike.
double FlowNetwork::level_alone(const Resource& r) const {
  const filling::Room room{.rising = rest(r).load};
  return room.level(r.capacity);
}

void FlowNetwork::end_rest(Resource& r) {
  rest(r).load = std::exchange(free_rest_, r.room);
  r.room = kNone;
  r.idle = false;
}

/// A bundle like this one, without flows.
FlowNetwork::BundleId FlowNetwork::split(BundleId from) {
  if (bundles_[from].in_convoy) leave_convoy(from);
  const BundleId id = new_bundle();
  Bundle& b = bundles_[id];
  const Bundle& old = bundles_[from];
  b.level = old.level;
  b.bottleneck = old.bottleneck;
  clocks_[id].since = clocks_[from].since;
  clocks_[id].sequence = clocks_[from].sequence;
  crowd(id).moved = crowd(from).moved;
  for (const Use& use : old.uses) add_use(id, use.resource, use.share);
  if (old.noted != kNone) {
    b.noted = static_cast<std::uint32_t>(changed_.size());
    changed_.push_back(id);
    levels_before_.push_back(double{levels_before_[old.noted]});
  }
  return id;
}

/// An idle resource is needed again. What uses it leaves bundles in which others do not.
void FlowNetwork::wake(ResourceId r) {
  ShortList<User> users = std::exchange(resources_[r].users, {});
  end_rest(resources_[r]);
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
    if (std::size_t{u.use} + 1 < idle.size()) {
      idle[u.use] = idle.back();
      resources_[idle[u.use].resource].users[idle[u.use].place].use = u.use;
    }
    idle.pop_back();
  }
  lists_.clear(users);
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
      move_count(from, into, count);
      for (auto m = first; m != end; ++m) {
        if (flows_[m->flow].place != kNone) {
          leave(m->flow);
          enter(into, m->flow);
        }
        flows_[m->flow].bundle = into;
        for (const Use& use : flows_[m->flow].idle) add_ceiling(into, use.resource);
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
      if (rest(r).ceiling <= level) {
        const double alone = level_alone(r), between = level + (alone - level) / 2;
        if (!(between > level)) {
          needed.push_back(which);
          from = std::min(from, alone);
          continue;
        }
        rest(r).ceiling = between;
      }
      add_ceiling(id, which);
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
  std::vector<ResourceId> resting;
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
    const filling::Room all{.rising = load};
    const double ceiling = most + (all.level(r.capacity) - most) / 2;
    if (!(ceiling > most)) continue;
    begin_rest(r, {load, ceiling});
    resting.push_back(id);
  }
  const std::size_t rooms = rooms_.size();
  if (rooms_.capacity() > kMany) {
    rooms_ = std::vector<RoomOf>();
    candidates_ = std::vector<Candidate>();
  }
  for (auto* const list : {&stays_, &parted_, &touched_}) {
    if (list->capacity() > kMany) *list = std::vector<BundleId>();
  }
  if (levels_before_.capacity() > std::max(kMany, 4 * changed_.size()))
    levels_before_ = std::vector<double>();
  let_rest(resting);
  join_equal();
  std::size_t after = 0;
  for (const BundleId b : solved_) after += bundles_[b].count > 0;
  work_ = 0;
  patience_ =
      resting.size() * 8 > rooms || after * 8 < before * 7 ? 4 : std::min<std::uint64_t>(patience_ * 2, 256);
}

void FlowNetwork::begin_rest(Resource& r, const Rest& rest) {
  r.room = free_rest_;
  if (r.room == kNone) {
    if (rests_.empty()) rests_.reserve(resources_.size());
    r.room = static_cast<std::uint32_t>(rests_.size());
    rests_.emplace_back();
  } else {
    free_rest_ = static_cast<std::uint32_t>(rests_[r.room].load);
  }
  rests_[r.room] = rest;
  r.idle = true;
}

/// Moves what uses resources that have become idle from bundles to their flows, a bundle at a time: so lists of a size
/// come free when others of that are needed.
void FlowNetwork::let_rest(const std::vector<ResourceId>& resting) {
  std::vector<BundleId> concerned;
  for (const ResourceId id : resting) {
    for (const User& u : resources_[id].users) {
      if (bundles_[u.who].rising) continue;
      bundles_[u.who].rising = true;
      concerned.push_back(u.who);
    }
    resources_[id].users.forget();
  }
  for (const BundleId id : concerned) {
    Bundle& b = bundles_[id];
    b.rising = false;
    const auto is_idle = [&](const Use& use) { return resources_[use.resource].idle; };
    const auto idle = static_cast<std::size_t>(std::count_if(b.uses.begin(), b.uses.end(), is_idle));
    visit_flows(id, [&](Handle h) { lists_.reserve(flows_[h].idle, flows_[h].idle.size() + idle); });
    for (auto i = static_cast<std::uint32_t>(b.uses.size()); i-- > 0;) {
      const Use use = b.uses[i];
      if (!is_idle(use)) continue;
      if (i + 1 < b.uses.size()) {
        b.uses[i] = b.uses.back();
        resources_[b.uses[i].resource].users[b.uses[i].place].use = i & kMostUses;
      }
      b.uses.pop_back();
      visit_flows(id, [&](Handle h) { add_idle_use(h, use.resource, use.share); });
      add_ceiling(id, use.resource);
    }
    lists_.shrink(b.uses);
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
    if (flows_[clocks_[id].first].changes < kYoung) continue;
    std::uint64_t hash = clock(id).sequence;
    for (const Use& use : b.uses) {
      std::uint64_t h = (use.share ^ use.resource) * 0x9e3779b97f4a7c15u;
      h = (h ^ h >> 32 ^ use.resource) * 0xd6e8feb86659fd93u;
      hash += h ^ h >> 32;
    }
    keys.push_back({hash, b.count, id});
  }
  for (const BundleId b : changed_) bundles_[b].rising = bundles_[b].is_convoy;  // a mark
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    return a.count != b.count ? a.count > b.count : a.bundle < b.bundle;
  });
  for (auto first = keys.begin(); first != keys.end();) {
    const BundleId into = first->bundle;
    const auto end = std::find_if(first, keys.end(), [&](const Key& k) { return k.hash != first->hash; });
    std::size_t flows = 0, ceilings = 0;
    for (auto k = first; k != end; ++k) {
      flows += k->count;
      ceilings += count_ceilings(k->bundle);
    }
    for (auto k = first + 1; k != end; ++k) {
      if (clock(k->bundle).sequence != clock(into).sequence || !same_uses(k->bundle, into)) continue;
      for (const BundleId b : {into, k->bundle}) {
        if (!bundles_[b].in_convoy) continue;
        if (bundles_[clocks_[b].seat.convoy].rising) {
          changed_.push_back(b);
          note_single(b);
        }
        leave_convoy(b);
      }
      make_room(crowd(into).flows, flows);
      make_room(crowd(into).ceilings, ceilings);
      join(into, k->bundle);
    }
    first = end;
  }
  for (const BundleId b : changed_) bundles_[b].rising = false;
}

std::size_t FlowNetwork::count_ceilings(BundleId b) const {
  const Clock& c = clocks_[b];
  return c.crowd == kNone ? flows_[c.first].idle.size() : crowds_[c.crowd].ceilings.size();
}

void FlowNetwork::move_count(BundleId from, BundleId to, std::uint32_t flows) {
  bundles_[from].count = (bundles_[from].count - flows) & kMostCounted;
  bundles_[to].count = (bundles_[to].count + flows) & kMostCounted;
}

void FlowNetwork::join(BundleId into, BundleId from) {
  Crowd& a = crowd(into);
  if (lone(from)) {
    const Handle h = clocks_[from].first;
    flows_[h].end += a.moved;
    enter(into, h);
    for (const Use& use : flows_[h].idle) add_ceiling(into, use.resource);
  } else {
    const Crowd& b = crowd(from);
    const LongInteger later = a.moved - b.moved;
    for (const Handle h : b.flows) {
      flows_[h].end += later;
      enter(into, h);
    }
    for (const Ceiling& c : b.ceilings) indexed_heap::push(a.ceilings, c, kLower, kUntold);
    bundles_[into].ceiling = std::min(bundles_[into].ceiling, bundles_[from].ceiling);
  }
  move_count(from, into, bundles_[from].count);
  drop(from);
}

}  // namespace trnplan::sim
