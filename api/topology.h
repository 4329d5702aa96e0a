// topology: links of a node, and the verdict on every replica group of a layout.
#pragma once

#include <string>
#include <vector>

#include "api/inputs.h"
#include "topology/chip_graph.h"
#include "topology/verdict.h"

namespace trnplan::api {

struct TopologyRequest {
  std::string instance = usual_instance(),
              neuron_ls;  ///< output of neuron-ls that replaces the catalogue's links
  std::string profile;    ///< a file may contain observations of groups; "" = the catalogue's
  int nodes = 1;
  int tp = 0, pp = 0, dp = 0, cp = 0;  ///< 0 = not stated; if none is, no groups are judged

  [[nodiscard]] bool asks_for_groups() const { return tp > 0 || pp > 0 || dp > 0 || cp > 0; }
};

struct TopologyResult {
  topology::Cluster cluster;
  topology::PlacementVerdict verdict;         ///< supported, without groups, if none was asked for
  std::string fix;                            ///< how to get supported groups; may be empty
  std::vector<topology::Degrees> neighbours;  ///< supported layouts near the requested one
  std::string observed;                       ///< one line for each observation that contradicts the verdict
};

/// Throws InputError, also for degrees that do not fill the cluster.
[[nodiscard]] TopologyResult topology(const TopologyRequest& request);

}  // namespace trnplan::api
