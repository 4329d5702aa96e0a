// NeuronX Distributed Training: a YAML for Hydra.
#pragma once

#include <string>
#include <vector>

#include "planner/plan/target.h"
#include "targets/nxdt/nxdt_config.h"

namespace trnplan::targets {

/// "nxdt": aws-neuron/neuronx-distributed-training@9169aa0 examples/training_orchestrator.py with nxdt.yaml.
const planner::Target& nxdt();

/// Where the config of a plan's folder lacks keys that were emitted, states another model, batch, cluster or
/// strategy than the plan, or does not pass the linter. `anew` is the fix of what only a new folder mends.
std::vector<Diagnostic> plan_faults(const NxdtConfig& config, const models::Job& job,
                                    const models::Strategy& strategy, const std::string& anew);

}  // namespace trnplan::targets
