// Work of a core before and after the decoder layers: embedding, final norm, head and loss.
#include "models/operators/operators.h"

namespace trnplan::models {

namespace {

/// Capacity for the operators of the embedding or of the head, so that the list does not move while it grows.
constexpr std::size_t kOperatorsOfEnd = 8;

}  // namespace

OperatorList LayerModel::embedding_forward() const {
  OperatorList list;
  list.reserve(kOperatorsOfEnd);
  if (units_) {
    gather_weights(list, root_parameters_, false);
    gather_layer(list);
  }
  list.push_back(memory("embedding", Category::compute, 2 * element_bytes_ * tokens_ * a_.hidden));
  leave(list, "embedding output");
  push_calls(list);
  return list;
}

OperatorList LayerModel::embedding_backward() const {
  OperatorList list;
  list.reserve(kOperatorsOfEnd);
  if (units_) reduce_gradients(list, layer_parameters_);
  enter(list, "embedding gradient");
  list.push_back(memory("embedding", Category::compute, 2 * element_bytes_ * tokens_ * a_.hidden));
  if (units_) reduce_gradients(list, root_parameters_);
  push_calls(list);
  return list;
}

OperatorList LayerModel::head_forward() const {
  OperatorList list{elements("final norm", kinds_.norm, shard_tokens_, a_.hidden)};
  enter(list, "head input");
  list.push_back(matmul("lm_head", tokens_, a_.hidden, vocabulary_));
  list.push_back(memory("cross entropy", Category::compute, logit_bytes_.forward * tokens_ * vocabulary_));
  if (s_.tensor_parallel > 1) {
    Operator sums = reduce("cross entropy sums", 4 * tokens_);  // maximum, target logit, sum of exponents
    sums.repeat = 3;
    list.push_back(sums);
  }
  push_calls(list);
  return list;
}

OperatorList LayerModel::head_backward() const {
  OperatorList list;
  list.reserve(kOperatorsOfEnd);
  if (units_ && units_->again && !units_->keeps_last) gather_layer(list);
  list.push_back(memory("cross entropy", Category::compute, logit_bytes_.backward * tokens_ * vocabulary_));
  enter(list, "head input again");
  matmul_backward(list, "lm_head", tokens_, a_.hidden, vocabulary_);
  leave(list, "head input gradient");
  list.push_back(elements("final norm", kinds_.norm_backward, shard_tokens_, a_.hidden));
  push_calls(list);
  return list;
}

}  // namespace trnplan::models
