// Repair of a folder that differs from the output of plan --out.
#pragma once

#include <string>

namespace trnplan::launch {

/// Nothing else restores the plan's folder.
inline std::string plan_again() {
  return "write the folder again: trnplan plan JOB --out DIR --force";
}
inline std::string undo_or_plan_again() {
  return "undo the edit, or " + plan_again();
}

}  // namespace trnplan::launch
