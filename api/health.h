// collective --measured: runs of nccom-test on named nodes, compared with predictions.
#pragma once

#include <string>
#include <vector>

#include "api/inputs.h"
#include "io/output/health_json.h"
#include "launch/health/health.h"
#include "text/remarks.h"

namespace trnplan::api {

struct HealthRequest {
  std::string op;                     ///< that was run
  std::vector<std::string> measured;  ///< files as described in logs/nccom/node_tests.h
  double factor = launch::kSlowRun;
  std::string instance = usual_instance(), profile;
  double oversubscription = 1;
};

/// Throws InputError for files that cannot be read, for runs of another operation, and for runs that do not
/// fit the instance.
[[nodiscard]] io::HealthReport health(const HealthRequest& request, Remarks& remarks);

}  // namespace trnplan::api
