// The times of the operators of a simulated pass on one lane. Internal to the timeline.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "models/step/step_parts.h"
#include "models/step/step_program.h"

namespace trnplan::models {

/// Walks over a pass that is one task: its operators have the times of its chains that ran alone,
/// `run_of(chain)`. Calls `on_operator(item, start, end, overlapped)` for every operator if `detailed`, and
/// `on_chain(chain, start, end)` for every chain after its last operator.
template <class RunOf, class OnOperator, class OnChain>
void walk_remembered(const Pass& pass, SimTime now, bool detailed, const RunOf& run_of,
                     const OnOperator& on_operator, const OnChain& on_chain) {
  if (pass.launch) {
    on_operator(*pass.launch, now, now + pass.launch->length, false);
    now += pass.launch->length;
  }
  for (const Chain& c : pass.chains) {
    const SimTime start = now;
    const ChainRun& run = run_of(c);
    for (int i = 0; i < c.times && detailed; ++i) {
      for (std::size_t k = 0; k < c.items->size(); ++k) {
        const ChainRun::Span& span = run.spans[k];
        on_operator((*c.items)[k], now + span.start, now + span.end, span.overlapped);
      }
      now += run.length;
    }
    now = start + run.length * c.times;
    on_chain(c, start, now);
  }
}

/// Walks over a pass whose operators are tasks: `tasks`, those of one lane, without reductions that overlap
/// the pass. Where a queue waits for its collective engine there is one more task.
template <class OnOperator, class OnChain>
void walk_tasks(const Pass& pass, const StepProgram& step, const sim::Run& run,
                const std::vector<sim::TaskId>& tasks, const OnOperator& on_operator,
                const OnChain& on_chain) {
  auto task = tasks.begin();
  SimTime now = run.started[*task];
  const auto take = [&](const Item& item, bool overlapped) {
    for (; task != tasks.end() && step.of(*task).item == nullptr; ++task) now = run.ended[*task];
    if (task == tasks.end() || step.of(*task).item != &item)
      throw std::logic_error("a pass has other tasks than operators");
    on_operator(item, run.started[*task], run.ended[*task], overlapped);
    if (!overlapped) now = run.ended[*task];
    ++task;
  };
  if (pass.launch) take(*pass.launch, false);
  for (const Chain& c : pass.chains) {
    const Items& items = *c.items;
    const SimTime start = now;
    for (int i = 0; i < c.times; ++i) {
      for (std::size_t k = 0; k < items.size(); ++k)
        take(items[k], items[k].background || runs_with_next(items, k));
      const bool in_background =
          std::any_of(items.begin(), items.end(), [](const Item& item) { return item.background; });
      if (in_background) now = run.ended[*task++];
      if (items.size() > 1 && items[items.size() - 2].overlapped) now = run.ended[*task++];
    }
    on_chain(c, start, now);
  }
}

}  // namespace trnplan::models
