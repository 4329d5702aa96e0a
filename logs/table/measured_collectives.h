// The table of published nccom-test points.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/diagnostic.h"

namespace trnplan::logs {

/// A row of catalog/measured-collectives.csv.
struct MeasuredCollective {
  std::string id;
  std::string op;  ///< canonical_op() of logs/nccom/nccom_command.h
  int ranks = 0;
  int nodes = 0;         ///< 0: not stated
  std::string instance;  ///< empty: not stated
  double bytes = 0;      ///< as nccom-test counts size
  std::string type;
  double seconds = 0;  ///< of one operation
  std::string build;   ///< the nccom-test build, by date: "2023-04"
  std::string algorithm;
  std::string source;
  std::string left_out;  ///< reason of the table for not using it; empty: it may be used
  std::string note;
  SourcePos at;
};

/// Parses the text of a measured-collectives CSV (RFC 4180, columns by header name, unknown columns ignored).
/// `name` is used in messages. Throws InputError listing every fault: missing columns, wrong number of
/// fields, an unknown operation, numbers that do not parse or are 0, more nodes than ranks, an id used twice.
std::vector<MeasuredCollective> parse_measured_collectives(std::string_view text, const std::string& name);

}  // namespace trnplan::logs
