// What the user asks for.
#pragma once

#include <optional>
#include <string>

#include "models/architecture.h"
#include "models/strategy.h"
#include "topology/instance.h"

namespace trnplan::models {

/// The learning-relevant settings: the user's, never free variables of the search.
struct Training {
  int sequence = 0;      ///< tokens per sequence
  int global_batch = 0;  ///< sequences per optimizer step
  double tokens = 0;     ///< tokens of the whole run; 0 = not stated
  Precision precision = Precision::mixed_precision;
};

/// Software stack; "" = unknown, which widens the interval.
struct Software {
  std::string framework;  ///< nxdt, nxd, nemo-megatron
  std::string release;    ///< Neuron SDK release, "2.24"
};

enum class Objective { step_time, cost, deadline };

/// Parts of the strategy the user has fixed.
struct Pin {
  std::optional<int> tensor_parallel, pipeline_parallel, virtual_pipeline, context_parallel, expert_parallel,
      data_parallel, micro_batch, kv_replicator;
  std::optional<bool> sequence_parallel, zero1, flash_attention;
  std::optional<Recompute> recompute;
};

struct Job {
  Architecture architecture;
  Training training;
  topology::Cluster cluster;
  Software software;
  Objective objective = Objective::step_time;
  Pin pin;
};

/// Micro-batches per data-parallel rank and step: GBS / (MBS * DP), truncated as NxDT does.
int micro_batches(const Training& t, const Strategy& s);

}  // namespace trnplan::models
