// Which layers of the model each stage of a pipeline holds.
#pragma once

#include <vector>

#include "models/architecture/architecture.h"
#include "models/job/strategy.h"

namespace trnplan::models {

/// Layers of each of PP parts of the model, a virtual pipeline left aside: by the user's cuts, else by the training
/// loop's own partition (Framework::partition()).
std::vector<int> layers_per_stage(const Architecture& a, const Strategy& s);

/// The same for the PP*VPP parts of a virtual pipeline, in the order of the model.
std::vector<int> layers_per_chunk(const Architecture& a, const Strategy& s);
/// Of these parts those of a stage, chunk by chunk, and their sum (part_of()).
std::vector<int> layers_of_chunks(const std::vector<int>& parts, const Strategy& s, int stage);
int layers_of_stage(const std::vector<int>& parts, const Strategy& s, int stage);

}  // namespace trnplan::models
