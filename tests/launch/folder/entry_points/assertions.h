// Assertions of the scripts on their settings, and settings required by a plan, derived from the table's own
// words and from the plan, not from the emitter.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/job/job.h"
#include "tests/launch/folder/entry_points/entry_point.h"

namespace trnplan {

using Settings = std::map<std::string, std::string>;

/// The run for which settings are judged.
struct Run {
  const models::Job& job;
  const models::Strategy& strategy;
  int world = 0;
  std::string mode;    ///< "compile" or "train"
  bool again = false;  ///< a checkpoint of an earlier start exists
};

/// One sentence for each assertion of the script that the settings break.
std::vector<std::string> broken_assertions(const EntryPoint& entry, const Settings& settings, const Run& run);

/// Assertions of the table that no function here checks, because only the data set or a run shows them.
std::vector<std::string> unchecked_assertions(const EntryPoint& entry);

/// Settings, by name, that the script needs to run this plan: its degrees, batch, recompute and precision,
/// and where it saves. Learning rates are those of the table's recipe `recipe`; "" omits them.
Settings asked_by(const EntryPoint& entry, const Run& run, const std::string& recipe);

/// True if two values are equal as text or as numbers.
bool same_value(const std::string& a, const std::string& b);

}  // namespace trnplan
