#include "models/step/timeline.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "models/memory/memory.h"
#include "models/step/memory_counter.h"
#include "models/step/pass_walk.h"
#include "models/step/resource_use.h"
#include "models/step/step_parts.h"
#include "models/step/step_run.h"
#include "units/index.h"

namespace trnplan::models {

namespace {

using sim::TaskId;

std::size_t operators_of(const Pass& pass) {
  std::size_t sum = pass.launch ? 1 : 0;
  for (const Chain& c : pass.chains) sum += c.items->size() * at(c.times);
  return sum;
}

/// Chooses the details that are shown. The end of the step always is; then passes and messages, then
/// operators, each for the largest number of first micro-batches with no more slices than requested.
void choose_details(const StepParts& p, std::size_t most_slices, Timeline& out) {
  std::size_t fixed = at(p.stages), thin = 0, operators = 0;
  for (int s = 0; s < p.stages; ++s) {
    const StageWork& w = p.work(s);
    for (const Items* items : {&w.gradients_to_norms, &w.context_reduce, &w.reduce, &w.gather})
      fixed += items->size();
    fixed += 2;  // optimizer, host
    if (p.reduces_early())
      w.each_beside([&](const Items& items, int times) { fixed += items.size() * at(times); });
    for (const Chunk& c : w.chunks) {
      for (const Pass* pass : {&c.forward, &c.backward, &c.weights}) {
        thin += pass->chains.empty() ? 0 : 1;
        operators += operators_of(*pass);
      }
    }
  }
  const std::size_t ends = p.blocking() ? 2 : 6;  // plus a launch and its time on the queue at each
  for (int part = 0; part + 1 < p.parts_of_model(); ++part) {
    const auto link = link_above(p.strategy, part);
    if (!link) continue;
    const Boundary& b = p.boundaries[at(link->boundary)];
    thin += ends * (b.activation->size() + b.gradient->size());
  }
  const auto fit = [&](std::size_t room, std::size_t each, int most) {
    return each == 0 ? most : static_cast<int>(std::min<std::size_t>(at(most), room / each));
  };
  std::size_t room = most_slices - std::min(most_slices, fixed);
  out.listed_micro_batches = fit(room, thin, p.micro_batches);
  room -= thin * at(out.listed_micro_batches);
  out.detailed_micro_batches = fit(room, operators, out.listed_micro_batches);
}

class Writer {
 public:
  Writer(const StepParts& parts, Layout& layout, const Memory& memory, std::size_t most_slices, bool expand)
      : p_(parts), memory_(memory), layout_(layout), expanded_(expand) {
    out_.micro_batches = p_.micro_batches;
    std::vector<ResourceUse::Tracks> uses;
    for (int s = 0; s < p_.stages; ++s) {
      compute_.push_back(track(s, "compute", false, ""));
      if (p_.overlaps()) engine_.push_back(track(s, "collectives", false, ""));
      if (p_.framework().units(p_.strategy))
        background_.push_back(track(s, "gathers and reductions", false, ""));
      if (p_.reduces_early()) reductions_.push_back(track(s, "gradient reductions", false, ""));
      for (std::size_t k = 0; k < kCounterNames.size(); ++k)
        (k == 0 ? uses.emplace_back() : uses.back())[k] = track(s, kCounterNames[k], true, "1");
      memory_track_.push_back(track(s, "memory of a core", true, "bytes"));
    }
    use_.emplace(p_.fabric, std::move(uses));
    choose_details(p_, most_slices, out_);
  }

  Timeline run() {
    simulate();
    for (int s = 0; s < p_.stages; ++s)
      alive_.emplace_back(memory_.stages[at(s)], memory_track_[at(s)], out_.samples);
    for (std::size_t i = 0; i < step_.segments.size(); ++i) segment(i);
    for (MemoryCounter& counter : alive_) counter.end(out_.end);
    use_->write(out_.samples);
    std::stable_sort(out_.slices.begin(), out_.slices.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.start, a.track, b.end) < std::tuple(b.start, b.track, a.end);
    });
    std::stable_sort(out_.samples.begin(), out_.samples.end(),
                     [](const auto& a, const auto& b) { return a.at < b.at; });
    return std::move(out_);
  }

 private:
  /// One pass of a stage over a micro-batch and chunk.
  struct PassRun {
    int stage;
    StageAction action;
    const Pass& pass;
    TaskId first;
    SimTime start, end;
  };

  std::uint32_t track(int stage, std::string name, bool counter, std::string unit) {
    out_.tracks.push_back({stage, std::move(name), counter, std::move(unit)});
    return static_cast<std::uint32_t>(out_.tracks.size() - 1);
  }

  /// Counted rounds come after all listed actions; everything after them shifts by their length. Their effect
  /// on the memory counter never exceeds the level before.
  void simulate() {
    StepRun r = run_folded(p_, layout_, expanded_, out_.listed_micro_batches, true);
    out_.end = r.end();
    if (r.repeats > 0) {
      const SimTime at = r.run.rhythm->at, later = r.run.rhythm->length * r.repeats;
      for (TaskId t = 0; t < r.run.ended.size(); ++t) {
        if (r.run.ended[t] <= at) continue;
        r.run.started[t] += later;
        r.run.ended[t] += later;
      }
    }
    step_ = std::move(r.step);
    run_ = std::move(r.run);
  }

  bool is_listed(const StageAction& a) const { return a.micro_batch < out_.listed_micro_batches; }
  bool is_detailed(const StageAction& a) const { return a.micro_batch < out_.detailed_micro_batches; }

  void segment(std::size_t i) {
    const StepProgram::Segment& s = step_.segments[i];
    const TaskId end = i + 1 < step_.segments.size() ? step_.segments[i + 1].first
                                                     : static_cast<TaskId>(step_.program.tasks().size());
    TaskId first = end, last = end;  // of the pass; the tasks between belong to it
    for (TaskId t = s.first; t < end; ++t) {
      const StepProgram::Source& source = step_.of(t);
      if (source.is<task::Reduction>()) {
        slice(reductions_[at(s.stage)], t, source.item->name, s.action);
        use_->transfer(s.stage, *source.item, run_.started[t] + source.item->length, run_.ended[t]);
      } else if (s.action.kind == StageAction::Kind::end_of_step) {
        end_of_step(t, source);
      } else if (source.is<task::Launch>() || source.is<task::Hold>()) {
        if (is_listed(s.action)) slice(compute_[at(s.stage)], t, source.item->name, s.action);
      } else if (const auto* message = source.as<task::Message>()) {
        if (is_listed(s.action)) one_message(t, *message, *source.item, s.action);
      } else {
        if (first == end) first = t;
        last = t;
      }
    }
    if (first == end) return;
    const Pass& pass = p_.work(s.stage).chunks[at(s.action.chunk)].pass(s.action.kind);
    one_pass({s.stage, s.action, pass, first, run_.started[first], run_.ended[last]});
  }

  Timeline::Slice& slice(std::uint32_t track, SimTime start, SimTime end, std::string_view name,
                         Category category, const StageAction& action) {
    out_.slices.push_back(
        {track, start, end, name, to_string(category), action.micro_batch,
         p_.chunks() > 1 && action.kind != StageAction::Kind::end_of_step ? action.chunk : -1, 0, false});
    return out_.slices.back();
  }
  void slice(std::uint32_t track, TaskId t, std::string_view name, const StageAction& action) {
    slice(track, run_.started[t], run_.ended[t], name, step_.of(t).item->transfer_category, action);
  }

  void one_pass(const PassRun& r) {
    if (is_listed(r.action)) {
      const std::string_view name = r.pass.whole.name;
      slice(compute_[at(r.stage)], r.start, r.end, name, r.pass.whole.transfer_category, r.action);
    }
    const bool detailed = is_detailed(r.action);
    if (is_listed(r.action) && !detailed) use_->pass(r.stage, r.pass, r.start, r.end);
    MemoryCounter& alive = alive_[at(r.stage)];
    const bool forward = r.action.kind == StageAction::Kind::forward, listed = is_listed(r.action);
    if (forward) alive.add(r.start, {.passes = 1}, listed);  // its input, its output's place
    const auto on_operator = [&](const Item& item, SimTime start, SimTime end, bool overlapped) {
      if (!detailed || start == end) return;
      const auto& tracks = item.background ? background_ : overlapped ? engine_ : compute_;
      slice(tracks[at(r.stage)], start, end, item.name, item.transfer_category, r.action);
      use_->transfer(r.stage, item, start + item.length, end);
    };
    const auto on_chain = [&](const Chain& chain, SimTime start, SimTime end) {
      memory(r, chain.part, chain.times, start, end);
    };
    if (step_.of(r.first).item != &r.pass.whole) {
      walk_tasks(r.pass, step_, run_, r.first, on_operator, on_chain);
    } else {
      walk_remembered(r.pass, r.start, detailed, on_operator, on_chain);
    }
    if (r.action.kind == p_.schedule().last_pass()) alive.add(r.end, {.passes = -1}, listed);
  }

  /// The memory model's instants, at the times when a pass reaches them: activations exist from the end of
  /// the layers' forward to the end of their backward.
  void memory(const PassRun& r, Chain::Part part, int layers, SimTime start, SimTime end) {
    using Part = Chain::Part;
    const StageMemory& m = memory_.stages[at(r.stage)];
    MemoryCounter& alive = alive_[at(r.stage)];
    const bool listed = is_listed(r.action), backward = r.action.kind == StageAction::Kind::backward;
    const bool split = p_.schedule().splits_backward();
    if (r.action.kind == StageAction::Kind::weights) {
      if (part == Part::layer) alive.add(end, {.layers = -layers, .deferred = -layers}, listed);
    } else if (part == Part::head) {
      alive.during(start, end, backward ? m.head_backward : m.head_forward, listed);
    } else if (part == Part::layer && backward) {
      if (split) alive.add(start, {.deferred = layers}, listed);
      alive.begin(start, m.moments[at(static_cast<int>(PeakInstant::backward))], listed);
      if (!split) alive.add(end, {.layers = -layers}, listed);
      alive.finish(end, listed);
    } else if (part == Part::layer) {
      alive.add(end, {.layers = layers}, listed);
    }
  }

  void end_of_step(TaskId t, const StepProgram::Source& source) {
    if (source.item == nullptr) return;
    if (source.is<task::Barrier>()) {
      for (int s = 0; s < p_.stages; ++s) slice(compute_[at(s)], t, source.item->name, kEndOfStep);
      return;
    }
    const int stage = source.as<task::EndPart>()->stage;
    slice(compute_[at(stage)], t, source.item->name, kEndOfStep);
    use_->transfer(stage, *source.item, run_.started[t] + source.item->length, run_.ended[t]);
    // Reduced gradients and buckets: from the first bucket's reduction to the last one's gathering.
    const StageWork& w = p_.work(stage);
    const Item* first = w.reduce.empty() ? &w.optimizer : &w.reduce.front();
    const Item* last = w.gather.empty() ? &w.optimizer : &w.gather.back();
    const StageMemory& m = memory_.stages[at(stage)];
    MemoryCounter& alive = alive_[at(stage)];
    if (source.item == first)
      alive.begin(run_.started[t], m.moments[at(static_cast<int>(PeakInstant::optimizer))], true);
    if (source.item == last) alive.finish(run_.ended[t], true);
  }

  void one_message(TaskId t, const task::Message& message, const Item& item, const StageAction& action) {
    const bool up = message.up;
    const int below = message.boundary, above = (message.boundary + 1) % p_.stages;
    const std::uint64_t flow = ++flows_;
    const int part = p_.part_of(up ? above : below, action.chunk);  // of the receiver, outside the queues
    const int sender = (message.activation ? part - 1 : part + 1) / p_.stages;
    StageAction of = action;
    for (const int s : {below, above}) {
      const bool receives = (s == above) == up;
      SimTime start = run_.started[t], end = run_.ended[t];
      if (!p_.blocking()) (receives ? start : end) = receives ? end : start;
      // A message outside the queues arrives with the pass that waits for it, and leaves from the part before
      // it.
      of.chunk = receives || p_.blocking() ? action.chunk : sender;
      Timeline::Slice& end_of_it =
          slice(compute_[at(s)], start, end,
                receives ? (message.activation ? "receive activation" : "receive gradient") : item.name,
                Category::pipeline, of);
      end_of_it.flow = flow;
      end_of_it.receives = receives;
      use_->transfer(s, item, run_.started[t] + item.length, run_.ended[t]);
    }
  }

  const StepParts& p_;
  const Memory& memory_;
  Layout& layout_;
  bool expanded_;  ///< every operator is a task
  StepProgram step_;
  sim::Run run_;
  Timeline out_;
  std::vector<std::uint32_t> compute_, engine_, background_, reductions_, memory_track_;
  std::optional<ResourceUse> use_;
  std::vector<MemoryCounter> alive_;  ///< per stage
  std::uint64_t flows_ = 0;
};

}  // namespace

Timeline timeline(const StepModel& model, const Job& job, const Strategy& strategy, const Profile& profile,
                  std::size_t most_slices, bool expand) {
  const std::unique_ptr<Layout> layout = lane_per_stage(model.parts());
  const Memory memory = memory_of(job, strategy, profile);
  const bool expanded = expand || model.parts().must_expand;
  return Writer(model.parts(), *layout, memory, most_slices, expanded).run();
}

}  // namespace trnplan::models
