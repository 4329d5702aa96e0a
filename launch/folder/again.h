// How a folder is mended that is not what plan --out writes.
#pragma once

#include <string>

namespace trnplan::launch {

/// Nothing else makes the folder the plan's.
inline std::string plan_again() {
  return "write the folder again: trnplan plan JOB --out DIR --force";
}
inline std::string undo_or_plan_again() {
  return "undo the edit, or " + plan_again();
}

}  // namespace trnplan::launch
