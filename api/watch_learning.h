// watch --calibrate: what a run teaches, learnt from its log as calibrate learns it.
#pragma once

#include <string>

#include "api/followed_log.h"
#include "api/watch.h"
#include "io/catalog/catalog.h"
#include "launch/watch/watch.h"
#include "text/remarks.h"

namespace trnplan::api {

/// Outcome of --calibrate.
struct Learnt {
  /// Words for the report: what was written, and the plan that is the best with it; or why nothing was.
  std::string said;
  bool written = false;
};

/// Writes the profile of WatchRequest::calibrate, unless calibrate would refuse to. `profile`: the prior. Adds
/// remarks on doubts. Throws InputError if the file cannot be written. Cost: some ten simulations and a search.
[[nodiscard]] Learnt learn_from_run(const WatchRequest& request, const FollowedLog& log,
                                    const launch::LogReading& reading, const launch::WatchContext& context,
                                    const models::Profile& profile, const launch::FindPlans& find,
                                    const io::Catalog& catalog, Remarks& remarks);

}  // namespace trnplan::api
