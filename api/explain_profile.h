// calibrate --explain: a profile as a document, on its own, for a plan, or against another profile.
#pragma once

#include <string>
#include <vector>

#include "api/inputs.h"
#include "models/uncertainty/explained_profile.h"
#include "text/remarks.h"

namespace trnplan::api {

struct ExplainProfileRequest {
  std::string profile;                ///< of the catalogue, or a .json file
  std::string against;                ///< another one to compare with; "" = none
  std::string job, strategy, config;  ///< the plan at hand, as for calibrate; may be empty
  std::string run;                    ///< instead of it a folder of plan --out
  std::string instance;               ///< of it; "" = the job's own, the default for `config`
  int nodes = 0;                      ///< on which the job ran; 0 = as it states
};

/// Adds remarks where the plan is outside of what the profile holds for. Throws InputError: also if the plan
/// cannot be simulated, or if the two profiles are for different kinds of machines. Cost: a simulation for
/// each profile, if there is a plan.
[[nodiscard]] models::ExplainedProfile explain_profile(const ExplainProfileRequest& request,
                                                       Remarks& remarks);

}  // namespace trnplan::api
