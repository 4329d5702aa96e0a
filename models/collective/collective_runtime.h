// Which algorithms a machine's collectives run, and what their latencies and rates are called.
//
// A runtime says for an operation, group and size which stages run; stages fold into coflows and expand into
// messages in one place for all (models/collective/collective.h). Adding a runtime: a class here beside
// neuron_runtime.h and switched_runtime.h, its parameters, a line in collective_runtime.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/collective/collective_algorithm.h"
#include "models/parameters/parameter.h"
#include "models/parameters/profile.h"
#include "topology/instance.h"

namespace trnplan::models {

/// Parameters of a profile that a runtime's times go by.
struct RuntimeParameters {
  Parameter start;    ///< seconds a collective inside a graph or stream takes whatever its size
  Parameter step;     ///< seconds of a step inside a node
  Parameter between;  ///< seconds of a step between nodes
  Parameter link;     ///< share of the links of a node
  Parameter network;  ///< share of its NICs
  Parameter barrier;  ///< seconds a collective alone makes nodes wait for each other; none: it does not
};

/// What a collective waits for besides its bytes, in seconds.
struct Latencies {
  double start = 0;    ///< whatever its size
  double step = 0;     ///< of a step inside a node
  double between = 0;  ///< of a step between nodes
};

/// Has no state; one of each kind.
class CollectiveRuntime {
 public:
  virtual ~CollectiveRuntime() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual const RuntimeParameters& parameters() const = 0;
  /// By a profile, those of a protocol that describe() names. One of a single protocol: the parameters.
  [[nodiscard]] virtual Latencies latencies(const Profile& profile, int protocol) const;
  /// Those that can be asked for, besides `automatic`.
  [[nodiscard]] virtual std::vector<Algorithm> algorithms() const = 0;
  /// As models::describe(). Requires: a group of two ranks or more.
  [[nodiscard]] virtual Description describe(const Fabric& fabric, CollectiveOp op, const GroupShape& shape,
                                             Bytes bytes, Algorithm algorithm) const = 0;
  /// What an algorithm that was asked for needs, where it did not run.
  [[nodiscard]] virtual std::string obstacle(Algorithm asked, const topology::Cluster& cluster) const = 0;
};

/// Null where there is none of that name. What it points to lives as long as the program.
[[nodiscard]] const CollectiveRuntime* collective_runtime_named(std::string_view name);
[[nodiscard]] std::vector<std::string_view> collective_runtime_names();

/// The runtime of a machine. Throws: std::invalid_argument when it names none that there is.
[[nodiscard]] const CollectiveRuntime& runtime_of(const topology::Instance& instance);

/// "auto", then every algorithm of any runtime, each once.
[[nodiscard]] std::vector<std::string> algorithm_names();

}  // namespace trnplan::models
