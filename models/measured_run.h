// One published measurement, as far as the simulator can use it.
#pragma once

#include <optional>
#include <string>

#include "models/strategy.h"

namespace trnplan::models {

/// A row of catalog/measured-runs.csv. Texts that are empty in the file mean "not stated".
struct MeasuredRun {
  std::string id;
  std::string kind;  ///< train, train-gpu, collective, memory, recipe, oom, ...
  std::string
      quality;  ///< A log or fully specified, B published with layout, C something missing, D inconsistent
  std::string source;
  std::string release;
  std::string model;
  std::string hardware;
  int nodes = 0;
  int sequence = 0;
  int global_batch = 0;
  std::optional<double> step_seconds;
  Strategy strategy;  ///< as stated; defaults where empty
};

}  // namespace trnplan::models
