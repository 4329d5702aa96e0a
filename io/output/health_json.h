// Nodes as nccom-test shows them, as JSON (docs/json.md, collective --measured).
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
  std::optional<double> ratio;  ///< the median of those of its rows; nullopt: it failed
  bool slow = false;            ///< or failed
  std::string failure;          ///< why it failed; else ""
  std::string file;
  int line = 0;
};

/// A node that is named.
struct SlowNode {
  std::string name;
  bool alone = false, in_pairs = false;
  std::string problem, fix;
  std::vector<std::string> command;  ///< of the fix: takes the node out
};

struct HealthReport {
  std::string instance, profile;
  double factor = 0;                    ///< a run is slow when its ratio is above
  int nodes = 0, alone = 0, pairs = 0;  ///< that were tested; runs of one node, of several
  std::vector<SlowNode> slow;           ///< by name
  std::vector<HealthTest> tests;        ///< in the order they were given
};

/// A document that ends in a newline.
std::string health_json(const HealthReport& report);

}  // namespace trnplan::io
