// The times of the operators of a simulated pass. Internal to the timeline.
#pragma once

#include <algorithm>
#include <stdexcept>

#include "models/step/step_parts.h"
#include "models/step/step_program.h"

namespace trnplan::models {

/// Walks over a pass that is one task: its operators have the times that they had when its chains ran alone.
/// Calls `on_operator(item, start, end, overlapped)` for every operator if `detailed`, and `on_chain(chain,
/// start, end)` for every chain after its last operator.
template <class OnOperator, class OnChain>
void walk_remembered(const Pass& pass, SimTime now, bool detailed, const OnOperator& on_operator,
                     const OnChain& on_chain) {
  if (pass.launch) {
    on_operator(*pass.launch, now, now + pass.launch->length, false);
    now += pass.launch->length;
  }
  for (const Chain& c : pass.chains) {
    const SimTime start = now;
    for (int i = 0; i < c.times && detailed; ++i) {
      for (std::size_t k = 0; k < c.items->size(); ++k) {
        const ChainRun::Span& span = c.run->spans[k];
        on_operator((*c.items)[k], now + span.start, now + span.end, span.overlapped);
      }
      now += c.run->length;
    }
    now = start + c.run->length * c.times;
    on_chain(c, start, now);
  }
}

/// Walks over a pass whose operators are tasks, from `t` on. Where a queue waits for its collective engine
/// there is one more task. Reductions that overlap the pass are not among its operators.
template <class OnOperator, class OnChain>
void walk_tasks(const Pass& pass, const StepProgram& step, const sim::Run& run, sim::TaskId t,
                const OnOperator& on_operator, const OnChain& on_chain) {
  SimTime now = run.started[t];
  const auto take = [&](const Item& item, bool overlapped) {
    for (; step.of(t).item == nullptr || step.of(t).is<task::Reduction>(); ++t) {
      if (step.of(t).item == nullptr) now = run.ended[t];
    }
    if (step.of(t).item != &item) throw std::logic_error("a pass has other tasks than operators");
    on_operator(item, run.started[t], run.ended[t], overlapped);
    if (!overlapped) now = run.ended[t];
    ++t;
  };
  if (pass.launch) take(*pass.launch, false);
  for (const Chain& c : pass.chains) {
    const Items& items = *c.items;
    const SimTime start = now;
    for (int i = 0; i < c.times; ++i) {
      for (std::size_t k = 0; k < items.size(); ++k)
        take(items[k], items[k].background || (items[k].overlapped && k + 1 < items.size()));
      const bool in_background =
          std::any_of(items.begin(), items.end(), [](const Item& item) { return item.background; });
      if (in_background) now = run.ended[t++];
      if (items.size() > 1 && items[items.size() - 2].overlapped) now = run.ended[t++];
    }
    on_chain(c, start, now);
  }
}

}  // namespace trnplan::models
