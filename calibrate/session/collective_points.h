// What a fit takes from nccom-test's tables and from published points.
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

/// What the command line says of points and of tables without a command.
struct PointOptions {
  std::string build, op;     ///< empty: not stated
  int ranks = 0, nodes = 0;  ///< 0: not stated
};

/// What a file holds for the fit of collectives.
struct CollectiveReading {
  std::string name;  ///< of the file, without folders
  std::vector<logs::MeasuredCollective> points;
  std::string kind;                 ///< "published points", "rows of 2 nccom-test tables"; "" neither
  std::size_t rows = 0;             ///< before any was left out
  std::vector<Diagnostic> skipped;  ///< why tables gave no point
  std::set<std::string> marks;      ///< of the build that printed it
};

/// What the options say of a table without a command.
[[nodiscard]] logs::NccomCommand stated_command(const PointOptions& o);

/// What a file holds for the fit, with remarks on what is left out. Throws InputError when a CSV has points
/// of several builds and none is chosen, or none of the one chosen.
[[nodiscard]] CollectiveReading take_file(const LogFile& file, const PointOptions& o, Remarks& remarks);

/// Remarks that the points may come from different builds: launch differs by build, and one fit has one
/// launch.
void doubt_builds(const std::vector<CollectiveReading>& all, Remarks& remarks);

/// One remark, or fault, for each reason a point was left out, at the first such point.
[[nodiscard]] std::vector<Diagnostic> causes_of(const std::vector<calibrate::LeftOut>& left_out);

}  // namespace trnplan::calibrate
