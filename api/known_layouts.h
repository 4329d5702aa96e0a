// Published runs on GPUs as jobs and strategies: catalog/gpu-runs.csv by the rules of catalog/scoring.json.
#pragma once

#include <string>
#include <vector>

#include "io/catalog/catalog.h"
#include "models/job/job.h"
#include "models/job/strategy.h"

namespace trnplan::api {

struct KnownLayout {
  std::string id, source, model;
  bool fitted = true;  ///< false: it ran out of memory
  models::Job job;
  models::Strategy strategy;
};

/// Those of quality A and B that state what ran, in the order of the table; of equal layouts the first. Throws InputError.
/// Cost: some tens of milliseconds.
[[nodiscard]] std::vector<KnownLayout> known_layouts(const io::Catalog& catalog);

}  // namespace trnplan::api
