#include "models/report/step_report.h"

namespace trnplan::models {

double StepReport::elasticity(Resource r) const {
  double share = 0;
  for (const Parameter p : schema->parameters()) {
    if (resource_of(p) == r) share += exclusive[p.place()] / step;
  }
  return r == Resource::latency || r == Resource::launch ? share : 0 - share;
}

}  // namespace trnplan::models
