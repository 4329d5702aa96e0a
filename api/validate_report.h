// Page of validate: predicted and measured step times.
#pragma once

#include "api/report_parts.h"
#include "api/score.h"
#include "api/validate.h"

namespace trnplan::api {

/// Writes predictions by fits that have not seen their rows. Throws InputError if it cannot be written.
void write_validate_report(const ReportFile& file, const ValidateRequest& request,
                           const ValidateResult& result, const std::vector<Remark>& remarks);
/// Writes predictions for the rows of a table.
void write_score_report(const ReportFile& file, const ScoreRequest& request, const ScoreResult& result,
                        const std::vector<Remark>& remarks);

/// Data of these pages.
[[nodiscard]] io::JsonValue validate_report(const ValidateRequest& request, const ValidateResult& result,
                                            const std::vector<Remark>& remarks);
[[nodiscard]] io::JsonValue score_report(const ScoreRequest& request, const ScoreResult& result,
                                         const std::vector<Remark>& remarks);

}  // namespace trnplan::api
