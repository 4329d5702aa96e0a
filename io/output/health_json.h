// Health of nodes by nccom-test, as JSON (docs/json.md, collective --measured).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace trnplan::io {

/// One size of one run.
struct HealthRow {
  double bytes = 0, seconds = 0;
  double predicted = 0;  ///< s, as nccom-test would print it
  std::pair<double, double> predicted_90;
  std::optional<double> peers;  ///< s, of the fastest quarter of runs of this kind; nullopt with a single one
  double ratio = 0;             ///< seconds over the smaller of `peers` and the upper end of `predicted_90`
};

struct HealthTest {
  std::vector<std::string> nodes;
  std::vector<HealthRow> rows;
  std::optional<double> ratio;  ///< the median of its rows' ratios; nullopt: it failed
  bool slow = false;            ///< true if it failed, too
  std::string failure;          ///< reason for the failure; else ""
  std::string file;
  int line = 0;
};

/// A node that is named.
struct SlowNode {
  std::string name;
  bool alone = false, in_pairs = false;
  std::string problem, fix;
  std::vector<std::string> command;  ///< of the fix: removes the node
};

struct HealthReport {
  std::string instance, profile;
  double factor = 0;                    ///< a run is slow if its ratio is above this
  int nodes = 0, alone = 0, pairs = 0;  ///< number of nodes tested; runs on one node, on several
  std::vector<SlowNode> slow;           ///< by name
  std::vector<HealthTest> tests;        ///< in the order they were given
};

/// A document that ends in a newline.
std::string health_json(const HealthReport& report);

}  // namespace trnplan::io
