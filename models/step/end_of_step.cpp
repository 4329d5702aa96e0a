// The work of a step after its last micro-batch, in the framework's order.
#include <algorithm>
#include <cmath>

#include "models/collective/collective_runtime.h"
#include "models/framework/loop_parameters.h"
#include "models/memory/memory.h"
#include "models/step/step_parts.h"

namespace trnplan::models {

namespace {

/// Expert weights on a core with `layers` layers.
double expert_parameters(const Architecture& a, const Strategy& s, int layers) {
  if (a.experts == 0) return 0;
  return static_cast<double>(a.experts) / s.expert_parallel * layers * 3.0 * a.hidden * a.intermediate /
         expert_tensor_degree(s);
}

/// Parameters that are exchanged together: of a layer of `layers` alike, or, with 0, of all else. Those of experts
/// have a group of their own. `in_layers` of `rest` are of layers.
struct Exchanged {
  double rest, expert;
  int layers = 0;
  double in_layers = 0;
};

/// Buckets of whole tensors that a layer closes, as a mean of `layers`, at least one: a bucket may begin in a layer
/// and close in the next.
int buckets_of_layer(const std::vector<double>& tensors, double bytes, Bytes bucket, int layers) {
  double held = 0;
  int closed = 0;
  for (int layer = 0; layer < layers; ++layer) {
    for (const double elements : tensors) {
      held += bytes * elements;
      if (held < bucket.value) continue;
      held = 0;
      ++closed;
    }
  }
  if (held > 0) ++closed;
  return std::max(1, static_cast<int>(std::lround(1.0 * closed / layers)));
}

/// Builds the calls of the end of a step.
class EndCalls {
 public:
  EndCalls(const Job& job, const Strategy& s, const Profile& profile)
      : a_(job.architecture), s_(s), profile_(profile), framework_(framework_of(s)) {}

  /// Adds the reduction over context ranks of the gradients of `parameters` parameters in `tensors` tensors.
  void over_context(std::vector<EndCall>& calls, double parameters, int tensors) const {
    if (s_.context_parallel == 1 || tensors == 0) return;
    calls.push_back({"gradients over context ranks",
                     Category::context_parallel,
                     {ProcessGroup::context, CollectiveOp::all_reduce,
                      Bytes(framework_.state_bytes(s_).gradient * parameters / tensors), tensors, 0}});
  }
  void reduce(std::vector<EndCall>& calls, const Exchanged& of) const {
    exchange(calls, framework_.gradients(s_), "gradients", "expert gradients", of);
    const double shards = shard_degree(s_);
    if (const auto copies = framework_.copies(s_))
      exchange(calls, *copies, "gradients of copies", "expert gradients of copies",
               {of.rest / shards, of.expert / shards});
  }
  void gather(std::vector<EndCall>& calls, const Exchanged& of) const {
    const std::optional<Exchange> weights = framework_.weights(s_);
    if (!weights) return;
    Exchange layers = *weights;
    if (layers.of_layers == 1) return exchange(calls, layers, "weights", "expert weights", of);
    layers.bytes *= layers.of_layers;
    layers.bucket = layers.bucket * layers.of_layers;
    exchange(calls, layers, "weights", "expert weights", {of.in_layers, of.expert, of.layers});
    exchange(calls, *weights, "weights of the ends", "", {of.rest - of.in_layers, 0});
  }
  /// Adds the reductions of all gradients of a stage, part by part in the order of a backward pass.
  void reduce_early(EndOfStep& end, int stage, int layers, double parameters) const {
    const auto part = [&](std::vector<EndCall>& calls, const Exchanged& of, int tensors) {
      over_context(calls, of.rest + of.expert, tensors);
      reduce(calls, of);
    };
    each_part({&end.early_layer, &end.early_head, &end.early_embedding}, stage, layers, parameters, part);
  }
  /// Adds the gathers of all weights of a stage, part by part in the order of a forward pass.
  void gather_ahead(EndOfStep& end, int stage, int layers, double parameters) const {
    const auto part = [&](std::vector<EndCall>& calls, const Exchanged& of, int) { gather(calls, of); };
    each_part({&end.ahead_layer, &end.ahead_head, &end.ahead_embedding}, stage, layers, parameters, part);
  }

 private:
  struct PartCalls {
    std::vector<EndCall>*layer, *head, *embedding;
  };
  /// Calls `part(calls, parameters, tensors)` for each part of a stage.
  template <class Part>
  void each_part(const PartCalls& calls, int stage, int layers, double parameters, const Part& part) const {
    const double layer = stage_parameters(a_, s_, stage, 1) - stage_parameters(a_, s_, stage, 0);
    const double expert = expert_parameters(a_, s_, 1);
    part(*calls.layer, {layer - expert, expert, layers, layer - expert}, framework_.tensors_per_layer());
    const double others = parameters - layers * layer;
    const StageEnds ends = ends_of(s_, stage);
    const double embedding = !ends.first ? 0 : ends.last ? embedding_alone() : others;
    if (ends.first) part(*calls.embedding, {embedding, 0}, 1);
    if (ends.last) part(*calls.head, {others - embedding, 0}, 1);
  }
  void exchange(std::vector<EndCall>& calls, const Exchange& e, std::string_view name,
                std::string_view of_experts, const Exchanged& of) const {
    add_buckets(calls, name, e, e.group, of.rest, of.layers, false);
    // Shard groups have no expert parallel, so that experts are sharded as all else is.
    const ProcessGroup experts = s_.shard_ranks > 0 ? e.group : ProcessGroup::expert_data;
    add_buckets(calls, of_experts, e, experts, of.expert, of.layers, true);
  }
  /// Adds the exchange of a long vector in buckets: one collective each, one after the other. The embedding, and
  /// the head with its norm, are one whole tensor.
  void add_buckets(std::vector<EndCall>& calls, std::string_view name, const Exchange& e, ProcessGroup group,
                   double parameters, int layers, bool experts) const {
    if (parameters == 0) return;
    const double bytes = e.bytes * parameters;
    int buckets = 1;
    if (!e.whole_tensors) {
      buckets = static_cast<int>(std::max(1.0, std::ceil(bytes / e.bucket.value)));
    } else if (layers > 0) {
      buckets = buckets_of_layer(layer_weights(a_, s_, experts), e.bytes, e.bucket, layers);
    }
    calls.push_back({name,
                     Category::data_parallel,
                     {group, e.op, Bytes(bytes / buckets), buckets, 0},
                     Seconds(profile_[loop::bucket_overhead] * buckets)});
  }
  /// Parameters, without layers, of a first stage that is not also the last one.
  double embedding_alone() const {
    Strategy apart = s_;
    apart.pipeline_parallel = 2;
    apart.virtual_pipeline = 1;
    apart.schedule = Schedule::one_f_one_b;
    return stage_parameters(a_, apart, 0, 0);
  }

  const Architecture& a_;
  const Strategy& s_;
  const Profile& profile_;
  const Framework& framework_;
};

/// Pieces in which a stage's weights are gathered and copied: one of each tensor and rank.
double gathered_pieces(const Architecture& a, const Strategy& s, int stage, int layers) {
  const std::optional<Exchange> weights = framework_of(s).weights(s);
  const int ranks = s.data_ranks();
  if (!weights || !weights->in_pieces || ranks == 1) return 0;
  const double experts = 1.0 * stage_weights(a, s, stage, layers, true) * ranks / s.expert_parallel;
  return 1.0 * stage_weights(a, s, stage, layers, false) * ranks + experts;
}

}  // namespace

EndOfStep end_of_step(const Job& job, const Strategy& s, const Profile& profile, const LayerModel& model,
                      int stage, int layers) {
  const Architecture& a = job.architecture;
  const Framework& framework = framework_of(s);
  const double parameters = stage_parameters(a, s, stage, layers);
  const EndCalls calls(job, s, profile);
  EndOfStep end;
  if (s.sequence_parallel) {  // gradients of norm weights, one fp32 vector each
    const int norms = 2 * layers + (ends_of(s, stage).last ? 1 : 0);
    end.norms.push_back({"norm gradients",
                         Category::tensor_parallel,
                         {ProcessGroup::tensor, CollectiveOp::all_reduce, Bytes(4.0 * a.hidden), norms, 0}});
  }
  const double expert = expert_parameters(a, s, layers), rest = parameters - expert;
  const bool by_unit = framework.units(s).has_value();
  if (by_unit) {
    // Overlapped with the passes (LayerModel).
  } else if (framework.reduces_with_backward(s)) {
    calls.reduce_early(end, stage, layers, parameters);
  } else {
    calls.over_context(end.context, parameters, framework.tensors_per_layer() * layers + 1);
    calls.reduce(end.reduce, {rest, expert});
  }
  if (by_unit) {
    // Overlapped with the passes too.
  } else if (framework.reduces_with_backward(s) && framework.gathers_with_forward()) {
    calls.gather_ahead(end, stage, layers, parameters);
  } else {
    const double ends = stage_parameters(a, s, stage, 0);
    calls.gather(end.gather, {rest, expert, 0, rest - ends});
  }
  end.pieces = model.copied_pieces(gathered_pieces(a, s, stage, layers));
  end.optimizer = model.optimizer(rest, shard_degree(s)).front();
  if (expert > 0) end.optimizer.seconds += model.optimizer(expert, expert_shard_degree(s)).front().seconds;
  return end;
}

Item make_barrier(const Job& job, const Strategy& s, const Profile& profile) {
  const ScalarReduces scalars = framework_of(s).scalars(s);
  const RuntimeParameters& by = runtime_of(job.cluster.instance).parameters();
  Item barrier;
  barrier.name = "scalar all-reduces";
  barrier.transfer_category = Category::overhead;
  barrier.fixed.add(barrier.name, Category::overhead, by.start,
                    to_sim_time(Seconds(scalars.all * profile[by.start])));
  if (job.cluster.nodes > 1) {
    barrier.fixed.add(barrier.name, Category::overhead, by.between,
                      to_sim_time(Seconds(scalars.between_nodes * profile[by.between])));
  }
  barrier.length = barrier.fixed.total();
  return barrier;
}

}  // namespace trnplan::models
