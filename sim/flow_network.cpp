#include "sim/flow_network.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "sim/indexed_heap.h"

namespace trnplan::sim {

FlowNetwork::FlowNetwork(const std::vector<double>& capacity) : resources_(capacity.size()) {
  double most = std::numeric_limits<double>::min(), least = std::numeric_limits<double>::max();
  for (std::size_t r = 0; r < capacity.size(); ++r) {
    resources_[r].capacity = capacity[r];
    most = std::max(most, capacity[r]);
    least = std::min(least, capacity[r]);
  }
  if (least * kMostRatio < most)
    throw std::overflow_error("capacities differ by more than the clocks of flows can count: 2^80");
  exponent_ = std::ilogb(most) - 133;
}

void FlowNetwork::reserve(std::size_t flows) {
  flows_.reserve(flows);
  bundles_.reserve(flows);
  clocks_.reserve(flows);
  levels_before_.reserve(flows);
  for (auto* const list : {&solved_, &changed_, &reshaped_}) list->reserve(flows);
}

void FlowNetwork::touch(ResourceId r) {
  if (resources_[r].touched) return;
  resources_[r].touched = true;
  touched_.push_back(r);
}

FlowNetwork::Handle FlowNetwork::add(const Flow& flow, std::uint32_t owner) {
  const double scale = filling::scale_of(flow);
  own_parts_.clear();
  for (const Weight& w : flow.weights) own_parts_.push_back({w.resource, filling::share_of(w.bytes, scale)});
  return add(own_parts_, scale, owner);
}

FlowNetwork::Handle FlowNetwork::add(std::span<const filling::Part> parts, double scale,
                                     std::uint32_t owner) {
  Handle h = free_flow_;
  if (h == kNone) {
    h = static_cast<Handle>(flows_.size());
    flows_.emplace_back();
  } else {
    free_flow_ = flows_[h].place;
  }
  const BundleId b = new_bundle();
  unsettled_ = true;
  bundles_[b].count = 1;
  flows_[h].scale = scale;
  flows_[h].owner = owner;
  flows_[h].bundle = b;
  flows_[h].left = 1;
  flows_[h].changes = 0;
  flows_[h].place = 0;
  clocks_[b].first = h;
  lists_.reserve(bundles_[b].uses, parts.size());
  bool alone_now = true;
  for (const auto& [resource, share, level] : parts) {
    Resource& r = resources_[resource];
    if (r.idle) {
      alone_now = false;
      rest(r).load += share;
      if (level_alone(r) >= rest(r).ceiling) {
        add_idle_use(h, resource, share);
        add_ceiling(b, resource);
        continue;
      }
      rest(r).load -= share;
      wake(resource);
    }
    alone_now = alone_now && r.users.empty();
    add_use(b, resource, share);
  }
  if (alone_now) {
    newcomers_.push_back(alone(b, parts));
    return h;
  }
  for (const Use& use : bundles_[b].uses) {
    resources_[use.resource].grown = true;
    touch(use.resource);
  }
  if (bundles_[b].uses.empty()) {
    const auto& idle = flows_[h].idle;
    const auto tightest = std::min_element(idle.begin(), idle.end(), [&](const Use& x, const Use& y) {
      return level_alone(resources_[x.resource]) < level_alone(resources_[y.resource]);
    });
    const ResourceId r = tightest->resource;
    wake(r);
    resources_[r].grown = true;
    touch(r);
  }
  return h;
}

void FlowNetwork::remove(Handle h) {
  const BundleId id = flows_[h].bundle;
  Bundle& b = bundles_[id];
  bool felt = false;
  for (const Use& use : b.uses) {
    unsettled_ = true;
    if (b.count == 1 && resources_[use.resource].users.size() == 1) continue;  // nobody is left there
    felt = true;
    touch(use.resource);
  }
  if (felt) lowest_removed_ = std::min(lowest_removed_, b.level);
  while (!flows_[h].idle.empty()) remove_idle_use(h, static_cast<std::uint32_t>(flows_[h].idle.size() - 1));
  lists_.clear(flows_[h].idle);
  if (flows_[h].place != kNone) leave(h);
  flows_[h].bundle = kNone;
  flows_[h].place = std::exchange(free_flow_, h);
  b.count = (b.count - 1) & kMostCounted;
  if (b.count == 0) drop(id);
}

/// No flow that came to `r` is stopped there below this level. Were all users to rise it would be C / load;
/// those that stopped lower, elsewhere, leave more. A hair low, because the sums here are floating point.
double FlowNetwork::level_felt(const Resource& r) const {
  double level = 0;
  for (int pass = 0; pass < 2; ++pass) {
    double left = 1, rising = 0;
    for (const User& u : r.users) {
      const Bundle& b = bundles_[u.who];
      const Use& use = b.uses[u.use];
      if (b.level < level) {
        left -= static_cast<double>(used(b, use)) * b.count / filling::kCapacityUnits;
      } else {
        rising += static_cast<double>(use.share) * b.count / filling::kShareUnits;
      }
    }
    level = std::max(level, r.capacity * left / rising * (1 - 1e-9));
  }
  return level;
}

inline void FlowNetwork::visit(ResourceId r) {
  resources_[r].room = static_cast<std::uint32_t>(rooms_.size());
  rooms_.push_back({r, 0, true, {}});
}

/// The room in a resource were all users at or above `from` to rise alike. Leaves those of them that do not rise yet in
/// `parted_`; how many. Users are parted by writing each to both lists, without a branch that nobody could foretell.
inline std::size_t FlowNetwork::begin_room(const Resource& r, double from, filling::Room& room) {
  const std::size_t users = r.users.size();
  if (parted_.size() <= users) parted_.resize(users + 1);
  std::uint32_t* const fresh = parted_.data();
  std::uint32_t* const below = fresh + users;  // downwards, of the users what is below
  std::size_t freshes = 0, belows = 0;
  std::uint64_t whole = 0;  // flows that rise, with that share unless said below
  std::uint32_t alike = 1;
  for (std::uint32_t i = 0; i < users; ++i) {
    const User& u = r.users[i];
    const Bundle& b = bundles_[u.who];
    const bool stays = b.level < from;
    fresh[freshes] = u.who;
    *(below - belows) = i;
    freshes += !(stays | b.rising);
    belows += stays;
    whole += b.count & (std::uint32_t{stays} - 1);
    alike &= u.whole;
  }
  std::uint64_t taken = 0;
  for (std::size_t k = 0; k < belows; ++k) {
    const User& u = r.users[*(below - k)];
    const Bundle& b = bundles_[u.who];
    const std::uint64_t share = u.whole ? kWhole : b.uses[u.use].share;
    taken += filling::Room::use(share, b.level, r.capacity) * b.count;
  }
  filling::Load rising = 0;
  if (!alike) {
    for (const User& u : r.users) {
      const Bundle& b = bundles_[u.who];
      if (u.whole || b.level < from) continue;
      whole -= b.count;
      rising += static_cast<filling::Load>(b.uses[u.use].share) * b.count;
    }
  }
  room.left -= taken;
  room.rising = rising + static_cast<filling::Load>(whole) * kWhole;
  return freshes;
}

/// Collects the bundles that a change may be felt by: at or above `from`, and joined to a touched resource. A
/// resource joins those that it stops, and those at or above the level at which it would be full were all from
/// `from` on to rise alike, since it stops nobody below.
void FlowNetwork::gather(double from) {
  if (touched_.size() > rooms_.capacity()) rooms_.reserve(resources_.size());
  for (const ResourceId r : touched_) {
    if (resources_[r].room == kNone) visit(r);
  }
  std::size_t stays = 0;
  for (std::uint32_t i = 0; i < rooms_.size(); ++i) {
    const ResourceId id = rooms_[i].resource;
    Resource& r = resources_[id];
    const auto visits = static_cast<std::uint32_t>(r.users.size());
    r.visits += visits;
    work_ += visits;
    filling::Room& room = rooms_[i].room;
    const std::size_t fresh = begin_room(r, from, room);
    if (fresh > 0) {
      const double stops = room.level_below(r.capacity);
      std::uint32_t* const rise = parted_.data();
      std::size_t rises = 0;
      if (stays_.size() < stays + fresh) stays_.resize(std::max(stays + fresh, 2 * stays));
      for (std::size_t k = 0; k < fresh; ++k) {
        const BundleId who = rise[k];
        const Bundle& b = bundles_[who];
        const bool so = (b.level >= stops) | (b.bottleneck == id);
        rise[rises] = stays_[stays] = who;
        rises += so;
        stays += !so;
      }
      for (std::size_t k = 0; k < rises; ++k) {
        Bundle& b = bundles_[rise[k]];
        b.rising = true;
        solved_.push_back(rise[k]);
        for (const Use& use : b.uses) {
          if (resources_[use.resource].room == kNone) visit(use.resource);
        }
      }
    }
    rooms_[i].stays = static_cast<std::uint32_t>(stays) & kMostStays;
  }
  // Most of what would stay, by one resource, rises by another.
  std::size_t k = 0;
  for (RoomOf& room : rooms_) {
    for (; k < room.stays; ++k) {
      const Bundle& b = bundles_[stays_[k]];
      if (b.rising) continue;
      for (const Use& use : b.uses) {
        if (use.resource == room.resource) room.room.fix(use.share, used(b, use), b.count);
      }
    }
  }
}

[[gnu::always_inline]] inline void FlowNetwork::note_level(BundleId id, double level) {
  Bundle& b = bundles_[id];
  if (level == b.level) return;
  if (b.noted == kNone) note(id, b.level);
  b.level = level;
}

/// Fixes what still rises in a room; the number of bundles. Most have the same share of resources of the same capacity,
/// of which they take the same.
std::size_t FlowNetwork::fix_all(RoomOf& full, double level) {
  const ResourceId id = full.resource;
  const std::uint32_t step = step_of(level);
  std::uint64_t share = kWhole;
  double capacity = resources_[id].capacity;
  std::uint64_t used = filling::Room::use(share, level, capacity);
  bool stays = false;  // in the resource's convoy
  std::uint32_t* const rising = parted_.data();
  std::size_t fixed = 0;
  for (const User& u : resources_[id].users) {
    rising[fixed] = u.who;
    fixed += bundles_[u.who].rising;
  }
  for (std::size_t k = 0; k < fixed; ++k) {
    const BundleId who = rising[k];
    Bundle& b = bundles_[who];
    b.rising = false;
    if (b.in_convoy && b.noted == kNone) {
      if (b.bottleneck == id) {
        stays = true;
        b.level = level;
      } else {
        parts_ = true;
        note(who, level_before(clocks_[who].seat.convoy));
      }
    }
    b.bottleneck = id;
    note_level(who, level);
    if (b.ceiling <= step) passed_.push_back(who);
    for (const Use& use : b.uses) {
      if (use.resource == id) continue;
      const Resource& other = resources_[use.resource];
      if (use.share != share || other.capacity != capacity) {
        share = use.share;
        capacity = other.capacity;
        used = filling::Room::use(share, level, capacity);
      }
      RoomOf& room = rooms_[other.room];
      room.room.fix(share, used, b.count);
      room.stale = true;
    }
  }
  if (stays) note_level(resources_[id].convoy, level);
  full.room.rising = 0;
  return fixed;
}

/// Progressive filling of the resources in `rooms_`. Fixing a flow never lowers a resource's level, so a
/// stale candidate only has to be looked at again when it comes up; until then a level below will do.
void FlowNetwork::fill() {
  const auto before = [](const Candidate& a, const Candidate& b) { return a.key < b.key; };
  const auto untold = [](const Candidate&, std::size_t) {};
  if (rooms_.size() > candidates_.capacity()) candidates_.reserve(rooms_.capacity());
  for (std::uint32_t i = 0; i < rooms_.size(); ++i) {
    const RoomOf& room = rooms_[i];
    if (room.room.rising == 0) continue;
    candidates_.push_back({room.room.level_below(resources_[room.resource].capacity), room.resource, i});
  }
  indexed_heap::make(candidates_, before, untold);
  for (std::size_t rising = solved_.size(); rising > 0;) {
    Candidate& first = candidates_.front();
    RoomOf& room = rooms_[first.room()];
    if (room.room.rising == 0) {
      indexed_heap::erase(candidates_, 0, before, untold);
    } else if (room.stale) {
      room.stale = false;
      first = {room.room.level(resources_[room.resource].capacity), room.resource, first.room()};
      indexed_heap::sink(candidates_, 0, before, untold);
    } else {
      rising -= fix_all(room, first.level());
    }
  }
  candidates_.clear();
}

void FlowNetwork::solve(double from) {
  rooms_.clear();
  solved_.clear();
  gather(from);
  fill();
  for (const RoomOf& room : rooms_) resources_[room.resource].room = kNone;
}

FlowNetwork::Newcomer FlowNetwork::alone(BundleId b, std::span<const filling::Part> parts) const {
  Newcomer n{kNew, b, kNone};
  for (const filling::Part& part : parts) {
    const double here =
        part.level > 0 ? part.level : part.with_level(resources_[part.resource].capacity).level;
    if (here >= n.level) continue;
    n.level = here;
    n.bottleneck = part.resource;
  }
  return n;
}

void FlowNetwork::settle_alone(Handle h, SimTime since, std::uint64_t sequence) {
  const BundleId id = flows_[h].bundle;
  if (newcomers_.empty() || newcomers_.back().bundle != id)
    throw std::logic_error("a flow that was alone is not");
  const Newcomer n = newcomers_.back();
  newcomers_.pop_back();
  bundles_[id].bottleneck = n.bottleneck;
  bundles_[id].level = n.level;
  clocks_[id].since = since;
  clocks_[id].sequence = sequence;
  flows_[h].changes = 1;
}

/// The common case: flows that have their resources to themselves. True when there is nothing else to settle.
bool FlowNetwork::settle_newcomers() {
  for (const Newcomer& n : newcomers_) {
    Bundle& b = bundles_[n.bundle];
    if (!touched_.empty() && std::any_of(b.uses.begin(), b.uses.end(),
                                         [&](const Use& use) { return resources_[use.resource].touched; }))
      continue;
    b.bottleneck = n.bottleneck;
    note_level(n.bundle, n.level);
  }
  return std::all_of(touched_.begin(), touched_.end(),
                     [&](ResourceId r) { return resources_[r].users.empty(); });
}

const std::vector<FlowNetwork::BundleId>& FlowNetwork::settle(SimTime now, std::uint64_t sequence) {
  changed_.clear();
  if (settle_newcomers()) {
    forget_changes();
    advance_clocks(now, sequence);
    return changed_;
  }
  double from = lowest_removed_;
  for (const ResourceId r : touched_) {
    if (resources_[r].grown && !resources_[r].users.empty()) from = std::min(from, level_felt(resources_[r]));
  }
  const std::uint64_t before = work_;
  for (solve(from);; solve(from)) {
    forget_changes();
    if (passed_.empty()) break;
    from = wake_passed();
    if (touched_.empty()) break;
  }
  advance_clocks(now, sequence);
  if (work_ > patience_ * (work_ - before) && work_ - before > 32) make_bundles();
  if (!singles_.empty()) make_convoys();
  return changed_;
}

void FlowNetwork::forget_changes() {
  for (const ResourceId r : touched_) resources_[r].touched = resources_[r].grown = false;
  touched_.clear();
  newcomers_.clear();
  unsettled_ = false;
  lowest_removed_ = kNew;
}

/// What a level moves in so many ticks. The same for the same level in whatever stretches.
LongInteger FlowNetwork::clock_of(double level, std::uint64_t ticks) const {
  const auto bits = std::bit_cast<std::uint64_t>(level);
  constexpr std::uint64_t kImplied = std::uint64_t{1} << 52;
  std::uint64_t mantissa = (bits & (kImplied - 1)) | kImplied;
  int shift = static_cast<int>(bits >> 52) - 1075 - exponent_;
  if (shift < 0) {
    mantissa = shift > -64 ? mantissa >> -shift : 0;
    shift = 0;
  }
  const LongInteger::Wide moved = static_cast<LongInteger::Wide>(mantissa) * ticks;
  const auto high = static_cast<std::uint64_t>(moved >> 64);
  const auto width_of = [](std::uint64_t word) { return static_cast<int>(std::bit_width(word)); };
  const int width = high > 0 ? 64 + width_of(high) : width_of(static_cast<std::uint64_t>(moved));
  // No flow that has 2^254 units to go ends within the clock. A shift is at most 162, within LongInteger's
  // 191: 139 of a level, 2^57 times the largest capacity, and more of the bytes that a flow has to go in a
  // second.
  constexpr int kMostBits = 254;
  if (width + shift > kMostBits) return {LongInteger::Wide{1} << 64, kMostBits - 64};
  return {moved, shift};
}

/// The level takes back the hair, as filling::rate_at does.
static double raised(double level) {
  return level * (1 + 0x1p-50);
}

/// To where the settled level has brought the flows of a bundle.
void FlowNetwork::advance_clock(BundleId id, double settled, SimTime now) {
  Clock& c = clocks_[id];
  MovingFlow& first = flows_[c.first];
  if (first.changes == kYoung) {
    if (!bundles_[id].is_convoy) note_single(id);
    const LongInteger moved = clock_of(raised(settled), static_cast<std::uint64_t>((now - c.since).ps));
    if (bundles_[id].is_convoy) {
      convoys_[c.crowd].moved += moved;
    } else if (c.crowd == kNone) {
      first.end -= moved;
    } else {
      crowds_[c.crowd].moved += moved;
    }
    return;
  }
  if (first.changes > 0) {
    const double rate = filling::rate_at(settled, first.scale);
    first.left = std::max(0.0, first.left - rate * to_seconds(now - c.since).value);
  }
  if (++first.changes < kYoung) return;
  note_single(id);
  constexpr std::uint64_t kTicksPerSecond = 1'000'000'000'000;
  first.end = clock_of(first.left * first.scale, kTicksPerSecond);
}

void FlowNetwork::advance_clocks(SimTime now, std::uint64_t sequence) {
  if (std::exchange(parts_, false)) {
    for (const BundleId id : changed_) {
      if (bundles_[id].in_convoy) leave_convoy(id);
    }
  }
  std::size_t changed = 0;
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    const BundleId id = changed_[i];
    Bundle& b = bundles_[id];
    b.noted = kNone;
    if (b.level == levels_before_[i]) {
      if (b.count == 0 && clocks_[id].first == kNone)  // a convoy that all have left
        b.bottleneck = std::exchange(free_bundle_, id);
      continue;
    }
    advance_clock(id, levels_before_[i], now);
    clocks_[id].since = now;
    clocks_[id].sequence = sequence;
    changed_[changed++] = id;
  }
  changed_.resize(changed);
  levels_before_.clear();
}

LongInteger FlowNetwork::left(const MovingFlow& f) const {
  const Clock& c = clocks_[f.bundle];
  LongInteger left = f.end;
  if (c.crowd != kNone) left -= crowds_[c.crowd].moved;
  if (bundles_[f.bundle].in_convoy) left -= convoys_[clocks_[c.seat.convoy].crowd].moved;
  return left;
}

double FlowNetwork::ticks_left(Handle h) const {
  const MovingFlow& f = flows_[h];
  if (f.changes < kYoung) return filling::ticks_at(rate(h), f.left);
  const LongInteger to_go = left(f);
  return to_go.negative() ? 0
                          : filling::less_a_hair(to_go.scaled(exponent_)) / raised(bundles_[f.bundle].level);
}

FlowNetwork::Progress FlowNetwork::progress(Handle h, SimTime now) const {
  const MovingFlow& f = flows_[h];
  const SimTime since = clock(f.bundle).since;
  if (f.changes < kYoung) return {{std::bit_cast<std::uint64_t>(f.left)}, since, f.changes};
  const double level = raised(bundles_[f.bundle].level);
  return {(left(f) - clock_of(level, static_cast<std::uint64_t>((now - since).ps))).limbs(), now, f.changes};
}

}  // namespace trnplan::sim
