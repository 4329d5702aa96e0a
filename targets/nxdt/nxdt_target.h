// NeuronX Distributed Training: a YAML for Hydra.
#pragma once

#include <string>
#include <vector>

#include "planner/plan/target.h"
#include "targets/nxdt/nxdt_config.h"

namespace trnplan::targets {

/// "nxdt": aws-neuron/neuronx-distributed-training@9169aa0 examples/training_orchestrator.py with nxdt.yaml.
const planner::Target& nxdt();

}  // namespace trnplan::targets
