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

/// Copies tokens into the order of their experts, a row for each expert of a token, or adds such rows up.
void LayerModel::sort_tokens(OperatorList& list, std::string_view name) const {
  if (!dispatch_) return;
  const double rows = experts_ * expert_tokens_;
  list.push_back(memory(name, Category::compute, element_bytes_ * (tokens_ + rows) * a_.hidden));
}

/// Copies rows between the order of the ranks that sent them and that of this rank's experts.
void LayerModel::regroup_rows(OperatorList& list, std::string_view name) const {
  if (!dispatch_ || s_.expert_parallel == 1 || experts_ <= 1) return;
  list.push_back(memory(name, Category::compute, element_bytes_ * 2 * experts_ * expert_tokens_ * a_.hidden));
}

void LayerModel::experts(OperatorList& list) const {
  list.push_back(matmul("router", tokens_, a_.hidden, a_.experts));
  sort_tokens(list, "tokens by expert");
  if (dispatch_) list.back().counted = true;
  to_experts(list, "tokens to experts");
  regroup_rows(list, "rows by expert");
  list.push_back(expert_product("gate_up", a_.hidden, 2 * mlp_width_));
  list.push_back(elements("activation", kinds_.gated, experts_ * expert_tokens_, mlp_width_));
  list.push_back(expert_product("down", mlp_width_, a_.hidden));
  regroup_rows(list, "rows by rank");
  to_experts(list, "tokens back");
  sort_tokens(list, "rows of a token added");
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
  sort_tokens(list, "gradient of each row");
  to_experts(list, "gradient to experts");
  regroup_rows(list, "gradient rows by expert");
  product_backward("down", mlp_width_, a_.hidden);
  list.push_back(elements("activation", kinds_.gated_backward, experts_ * expert_tokens_, mlp_width_));
  product_backward("gate_up", a_.hidden, 2 * mlp_width_);  // its gathered input was kept for the router
  regroup_rows(list, "gradient rows by rank");
  to_experts(list, "gradient back");
  sort_tokens(list, "gradient of each token");
  matmul_backward(list, "router", tokens_, a_.hidden, a_.experts);
}

}  // namespace trnplan::models
