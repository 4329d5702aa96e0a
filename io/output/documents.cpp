#include "io/output/documents.h"

namespace trnplan::io {

std::vector<const Description*> documents() {
  return {&search_document(),
          &simulation_document(),
          &check_document(),
          &topology_document(),
          &collective_document(),
          &sweep_document(),
          &health_document(),
          &models_document(),
          &instances_document(),
          &whatif_document(),
          &calibrate_document(),
          &step_validation_document(),
          &scores_document(),
          &memory_validation_document(),
          &collective_validation_document(),
          &uptime_document(),
          &launch_document(),
          &watch_document()};
}

}  // namespace trnplan::io
