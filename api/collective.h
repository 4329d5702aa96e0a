// collective: one collective, or sizes of one as nccom-test runs them, timed.
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
  std::string bytes = "32MiB", most_bytes;  ///< with the second a table of sizes up to it
  double factor = 2;                        ///< of the table, from size to size; above 1
  std::string algorithm = "auto", datatype = "fp32";
  std::string instance = usual_instance(), profile;
  int ranks = 0;  ///< over all nodes; 0: all cores
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
  /// The group has no way for its bytes: there is no time.
  [[nodiscard]] bool unreachable() const;
};

/// Bytes of an element of a datatype; 1 for unknown ones.
[[nodiscard]] int element_bytes(const std::string& type);

/// The operation of that name, or of nccom-test's name of it. Throws InputError.
[[nodiscard]] models::CollectiveOp read_collective_op(const std::string& word);

/// Times a group that the runtime would refuse all the same, where its bytes have a way. Throws InputError with
/// every fault of the request.
[[nodiscard]] CollectiveResult collective(const CollectiveRequest& request, Remarks& remarks);

}  // namespace trnplan::api
