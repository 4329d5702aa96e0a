#include "models/step/timeline.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include "models/memory/memory.h"
#include "models/step/step_parts.h"
#include "models/step/step_run.h"
#include "units/index.h"

namespace trnplan::models {

namespace {

using sim::TaskId;

/// Kinds of resources that have a counter.
constexpr std::array<Fabric::Kind, 3> kCounted{Fabric::Kind::link, Fabric::Kind::memory,
                                               Fabric::Kind::nic_out};
constexpr std::array<const char*, 3> kCounterNames{"busiest link", "busiest memory path", "busiest NIC"};

std::size_t counter_of(Fabric::Kind kind) {
  switch (kind) {
    case Fabric::Kind::link:
      return 0;
    case Fabric::Kind::memory:
      return 1;
    default:
      return 2;
  }
}

/// Bytes alive on a core of one stage, as the memory model has them (models/memory/memory.h), put into the
/// order of the stage's queue.
class MemoryCounter {
 public:
  MemoryCounter(const StageMemory& memory, std::uint32_t track, std::vector<Timeline::Sample>& samples)
      : m_(memory), track_(track), samples_(samples) {
    note({}, true);
  }

  /// A micro-batch comes in: its input, its output's place.
  void enter(SimTime at, bool listed) {
    ++passes_;
    note(at, listed);
  }
  void keep_layers(SimTime at, int layers, bool listed) {
    layers_ += layers;
    note(at, listed);
  }
  /// Of a backward: activations go, and so does what belongs to the micro-batch.
  void leave(SimTime at, bool listed) {
    --passes_;
    note(at, listed);
  }
  /// What an instant has beside the activations; none of it at its end.
  void during(SimTime from, SimTime to, const MemoryMoment& moment, bool listed) {
    begin(from, moment, listed);
    finish(to, listed);
  }
  void begin(SimTime at, const MemoryMoment& moment, bool listed) {
    now_ = moment;
    note(at, listed);
  }
  void finish(SimTime at, bool listed) {
    now_ = {};
    note(at, listed);
  }
  void end(SimTime at) {
    settle();
    samples_.push_back({track_, at, shown_});
  }

 private:
  /// One thing ends as the next begins: what holds from a time on is known when a later one comes.
  void note(SimTime at, bool listed) {
    if (at != next_at_) settle();
    MemoryMoment all = now_;
    all.activations = m_.kept(layers_, passes_);
    next_at_ = at;
    next_ = m_.with(all).value;
    listed_ = listed;
  }

  /// Where passes are not listed, only what exceeds all before is, and the drop after it.
  void settle() {
    const bool highest = next_ > most_;
    if (next_ == shown_ || !(listed_ || highest || alone_)) return;
    alone_ = !listed_ && highest;
    most_ = std::max(most_, next_);
    shown_ = next_;
    samples_.push_back({track_, next_at_, next_});
  }

  const StageMemory& m_;
  std::uint32_t track_;
  std::vector<Timeline::Sample>& samples_;
  int layers_ = 0, passes_ = 0;
  MemoryMoment now_;
  SimTime next_at_;
  double next_ = 0;
  bool listed_ = true;
  double shown_ = -1, most_ = -1;
  bool alone_ = false;  ///< the last sample was a highest one among passes that are not listed
};

class Writer {
 public:
  Writer(const StepParts& parts, Layout& layout, const Memory& memory, std::size_t most_slices, bool expand)
      : p_(parts), memory_(memory), layout_(layout), expanded_(expand) {
    out_.micro_batches = p_.micro_batches;
    for (int s = 0; s < p_.stages; ++s) {
      compute_.push_back(track(s, "compute", false, ""));
      if (p_.overlaps()) engine_.push_back(track(s, "collectives", false, ""));
      for (const char* name : kCounterNames) use_.push_back(track(s, name, true, "1"));
      memory_track_.push_back(track(s, "memory of a core", true, "bytes"));
    }
    choose_details(most_slices);
  }

  Timeline run() {
    simulate();
    for (int s = 0; s < p_.stages; ++s)
      alive_.emplace_back(memory_.stages[at(s)], memory_track_[at(s)], out_.samples);
    for (std::size_t i = 0; i < step_.segments.size(); ++i) segment(i);
    for (MemoryCounter& counter : alive_) counter.end(out_.end);
    use_samples();
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

  /// Counted rounds come after all that is listed: what comes after them is that much later. What they would
  /// add to the memory counter is no more than what was there before.
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

  static std::size_t operators_of(const Pass& pass) {
    std::size_t sum = pass.launch ? 1 : 0;
    for (const Chain& c : pass.chains) sum += c.items->size() * at(c.times);
    return sum;
  }

  /// The end of the step is always there; then passes and messages, then operators, each of as many of the
  /// first micro-batches as leaves no more slices than wanted.
  void choose_details(std::size_t most_slices) {
    std::size_t fixed = at(p_.stages), thin = 0, operators = 0;
    for (int s = 0; s < p_.stages; ++s) {
      const StageWork& w = p_.work(s);
      for (const Items* items : {&w.gradients_to_norms, &w.context_reduce, &w.reduce, &w.gather})
        fixed += items->size();
      fixed += 2;  // optimizer, host
      for (const Chunk& c : w.chunks) {
        for (const Pass* pass : {&c.forward, &c.backward, &c.weights}) {
          thin += pass->chains.empty() ? 0 : 1;
          operators += operators_of(*pass);
        }
      }
    }
    const std::size_t ends = p_.blocking() ? 2 : 6;  // and a launch and its time on the queue at each
    for (int part = 0; part + 1 < p_.stages * p_.chunks(); ++part) {
      const Boundary& b = p_.boundaries[at(part % p_.stages)];
      thin += ends * (b.activation->size() + b.gradient->size());
    }
    const auto fit = [&](std::size_t room, std::size_t each, int most) {
      return each == 0 ? most : static_cast<int>(std::min<std::size_t>(at(most), room / each));
    };
    std::size_t room = most_slices - std::min(most_slices, fixed);
    out_.listed_micro_batches = fit(room, thin, p_.micro_batches);
    room -= thin * at(out_.listed_micro_batches);
    out_.detailed_micro_batches = fit(room, operators, out_.listed_micro_batches);
  }

  bool is_listed(const StageAction& a) const { return a.micro_batch < out_.listed_micro_batches; }
  bool is_detailed(const StageAction& a) const { return a.micro_batch < out_.detailed_micro_batches; }

  void segment(std::size_t i) {
    const StepProgram::Segment& s = step_.segments[i];
    const TaskId end = i + 1 < step_.segments.size() ? step_.segments[i + 1].first
                                                     : static_cast<TaskId>(step_.program.tasks().size());
    TaskId first = end, last = end;  // of the pass; the tasks between are its own
    for (TaskId t = s.first; t < end; ++t) {
      const StepProgram::Source& source = step_.of(t);
      if (s.action.micro_batch < 0) {
        end_of_step(t, source);
      } else if (source.item == &p_.message_launch || source.is_hold()) {
        if (is_listed(s.action)) slice(compute_[at(s.stage)], t, source.item->name, s.action);
      } else if (source.stage < 0) {
        if (is_listed(s.action)) message(t, source, s.action);
      } else {
        if (first == end) first = t;
        last = t;
      }
    }
    if (first == end) return;
    const Chunk& chunk = p_.work(s.stage).chunks[at(s.action.chunk)];
    using Kind = StageAction::Kind;
    const Pass& pass = s.action.kind == Kind::forward   ? chunk.forward
                       : s.action.kind == Kind::weights ? chunk.weights
                                                        : chunk.backward;
    one_pass({s.stage, s.action, pass, first, run_.started[first], run_.ended[last]});
  }

  Timeline::Slice& slice(std::uint32_t track, SimTime start, SimTime end, std::string_view name,
                         Category category, const StageAction& action) {
    out_.slices.push_back({track, start, end, name, to_string(category), action.micro_batch,
                           p_.chunks() > 1 && action.micro_batch >= 0 ? action.chunk : -1, 0, false});
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
    if (is_listed(r.action) && !detailed) mean_use(r);
    MemoryCounter& alive = alive_[at(r.stage)];
    const bool forward = r.action.kind == StageAction::Kind::forward, listed = is_listed(r.action);
    if (forward) alive.enter(r.start, listed);
    walk(
        r,
        [&](const Item& item, SimTime start, SimTime end, bool overlapped) {
          if (!detailed || start == end) return;
          slice(overlapped ? engine_[at(r.stage)] : compute_[at(r.stage)], start, end, item.name,
                item.transfer_category, r.action);
          use(r.stage, item, start + item.length, end);
        },
        [&](const Chain& chain, SimTime start, SimTime end) {
          memory(r, chain.part, chain.times, start, end);
        });
    if (r.action.kind == StageAction::Kind::backward) alive.leave(r.end, listed);
  }

  /// The memory model's instants, as a pass comes to them: activations are there when the layers' forward is
  /// done, and until their backward is.
  void memory(const PassRun& r, Chain::Part part, int layers, SimTime start, SimTime end) {
    using Kind = StageAction::Kind;
    using Part = Chain::Part;
    const StageMemory& m = memory_.stages[at(r.stage)];
    MemoryCounter& alive = alive_[at(r.stage)];
    const bool listed = is_listed(r.action), backward = r.action.kind == Kind::backward;
    if (r.action.kind == Kind::weights) return;
    if (part == Part::head) {
      alive.during(start, end, backward ? m.head_backward : m.head_forward, listed);
    } else if (part == Part::layer && backward) {
      alive.begin(start, m.moments[at(static_cast<int>(PeakInstant::backward))], listed);
      alive.keep_layers(end, -layers, listed);
      alive.finish(end, listed);
    } else if (part == Part::layer) {
      alive.keep_layers(end, layers, listed);
    }
  }

  /// Calls `on_operator` for every operator of a pass and `on_chain` for every chain after its last one.
  template <class OnOperator, class OnChain>
  void walk(const PassRun& r, const OnOperator& on_operator, const OnChain& on_chain) const {
    if (expanded_) {
      walk_tasks(r, on_operator, on_chain);
    } else {
      walk_remembered(r, on_operator, on_chain);
    }
  }

  template <class OnOperator, class OnChain>
  void walk_remembered(const PassRun& r, const OnOperator& on_operator, const OnChain& on_chain) const {
    SimTime now = r.start;
    if (r.pass.launch) {
      on_operator(*r.pass.launch, now, now + r.pass.launch->length, false);
      now += r.pass.launch->length;
    }
    const bool detailed = is_detailed(r.action);
    for (const Chain& c : r.pass.chains) {
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

  /// Every operator is a task here, and where a queue waits for its collective engine there is one more.
  template <class OnOperator, class OnChain>
  void walk_tasks(const PassRun& r, const OnOperator& on_operator, const OnChain& on_chain) const {
    TaskId t = r.first;
    SimTime now = r.start;
    const auto take = [&](const Item& item, bool overlapped) {
      while (step_.of(t).item == nullptr) now = run_.ended[t++];
      if (step_.of(t).item != &item) throw std::logic_error("a pass has other tasks than operators");
      on_operator(item, run_.started[t], run_.ended[t], overlapped);
      if (!overlapped) now = run_.ended[t];
      ++t;
    };
    if (r.pass.launch) take(*r.pass.launch, false);
    for (const Chain& c : r.pass.chains) {
      const Items& items = *c.items;
      const SimTime start = now;
      for (int i = 0; i < c.times; ++i) {
        for (std::size_t k = 0; k < items.size(); ++k)
          take(items[k], items[k].overlapped && k + 1 < items.size());
        if (items.size() > 1 && items[items.size() - 2].overlapped) now = run_.ended[t++];
      }
      on_chain(c, start, now);
    }
  }

  void end_of_step(TaskId t, const StepProgram::Source& source) {
    if (source.item == nullptr) return;
    const StageAction nothing{StageAction::Kind::weights, -1};
    if (source.item == &p_.barrier) {
      for (int s = 0; s < p_.stages; ++s) slice(compute_[at(s)], t, source.item->name, nothing);
      return;
    }
    slice(compute_[at(source.stage)], t, source.item->name, nothing);
    use(source.stage, *source.item, run_.started[t] + source.item->length, run_.ended[t]);
    // Reduced gradients and buckets: from the first bucket's reduction to the last one's gathering.
    const StageWork& w = p_.work(source.stage);
    const Item* first = w.reduce.empty() ? &w.optimizer : &w.reduce.front();
    const Item* last = w.gather.empty() ? &w.optimizer : &w.gather.back();
    const StageMemory& m = memory_.stages[at(source.stage)];
    MemoryCounter& alive = alive_[at(source.stage)];
    if (source.item == first)
      alive.begin(run_.started[t], m.moments[at(static_cast<int>(PeakInstant::optimizer))], true);
    if (source.item == last) alive.finish(run_.ended[t], true);
  }

  void message(TaskId t, const StepProgram::Source& source, const StageAction& action) {
    const int boundary = -1 - source.stage;
    const bool up = std::string_view(source.label) == "activation";
    const int below = boundary, above = (boundary + 1) % p_.stages;
    const std::uint64_t flow = ++flows_;
    StageAction of = action;
    for (const int s : {below, above}) {
      const bool receives = (s == above) == up;
      SimTime start = run_.started[t], end = run_.ended[t];
      if (!p_.blocking()) (receives ? start : end) = receives ? end : start;
      // A message beside the queues comes with the pass that waits for it, and leaves the part before it.
      of.chunk = action.chunk;
      if (!receives && up && s == p_.stages - 1) --of.chunk;
      if (!receives && !up && s == 0) ++of.chunk;
      Timeline::Slice& end_of_it =
          slice(compute_[at(s)], start, end,
                receives ? (up ? "receive activation" : "receive gradient") : source.item->name,
                Category::pipeline, of);
      end_of_it.flow = flow;
      end_of_it.receives = receives;
      use(s, *source.item, run_.started[t] + source.item->length, run_.ended[t]);
    }
  }

  /// A transfer keeps its busiest resources in use from `start` to `end`.
  void use(int stage, const Item& item, SimTime start, SimTime end) {
    if (item.load.empty() || end <= start) return;
    Busy busy{};
    for (const auto& [id, bytes] : item.load) {
      double& most = busy[counter_of(p_.fabric.kind(id))];
      most = std::max(most, (Bytes(bytes) / p_.fabric.capacity(id)).value);
    }
    use(stage, busy, start, end);
  }

  /// A pass that is not broken down: what its transfers use on average.
  void mean_use(const PassRun& r) {
    const auto [it, fresh] = busy_.try_emplace(&r.pass);
    if (fresh) {
      std::map<Fabric::Id, double> bytes;
      for (const Chain& c : r.pass.chains) {
        for (const Item& item : *c.items) {
          for (const auto& [id, b] : item.load) bytes[id] += b * c.times;
        }
      }
      for (const auto& [id, b] : bytes) {
        double& most = it->second[counter_of(p_.fabric.kind(id))];
        most = std::max(most, (Bytes(b) / p_.fabric.capacity(id)).value);
      }
    }
    use(r.stage, it->second, r.start, r.end);
  }

  /// Seconds for which the busiest resource of each counted kind would be in use at its full rate.
  using Busy = std::array<double, kCounted.size()>;

  void use(int stage, const Busy& busy, SimTime start, SimTime end) {
    if (end <= start) return;
    for (std::size_t k = 0; k < busy.size(); ++k) {
      if (busy[k] == 0) continue;
      uses_.push_back({use_[at(stage) * kCounted.size() + k], start, end,
                       std::min(1.0, busy[k] / to_seconds(end - start).value)});
    }
  }

  /// Of transfers at the same time, the one that uses its resource most.
  void use_samples() {
    struct Change {
      SimTime at;
      std::uint32_t track;
      bool starts;
      double value;
    };
    std::vector<Change> changes;
    for (const Use& u : uses_) {
      changes.push_back({u.start, u.track, true, u.value});
      changes.push_back({u.end, u.track, false, u.value});
    }
    std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return std::tuple(a.track, a.at) < std::tuple(b.track, b.at);
    });
    std::multiset<double> now;
    double shown = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const Change& c = changes[i];
      if (c.starts) {
        now.insert(c.value);
      } else {
        now.erase(now.find(c.value));
      }
      const bool last = i + 1 == changes.size() || changes[i + 1].track != c.track;
      if (!last && changes[i + 1].at == c.at) continue;
      const double most = now.empty() ? 0 : *now.rbegin();
      if (most != shown) out_.samples.push_back({c.track, c.at, most});
      shown = last ? 0 : most;
    }
  }

  struct Use {
    std::uint32_t track;
    SimTime start, end;
    double value;
  };

  const StepParts& p_;
  const Memory& memory_;
  Layout& layout_;
  bool expanded_;  ///< every operator is a task
  StepProgram step_;
  sim::Run run_;
  Timeline out_;
  std::vector<std::uint32_t> compute_, engine_, use_, memory_track_;
  std::vector<MemoryCounter> alive_;  ///< of each stage
  std::map<const Pass*, Busy> busy_;  ///< asked for single entries, never walked
  std::vector<Use> uses_;
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
