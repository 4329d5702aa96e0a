// Measured steps and their predictions by fits that have not seen them.
//
// The prediction of a row comes from a fit to all rows but those of its fold: of its configuration (over all
// releases and batches), of its run group, or, with `none`, from the profile as it is. Its 90 % interval is
// that of models/uncertainty/spread.h. Rows of one run group together weigh as one in every mean and
// quantile.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/fit/step_fit.h"

namespace trnplan::calibrate {

enum class LeaveOut { configuration, run_group, none };
std::string_view to_string(LeaveOut l);
std::optional<LeaveOut> leave_out_from(std::string_view text);

struct StepValidation {
  struct Row {
    const MeasuredStep* step = nullptr;
    double predicted = 0, low = 0, high = 0;  ///< s
    double error = 0;                         ///< predicted / measured - 1
    double spread = 0;                        ///< log-sd
    double weight = 1;                        ///< 1 / rows of its run group
    double by_mfu = 0;  ///< s, from the mean MFU of the other configurations of its kind
    /// s, from the mean of its own configuration, precision and batch: the noise floor.
    double by_oracle = 0;
    /// The fit that predicted it, and its simulation on no stack; the rows of one observation share them.
    std::shared_ptr<const models::Profile> fit;
    std::shared_ptr<const models::StepReport> report;
    bool covered() const { return low <= step->seconds && (step->at_most || step->seconds <= high); }
    double half_width() const;  ///< of the interval over the prediction
  };
  std::vector<Row> rows;  ///< by id
};

/// Summary of some rows. Quantiles are weighted; 0 without rows. Bounds count as measurements here: leave
/// them out.
struct StepSummary {
  std::size_t rows = 0;
  double groups = 0;  ///< sum of weights
  double mape = 0, median_ape = 0, p90_ape = 0, bias = 0;
  double coverage_90 = 0, median_half_width = 0;
  double mape_mfu = 0, mape_oracle = 0;
};
StepSummary summary_of(const std::vector<const StepValidation::Row*>& rows);

/// Bounds among some rows: number predicted within, and number with the bound above the interval's low end.
struct BoundsKept {
  std::size_t rows = 0, kept = 0, covered = 0;
};
BoundsKept bounds_kept(const std::vector<const StepValidation::Row*>& rows);

/// Logarithm of seconds per model FLOP and core.
[[nodiscard]] double log_slowness(const MeasuredStep& step, double seconds);

/// A job (network, nodes, sequence, batch, precision) that was measured with several strategies, on any
/// stacks and releases.
struct Regret {
  std::string job;
  std::string picked, best;  ///< strategies
  int choices = 0;
  double regret = 0;  ///< measured time of the pick over that of the best, minus 1
};
std::vector<Regret> regrets_of(const std::vector<StepValidation::Row>& rows);

/// Predicts the rows of the bench for which `score` is true (empty: all). With LeaveOut::none `profile`
/// predicts as it is, else it is the prior. Cost: one fit per fold.
StepValidation validate_steps(const StepBench& bench, const CollectiveBench* collectives,
                              const models::Profile& profile, LeaveOut leave_out,
                              const StepFitOptions& options = {},
                              const std::function<bool(const MeasuredStep&)>& score = {});

}  // namespace trnplan::calibrate
