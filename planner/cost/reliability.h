// Failure parameters of a training cluster, as log-normal distributions.
//
// Values, spreads and sources are in catalog/reliability.json; docs/models.md, "Goodput", says how each was
// derived. They are fixed from publications about other systems, before anything is compared with a Trainium
// run.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "models/parameters/profile.h"

namespace trnplan::planner {

enum class ReliabilityParameter {
  failure_rate,       ///< failures that stop the job, per host of eight accelerators and day
  detection,          ///< s from a failure to its diagnosis, without a person
  replacement,        ///< s to put another node in place
  replacement_share,  ///< share of failures that need another node, at most 1
  restart,            ///< s to start the processes, load compiled graphs and warm up
  manual_response,    ///< s from a failure until a person has restarted the job
  manual_share,       ///< share of failures that automatic recovery leaves to a person, at most 1
  /// bytes/s that each node adds to what a cluster writes; may be absent if storage_throughput is there
  storage_per_node,
  load_ratio,          ///< time to load a checkpoint over the time to write it
  asynchronous_stall,  ///< s of training's stall for an asynchronous checkpoint
  spot_interruption,   ///< interruptions of a spot node by the market, per node and day; may be absent (0)
  storage_throughput,  ///< bytes/s of a file system that is known, whatever the nodes; may be absent (0)
  count
};

inline constexpr std::size_t kReliabilityParameters = static_cast<std::size_t>(ReliabilityParameter::count);

std::string_view to_string(ReliabilityParameter p);
/// "1/day", "s", "1" or "bytes/s".
std::string_view unit_of(ReliabilityParameter p);
/// True if `p` is a share, which cannot exceed 1; samples above 1 are cut.
bool is_share(ReliabilityParameter p);
/// True if a file need not have `p`: its median is then 0.
bool may_be_absent(ReliabilityParameter p);

/// A published uptime and its job.
struct PublishedUptime {
  std::string id, model, strategy;  ///< `model`: of the catalogue; `strategy`: as for `simulate --strategy`
  std::string instance;
  int nodes = 0, sequence = 0, global_batch = 0;
  double tokens = 0;
  bool automatic = true;
  double uptime = 0;  ///< share of the time in which the job ran
  std::string source, note;
};

/// Nodes of the smallest cluster whose file system is published (catalog/reliability.json, storage_per_node).
inline constexpr int kFewestStorageNodes = 16;

struct Reliability {
  std::string name;
  std::array<models::Value, kReliabilityParameters> values;
  bool rate_of_node = false;  ///< failure_rate is that of a whole node, however many hosts it has
  std::vector<PublishedUptime> published;  ///< for comparison; no value was fitted to them

  double operator[](ReliabilityParameter p) const { return values[static_cast<std::size_t>(p)].median; }
  const models::Value& value(ReliabilityParameter p) const { return values[static_cast<std::size_t>(p)]; }
  models::Value& value(ReliabilityParameter p) { return values[static_cast<std::size_t>(p)]; }
  /// Failures per day of a node of so many failing hosts (failing_hosts()).
  double failures_of_node(double hosts) const;
  /// The parameter that the file system's rate comes from.
  ReliabilityParameter storage_parameter() const;
  /// Rate at which `nodes` write to the shared file system, which is bought for its cluster: published ones differ by a
  /// factor of 246, a node's share by 82. Fewer nodes than kFewestStorageNodes write as these do.
  BytesPerSecond storage(int nodes) const;
};

}  // namespace trnplan::planner
