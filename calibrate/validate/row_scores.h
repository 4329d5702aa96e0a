// Agreement of predictions with measured rows, from any predictor: errors by source, refusals and their
// reasons, fit, coverage of intervals, and the cost of choosing by the predictions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/job/strategy.h"

namespace trnplan::calibrate {

/// A row and its prediction. Times in s, memory in bytes.
struct ScoredRow {
  std::string id, source, group, quality;
  std::optional<double> measured, measured_memory;
  bool out_of_memory = false;                  ///< it was tried and did not fit
  std::optional<double> predicted, low, high;  ///< low and high: the 90 % interval
  /// Mean over the states of a network that was not measured, by which layouts are chosen; absent: `predicted`.
  std::optional<double> mean;
  std::optional<double> predicted_memory;
  std::optional<double> fit_probability;  ///< absent if the predictor does not say whether it fits
  /// The predicted strategy; absent if the predictions are another tool's.
  std::optional<models::Strategy> strategy;
  int nodes = 0;        ///< likewise
  std::string skipped;  ///< reason for the lack of a prediction; equal cases in equal words

  bool fits() const { return fit_probability && *fit_probability >= 0.5; }
  bool scored() const { return measured && predicted; }
  bool has_interval() const { return scored() && low && high; }
  /// Both require has_interval().
  bool covered() const { return *low <= *measured && *measured <= *high; }
  double half_width() const { return (*high - *low) / 2 / *predicted; }
  double chosen_by() const { return mean.value_or(*predicted); }  ///< Requires: predicted
  double error() const { return *predicted / *measured - 1; }     ///< Requires: scored()
};

struct ScoreSummary {
  std::size_t rows = 0;     ///< with a measured time
  std::size_t skipped = 0;  ///< of these, without a prediction
  [[nodiscard]] std::size_t predicted() const { return rows - skipped; }
  double mape = 0, median_ape = 0, bias = 0;  ///< of the predicted ones; bias: median of the error
  double mape_with_skipped = 0, median_with_skipped = 0;  ///< each skipped row as an error of 100 %
  /// 90 % bootstrap interval of the median; absent below three rows, which say nothing of it, and from 30 on, where the
  /// median is steady.
  std::optional<std::pair<double, double>> median_90;
  std::size_t intervals = 0;
  double coverage_90 = 0, half_width = 0;  ///< of `intervals` rows; median half-width over the prediction
};
/// Summary of rows. Cost: O(rows log rows); 2,000 resamples below 30 rows. Deterministic.
[[nodiscard]] ScoreSummary score_of(const std::vector<const ScoredRow*>& rows);

/// Rows of a range of half-widths of the 90 % interval over the prediction.
struct IntervalBin {
  std::optional<double> below;        ///< the half-width that none of them reaches; absent: any
  std::size_t rows = 0, covered = 0;  ///< covered: measured inside the interval
  [[nodiscard]] double coverage_90() const {
    return static_cast<double>(covered) / static_cast<double>(rows);
  }
};
/// A reliability diagram: bins below 12, 15, 20, 30 and 60 %, and the rest; those with rows.
[[nodiscard]] std::vector<IntervalBin> interval_bins(const std::vector<const ScoredRow*>& rows);

/// A group of at least `least` measured layouts.
struct GroupRegret {
  std::string group, source;
  std::size_t layouts = 0, predicted = 0;
  std::string picked, best;  ///< ids; "" if nothing was predicted
  /// Measured time of the predicted best over that of the measured best, minus 1; that of the mean layout if
  /// nothing was predicted.
  double regret = 0;
  double random = 0;            ///< the same for a layout picked blindly
  double rank_correlation = 0;  ///< Spearman's, of the predicted rows; 0 below 3 of them
};
/// Regrets of groups in the order of their names. Rows of quality `without` are left out ("D": slow states).
/// Rows that were not predicted cannot be picked, but can be the best.
[[nodiscard]] std::vector<GroupRegret> group_regrets(const std::vector<ScoredRow>& rows, std::size_t least,
                                                     const std::string& without);
struct RegretSummary {
  std::size_t groups = 0, best_found = 0;
  double median = 0, mean = 0, worst = 0, random = 0, rank_correlation = 0;
};
[[nodiscard]] RegretSummary regret_of(const std::vector<const GroupRegret*>& groups);

/// Score of predicted fit. A row without a prediction is neither right nor wrong.
struct FitScore {
  std::size_t rows = 0, right = 0;              ///< predicted
  std::size_t unknown = 0;                      ///< further rows, which have no prediction
  std::size_t oom = 0, oom_caught = 0;          ///< runs that did not fit
  std::size_t fitting = 0, false_refusals = 0;  ///< runs that did
};
[[nodiscard]] FitScore fit_score_of(const std::vector<const ScoredRow*>& rows);

/// Errors of the peak memory of rows that have both a measured and a predicted one.
struct MemoryErrors {
  std::size_t rows = 0;
  double mape = 0, median_ape = 0, bias = 0;
};
[[nodiscard]] MemoryErrors memory_errors_of(const std::vector<const ScoredRow*>& rows);

struct RowScores {
  std::vector<ScoredRow> rows;  ///< in the table's order
  std::vector<GroupRegret> groups;
  std::map<std::string, std::size_t> skipped;  ///< number of rows for each reason

  /// Rows of all sources ("") or one; without quality `without`, or only of quality `only` unless that is
  /// empty.
  [[nodiscard]] std::vector<const ScoredRow*> of(const std::string& source, const std::string& without = "",
                                                 const std::string& only = "") const;
  [[nodiscard]] std::vector<std::string> sources() const;
  /// True if a measured step is predicted or, where none is measured, whether a row fits.
  [[nodiscard]] bool any_predicted() const;
};
/// Scores of rows, with groups of at least five layouts without quality D.
[[nodiscard]] RowScores row_scores(std::vector<ScoredRow> rows);

}  // namespace trnplan::calibrate
