#include "planner/plan/target.h"

namespace trnplan::planner {

std::optional<std::string> inexpressible(const Target& target, const models::Job& job,
                                         const models::Strategy& strategy) {
  const std::vector<Violation> broken = target.violations(job, strategy);
  if (broken.empty()) return std::nullopt;
  const Violation& first = broken.front();
  return std::string(target.name()) + " cannot express this plan: " + first.message +
         (first.fix.empty() ? "" : "; " + first.fix);
}

}  // namespace trnplan::planner
