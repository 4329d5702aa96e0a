// Work of a core for its weights and between its stages: gathers and reductions of sharded weights, the
// optimizer.
#include "models/framework/framework.h"
#include "models/operators/operators.h"

namespace trnplan::models {

void LayerModel::gather_weights(OperatorList& list, double parameters, bool background) const {
  if (!units_) return;  // whole on every rank, or gathered once a step
  list.push_back({.name = "weights",
                  .category = Category::data_parallel,
                  .process_group = ProcessGroup::shard,
                  .op = CollectiveOp::all_gather,
                  .bytes = Bytes(units_->gathered * parameters),
                  .background = background});
}

void LayerModel::gather_layer(OperatorList& list) const {
  if (units_) gather_weights(list, units_->of_layers * layer_parameters_, true);
}

/// Reduces to the shards, then over the ranks that have the same shard.
void LayerModel::reduce_gradients(OperatorList& list, double parameters) const {
  if (!units_) return;
  const double bytes = units_->reduced * parameters;
  list.push_back({.name = "gradients",
                  .category = Category::data_parallel,
                  .process_group = ProcessGroup::shard,
                  .op = CollectiveOp::reduce_scatter,
                  .bytes = Bytes(bytes),
                  .background = true});
  if (s_.shard_ranks == 0) return;
  list.push_back({.name = "gradients over copies",
                  .category = Category::data_parallel,
                  .process_group = ProcessGroup::shard_copies,
                  .op = CollectiveOp::all_reduce,
                  .bytes = Bytes(bytes / s_.shard_ranks),
                  .background = true});
}

Work LayerModel::accumulation(double parameters) const {
  return device_.memory(on_, Bytes(parameters * framework_of(s_).state_bytes(s_).accumulate));
}

OperatorList LayerModel::accumulate(double parameters) const {
  OperatorList list{operator_of("gradient accumulation", accumulation(parameters), Category::compute)};
  list.back().weights = true;
  return list;
}

OperatorList LayerModel::optimizer(double parameters, int shards) const {
  const StateBytes per = framework_of(s_).state_bytes(s_);
  return {memory("adamw", Category::optimizer, parameters * (per.update + per.update_shard / shards))};
}

bool LayerModel::scatters_messages() const {
  return framework_of(s_).scatters_messages() && !s_.sequence_parallel && s_.tensor_parallel > 1;
}

Bytes LayerModel::boundary() const {
  const int parts = scatters_messages() ? s_.tensor_parallel : 1;
  return Bytes(element_bytes_ * shard_tokens_ * a_.hidden / parts);
}

OperatorList LayerModel::gather_message() const {
  if (!scatters_messages()) return {};
  return {{.name = "message",
           .category = Category::pipeline,
           .process_group = ProcessGroup::tensor,
           .op = CollectiveOp::all_gather,
           .bytes = Bytes(element_bytes_ * tokens_ * a_.hidden)}};
}

Bytes LayerModel::pass_along() const {
  if (a_.learned_positions) return Bytes(0);
  return Bytes(2 * element_bytes_ * sequence_ * a_.head_dim);
}

}  // namespace trnplan::models
