// The use of a stage's busiest link, memory path and NIC over time, as a timeline's samples. Internal to the
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
  /// One track for each counted kind.
  using Tracks = std::array<std::uint32_t, kCounted.size()>;
  /// Keeps a reference to `fabric`.
  ResourceUse(const Fabric& fabric, std::vector<Tracks> of_stages)
      : fabric_(fabric), tracks_(std::move(of_stages)) {}

  /// Adds a transfer, which uses its busiest resources from `start` to `end`.
  void transfer(int stage, const Item& item, SimTime start, SimTime end);
  /// Adds a pass that is not broken down, with the mean use of its transfers.
  void pass(int stage, const Pass& pass, SimTime start, SimTime end);
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

  void add(int stage, const Busy& busy, SimTime start, SimTime end);

  const Fabric& fabric_;
  std::vector<Tracks> tracks_;
  std::map<const Pass*, Busy> busy_;  ///< looked up by key, never iterated
  std::vector<Use> uses_;
};

}  // namespace trnplan::models
