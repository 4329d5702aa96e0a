// Runs of series from runs of their tasks. Internal to the executor.
#pragma once

#include "sim/executor.h"
#include "sim/program.h"

namespace trnplan::sim {

/// The run of a program from that of the same expanded.
Run folded(const Program& p, const Program::Expansion& expansion, const Run& of_all);

}  // namespace trnplan::sim
