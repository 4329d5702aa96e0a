// collective: the time of one collective, or of a range of sizes as nccom-test runs them.
#pragma once

#include <string>
#include <vector>

#include "api/inputs.h"
#include "models/collective/collective_timing.h"
#include "models/parameters/profile.h"
#include "text/remarks.h"
#include "topology/instance.h"

namespace trnplan::api {

struct CollectiveRequest {
  std::string op;
  std::string bytes = "32MiB", most_bytes;  ///< with `most_bytes`, a table of sizes up to it
  double factor = 2;                        ///< of the table, from one size to the next; above 1
  std::string algorithm = "auto", datatype = "fp32";
  std::string instance = usual_instance(), profile;
  std::vector<std::string> hardware;  ///< as Asked's
  int ranks = 0;                      ///< over all nodes; 0 = all cores
  int nodes = 1;
  double oversubscription = 1;

  [[nodiscard]] bool sweeps() const { return !most_bytes.empty(); }
};

struct CollectiveResult {
  topology::Cluster cluster;
  models::Profile profile;
  std::vector<models::TimedCollective> timed;  ///< by size; at least one
  std::string fix;                             ///< how to get a supported group; may be empty

  [[nodiscard]] const topology::GroupVerdict& verdict() const { return timed.front().timing.verdict; }
  /// True if there is no path for the group's bytes, and so no time.
  [[nodiscard]] bool unreachable() const;
};

/// Bytes per element of a datatype; 1 for unknown ones.
[[nodiscard]] int element_bytes(const std::string& type);

/// Operation by its name or nccom-test's name. Throws InputError.
[[nodiscard]] models::CollectiveOp read_collective_op(const std::string& word);

/// Times a group even if the runtime would refuse it, provided that there is a path for its bytes. Throws
/// InputError with every fault of the request.
[[nodiscard]] CollectiveResult collective(const CollectiveRequest& request, Remarks& remarks);

}  // namespace trnplan::api
