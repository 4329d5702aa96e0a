// Bytes of a core by lists of what is alive: tensors, saved activations, a walk through the schedule. From the formulas
// of docs/models.md, "Memory", on Neuron cores and on GPUs.
#pragma once

#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "units/quantity.h"

namespace trnplan::second_opinion {

/// Bytes of a core at one instant, without the runtime's.
struct InstantBytes {
  double activations = 0;  ///< kept from forward to backward
  double passing = 0;      ///< logits, gathered and remade tensors, buffers
};
/// Of one pipeline stage.
struct StageBytes {
  double states = 0;
  InstantBytes instants[3];  ///< loss, first backward, optimizer
  double peak() const;       ///< without the runtime's
};

/// What each pipeline stage holds in bytes a core. `job` with the cluster and batch of the plan. Needs a strategy that
/// breaks none of the rules about numbers.
std::vector<StageBytes> memory_by_formula(const models::Job& job, const models::Strategy& strategy);

/// Of the allocator: true if its pool has states too, and if it mixes tensors that tensor parallel divides with whole
/// ones.
struct Pool {
  bool holds_states = false, mixed = false;
};
[[nodiscard]] Pool pool_of(const models::Job& job, const models::Strategy& strategy);

/// P(a stage fits into `limit`) by numerical integration over every factor but the widest: the plain way to
/// what models/memory/fit_probability.h has in closed form, good to about 0.01.
double fit_by_integration(const StageBytes& stage, const Pool& pool, bool one_graph, Bytes limit,
                          const models::Profile& profile);

}  // namespace trnplan::second_opinion
