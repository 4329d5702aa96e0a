// One collective on a cluster, timed as nccom-test would run it: alone, over the first ranks of each node.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/collective/collective.h"
#include "topology/instance.h"
#include "topology/verdict.h"

namespace trnplan::models {

struct CollectiveRun {
  CollectiveOp op = CollectiveOp::all_reduce;
  int ranks = 2;  ///< over all nodes, equally many on each, the lowest cores first
  /// Bytes as nccom-test counts them: an all-gather ends with them, every other operation starts with them.
  Bytes bytes{};
  Algorithm algorithm = Algorithm::automatic;
};

/// A 90 % interval.
struct SecondsRange {
  Seconds low{}, high{};
};

struct CollectiveTiming {
  struct Part {
    std::int64_t steps = 0;
    Seconds latency{}, transfer{};
    std::string limit;  ///< the busiest resource; empty when no bytes move
  };
  std::string algorithm;
  Seconds seconds{};                          ///< inside a compiled graph
  Seconds nccom_seconds{};                    ///< in a graph of its own, with host launch and barrier
  SecondsRange seconds_90, nccom_seconds_90;  ///< 0 unless requested
  Seconds host_launch{}, barrier{};           ///< the two terms that nccom_seconds adds to seconds
  /// Bytes/s by nccom_seconds; 0 without time or for one rank. busbw = algbw * bus_factor().
  double algbw = 0, busbw = 0;
  Seconds alpha{};  ///< seconds = alpha + latency and transfer of all parts
  std::vector<Part> parts;
  topology::GroupVerdict verdict;  ///< on whether the runtime accepts the group
};

/// A collective and its time.
struct TimedCollective {
  CollectiveRun run;
  CollectiveTiming timing;
};

/// Factor by which nccom-test multiplies algbw: all-reduce 2 (N-1)/N; all-gather, reduce-scatter and
/// all-to-all (N-1)/N; else 1 (aws-neuron/aws-neuron-sdk@81ce03ae tools/neuron-sys-tools/nccom-test.rst;
/// NVIDIA/nccl-tests doc/PERFORMANCE.md).
double bus_factor(CollectiveOp op, int ranks);

/// Bytes of an element of a type that nccom-test names: fp32, float32, bf16, uint8 ...
std::optional<int> element_bytes(std::string_view type);

/// The global ranks of a run. Throws std::invalid_argument unless `ranks` is positive, is a multiple of the
/// nodes, and fits on them.
std::vector<int> ranks_of(const topology::Cluster& cluster, int ranks);

/// Times many collectives on one cluster. Keeps references to its arguments. Cost of time(): O(ranks).
///
/// With `intervals` it also gives the interval of a time t from the log-normal parameters p of the profile
/// (delta method): with e_p = d log t / d log p, from a difference of 1 %,
///
///   sigma^2 = sum_p (e_p * log_sd_p)^2 + collective_spread^2,  t * exp(-1.645 sigma) .. t * exp(1.645 sigma)
///
/// Parameters count as independent, as they are in a profile. collective_spread is the error of the model
/// itself on tables that no fit has seen.
class CollectiveTimer {
 public:
  CollectiveTimer(const topology::Cluster& cluster, const topology::ChipGraph& graph, const Profile& profile,
                  bool intervals = false);
  CollectiveTiming time(const CollectiveRun& run) const;

 private:
  /// The fabric with one share of a bandwidth raised by 1 %.
  struct Raised {
    Raised(const topology::Cluster& cluster, const topology::ChipGraph& graph,
           const topology::Placement& placement, const Profile& base, Parameter p);
    Profile profile;
    double log_sd;
    Fabric fabric;
  };
  void add_intervals(const Collective& c, CollectiveTiming& t) const;

  topology::Placement placement_;
  Fabric fabric_;
  bool intervals_;
  std::deque<Raised> raised_;
};

}  // namespace trnplan::models
