// One published measurement, with the fields that the simulator can use.
#pragma once

#include <optional>
#include <string>

#include "models/job/strategy.h"

namespace trnplan::models {

/// A row of catalog/measured-runs.csv. A text that is empty in the file means "not stated".
struct MeasuredRun {
  std::string id;
  std::string group;    ///< rows of one log share it and are one observation; "": a group of its own
  std::string kind;     ///< train, train-gpu, collective, memory, recipe, oom, ...
  std::string quality;  ///< A log or fully specified, B published with layout, C incomplete, D inconsistent
  std::string source;
  std::string release;
  /// The framework of the run: bert, megatron, nemo-megatron, nxd, nxdt; "" = not stated. nullopt: the table
  /// has no such column.
  std::optional<std::string> framework;
  std::string model;
  std::string hardware;
  int nodes = 0;
  int accelerators = 0;  ///< cores on Trainium
  int layers = 0;        ///< of the network; 0 = not stated, as for the next five
  int hidden = 0;
  int intermediate = 0;
  int heads = 0;
  int kv_heads = 0;
  int vocabulary = 0;  ///< padded where the framework pads
  int sequence = 0;
  int global_batch = 0;
  std::string mlp;        ///< gated or plain
  std::string precision;  ///< as published
  std::string quantity;   ///< name of `value`, as published
  std::string value;      ///< as published
  bool outlier = false;   ///< the notes call it an outlier
  std::optional<double> step_seconds;
  Strategy strategy;  ///< as stated; defaults where empty

  /// True if the source gives the use of all its cores.
  bool has_layout() const {
    return accelerators > 0 &&
           saturating_product({strategy.model_parallel(), strategy.data_parallel}) == accelerators;
  }
};

}  // namespace trnplan::models
