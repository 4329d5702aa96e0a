// Which training loops a job is compared on, what writes each, and how a job is predicted as its target runs it: `plan`
// and `whatif` ask here, so that they search and time the same.
#pragma once

#include <string_view>
#include <vector>

#include "io/catalog/catalog.h"
#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/plan/target.h"

namespace trnplan::api {

struct TrainingLoop {
  std::string_view framework;               ///< as a strategy states it
  const planner::Target* target = nullptr;  ///< that writes it for the machine; null: none does
  bool named = false;  ///< `plan` takes it where --target names the target, and not by itself
};

/// The loops to compare on the machine of `job`, at least one: that of the job's software where its target trains there,
/// else the pinned one, else those of the catalogue that train there. `stated`: the job itself pins the loop; otherwise
/// what pinned it was the target of another machine.
[[nodiscard]] std::vector<TrainingLoop> loops_on(const io::Catalog& catalog, const models::Job& job,
                                                 bool stated);

/// The job on that loop as `plan` takes it.
[[nodiscard]] models::Job on_loop(models::Job job, const TrainingLoop& loop, const models::Profile& profile,
                                  bool precision_stated);

/// What the job leaves open is done as the target does it. `named`: what is written for the target runs with it, so it is
/// the software of a job that states none, or one that does not train on the machine.
void take_target(models::Job& job, const planner::Target& target, bool named, bool precision_stated);

}  // namespace trnplan::api
