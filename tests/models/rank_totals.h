// Total work of the ranks of a step, from the parts of the simulated step: the reference for exports.
#pragma once

#include <cstdint>
#include <map>

#include "models/framework/loop_parameters.h"
#include "models/step/step_parts.h"

namespace trnplan::models {

struct Totals {
  SimTime computed;
  double flops = 0;
  std::map<CollectiveOp, double> bytes;  ///< messages sent as send_recv
  std::int64_t nodes = 0;
};

inline void add(Totals& t, const Items& items, int times) {
  for (const Item& item : items) {
    if (!item.is_transfer()) {
      t.computed += item.length * times;
      t.flops += item.flops.value * times;
      continue;
    }
    if (item.call.phase > 0) continue;
    t.computed += SimTime{item.fixed.parameter[loop::bucket_overhead.place()] +
                          item.fixed.parameter[loop::task_launch.place()]} *
                  times;
    const CollectiveOp op = item.call.op == CollectiveOp::permute ? CollectiveOp::send_recv : item.call.op;
    t.bytes[op] += item.call.bytes.value * item.call.repeat * times;
  }
}

/// Work of a rank of `stage`, from the parts of the step.
inline Totals expected(const StepModel& model, int stage) {
  const StepParts& p = model.parts();
  Totals t;
  const StageWork& w = p.work(stage);
  for (const Chunk& c : w.chunks) {
    for (const Pass* pass : {&c.forward, &c.backward, &c.weights}) {
      if (pass->launch) t.computed += pass->launch->length * p.micro_batches;
      for (const Chain& chain : pass->chains) add(t, *chain.items, chain.times * p.micro_batches);
    }
  }
  for (const Items* items : {&w.gradients_to_norms, &w.context_reduce, &w.reduce, &w.gather})
    add(t, *items, 1);
  t.computed += w.optimizer.length + w.end.length;
  t.bytes[CollectiveOp::all_reduce] += 4;  // the gradient norm
  return t;
}

/// Bytes of collectives and messages of all ranks of a step, without the gradient norm. A collective counts
/// at each of its ranks, a message at its sender.
inline std::map<CollectiveOp, double> bytes_of_all_ranks(const StepModel& model) {
  const StepParts& p = model.parts();
  const int ranks = p.job.cluster.cores() / p.stages;
  std::map<CollectiveOp, double> bytes;
  for (int stage = 0; stage < p.stages; ++stage) {
    for (const auto& [op, b] : expected(model, stage).bytes) bytes[op] += b * ranks;
    bytes[CollectiveOp::all_reduce] -= 4.0 * ranks;
  }
  for (int part = 0; part + 1 < p.stages * p.chunks(); ++part) {
    const Boundary& b = p.boundaries[static_cast<std::size_t>(part % p.stages)];
    for (const Items* items : {b.activation.get(), b.gradient.get()})
      bytes[CollectiveOp::send_recv] += items->front().call.bytes.value * p.micro_batches * ranks;
  }
  return bytes;
}

}  // namespace trnplan::models
