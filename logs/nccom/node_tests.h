// Runs of nccom-test on named nodes, as health.sh of a plan's folder writes them.
//
//   [trnplan] nodes ip-10-1-65-134 ip-10-1-65-171
//   nccom-test -r 64 -N 2 -b 67108864 ... allr --hosts ip-10-1-65-134 ip-10-1-65-171
//   <what nccom-test prints>
//   [trnplan] nccom-test ended with 124
//
// The last line is there if it failed (124: it took too long). A file may hold several runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "logs/nccom/nccom_table.h"

namespace trnplan::logs {

struct NodeTest {
  std::vector<std::string> nodes;   ///< at least one; letters, digits, '.', '_' and '-'
  std::optional<NccomTable> table;  ///< with at least one row, none of which nccom-test found wrong
  /// Reason for the lack of a table, in nccom-test's words if there are any.
  std::string failure;
  /// True if its table is none of nccom-test, or contradicts itself: nothing is known of its nodes.
  bool unread = false;
  SourcePos at;
};

/// Reads runs in the order of the text. Throws InputError if no line names nodes, for a line that names none,
/// a node twice, more than 64, or an invalid name; for too many runs (10,000), and as parse_nccom_test does.
/// Cost: linear in the text.
std::vector<NodeTest> read_node_tests(std::string_view text, const std::string& name);

}  // namespace trnplan::logs
