// validate of a table of layouts: every row predicted the way `simulate` would, or refused with a reason.
#pragma once

#include <string>
#include <vector>

#include "calibrate/validate/row_scores.h"
#include "text/remarks.h"

namespace trnplan::api {

struct ScoreRequest {
  std::string table;          ///< a CSV in any of the layouts of logs::RunTable, found by its header
  std::string profile;        ///< a name or a file; "": of each row the profile of its machine's family
  std::string predictions;    ///< another tool's, `id,step_s[,mem_gib]`, in place of the simulator's
  std::string quality;        ///< "AB": rows of these letters alone; "": all
  bool network_state = true;  ///< rows that measured an all-reduce are predicted with it, which no plan has
};

struct ScoreResult {
  calibrate::RowScores scores;
  std::vector<std::string> profiles;  ///< that predicted, ascending
};

/// Whether the file is a table that score() is for, and no table of Neuron runs. Throws InputError when it cannot be
/// read.
[[nodiscard]] bool is_layout_table(const std::string& path);

/// Rows that cannot be read are remarked on, counted among those that were skipped, and keep no other row from being
/// scored. Throws InputError where the table, the profile or the predictions are no such file.
/// Cost: one simulation a row; equal rows are simulated once.
[[nodiscard]] ScoreResult score(const ScoreRequest& request, Remarks& remarks);

}  // namespace trnplan::api
