// Memory of the stages of many strategies, which share much.
#pragma once

#include <memory>

#include "models/framework/schedule.h"
#include "models/job/job.h"
#include "models/memory/memory.h"
#include "models/parameters/profile.h"

namespace trnplan::models {

/// Memory of stages of one strategy after the other. Remembers what stages of a strategy share, and weights that
/// strategies share. Keeps references to its arguments; of `job` the batch may change. One thread per object.
class StageMemories {
 public:
  StageMemories(const Job& job, const Profile& profile);
  StageMemories(const Job&, Profile&&) = delete;
  ~StageMemories();

  /// The strategy of the calls that follow. Keeps a reference to it until the next call.
  void choose(const Strategy& s);
  /// Returns what stage_memory() does for the chosen strategy.
  StageMemory of(int stage, int layers, const Residency& alive);
  /// False if some stage of the chosen strategy exceeds `limit` whatever its cuts; true is no guarantee. Cost: that
  /// of one stage.
  bool may_fit(Bytes limit);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace trnplan::models
