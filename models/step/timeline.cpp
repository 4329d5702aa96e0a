#include "models/step/timeline.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include <fmt/format.h>

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
/// operators, each for the largest number of first micro-batches with no more slices than requested. `lanes`:
/// of a stage.
void choose_details(const StepParts& p, std::size_t lanes, std::size_t most_slices, Timeline& out) {
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
  for (std::size_t* each : {&fixed, &thin, &operators}) *each *= lanes;
  std::size_t room = most_slices - std::min(most_slices, fixed);
  out.listed_micro_batches = fit(room, thin, p.micro_batches);
  room -= thin * at(out.listed_micro_batches);
  out.detailed_micro_batches = fit(room, operators, out.listed_micro_batches);
}

/// Numbers of the lanes that are drawn, the same in each stage.
std::vector<int> drawn_lanes(const StepProgram& step, const sim::Run& run, const Layout& layout, int stages) {
  const int lanes = layout.lanes(0);
  std::vector<int> order(at(lanes));
  std::iota(order.begin(), order.end(), 0);
  if (lanes <= kMostLanesDrawn) return order;
  std::vector<SimTime> busy(order.size());
  for (TaskId t = 0; t < step.program.tasks().size(); ++t) {
    const sim::Task& task = step.program.tasks()[t];
    if (!step.of(t).is<task::PassPart>()) continue;
    for (std::uint32_t i = 0; i < task.device_count; ++i) {
      const sim::DeviceId device = step.program.task_devices()[task.first_device + i];
      if (device < at(stages * lanes)) busy[device % at(lanes)] += run.ended[t] - run.started[t];
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return busy[at(a)] > busy[at(b)]; });
  std::set<std::vector<std::pair<double, NodeState>>> conditions;
  std::vector<int> drawn, alike;
  for (const int lane : order) {
    std::vector<std::pair<double, NodeState>> of_stages;
    for (int s = 0; s < stages; ++s)
      of_stages.emplace_back(layout.cores(s, lane).factor, layout.cores(s, lane).node);
    (conditions.insert(std::move(of_stages)).second ? drawn : alike).push_back(lane);
  }
  const int least = order.back();
  drawn.insert(drawn.end(), alike.begin(), alike.end());
  drawn.resize(kMostLanesDrawn);
  if (std::find(drawn.begin(), drawn.end(), least) == drawn.end()) drawn.back() = least;
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

class Writer {
 public:
  Writer(const StepParts& parts, Layout& layout, const Memory& memory, const TimelineOptions& options)
      : p_(parts),
        memory_(memory),
        layout_(layout),
        lanes_(layout.lanes(0)),
        expanded_(options.expand || !layout.passes_are_whole()) {
    out_.micro_batches = p_.micro_batches;
    out_.lanes_of_stage = lanes_;
    out_.device_word = topology::device_word(p_.job.cluster.instance.traits.accelerator);
    choose_details(p_, at(std::min(lanes_, kMostLanesDrawn)), options.most_slices, out_);
    simulate(options);
    add_tracks(drawn_lanes(step_, run_, layout_, p_.stages));
  }

  Timeline run() {
    tasks_of_.resize(at(lanes_));
    for (TaskId t = 0; t < step_.segments.front().first; ++t)
      each_lane(t, [&](int stage, int lane) { slice({stage, lane}, compute_, t, kEndOfStep); });
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
  using Tracks = std::vector<std::uint32_t>;  ///< by drawn lane

  struct Place {
    int stage, lane;
  };
  /// One pass of a lane over a micro-batch and chunk.
  struct PassRun {
    Place place;
    const StepProgram::Segment& segment;
    const Pass& pass;
    const std::vector<TaskId>& tasks;
    SimTime start, end;
  };

  void add_tracks(const std::vector<int>& drawn) {
    drawn_.assign(at(lanes_), kNotDrawn);
    for (std::size_t i = 0; i < drawn.size(); ++i) drawn_[at(drawn[i])] = static_cast<int>(i);
    lanes_drawn_ = static_cast<int>(drawn.size());
    std::vector<ResourceUse::Tracks> uses;
    for (int s = 0; s < p_.stages; ++s) {
      for (const int lane : drawn) {
        const Layout::Cores c = layout_.cores(s, lane);
        out_.lanes.push_back({s, c.first, c.count, c.factor, c.node});
        compute_.push_back(track("compute", false, ""));
        if (p_.overlaps()) engine_.push_back(track("collectives", false, ""));
        if (p_.has_background())
          background_.push_back(
              track(p_.framework().units(p_.strategy) ? "gathers and reductions" : "exchanges with experts",
                    false, ""));
        if (p_.reduces_early()) reductions_.push_back(track("gradient reductions", false, ""));
        for (std::size_t k = 0; k < kCounterNames.size(); ++k)
          (k == 0 ? uses.emplace_back() : uses.back())[k] = track(kCounterNames[k], true, "1");
        alive_.emplace_back(memory_.stages[at(s)],
                            track(fmt::format("memory of a {}", out_.device_word), true, "bytes"),
                            out_.samples);
      }
    }
    use_.emplace(layout_.fabric(), std::move(uses));
  }
  /// A track of the last lane.
  std::uint32_t track(std::string name, bool counter, std::string unit) {
    out_.tracks.push_back(
        {static_cast<int>(out_.lanes.size()) - 1, std::move(name), counter, std::move(unit)});
    return static_cast<std::uint32_t>(out_.tracks.size() - 1);
  }

  Detail detail() const { return expanded_ ? Detail::operators : Detail::passes; }
  bool is_drawn(Place p) const { return drawn_[at(p.lane)] != kNotDrawn; }
  std::size_t index(Place p) const { return at(p.stage * lanes_drawn_ + drawn_[at(p.lane)]); }

  /// Counted rounds come after all listed actions; everything after them shifts by their length. Their effect
  /// on the memory counter never exceeds the level before.
  void simulate(const TimelineOptions& options) {
    std::optional<Jitter> jitter;
    if (options.scenario.is_random()) jitter.emplace(options.scenario.random, options.run, p_.strategy);
    StepRun r = jitter ? run_unfolded(p_, layout_, detail(), true, &*jitter)
                       : run_folded(p_, layout_, detail(), out_.listed_micro_batches, true);
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

  /// Calls `visit(stage, lane)` for each drawn lane whose queues a task occupies.
  template <class Visit>
  void each_lane(TaskId t, const Visit& visit) const {
    const sim::Task& task = step_.program.tasks()[t];
    std::size_t last = at(p_.stages * lanes_);
    for (std::uint32_t i = 0; i < task.device_count; ++i) {
      const std::size_t queue = step_.program.task_devices()[task.first_device + i] % at(p_.stages * lanes_);
      if (queue == last) continue;  // an engine of the same lane
      last = queue;
      const Place place{static_cast<int>(queue) / lanes_, static_cast<int>(queue) % lanes_};
      if (is_drawn(place)) visit(place.stage, place.lane);
    }
  }

  void segment(std::size_t i) {
    const StepProgram::Segment& s = step_.segments[i];
    const TaskId end = i + 1 < step_.segments.size() ? step_.segments[i + 1].first
                                                     : static_cast<TaskId>(step_.program.tasks().size());
    for (std::vector<TaskId>& tasks : tasks_of_) tasks.clear();
    std::size_t share = 0;  // of a message; those of one item follow each other
    for (TaskId t = s.first; t < end; ++t) {
      const StepProgram::Source& source = step_.of(t);
      const bool same = t > s.first && step_.program.tasks()[t].tag == step_.program.tasks()[t - 1].tag;
      share = same ? share + 1 : 0;
      if (const auto* message = source.as<task::Message>()) {
        if (is_listed(s.action)) one_message(t, *message, share, *source.item, s.action);
        continue;
      }
      each_lane(t, [&](int stage, int lane) {
        const Place place{stage, lane};
        if (s.action.kind == StageAction::Kind::end_of_step) {
          if (source.item != nullptr) end_of_step(t, place, source);
        } else if (source.is<task::Reduction>()) {
          slice(place, reductions_, t, s.action);
          transfer(place, *source.item, run_.started[t], run_.ended[t]);
        } else if (source.is<task::Launch>() || source.is<task::Hold>()) {
          if (is_listed(s.action)) slice(place, compute_, t, s.action);
        } else {
          tasks_of_[at(lane)].push_back(t);
        }
      });
    }
    for (int lane = 0; lane < lanes_; ++lane) {
      const std::vector<TaskId>& tasks = tasks_of_[at(lane)];
      if (tasks.empty()) continue;
      const Pass& pass = p_.work(s.stage).chunks[at(s.action.chunk)].pass(s.action.kind);
      one_pass({{s.stage, lane}, s, pass, tasks, run_.started[tasks.front()], run_.ended[tasks.back()]});
    }
  }

  Timeline::Slice& slice(std::uint32_t track, SimTime start, SimTime end, std::string_view name,
                         Category category, const StageAction& action) {
    out_.slices.push_back(
        {track, start, end, name, to_string(category), action.micro_batch,
         p_.chunks() > 1 && action.kind != StageAction::Kind::end_of_step ? action.chunk : -1, 0, false});
    return out_.slices.back();
  }
  void slice(Place place, const Tracks& tracks, TaskId t, const StageAction& action) {
    const Item& item = *step_.of(t).item;
    slice(tracks[index(place)], run_.started[t], run_.ended[t], item.name, item.transfer_category, action);
  }

  /// The one transfer of an item in which a lane takes part: groups of one kind do not overlap, and those of
  /// one composition are one transfer.
  const Fabric::Load& load_of(Place place, const Item& item) {
    const auto [it, fresh] = loads_.try_emplace({place.stage, &item});
    if (fresh) {
      it->second.resize(at(lanes_));
      for (const Layout::Share& share : layout_.shares(place.stage, item)) {
        for (const int lane : share.lanes) it->second[at(lane)] = &share.load;
      }
    }
    const Fabric::Load* load = it->second[at(place.lane)];
    if (load == nullptr) throw std::logic_error("a lane takes part in a transfer of another one");
    return *load;
  }
  /// Notes the use of its resources by a transfer from `start` to `end`.
  void transfer(Place place, const Item& item, SimTime start, SimTime end) {
    if (item.is_transfer()) use_->transfer(index(place), load_of(place, item), start + item.length, end);
  }

  void one_pass(const PassRun& r) {
    const StageAction& action = r.segment.action;
    const std::size_t index = this->index(r.place);
    const bool detailed = is_detailed(action), listed = is_listed(action);
    if (listed)
      slice(compute_[index], r.start, r.end, r.pass.whole.name, r.pass.whole.transfer_category, action);
    if (listed && !detailed) {
      const auto load_of = [&](const Item& item) -> const Fabric::Load& {
        return this->load_of(r.place, item);
      };
      use_->pass(index, r.pass, load_of, r.start, r.end);
    }
    MemoryCounter& alive = alive_[index];
    const bool forward = action.kind == StageAction::Kind::forward;
    if (forward) alive.add(r.start, {.passes = 1}, listed);  // its input, its output's place
    const auto on_operator = [&](const Item& item, SimTime start, SimTime end, bool overlapped) {
      if (!detailed || start == end) return;
      const Tracks& tracks = item.background ? background_ : overlapped ? engine_ : compute_;
      slice(tracks[index], start, end, item.name, item.transfer_category, action);
      transfer(r.place, item, start, end);
    };
    const auto on_chain = [&](const Chain& chain, SimTime start, SimTime end) {
      memory(r, chain.part, chain.times, start, end);
    };
    if (!expanded_ && step_.of(r.tasks.front()).item == &layout_.whole(r.place.stage, r.place.lane, r.pass)) {
      const std::vector<double>& factors = r.segment.factors;
      const double times = factors.empty() ? 1 : factors[at(layout_.replica(r.place.lane))];
      const auto run_of = [&](const Chain& chain) -> const ChainRun& {
        return layout_.run(r.place.stage, r.place.lane, chain, times);
      };
      walk_remembered(r.pass, r.start, detailed, run_of, on_operator, on_chain);
    } else {
      walk_tasks(r.pass, step_, run_, r.tasks, on_operator, on_chain);
    }
    if (action.kind == p_.schedule().last_pass()) alive.add(r.end, {.passes = -1}, listed);
  }

  /// The memory model's instants, at the times when a pass reaches them: activations exist from the end of
  /// the layers' forward to the end of their backward.
  void memory(const PassRun& r, Chain::Part part, int layers, SimTime start, SimTime end) {
    using Part = Chain::Part;
    const StageAction& action = r.segment.action;
    const StageMemory& m = memory_.stages[at(r.place.stage)];
    MemoryCounter& alive = alive_[index(r.place)];
    const bool listed = is_listed(action), backward = action.kind == StageAction::Kind::backward;
    const bool split = p_.schedule().splits_backward();
    if (action.kind == StageAction::Kind::weights) {
      if (part == Part::layer) alive.add(end, {.layers = -layers, .deferred = -layers}, listed);
    } else if (part == Part::head) {
      alive.during(start, end, backward ? m.head_backward : m.head_forward, listed);
    } else if (part == Part::layer && backward) {
      if (split) alive.add(start, {.deferred = layers}, listed);
      alive.begin(start, m.backward_layer, listed);
      if (!split) alive.add(end, {.layers = -layers}, listed);
      alive.finish(end, listed);
    } else if (part == Part::layer) {
      alive.add(end, {.layers = layers}, listed);
    } else if (part == Part::gradients && backward && !split) {
      alive.add(start, {.passes = -1}, listed);
      alive.during(start, end, m.backward_end, listed);
      alive.add(end, {.passes = 1}, listed);  // goes with the pass
    }
  }

  void end_of_step(TaskId t, Place place, const StepProgram::Source& source) {
    slice(place, compute_, t, kEndOfStep);
    if (source.is<task::Barrier>()) return;
    transfer(place, *source.item, run_.started[t], run_.ended[t]);
    // Reduced gradients and buckets: from the first bucket's reduction to the last one's gathering.
    const StageWork& w = p_.work(place.stage);
    const Item* first = w.reduce.empty() ? &w.optimizer : &w.reduce.front();
    const Item* last = w.gather.empty() ? &w.optimizer : &w.gather.back();
    const StageMemory& m = memory_.stages[at(place.stage)];
    MemoryCounter& alive = alive_[index(place)];
    if (source.item == first)
      alive.begin(run_.started[t], m.moments[at(static_cast<int>(PeakInstant::optimizer))], true);
    if (source.item == last) alive.finish(run_.ended[t], true);
  }

  /// `share`: which of the transfers of the message's item it is.
  void one_message(TaskId t, const task::Message& message, std::size_t share, const Item& item,
                   const StageAction& action) {
    const Layout::Share& sent = layout_.pair_shares(message.boundary, item)[share];
    const int lane = sent.lanes.front() % lanes_;
    if (!is_drawn({message.boundary, lane})) return;
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
          slice(compute_[index({s, lane})], start, end,
                receives ? (message.activation ? "receive activation" : "receive gradient") : item.name,
                Category::pipeline, of);
      end_of_it.flow = flow;
      end_of_it.receives = receives;
      use_->transfer(index({s, lane}), sent.load, run_.started[t] + item.length, run_.ended[t]);
    }
  }

  static constexpr int kNotDrawn = -1;

  const StepParts& p_;
  const Memory& memory_;
  Layout& layout_;
  int lanes_;      ///< of each stage
  bool expanded_;  ///< every operator is a task
  StepProgram step_;
  sim::Run run_;
  Timeline out_;
  std::vector<int> drawn_;  ///< by lane: its place among those that are drawn, or kNotDrawn
  int lanes_drawn_ = 0;
  Tracks compute_, engine_, background_, reductions_;
  std::optional<ResourceUse> use_;
  std::map<std::pair<int, const Item*>, std::vector<const Fabric::Load*>>
      loads_;                                  ///< by stage and item, then lane
  std::vector<MemoryCounter> alive_;           ///< by drawn lane
  std::vector<std::vector<TaskId>> tasks_of_;  ///< of the pass of a segment, by lane
  std::uint64_t flows_ = 0;
};

}  // namespace

std::string Timeline::name_of(const Lane& lane) const {
  std::string name = fmt::format("stage {}", lane.stage);
  const char* between = ": ";
  const auto add = [&](const std::string& words) { name += std::exchange(between, ", ") + words; };
  if (lanes_of_stage > 1) {
    add(fmt::format("{} {}", device_word, lane.core) +
        (lane.cores > 1 ? fmt::format(" and {} like it", lane.cores - 1) : ""));
  }
  if (lane.factor != 1) add(fmt::format("work x {:.4g}", lane.factor));
  if (lane.node.network != 1) add(fmt::format("NICs x {:.4g}", lane.node.network));
  if (lane.node.links != 1) add(fmt::format("links x {:.4g}", lane.node.links));
  if (lane.node.late.value > 0) add(fmt::format("{:.4g} s late", lane.node.late.value));
  return name;
}

Timeline timeline(const StepModel& model, const Job& job, const Strategy& strategy, const Profile& profile,
                  const TimelineOptions& options) {
  const StepParts& parts = model.parts();
  const std::unique_ptr<Layout> layout =
      options.scenario.is_ideal() ? lane_per_stage(parts) : lane_per_class(parts, options.scenario);
  const Memory memory = memory_of(job, strategy, profile);
  return Writer(parts, *layout, memory, options).run();
}

}  // namespace trnplan::models
