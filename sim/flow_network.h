// Flows in progress over shared resources, with their fair rates and their progress kept up to date.
//
// Incremental: when flows come and go, only the flows whose rate can change are solved anew. Filling raises
// all flows together, so what it did below the lowest level at which a change is felt stays as it was: a flow
// that leaves is felt at its own level, one that comes at the level where it is stopped, which is bounded
// from below without solving. Flows below that level keep their rates; those above that are joined to a
// changed resource, directly or through each other, are filled again. The answer is that of fair_rates() to
// the last bit.
//
// Bundles  Flows that must have the same level are solved as one, and share a clock of how far they have come
//          (long_integer.h). Flows start alone. Where solving them costs much, two things make bundles:
//          - A resource that stops nobody is *idle*: it is left out of the solution until a level passes its
//            ceiling. By property 2 of fair_share.h it stops nobody below the level at which it would be full
//            if all its flows rose alike. The ceiling is at most that level, so while all its flows are below
//            the ceiling, leaving it out changes no bit.
//          - Bundles that have the same shares of the same other resources become one.
// Convoys  Bundles that the same resource stops have the same level and seldom part. Once their rates have changed
//          together they share a clock: a rate that changes then costs the solver's part, and what the convoy's clock
//          and its one next end cost. A convoy has a number among those of the bundles.
// Cost     settle(): O(k log k) in the weights of the bundles solved anew, plus the users of their resources.
// Threads  None; one network belongs to one run.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <vector>

#include "sim/fair_share.h"
#include "sim/long_integer.h"
#include "sim/program.h"
#include "sim/short_lists.h"
#include "units/sim_time.h"

namespace trnplan::sim {

class FlowNetwork {
 public:
  using Handle = std::uint32_t;
  using BundleId = std::uint32_t;

  /// Capacities in bytes/s, positive, by ResourceId. Throws std::overflow_error if the largest is more than
  /// 2^80 times the smallest: clocks would lose bits of low levels.
  explicit FlowNetwork(const std::vector<double>& capacity);

  /// Makes room for so many flows at a time, which takes less memory than room made as they come.
  void reserve(std::size_t flows);
  /// A flow with weights, on different resources of this network. It has no rate before settle(). Handles of
  /// removed flows are used again. `owner` orders flows that end together.
  Handle add(const Flow& flow, std::uint32_t owner = 0);
  Handle add(std::span<const filling::Part> parts, double scale, std::uint32_t owner);
  void remove(Handle h);
  bool unsettled() const { return unsettled_; }
  /// Brings the rates up to date after any number of changes; returns the bundles whose rate changed, new
  /// ones included. The list is valid until the next call. `sequence` is kept with them.
  const std::vector<BundleId>& settle(SimTime now = {}, std::uint64_t sequence = 0);
  /// Brings a flow that was added last up to date as settle() would have done at an earlier time. Nobody has used its
  /// resources since. Throws std::logic_error if somebody does.
  void settle_alone(Handle h, SimTime since, std::uint64_t sequence);
  /// Bundles that have other flows than at the last call, gone ones included, new ones not, in no order.
  template <class Visit>
  void visit_reshaped(Visit&& visit) {
    for (const BundleId b : reshaped_) {
      if (!bundles_[b].reshaped) continue;
      bundles_[b].reshaped = false;
      visit(b);
    }
    reshaped_.clear();
  }
  /// Leaves a bundle out of the next visit.
  void forget_reshaped(BundleId b) { bundles_[b].reshaped = false; }

  /// Progress rate, 1/s.
  double rate(Handle h) const { return filling::rate_at(bundles_[flows_[h].bundle].level, flows_[h].scale); }
  std::uint32_t owner(Handle h) const { return flows_[h].owner; }
  BundleId bundle(Handle h) const { return flows_[h].bundle; }
  static constexpr Handle kNone = 0xffffffffu;
  /// The flow of a bundle or a convoy that ends first, of those not taken out; kNone without such, and of what is in a
  /// convoy.
  Handle first(BundleId b) const { return bundles_[b].in_convoy ? kNone : clocks_[b].first; }
  template <class Visit>
  void visit_flows(BundleId b, Visit&& visit) const {
    const Clock& c = clocks_[b];
    if (bundles_[b].is_convoy) {
      for (const BundleId member : convoys_[c.crowd].members) visit_flows(member, visit);
    } else if (c.crowd != kNone) {
      for (const Handle h : crowds_[c.crowd].flows) visit(h);
    } else if (c.first != kNone) {
      visit(c.first);
    }
  }
  /// True if the bundle has never had more than one flow. No convoy is.
  bool lone(BundleId b) const { return clocks_[b].crowd == kNone; }
  /// The flow that ends first keeps its rate, but is no longer among its bundle's.
  void take_out_first(BundleId b);
  bool has_rate(BundleId b) const { return bundles_[b].level != kNew; }
  /// Time and settle() of the last change of the rate of a bundle that is in no convoy, or of a convoy.
  SimTime since(BundleId b) const { return clocks_[b].since; }
  std::uint64_t sequence(BundleId b) const { return clocks_[b].sequence; }
  /// Time of the last change of the flow's rate.
  SimTime changed(Handle h) const { return clock(flows_[h].bundle).since; }
  /// Ticks that a flow still needed then, rounded as a double is, but for a hair that rounding of the level
  /// may have added (2^-48 of the time left).
  double ticks_left(Handle h) const;
  /// State that decides, with the rate, how far the flow will be at any time from `now` on. Two flows, or two
  /// instants, have equal states only if that is equal.
  struct Progress {
    std::array<std::uint64_t, 4> left;
    SimTime since;
    std::uint8_t changes;
  };
  Progress progress(Handle h, SimTime now) const;

 private:
  static constexpr double kNew = std::numeric_limits<double>::infinity();
  static constexpr double kMostRatio = 0x1p80;
  static constexpr std::size_t kMany =
      4096;  ///< entries from which on the memory of a list that is seldom so long is given back
  static constexpr std::size_t kMostSingles =
      512;  ///< looked at after one settlement; the rest when they change again

  struct Use {
    std::uint64_t share;  ///< filling::share_of
    ResourceId resource;
    std::uint32_t place;  ///< in the resource's users
  };
  /// Changes of its rate until which a flow counts its progress by itself, as a double, which is cheaper: most
  /// flows end before. Then it is exact and may join others. The count is the flow's, so bundles change no
  /// result.
  static constexpr std::uint8_t kYoung = 32;

  struct MovingFlow {
    union {
      double left;      ///< young: progress still to make, as of its bundle's `since`
      LongInteger end;  ///< by the clock of its bundle, when it is no longer young
    };
    double scale = 0;
    BundleId bundle = kNone;
    std::uint32_t place = kNone;  ///< in the bundle's flows; of a free one the next that is free
    std::uint32_t owner = 0;
    std::uint8_t changes = 0;  ///< of its rate, up to kYoung
    ShortList<Use> idle;       ///< of idle resources

    MovingFlow() : left(1) {}
  };
  /// A level, rounded down by 2^-20 at most: numbers ascend with levels.
  static std::uint32_t step_of(double level) {
    return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(level) >> 32);
  }
  static constexpr std::uint32_t kNoCeiling = 0xffffffffu;
  /// A step at which an idle resource must be looked at.
  struct Ceiling {
    std::uint32_t step;
    ResourceId resource;
  };
  static constexpr std::uint32_t kMostCounted = (1u << 28) - 1;  ///< flows of a bundle
  /// Bundles and, apart from them since they are seldom needed together, their clocks.
  struct Bundle {
    ShortList<Use> uses;
    double level = kNew;
    ResourceId bottleneck = kNone;       ///< where it was fixed; of a free one the next that is free
    std::uint32_t noted = kNone;         ///< in changed_, during settle()
    std::uint32_t ceiling = kNoCeiling;  ///< the lowest of Crowd::ceilings
    std::uint32_t count : 28 = 0;        ///< flows, those taken out included
    std::uint32_t rising : 1 = 0, reshaped : 1 = 0, in_convoy : 1 = 0, is_convoy : 1 = 0;
  };
  /// State that a bundle of one flow does not need: its ceilings are those of the flow's idle resources.
  struct Crowd {
    LongInteger moved;              ///< the clock as of `since`; zero without a crowd
    std::vector<Handle> flows;      ///< a heap by end, then owner
    std::vector<Ceiling> ceilings;  ///< a heap; at least one for each idle resource of its flows
  };
  struct Seat {
    BundleId convoy;
    std::uint32_t place;  ///< in its members
  };
  struct Clock {
    SimTime since;
    union {
      std::uint64_t sequence = 0;
      Seat seat;  ///< of what is in a convoy; that has the time and the number
    };
    Handle first = kNone;
    std::uint32_t crowd = kNone;  ///< in crowds_; of a convoy in convoys_
  };
  /// State of a convoy besides its clock, its level and, as its bottleneck, its resource. A flow of a member has to go
  /// what it has by the member's clock, less `moved`.
  struct Convoy {
    LongInteger moved;
    std::vector<BundleId> members;  ///< a heap by the end of their first flows
  };
  struct User {
    std::uint32_t who;        ///< bundle; of an idle resource flow
    std::uint32_t use : 31;   ///< index in its uses
    std::uint32_t whole : 1;  ///< its share is kWhole
  };
  static constexpr std::uint32_t kMostUses = (1u << 31) - 1;
  /// The most common share: of what uses all its resources alike.
  static constexpr std::uint64_t kWhole = std::uint64_t{1} << 57;
  static User user(std::uint32_t who, std::size_t use, std::uint64_t share) {
    return {who, static_cast<std::uint32_t>(use) & kMostUses, share == kWhole};
  }
  struct Resource {
    double capacity = 0;
    ShortList<User> users;
    std::uint32_t room = kNone;  ///< in rooms_, during settle(); if it is idle in rests_
    std::uint32_t visits = 0;    ///< what it cost since it was last needed
    BundleId convoy = kNone;     ///< of what it stops
    std::uint8_t wakes = 0;      ///< how often it was idle in vain
    bool idle = false;
    bool touched = false, grown = false;  ///< since the last settle(): users changed; a flow came
  };
  /// State of an idle resource.
  struct Rest {
    filling::Load load = 0;  ///< the sum of shares; of a free one the next that is free
    double ceiling = 0;      ///< all flows of it are below
  };
  struct RoomOf {
    ResourceId resource;
    std::uint32_t stays : 31;  ///< where its bundles in stays_ end
    std::uint32_t stale : 1;   ///< its candidate has a level below
    filling::Room room;
  };
  static constexpr std::uint32_t kMostStays = (1u << 31) - 1;
  /// Candidates come in the order of levels, which are not negative, then of resources.
  struct Candidate {
    filling::Load key;
    Candidate(double level, ResourceId resource, std::uint32_t room)
        : key(filling::Load{std::bit_cast<std::uint64_t>(level)} << 64 | std::uint64_t{resource} << 32 |
              room) {}
    double level() const { return std::bit_cast<double>(static_cast<std::uint64_t>(key >> 64)); }
    std::uint32_t room() const { return static_cast<std::uint32_t>(key); }
  };
  /// A flow that came when nobody else used its resources, and what it gets if that stays so.
  struct Newcomer {
    double level;
    BundleId bundle;
    ResourceId bottleneck;
  };

  void touch(ResourceId r);
  Newcomer alone(BundleId b, std::span<const filling::Part> parts) const;
  bool settle_newcomers();
  /// Units of capacity that a flow of a bundle takes of a resource that it uses.
  std::uint64_t used(const Bundle& b, const Use& use) const {
    return filling::Room::use(use.share, b.level, resources_[use.resource].capacity);
  }
  double level_felt(const Resource& r) const;
  void solve(double from);
  std::size_t begin_room(const Resource& r, double from, filling::Room& room);
  void gather(double from);
  void visit(ResourceId r);
  void fill();
  std::size_t fix_all(RoomOf& full, double level);
  void note_level(BundleId b, double level);
  const Clock& clock(BundleId b) const { return clocks_[bundles_[b].in_convoy ? clocks_[b].seat.convoy : b]; }
  double level_before(BundleId b) const {
    const std::uint32_t noted = bundles_[b].noted;
    return noted == kNone ? bundles_[b].level : levels_before_[noted];
  }
  [[gnu::always_inline]] void note(BundleId b, double before) {
    bundles_[b].noted = static_cast<std::uint32_t>(changed_.size());
    changed_.push_back(b);
    levels_before_.push_back(before);
  }
  void advance_clock(BundleId b, double settled, SimTime now);
  void advance_clocks(SimTime now, std::uint64_t sequence);
  void forget_changes();

  LongInteger end_in_convoy(BundleId b) const;
  BundleId new_convoy(BundleId like);
  void enter_convoy(BundleId b, BundleId convoy);
  void leave_convoy(BundleId b);
  void note_single(BundleId b) {
    if (singles_.size() < kMostSingles) singles_.push_back(b);
  }
  void make_convoys();

  BundleId new_bundle();
  void add_use(BundleId b, ResourceId r, std::uint64_t share);
  void remove_use(BundleId b, std::uint32_t use);
  void drop(BundleId b);
  void reshape(BundleId b);
  bool ends_before(Handle a, Handle b) const;
  bool ends_before_in_convoy(BundleId a, BundleId b) const;
  void enter(BundleId b, Handle h);
  void leave(Handle h);
  void add_idle_use(Handle h, ResourceId r, std::uint64_t share);
  void remove_idle_use(Handle h, std::uint32_t use);
  Crowd& crowd(BundleId b);
  LongInteger left(const MovingFlow& f) const;
  void add_ceiling(BundleId b, ResourceId r);
  void take_passed(BundleId b);
  double level_alone(const Resource& r) const;
  Rest& rest(const Resource& r) { return rests_[r.room]; }
  const Rest& rest(const Resource& r) const { return rests_[r.room]; }
  void end_rest(Resource& r);
  void wake(ResourceId r);
  BundleId split(BundleId b);
  double wake_passed();
  void make_bundles();
  void begin_rest(Resource& r, const Rest& rest);
  void let_rest(const std::vector<ResourceId>& resting);
  void join_equal();
  std::size_t count_ceilings(BundleId b) const;
  void move_count(BundleId from, BundleId to, std::uint32_t flows);
  void join(BundleId into, BundleId b);
  bool same_uses(BundleId a, BundleId b) const;

  LongInteger clock_of(double level, std::uint64_t ticks) const;

  /// Exponent of the clocks' unit, 2^exponent bytes/s * ps. It follows from the largest capacity: a level of up
  /// to 2^57 times as much (a share of 2^-57, fair_share.h) does not overflow within 2^63 ps, and any down to
  /// 2^-80 times as much is exact. Below that levels lose bits, always the same.
  int exponent_ = 0;
  std::vector<Resource> resources_;
  std::vector<Rest> rests_;
  ShortLists lists_;
  std::vector<MovingFlow> flows_;
  std::vector<Bundle> bundles_;
  std::vector<Clock> clocks_;
  Handle free_flow_ = kNone;
  BundleId free_bundle_ = kNone;
  std::uint32_t free_rest_ = kNone;
  std::deque<Crowd> crowds_;
  std::deque<Convoy> convoys_;
  std::vector<std::uint32_t> free_crowds_, free_convoys_;
  std::vector<ResourceId> touched_;  ///< whose users somebody else may feel
  std::vector<Newcomer> newcomers_;  ///< since the last settle()
  bool unsettled_ = false;
  bool parts_ = false;  ///< something is to leave its convoy
  double lowest_removed_ =
      kNew;  ///< level of the lowest flow removed since the last settle(), if it was felt
  std::vector<filling::Part> own_parts_;  ///< of a flow that came with weights
  std::vector<RoomOf> rooms_;
  std::vector<double> levels_before_;  ///< levels of changed_ as of the end of the last settle()
  std::vector<BundleId> solved_, changed_, reshaped_, passed_;
  std::vector<BundleId> singles_;      ///< what changed and may enter a convoy, or the first of it
  std::vector<BundleId> stays_;        ///< of all rooms, in their order
  std::vector<std::uint32_t> parted_;  ///< users of one resource; longer than any in rooms_ has
  std::vector<ResourceId> taken_;
  std::vector<Candidate> candidates_;
  std::uint64_t work_ = 0;      ///< since bundles were last made
  std::uint64_t patience_ = 4;  ///< how many times the work of a solution is taken before
};

}  // namespace trnplan::sim
