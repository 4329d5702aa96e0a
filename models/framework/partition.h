// Assignment of the model's layers to the stages of a pipeline.
#pragma once

#include <vector>

#include "models/architecture/architecture.h"
#include "models/job/strategy.h"

namespace trnplan::models {

/// Layers of each of PP parts of the model, regardless of a virtual pipeline: by the user's cuts, else by the
/// training loop's own partition (Framework::partition()).
std::vector<int> layers_per_stage(const Architecture& a, const Strategy& s);

/// Layers of each of the PP*VPP parts of a virtual pipeline, in the order of the model. Where the training loop
/// refuses them (Framework::chunk_partition()), those of as many stages, for what is said of a refused strategy.
std::vector<int> layers_per_chunk(const Architecture& a, const Strategy& s);
/// Layers of the parts of a stage, chunk by chunk; layers_of_stage() is their sum (part_of()).
std::vector<int> layers_of_chunks(const std::vector<int>& parts, const Strategy& s, int stage);
int layers_of_stage(const std::vector<int>& parts, const Strategy& s, int stage);

}  // namespace trnplan::models
