// The use of a lane's busiest link, memory path and NIC over time, as a timeline's samples. Internal to the
// timeline.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "models/step/step_parts.h"
#include "models/step/timeline.h"

namespace trnplan::models {

/// Kinds of resources that have a counter.
inline constexpr std::array<Fabric::Kind, 3> kCounted{Fabric::Kind::link, Fabric::Kind::memory,
                                                      Fabric::Kind::nic_out};
inline constexpr std::array<const char*, 3> kCounterNames{"busiest link", "busiest memory path",
                                                          "busiest NIC"};

class ResourceUse {
 public:
  /// One track for each counted kind.
  using Tracks = std::array<std::uint32_t, kCounted.size()>;
  using LoadOf = std::function<const Fabric::Load&(const Item&)>;
  /// Keeps a reference to `fabric`.
  ResourceUse(const Fabric& fabric, std::vector<Tracks> of_lanes)
      : fabric_(fabric), tracks_(std::move(of_lanes)) {}

  /// Adds a transfer of a lane, which uses its busiest resources from `start` to `end`.
  void transfer(std::size_t lane, const Fabric::Load& load, SimTime start, SimTime end);
  /// Adds a pass that is not broken down, with the mean use of its transfers.
  void pass(std::size_t lane, const Pass& pass, const LoadOf& load_of, SimTime start, SimTime end);
  /// Writes the samples. Of transfers at the same time, the one that uses its resource most counts.
  void write(std::vector<Timeline::Sample>& samples) const;

 private:
  /// Seconds of use at full rate of the busiest resource of each counted kind.
  using Busy = std::array<double, kCounted.size()>;
  struct Use {
    std::uint32_t track;
    SimTime start, end;
    double value;
  };

  void add(std::size_t lane, const Busy& busy, SimTime start, SimTime end);

  const Fabric& fabric_;
  std::vector<Tracks> tracks_;
  std::map<std::pair<std::size_t, const Pass*>, Busy> busy_;  ///< by lane; looked up by key, never iterated
  std::vector<Use> uses_;
};

}  // namespace trnplan::models
