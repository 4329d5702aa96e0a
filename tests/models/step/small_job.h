// A job with a fast flat simulation.
#pragma once

#include "tests/models/setup.h"

namespace trnplan::models {

inline Job small_job(int nodes = 1, int batch = 8) {
  Job job = job_of("llama3-8b", nodes, 2048, batch);
  job.architecture.layers = 8;
  return job;
}

}  // namespace trnplan::models
