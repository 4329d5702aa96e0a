// How much of its busiest link, memory path and NIC a stage uses when, as a timeline's samples. Internal to the
// timeline.
#pragma once

#include <array>
#include <cstdint>
#include <map>
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
  /// A track for each counted kind. Keeps a reference to `fabric`.
  using Tracks = std::array<std::uint32_t, kCounted.size()>;
  ResourceUse(const Fabric& fabric, std::vector<Tracks> of_stages)
      : fabric_(fabric), tracks_(std::move(of_stages)) {}

  /// A transfer keeps its busiest resources in use from `start` to `end`.
  void transfer(int stage, const Item& item, SimTime start, SimTime end);
  /// A pass that is not broken down: what its transfers use on average.
  void pass(int stage, const Pass& pass, SimTime start, SimTime end);
  /// Of transfers at the same time, the one that uses its resource most.
  void write(std::vector<Timeline::Sample>& samples) const;

 private:
  /// Seconds for which the busiest resource of each counted kind would be in use at its full rate.
  using Busy = std::array<double, kCounted.size()>;
  struct Use {
    std::uint32_t track;
    SimTime start, end;
    double value;
  };

  void add(int stage, const Busy& busy, SimTime start, SimTime end);

  const Fabric& fabric_;
  std::vector<Tracks> tracks_;
  std::map<const Pass*, Busy> busy_;  ///< asked for single entries, never walked
  std::vector<Use> uses_;
};

}  // namespace trnplan::models
