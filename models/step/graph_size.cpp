#include "models/step/graph_size.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <vector>

#include "models/device/devices.h"
#include "models/framework/framework.h"
#include "models/framework/partition.h"
#include "models/operators/operators.h"
#include "units/normal.h"

namespace trnplan::models {

namespace {

double instructions_of(const OperatorList& list) {
  double sum = 0;
  for (const Operator& op : list) sum += op.instructions * op.repeat;
  return sum;
}

/// Sizes of one pass in each direction.
struct Both {
  double forward = 0, backward = 0;
};

/// Takes the largest unit of a framework that gathers weights layer by layer: PyTorch runs eagerly, or
/// compiles a layer at a time.
void take_largest_unit(GraphSize& largest, const Both& layer, const Both& root) {
  for (const auto& [counted, backward, layers] :
       {std::tuple(layer.forward, false, 1), std::tuple(layer.backward, true, 1),
        std::tuple(root.forward, false, 1), std::tuple(root.backward, true, 1)}) {
    if (counted <= largest.counted) continue;
    largest.counted = counted;
    largest.backward = backward;
    largest.layers = layers;
  }
}

}  // namespace

double GraphSize::compile_probability(double extra_log_sd) const {
  if (limit <= 0 || expected <= 0) return 1;
  const double sd = std::hypot(log_sd, extra_log_sd), room = std::log(limit / expected);
  if (sd <= 0) return room >= 0 ? 1 : 0;
  return normal_probability(room / sd);
}

GraphSize largest_graph(const Job& job, const Strategy& s, const Profile& profile) {
  GraphSize largest;
  const auto limit = device_of(job.cluster.instance.core).graph_limit();
  if (!limit) return largest;
  const Value& over = profile.value(limit->over_counted);
  largest.limit = limit->instructions;
  largest.log_sd = over.log_sd;
  const LayerModel model(job, s, profile);
  const Both layer{instructions_of(model.layer_forward()), instructions_of(model.layer_backward())};
  const Both embedding{instructions_of(model.embedding_forward()),
                       instructions_of(model.embedding_backward())};
  const Both head{instructions_of(model.head_forward()), instructions_of(model.head_backward())};
  if (framework_of(s).units(s)) {
    take_largest_unit(largest, layer, {embedding.forward + head.forward, embedding.backward + head.backward});
    largest.expected = largest.counted * over.median;
    return largest;
  }
  const bool one_graph = framework_of(s).launches(s).backward == Launch::none;
  const std::vector<int> chunks = layers_per_chunk(job.architecture, s);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const bool first = i == 0, last = i + 1 == chunks.size();
    const auto passes = [&](double of_layer, double of_embedding, double of_head) {
      return chunks[i] * of_layer + (first ? of_embedding : 0) + (last ? of_head : 0);
    };
    const double forward = passes(layer.forward, embedding.forward, head.forward);
    const double backward = passes(layer.backward, embedding.backward, head.backward);
    const double counted = one_graph ? forward + backward : std::max(forward, backward);
    if (counted <= largest.counted) continue;
    largest.counted = counted;
    largest.stage = stage_of(s, static_cast<int>(i));
    largest.layers = chunks[i];
    largest.whole_micro_batch = one_graph;
    largest.backward = one_graph || backward >= forward;
  }
  largest.expected = largest.counted * over.median;
  return largest;
}

}  // namespace trnplan::models
