// validate on a table of layouts: every row is predicted as `simulate` would, or refused with a reason.
#pragma once

#include <string>
#include <vector>

#include "api/inputs.h"
#include "calibrate/validate/row_scores.h"
#include "text/remarks.h"

namespace trnplan::api {

struct ScoreRequest {
  std::string table;  ///< a CSV in any layout of logs::RunTable, recognised by its header
  /// A job that the rows of a user's own table have; may be empty. Without it, of its options only the
  /// instance and the release are used.
  JobInput job;
  std::string framework;    ///< stack or training loop of rows that state none; "" = by the rules or the job
  std::string profile;      ///< a name or a file; "" = for each row the profile of its machine's family
  std::string predictions;  ///< another tool's, `id,step_s[,mem_gib]`, instead of the simulator's
  std::string quality;      ///< "AB" = only rows of these letters; "" = all
  bool network_state = true;  ///< uses a row's measured all-reduce, which no plan has, for its prediction
  bool leave_out = false;     ///< ValidateRequest::leave_out was stated, which a table has no use for
};

struct ScoreResult {
  calibrate::RowScores scores;
  std::vector<std::string> profiles;  ///< used for predictions, ascending
};

/// Kinds of validation.
enum class Validated {
  steps,         ///< of Neuron runs, by fits
  neuron_table,  ///< of the same columns, scored without a fit
  layout_table,
  other,  ///< memory, uptimes or collectives
};

/// Refuses options that would change nothing: of `given`, and `rows`, which prints them. score() does so for
/// its table. Throws InputError with all.
void refuse_idle(Validated what, const ScoreRequest& given, bool rows);

/// True unless the file is a table of Neuron runs, which validate() takes. Throws InputError if it cannot be
/// read.
[[nodiscard]] bool is_layout_table(const std::string& path);

/// Unreadable rows get a remark, count as skipped, and do not prevent the scoring of others. Throws
/// InputError if the table, the profile or the predictions are not such a file, or an option is wrong. Cost:
/// one simulation per row; equal rows are simulated once.
[[nodiscard]] ScoreResult score(const ScoreRequest& request, Remarks& remarks);

}  // namespace trnplan::api
