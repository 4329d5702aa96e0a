// Explanations of a watched run that is slower than it should be. Private to api/: it is not installed.
#pragma once

#include <string>
#include <vector>

#include "api/watch.h"
#include "launch/watch/explanations.h"
#include "launch/watch/watch.h"

namespace trnplan::api {

/// Adds explanations to reports. They are computed again only for steps that have changed by kSameSteps.
class SlowRun {
 public:
  /// Keeps a reference to `request`.
  explicit SlowRun(const WatchRequest& request) : request_(request) {}

  /// Nothing for a run that is as fast as it should be, or that has no prediction. Cost: launch::explain(), or none.
  void explain(const launch::RunLog& log, const launch::WatchContext& context, io::WatchReport& report);

 private:
  const WatchRequest& request_;
  std::optional<launch::SlowSteps> explained_;
  std::vector<io::WatchExplanation> explanations_;
  std::string to_tell_;
};

}  // namespace trnplan::api
