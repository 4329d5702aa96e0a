#include "planner/check/invariants.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "models/framework/framework.h"
#include "models/memory/fit_probability.h"
#include "topology/rank_order.h"
#include "units/index.h"
#include "units/product.h"

namespace trnplan::planner {

using models::Strategy;

namespace {

constexpr double kRounding = 1e-9;

bool close(double a, double b) {
  return std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b));
}

/// Collects the invariants that a plan breaks.
class Invariants {
 public:
  Invariants(const models::Job& job, const Plan& plan)
      : job_(job), plan_(plan), s_(plan.strategy), cluster_{job.cluster.instance, plan.nodes} {
    for (const topology::Instance& i : job.space.instances) {
      if (i.name == plan.instance) cluster_.instance = i;
    }
  }

  std::vector<std::string> run(double fit_probability) {
    const topology::Degrees degrees{s_.tensor_parallel, s_.context_parallel, s_.data_parallel,
                                    s_.pipeline_parallel};
    const bool placed = topology::RankOrder::obstacle(cluster_, degrees).empty();
    need(degrees.world() == cluster_.cores() && placed, "TP x PP x CP x DP does not fill the cluster");
    batch();
    experts();
    layers();
    for (const models::StageMemory& m : plan_.memory.stages) memory(m);
    const bool known = !plan_.memory.stages.empty();
    need(known && plan_.memory.worst().peak() <= cluster_.instance.core.memory, "it does not fit");
    const double asked = std::max(fit_probability, models::kLeastFitProbability);
    constexpr double kOfFit = 1e-6;  // relative, of an iteration that ends at 1e-9 of its distance
    need(plan_.memory.fit_probability >= asked - kOfFit, "it is less likely to fit than was asked for");
    step();
    const bool copied = s_.kv_replicator >= 1 && s_.tensor_parallel % s_.kv_replicator == 0;
    need(copied, "its copies of KV heads do not divide TP");
    if (placed && copied) groups(topology::RankOrder(cluster_, degrees));
    return std::move(broken_);
  }

 private:
  void need(bool holds, const char* otherwise) {
    if (!holds) broken_.emplace_back(otherwise);
  }

  void batch() {
    const std::int64_t all = saturating_product({plan_.micro_batches, s_.micro_batch, s_.data_parallel});
    need(plan_.micro_batches > 0 && all == plan_.global_batch, "its micro-batches are not the global batch");
  }

  void experts() {
    if (s_.expert_parallel == 1) return;
    const std::int64_t ranks =
        saturating_product({models::expert_tensor_degree(s_), s_.pipeline_parallel, s_.expert_parallel});
    need(s_.expert_parallel > 0 && job_.architecture.experts > 0 && cluster_.cores() % ranks == 0,
         "EP does not divide the ranks of experts");
  }

  void layers() {
    const auto& stages = plan_.memory.stages;
    int all = 0, least = job_.architecture.layers;
    for (const models::StageMemory& m : stages) {
      all += m.layers;
      least = std::min(least, m.layers);
    }
    need(stages.size() == at(s_.pipeline_parallel) && all == job_.architecture.layers,
         "the stages' layers are not the model's");
    need(least >= 1 || (least == 0 && leaves_stages_empty()), "a stage has no layer");
  }

  /// A training loop that cuts by cost may spend a stage on the head.
  bool leaves_stages_empty() const {
    if (!s_.pipeline_cuts.empty()) return false;
    const std::vector<int> parts =
        models::framework_of(s_).partition(job_.architecture, s_.pipeline_parallel * s_.virtual_pipeline);
    return std::find(parts.begin(), parts.end(), 0) != parts.end();
  }

  void memory(const models::StageMemory& m) {
    double moment = 0;
    for (const models::MemoryMoment& at : m.moments) {
      need(std::min({at.activations, at.logits, at.staging}).value >= 0,
           "a moment of its memory is negative");
      moment = std::max(moment, at.total().value);
    }
    const double parts = (m.parameters + m.gradients + m.optimizer + m.runtime).value;
    const double least = std::min({m.parameters, m.gradients, m.optimizer, m.runtime}).value;
    need(std::isfinite(parts) && least >= 0, "a part of its memory is not a number of bytes");
    need(close(m.peak().value, parts + moment), "a stage's parts do not add up to its peak");
  }

  void step() {
    const models::StepReport& r = plan_.report;
    need(std::isfinite(r.step.value) && r.step.value > 0, "its step is not a time");
    need(r.low <= r.step && r.step <= r.high && std::isfinite(r.high.value),
         "its step is not in its interval");
    const Seconds sum = std::accumulate(r.breakdown.begin(), r.breakdown.end(), Seconds{});
    need(close(sum.value, r.step.value), "the breakdown does not add up to the step");
  }

  void groups(const topology::RankOrder& order) {
    using topology::GroupKind;
    const auto once = [](int degree) { return degree > 1 ? 1 : 0; };
    const int ends = s_.pipeline_parallel > 2 ? 2 : once(s_.pipeline_parallel);
    hold_ranks(order.groups(GroupKind::tensor), s_.tensor_parallel, once(s_.tensor_parallel));
    hold_ranks(order.groups(GroupKind::context), s_.context_parallel, once(s_.context_parallel));
    hold_ranks(order.groups(GroupKind::data), s_.data_parallel, once(s_.data_parallel));
    hold_ranks(order.groups(GroupKind::pipeline), 2, ends);
    hold_ranks(order.kv_groups(s_.kv_replicator), s_.kv_replicator, once(s_.kv_replicator));
  }

  /// Checks that groups of one size contain each rank `times` times.
  void hold_ranks(const std::vector<std::vector<int>>& groups, int size, int times) {
    std::vector<int> count(at(cluster_.cores()), 0);
    bool whole = true;
    for (const std::vector<int>& group : groups) {
      whole = whole && group.size() == at(size);
      for (const int rank : group) {
        whole = whole && rank >= 0 && rank < cluster_.cores();
        if (whole) ++count[at(rank)];
      }
    }
    need(whole && std::all_of(count.begin(), count.end(), [&](int n) { return n == times; }),
         "its replica groups do not hold every rank equally often");
  }

  const models::Job& job_;
  const Plan& plan_;
  const Strategy& s_;
  topology::Cluster cluster_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> broken_invariants(const models::Job& job, const Plan& plan, double fit_probability) {
  return Invariants(job, plan).run(fit_probability);
}

}  // namespace trnplan::planner
