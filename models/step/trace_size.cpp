#include "models/step/trace_size.h"

#include "models/framework/loop_parameters.h"
#include "models/step/step_parts.h"
#include "units/index.h"

namespace trnplan::models {

SimTime launch_of(const Item& item) {
  return SimTime{item.fixed.parameter[loop::task_launch.place()]} +
         SimTime{item.fixed.parameter[common::host_launch.place()]} +
         SimTime{item.fixed.parameter[loop::bucket_overhead.place()]} +
         SimTime{item.fixed.parameter[loop::poll_interval.place()]};
}

namespace {

/// Number of nodes of an item on a rank that takes part in it.
std::int64_t nodes_of(const Item& item) {
  if (!item.is_transfer()) return 1;
  if (item.call.phase > 0) return 0;
  const int messages = item.call.op == CollectiveOp::permute ? 2 : 1;
  return static_cast<std::int64_t>(item.call.repeat) * (messages + (launch_of(item).ps > 0 ? 1 : 0));
}

std::int64_t nodes_of(const Items& items) {
  std::int64_t sum = 0;
  for (const Item& item : items) sum += nodes_of(item);
  return sum;
}

std::int64_t nodes_of(const Pass& pass) {
  std::int64_t sum = pass.launch ? 1 : 0;
  for (const Chain& c : pass.chains) sum += nodes_of(*c.items) * c.times;
  return sum;
}

}  // namespace

TraceSize rank_trace_size(const StepModel& model) {
  const StepParts& p = model.parts();
  TraceSize size;
  for (int s = 0; s < p.stages; ++s) {
    const StageWork& w = p.work(s);
    for (const Chunk& c : w.chunks)
      size.per_micro_batch += nodes_of(c.forward) + nodes_of(c.backward) + nodes_of(c.weights);
    for (const Items* items : {&w.gradients_to_norms, &w.context_reduce, &w.reduce, &w.gather})
      size.fixed += nodes_of(*items);
    size.fixed += 3;  // gradient norm, optimizer, host
    if (p.reduces_early())
      w.each_beside([&](const Items& items, int times) { size.fixed += nodes_of(items) * times; });
  }
  for (int part = 0; part + 1 < p.parts_of_model(); ++part) {
    const auto link = link_above(p.strategy, part);
    if (!link) continue;
    const Boundary& b = p.boundaries[at(link->boundary)];
    size.per_micro_batch += 2 * (nodes_of(*b.activation) + nodes_of(*b.gradient));
    if (!p.blocking()) size.per_micro_batch += 4;  // both ends of a message launch it themselves
  }
  const std::int64_t ranks = p.job.cluster.cores() / p.stages;
  return {size.fixed * ranks, size.per_micro_batch * ranks};
}

}  // namespace trnplan::models
