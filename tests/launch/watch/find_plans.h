// Plans for advice from the search alone, without known runs: the fastest first.
#pragma once

#include <vector>

#include "launch/watch/advice.h"
#include "planner/search/search.h"
#include "targets/registry.h"

namespace trnplan::launch {

inline std::vector<planner::Plan> find_fastest(const models::Job& job, const models::Profile& profile,
                                               int most) {
  return planner::search(job, profile,
                         {.top = most, .layouts = 0, .explain = false, .target = &targets::of(job)})
      .plans;
}

}  // namespace trnplan::launch
