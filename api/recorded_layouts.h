// Published runs on GPUs as jobs and strategies: catalog/gpu-runs.csv by the rules of catalog/scoring.json.
#pragma once

#include <string>
#include <vector>

#include "io/catalog/catalog.h"
#include "models/job/job.h"
#include "models/job/strategy.h"

namespace trnplan::api {

struct RecordedLayout {
  std::string id, source, model;
  bool fitted = true;  ///< false = it ran out of memory
  models::Job job;
  models::Strategy strategy;
};

/// Runs of quality A and B that state their strategy, in the order of the table; the first of equal layouts.
/// Throws InputError. Cost: some tens of milliseconds.
[[nodiscard]] std::vector<RecordedLayout> recorded_layouts(const io::Catalog& catalog);

}  // namespace trnplan::api
