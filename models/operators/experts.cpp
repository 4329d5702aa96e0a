// Work of a core for a mixture of experts.
#include "models/operators/operators.h"

namespace trnplan::models {

/// A product of every expert of the core on its tokens.
Operator LayerModel::expert_product(std::string_view name, double k, double width) const {
  Operator one = linear(name, expert_tokens_, k, width);
  one.seconds = one.seconds * experts_;
  one.flops = one.flops * experts_;
  one.instructions *= experts_;
  return one;
}

/// The exchange of tokens with the ranks that hold their experts, in either direction.
void LayerModel::to_experts(OperatorList& list, std::string_view name) const {
  if (s_.expert_parallel == 1) return;
  list.push_back({.name = name,
                  .category = Category::expert_parallel,
                  .process_group = ProcessGroup::expert,
                  .op = CollectiveOp::all_to_all,
                  .bytes = Bytes(element_bytes_ * experts_ * expert_tokens_ * a_.hidden)});
}

void LayerModel::experts(OperatorList& list) const {
  list.push_back(matmul("router", tokens_, a_.hidden, a_.experts));
  to_experts(list, "tokens to experts");
  list.push_back(expert_product("gate_up", a_.hidden, 2 * mlp_width_));
  list.push_back(elements("activation", kinds_.gated, experts_ * expert_tokens_, mlp_width_));
  list.push_back(expert_product("down", mlp_width_, a_.hidden));
  to_experts(list, "tokens back");
}

void LayerModel::experts_backward(OperatorList& list) const {
  const auto product_backward = [&](std::string_view name, double k, double width) {
    list.push_back(expert_product(name, width, k));
    Operator weights = linear_weights(name, expert_tokens_, k, width);
    weights.seconds = weights.seconds * experts_;
    weights.flops = weights.flops * experts_;
    weights.instructions *= experts_;
    list.push_back(weights);
  };
  to_experts(list, "gradient to experts");
  product_backward("down", mlp_width_, a_.hidden);
  list.push_back(elements("activation", kinds_.gated_backward, experts_ * expert_tokens_, mlp_width_));
  product_backward("gate_up", a_.hidden, 2 * mlp_width_);  // its gathered input was kept for the router
  to_experts(list, "gradient back");
  matmul_backward(list, "router", tokens_, a_.hidden, a_.experts);
}

}  // namespace trnplan::models
