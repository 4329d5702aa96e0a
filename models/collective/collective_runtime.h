// The algorithms of a machine's collectives, and the parameters of their latencies and rates.
//
// For an operation, group and size a runtime names the stages that run. models/collective/collective.h folds
// the stages of all runtimes into coflows and expands them into messages. To add a runtime, write a class
// like neuron_runtime.h or switched_runtime.h, its parameters, and a line in collective_runtime.cpp.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/collective/collective_algorithm.h"
#include "models/parameters/parameter.h"
#include "models/parameters/profile.h"
#include "topology/instance.h"

namespace trnplan::models {

/// Parameters of a profile that determine a runtime's times.
struct RuntimeParameters {
  Parameter start;    ///< seconds of a collective inside a graph or stream, whatever its size
  Parameter step;     ///< seconds of a step inside a node
  Parameter between;  ///< seconds of a step between nodes
  Parameter link;     ///< share of the links of a node
  Parameter network;  ///< share of its NICs
  Parameter barrier;  ///< seconds for which a collective alone makes nodes wait for each other; or none
};

/// Seconds that a collective takes besides the time of its bytes.
struct Latencies {
  double start = 0;    ///< whatever its size
  double step = 0;     ///< of a step inside a node
  double between = 0;  ///< of a step between nodes
};

/// The algorithms of a collective.
struct AlgorithmChoice {
  Algorithm whole;  ///< of the group
  Algorithm inner;  ///< inside its nodes, where they have one of their own
  Algorithm outer;  ///< between them, likewise
  auto operator<=>(const AlgorithmChoice&) const = default;
};

/// A collective library. Has no state; there is one object of each kind.
class CollectiveRuntime {
 public:
  virtual ~CollectiveRuntime() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual const RuntimeParameters& parameters() const = 0;
  /// Latencies of a protocol that describe() names, by a profile. A runtime with one protocol returns the
  /// parameters.
  [[nodiscard]] virtual Latencies latencies(const Profile& profile, int protocol) const;
  /// Algorithms that can be requested, without `automatic`.
  [[nodiscard]] virtual std::vector<Algorithm> algorithms() const = 0;
  /// Describes as models::describe() does. Requires: a group of two ranks or more.
  [[nodiscard]] virtual Description describe(const Fabric& fabric, CollectiveOp op, const GroupShape& shape,
                                             Bytes bytes, Algorithm algorithm) const = 0;
  /// The algorithms that describe() takes, if the bytes of its messages are in proportion to `bytes` as long as
  /// these stay the same; else nullopt. Of the shape only the numbers of nodes, cores and chips matter.
  [[nodiscard]] virtual std::optional<AlgorithmChoice> choice(const Fabric& fabric, CollectiveOp op,
                                                              const GroupShape& shape, Bytes bytes,
                                                              Algorithm algorithm) const;
  /// Describes a collective that takes these algorithms whatever its size. Requires: choice() returns one.
  [[nodiscard]] virtual Description describe(const Fabric& fabric, CollectiveOp op, const GroupShape& shape,
                                             Bytes bytes, const AlgorithmChoice& choice) const;
  /// The requirement of the requested algorithm that is not met, where it did not run.
  [[nodiscard]] virtual std::string obstacle(Algorithm asked, const topology::Cluster& cluster) const = 0;
};

/// The runtime of that name, or null. The object lives as long as the program.
[[nodiscard]] const CollectiveRuntime* collective_runtime_named(std::string_view name);

/// The runtime of a machine. Throws: std::invalid_argument when the machine names an unknown one.
[[nodiscard]] const CollectiveRuntime& runtime_of(const topology::Instance& instance);

/// "auto", then every algorithm of any runtime, each once.
[[nodiscard]] std::vector<std::string> algorithm_names();

}  // namespace trnplan::models
