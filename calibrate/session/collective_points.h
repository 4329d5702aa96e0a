// Points that a fit takes from nccom-test's tables and from published tables.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "calibrate/fit/collective_fit.h"
#include "calibrate/session/samples.h"
#include "text/diagnostic.h"
#include "text/remarks.h"

namespace trnplan::calibrate {

/// Statements of the command line on points and on tables without a command.
struct PointOptions {
  std::string build, op;     ///< empty: not stated
  int ranks = 0, nodes = 0;  ///< 0: not stated
};

/// Points that a file has for the fit of collectives.
struct CollectiveReading {
  std::string name;  ///< of the file, without folders
  std::vector<logs::MeasuredCollective> points;
  std::string kind;                 ///< "published points", "rows of 2 nccom-test tables"; "" neither
  std::size_t rows = 0;             ///< before any was excluded
  std::vector<Diagnostic> skipped;  ///< reasons for tables without a point
  std::set<std::string> marks;      ///< of the build that printed it
};

/// The command that the options state for a table without one.
[[nodiscard]] logs::NccomCommand stated_command(const PointOptions& o);

/// Points of a file for the fit, with remarks on those that are excluded. Throws InputError if a CSV has
/// points of several builds and none is chosen, or none of the chosen one.
[[nodiscard]] CollectiveReading take_file(const LogFile& file, const PointOptions& o, Remarks& remarks);

/// Remarks that the points may come from different builds: launch differs by build, and one fit has one
/// launch.
void doubt_builds(const std::vector<CollectiveReading>& all, Remarks& remarks);

/// One remark, or fault, for each reason for excluding points, at the first such point.
[[nodiscard]] std::vector<Diagnostic> causes_of(const std::vector<calibrate::LeftOut>& left_out);

}  // namespace trnplan::calibrate
