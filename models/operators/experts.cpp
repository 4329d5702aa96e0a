// Work of a core for a mixture of experts.
#include <algorithm>
#include <cmath>

#include "models/framework/framework.h"
#include "models/operators/operators.h"

namespace trnplan::models {

namespace {

/// Share of tokens that choose any of `some` experts, each token `chosen` different ones of all, evenly.
double reaching(double some, int chosen, int all) {
  double none = 1;
  for (int i = 0; i < chosen; ++i) none *= std::max(0.0, all - some - i) / (all - i);
  return 1 - none;
}

}  // namespace

/// Where each token crosses once, each pair of ranks in a node exchanges the tokens that reach the experts of one of
/// them. Groups that span nodes exchange what reaches a node with one rank of it: links in the node carry what is
/// handed on meanwhile, and are taken as faster than its NICs (deepseek-ai/DeepEP@0aaa6744:README.md, whose
/// kernels move 153 GB/s in a node of H800 and 43 to 58 GB/s of each NIC between nodes).
void LayerModel::count_experts(int cores_of_node) {
  const int ranks = s_.expert_parallel;
  experts_ = static_cast<double>(a_.experts) / ranks;
  // Without a capacity (dropless) experts take all tokens that come, here evenly distributed.
  const double stated = capacity_factor(a_, s_), places = stated > 0 ? stated : 1.0;
  expert_tokens_ = std::ceil(places * routed_ * a_.experts_per_token / a_.experts) * ranks;
  exchanged_ = arriving_ = experts_ * expert_tokens_;
  dispatch_ = expert_dispatch(a_, s_);
  if (!dispatch_ || !dispatch_->once || ranks == 1) return;
  const auto from = [&](double experts) {
    return routed_ * reaching(experts, a_.experts_per_token, a_.experts);
  };
  exchanged_ = arriving_ = ranks * from(experts_);
  const int in_node = std::clamp(cores_of_node / expert_tensor_degree(s_), 1, ranks);
  if (in_node == ranks) return;
  const double others = std::ceil(1.0 * ranks / in_node) - 1;
  exchanged_ = ranks * others * from(in_node * experts_) / (ranks - in_node);
}

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
                  .bytes = Bytes(element_bytes_ * exchanged_ * a_.hidden)});
}

/// Copies tokens into the order of their experts, a row for each expert of a token, or adds such rows up.
void LayerModel::sort_tokens(OperatorList& list, std::string_view name) const {
  if (!dispatch_ || (dispatch_->once && s_.expert_parallel > 1)) return;
  const double rows = experts_ * expert_tokens_;
  list.push_back(memory(name, Category::compute, element_bytes_ * (routed_ + rows) * a_.hidden));
}

/// Copies rows between those that ranks send and those of this rank's experts.
void LayerModel::regroup_rows(OperatorList& list, std::string_view name) const {
  if (!dispatch_ || s_.expert_parallel == 1 || experts_ <= 1) return;
  const double rows = experts_ * expert_tokens_;
  list.push_back(memory(name, Category::compute, element_bytes_ * (arriving_ + rows) * a_.hidden));
}

void LayerModel::experts(OperatorList& list) const {
  list.push_back(matmul("router", routed_, a_.hidden, a_.experts));
  sort_tokens(list, "tokens by expert");
  if (dispatch_) list.back().counted = true;
  to_experts(list, "tokens to experts");
  regroup_rows(list, "rows by expert");
  list.push_back(expert_product("gate_up", a_.hidden, 2 * expert_width_));
  list.push_back(elements("activation", kinds_.gated, experts_ * expert_tokens_, expert_width_));
  list.push_back(expert_product("down", expert_width_, a_.hidden));
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
  product_backward("down", expert_width_, a_.hidden);
  list.push_back(elements("activation", kinds_.gated_backward, experts_ * expert_tokens_, expert_width_));
  product_backward("gate_up", a_.hidden, 2 * expert_width_);  // its gathered input was kept for the router
  regroup_rows(list, "gradient rows by rank");
  to_experts(list, "gradient back");
  sort_tokens(list, "gradient of each token");
  matmul_backward(list, "router", routed_, a_.hidden, a_.experts);
}

}  // namespace trnplan::models
