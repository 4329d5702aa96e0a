// Flows in progress over shared resources, with their fair rates kept up to date.
//
// Incremental: when flows come and go, only the flows whose rate can change are solved anew. Filling raises
// all flows together, so what it did below the lowest level at which a change is felt stays as it was: a flow
// that leaves is felt at its own level, one that comes at the level where it is stopped, which is bounded
// from below without solving. Flows below that level keep their rates; those above that are joined to a
// changed resource, directly or through each other, are filled again. The answer is that of fair_rates() to
// the last bit.
//
// Cost     settle(): O(k log k) in the weights of the flows solved anew, plus the users of their resources.
// Threads  None; one network belongs to one run.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/fair_share.h"
#include "sim/program.h"

namespace trnplan::sim {

class FlowNetwork {
 public:
  using Handle = std::uint32_t;

  /// Capacities in bytes/s, positive, by ResourceId.
  explicit FlowNetwork(std::vector<double> capacity);

  /// A flow with weights, all on resources of this network. It has no rate before settle(). Handles of
  /// removed flows are used again.
  Handle add(const Flow& flow);
  void remove(Handle h);
  bool unsettled() const { return !touched_.empty(); }
  /// Brings the rates up to date after any number of changes; returns the flows whose rate changed, new ones
  /// included. The list is valid until the next call.
  const std::vector<Handle>& settle();
  /// Progress rate, 1/s.
  double rate(Handle h) const { return flows_[h].rate; }

 private:
  static constexpr double kNew = std::numeric_limits<double>::infinity();

  struct Use {
    ResourceId resource;
    std::uint32_t place;  ///< in the resource's users
    std::uint64_t share;  ///< filling::share_of
    std::uint64_t used;   ///< filling::Room::use at the flow's level
  };
  struct ActiveFlow {
    std::vector<Use> uses;
    double scale = 0;
    double level = kNew;
    double rate = 0;
    bool rising = false;
  };
  struct User {
    Handle flow;
    std::uint32_t use;  ///< index in the flow's uses
  };
  struct Resource {
    double capacity = 0;
    std::vector<User> users;
    filling::Room room;
    bool touched = false, grown = false;  ///< since the last settle(): users changed; a flow came
    bool seen = false, stale = false;     ///< during settle()
  };
  struct Candidate {
    double level;
    ResourceId resource;
  };

  static constexpr Handle kNone = 0xffffffffu;

  void touch(ResourceId r);
  bool settle_lone();
  void forget_changes();
  double level_felt(const Resource& r) const;
  void gather(double from);
  void visit(ResourceId r);
  void fill();
  void fix(Handle h, double level);

  std::vector<Resource> resources_;
  std::vector<ActiveFlow> flows_;
  std::vector<Handle> free_;
  std::vector<ResourceId> touched_;
  Handle newest_ = kNone;         ///< the last flow that came since the last settle()
  double lowest_removed_ = kNew;  ///< level of the lowest flow removed since the last settle()
  std::vector<ResourceId> seen_;
  std::vector<Handle> solved_, changed_;
  std::vector<Candidate> heap_;
};

}  // namespace trnplan::sim
