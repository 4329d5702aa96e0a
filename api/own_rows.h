// Predictions for rows of a user's own table, as `simulate` of each row's job and strategy. Private to score.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "api/predictor.h"
#include "api/score.h"
#include "calibrate/data/own_jobs.h"
#include "io/catalog/catalog.h"
#include "io/catalog/measuring.h"
#include "logs/table/own_runs.h"

namespace trnplan::api {

/// Keeps a reference to catalogue, rules and remarks.
class OwnRows {
 public:
  /// Throws InputError if an option is wrong, or needs a job that is not given.
  OwnRows(const ScoreRequest& request, const io::Catalog& catalog, const calibrate::LayoutRules& rules,
          Remarks& remarks);
  ~OwnRows();

  [[nodiscard]] logs::StatedBeside stated() const;
  /// True if the row of a table of another kind is nevertheless read as the user's own.
  [[nodiscard]] bool takes(const logs::LayoutRun& run) const;

  /// Predicts the row, or states why not. Cost: a simulation; jobs that are alike are resolved once.
  void predict(const logs::LayoutRun& run, calibrate::ScoredRow& row);

  /// Adds what was assumed for how many rows.
  void remark_assumptions();
  [[nodiscard]] const std::set<std::string>& profiles() const { return used_; }

 private:
  struct Entry;
  Entry& resolved(const calibrate::OwnJob& own, const std::string& loop);
  void predict(calibrate::OwnJob own, const logs::LayoutRun& run, calibrate::ScoredRow& row);

  const ScoreRequest& request_;
  const io::Catalog& catalog_;
  const calibrate::LayoutRules& rules_;
  Remarks& remarks_;
  io::NetworkSpreads spreads_;
  std::optional<io::JobReading> base_;
  calibrate::StatedForAll stated_;
  std::map<std::string, std::unique_ptr<Entry>> entries_;
  std::map<std::string, std::size_t> assumed_;  ///< rows for each stack that nothing states
  std::set<std::string> used_, said_;
};

}  // namespace trnplan::api
