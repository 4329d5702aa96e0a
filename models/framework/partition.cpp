#include "models/framework/partition.h"

#include "models/framework/framework.h"
#include "models/framework/schedule.h"
#include "units/index.h"

namespace trnplan::models {

std::vector<int> layers_per_stage(const Architecture& a, const Strategy& s) {
  const int stages = s.pipeline_parallel;
  if (!s.pipeline_cuts.empty()) {
    std::vector<int> layers(static_cast<std::size_t>(stages));
    int previous = -1;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const int last = i < s.pipeline_cuts.size() ? s.pipeline_cuts[i] : a.layers - 1;
      layers[i] = last - previous;
      previous = last;
    }
    return layers;
  }
  return framework_of(s).partition(a, stages);
}

std::vector<int> layers_per_chunk(const Architecture& a, const Strategy& s) {
  if (s.virtual_pipeline > 1 && s.pipeline_cuts.empty()) {
    std::vector<int> own = framework_of(s).chunk_partition(a, s.pipeline_parallel, s.virtual_pipeline);
    if (!own.empty()) return own;
  }
  Strategy parts;
  parts.pipeline_parallel = s.pipeline_parallel * s.virtual_pipeline;
  parts.pipeline_cuts = s.pipeline_cuts;
  parts.framework = s.framework;
  return layers_per_stage(a, parts);
}

std::vector<int> layers_of_chunks(const std::vector<int>& parts, const Strategy& s, int stage) {
  std::vector<int> own;
  for (int chunk = 0; chunk < s.virtual_pipeline; ++chunk) own.push_back(parts[at(part_of(s, stage, chunk))]);
  return own;
}

int layers_of_stage(const std::vector<int>& parts, const Strategy& s, int stage) {
  int sum = 0;
  for (int chunk = 0; chunk < s.virtual_pipeline; ++chunk) sum += parts[at(part_of(s, stage, chunk))];
  return sum;
}

}  // namespace trnplan::models
