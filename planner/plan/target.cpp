#include "planner/plan/target.h"

namespace trnplan::planner {

std::optional<std::string> inexpressible(const Target& target, const models::Job& job,
                                         const models::Strategy& strategy) {
  std::string all;
  for (const Violation& v : target.violations(job, strategy)) {
    if (!all.empty()) all += ", and ";
    all += v.message;
    if (!v.fix.empty()) all += "; " + v.fix;
  }
  if (all.empty()) return std::nullopt;
  return std::string(target.name()) + " cannot express this plan: " + all;
}

}  // namespace trnplan::planner
