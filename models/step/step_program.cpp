#include "models/step/step_program.h"

#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include "models/step/program_period.h"
#include "units/index.h"

namespace trnplan::models {

namespace {

Fabric::Load shifted(Fabric::Load load, Fabric::Id by) {
  for (auto& [id, bytes] : load) id += by;
  return load;
}

class LanePerStage : public Layout {
 public:
  explicit LanePerStage(const StepParts& parts) : parts_(parts) {}
  int lanes(int) const override { return 1; }
  const Fabric& fabric() const override { return parts_.fabric; }
  const std::vector<Share>& shares(int stage, const Item& item) override {
    return remember(&item, parts_.parts[at(stage)].shift, {0});
  }
  const std::vector<Share>& pair_shares(int boundary, const Item& item) override {
    return remember(&item, parts_.boundaries[at(boundary)].shift, {0, 1});
  }

 private:
  const std::vector<Share>& remember(const Item* item, Fabric::Id shift, const std::vector<int>& lanes) {
    const auto [it, fresh] = known_.try_emplace({item, shift});
    if (fresh) it->second = {{lanes, shifted(item->load, shift), item->scale}};
    return it->second;
  }
  const StepParts& parts_;
  struct Hash {
    std::size_t operator()(const std::pair<const Item*, Fabric::Id>& k) const {
      return (reinterpret_cast<std::size_t>(k.first) ^ k.second) * 0x9e3779b97f4a7c15u;
    }
  };
  std::unordered_map<std::pair<const Item*, Fabric::Id>, std::vector<Share>, Hash> known_;
};

class LanePerCore : public Layout {
 public:
  explicit LanePerCore(const StepParts& parts)
      : parts_(parts),
        placement_(topology::Placement::flat(parts.job.cluster)),
        fabric_(parts.job.cluster, parts.graph, placement_, parts.profile),
        lane_of_(at(parts.job.cluster.cores())) {
    for (int stage = 0; stage < parts.stages; ++stage) {
      groups_.push_back(parts.groups_of(stage));
      int lane = 0;
      for (int d = 0; d < parts.strategy.data_parallel; ++d) {
        for (int c = 0; c < parts.strategy.context_parallel; ++c) {
          for (int t = 0; t < parts.strategy.tensor_parallel; ++t) {
            lane_of_[at(parts.order.rank(stage, d, c, t))] = lane++;
          }
        }
      }
      lanes_ = lane;
    }
  }
  int lanes(int) const override { return lanes_; }
  const Fabric& fabric() const override { return fabric_; }

  const std::vector<Share>& shares(int stage, const Item& item) override {
    return remember(stage, item, [&](std::vector<Share>& shares) {
      for (const std::vector<int>& group : groups_[at(stage)].of(item.call.process_group)) {
        std::vector<int> lanes;
        for (const int r : group) lanes.push_back(lane_of_[at(r)]);
        shares.push_back({std::move(lanes), load_of(group, item.call), 0});
      }
    });
  }
  const std::vector<Share>& pair_shares(int boundary, const Item& item) override {
    return remember(-1 - boundary, item, [&](std::vector<Share>& shares) {
      for (const std::vector<int>& pair : parts_.pairs_of(boundary)) {
        shares.push_back(
            {{lane_of_[at(pair[0])], lanes_ + lane_of_[at(pair[1])]}, load_of(pair, item.call), 0});
      }
    });
  }

 private:
  template <class Fill>
  const std::vector<Share>& remember(int where, const Item& item, Fill&& fill) {
    const auto [it, fresh] = known_.try_emplace({where, item.call});
    if (fresh) fill(it->second);
    return it->second;
  }
  Fabric::Load load_of(const std::vector<int>& group, const Call& call) {
    Fabric::Load load = collective(fabric_, call.op, {group}, call.bytes).phases.at(call.phase).load;
    for (auto& [id, bytes] : load) bytes *= call.repeat;
    return load;
  }

  const StepParts& parts_;
  topology::Placement placement_;
  Fabric fabric_;
  std::vector<int> lane_of_;  ///< by rank, within its stage
  int lanes_ = 1;
  std::vector<StageGroups> groups_;
  std::map<std::pair<int, Call>, std::vector<Share>> known_;
};

using sim::TaskId;

/// Puts a step into a program, in the order of every queue.
class Emitter {
 public:
  Emitter(const StepParts& parts, Layout& layout, bool expand, bool segments, int micro_batches,
          PeriodFinder* period)
      : p_(parts),
        layout_(layout),
        expand_(expand),
        segments_(segments),
        micro_batches_(micro_batches),
        period_(period) {
    for (int s = 0; s < p_.stages; ++s) {
      for (int lane = 0; lane < layout_.lanes(s); ++lane) out_.program.add_device({});
    }
    if (p_.overlaps()) {
      const auto devices = static_cast<sim::DeviceId>(out_.program.devices().size());
      const double factor = p_.slowdown();
      for (sim::DeviceId d = 0; d < devices; ++d) {
        const sim::DeviceId engine = out_.program.add_device({});
        if (factor > 1) out_.program.add_slowdown(d, engine, factor);
      }
      engines_ = devices;
    }
    resource_of_.assign(layout_.fabric().size(), kNoResource);
    nothing_ = out_.program.add_flow({});
  }

  StepProgram run() {
    if (p_.blocking()) {
      blocking_micro_batches();
    } else {
      free_micro_batches();
    }
    end_of_step();
    return std::move(out_);
  }

 private:
  static constexpr sim::ResourceId kNoResource = 0xffffffffu;
  static constexpr int kAllStages = -0x7fffffff;
  using Source = StepProgram::Source;

  sim::DeviceId device(int stage, int lane) const {
    return static_cast<sim::DeviceId>(stage * layout_.lanes(stage) + lane);
  }

  /// Tags are places in `sources`; equal sources share one.
  std::uint32_t tag(const Source& s) {
    const auto [it, fresh] = tags_.try_emplace(s, static_cast<std::uint32_t>(out_.sources.size()));
    if (fresh) out_.sources.push_back(s);
    return it->second;
  }

  sim::FlowId flow_of(const Layout::Share& share) {
    if (share.load.empty()) return nothing_;
    const auto [it, fresh] = flows_.try_emplace(&share);
    if (!fresh) return it->second;
    std::vector<sim::Weight> weights;
    for (const auto& [id, bytes] : share.load) {
      sim::ResourceId& r = resource_of_[id];
      if (r == kNoResource) {
        r = out_.program.add_resource({}, layout_.fabric().capacity(id));
        out_.resources.push_back(id);
      }
      weights.push_back({r, bytes});
    }
    return it->second = out_.program.add_flow(std::move(weights), share.scale);
  }

  /// What is added from here on belongs to `action`.
  void segment(int stage, const StageAction& action) {
    if (segments_) out_.segments.push_back({static_cast<TaskId>(out_.program.tasks().size()), stage, action});
  }

  void work(int stage, const Item& item, const Source& source) {
    const std::uint32_t t = tag(source);
    for (int lane = 0; lane < layout_.lanes(stage); ++lane) {
      out_.program.add_work(device(stage, lane), item.length, t);
    }
  }

  /// `beside`: on the collective engines, not the compute queues.
  void transfer(int stage, const Item& item, const Source& source, bool overlapped = false) {
    const std::uint32_t t = tag(source);
    for (const Layout::Share& share : layout_.shares(stage, item)) {
      devices_.clear();
      for (const int lane : share.lanes)
        devices_.push_back(device(stage, lane) + (overlapped ? engines_ : 0));
      out_.program.add_transfer(devices_, flow_of(share), item.length, t);
    }
  }

  /// Compute queue and collective engine of each lane wait for each other.
  void join(int stage) {
    const std::uint32_t t = tag({nullptr, stage, 0, false, "join"});
    for (int lane = 0; lane < layout_.lanes(stage); ++lane) {
      const sim::DeviceId d = device(stage, lane);
      out_.program.add_transfer({d, d + engines_}, nothing_, {}, t);
    }
  }

  void chain(int stage, const Items& items, Source source) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Item& item = items[i];
      source.item = &item;
      const bool forks = item.overlapped && i + 1 < items.size();
      if (forks) join(stage);
      if (item.is_transfer()) {
        transfer(stage, item, source, forks);
      } else {
        work(stage, item, source);
      }
      if (i > 0 && items[i - 1].overlapped) join(stage);
    }
  }

  void pass(int stage, const Pass& pass, Source source) {
    if (!expand_) {
      source.item = &pass.whole;
      return work(stage, pass.whole, source);
    }
    if (pass.launch) {
      source.item = &*pass.launch;
      work(stage, *pass.launch, source);
    }
    for (const Chain& c : pass.chains) {
      for (int i = 0; i < c.times; ++i) chain(stage, *c.items, source);
    }
  }

  void compute(int stage, const StageAction& action) {
    using Kind = StageAction::Kind;
    const Chunk& chunk = p_.work(stage).chunks[at(action.chunk)];
    const bool forward = action.kind == Kind::forward, weights = action.kind == Kind::weights;
    pass(stage,
         forward   ? chunk.forward
         : weights ? chunk.weights
                   : chunk.backward,
         {nullptr, stage, action.chunk, true,
          forward   ? "forward"
          : weights ? "weights"
                    : "backward"});
  }

  /// A message that both its stages take part in: they meet.
  void message(int boundary, const Items& items, const char* label) {
    for (const Item& item : items) {
      const std::uint32_t t = tag({&item, -1 - boundary, 0, false, label});
      for (const Layout::Share& share : layout_.pair_shares(boundary, item)) {
        const int lanes = layout_.lanes(boundary);
        devices_.clear();
        for (const int lane : share.lanes) {
          devices_.push_back(lane < lanes ? device(boundary, lane) : device(boundary + 1, lane - lanes));
        }
        out_.program.add_transfer(devices_, flow_of(share), item.length, t);
      }
    }
  }

  /// 1F1B. A message goes in when both its stages have reached it, so that the order of every
  /// queue is the order of its schedule.
  void blocking_micro_batches() {
    using Kind = StageAction::Kind;
    std::vector<std::vector<StageAction>> actions;
    for (int s = 0; s < p_.stages; ++s) {
      actions.push_back(one_f_one_b(s, p_.stages, micro_batches_));
    }
    std::vector<std::size_t> next(actions.size(), 0);
    const auto waits_for = [&](std::size_t stage, StageAction action) {
      return next[stage] < actions[stage].size() && actions[stage][next[stage]] == action;
    };
    if (period_ != nullptr) period_->start(actions, p_.chunks() > 1 ? p_.stages : 1);
    bool progress = true;
    while (progress) {
      if (period_ != nullptr) period_->wave(next, out_.program.tasks().size());
      progress = false;
      for (std::size_t s = 0; s < actions.size(); ++s) {
        while (next[s] < actions[s].size()) {
          const StageAction action = actions[s][next[s]];
          const bool computes =
              action.kind == Kind::forward || action.kind == Kind::backward || action.kind == Kind::weights;
          const int stage = static_cast<int>(s);
          if (computes) {
            segment(stage, action);
            compute(stage, action);
          } else if (action.kind == Kind::activation_up &&
                     waits_for(s + 1, {Kind::activation_down, action.micro_batch})) {
            segment(stage, action);
            message(stage, *p_.boundaries[s].activation, "activation");
            ++next[s + 1];
          } else if (action.kind == Kind::gradient_up &&
                     waits_for(s + 1, {Kind::gradient_down, action.micro_batch})) {
            segment(stage, action);
            message(stage, *p_.boundaries[s].gradient, "gradient");
            ++next[s + 1];
          } else {
            break;  // the neighbour is not there yet; it will emit the message or let us
          }
          ++next[s];
          progress = true;
        }
      }
    }
    for (std::size_t s = 0; s < actions.size(); ++s) {
      if (next[s] < actions[s].size()) throw std::logic_error("the pipeline schedule deadlocks");
    }
  }

  /// Interleaved and zero bubble: messages run from the end of what makes them to the start of what needs
  /// them, and occupy both queues for as long.
  void free_micro_batches() {
    using Kind = StageAction::Kind;
    std::vector<std::vector<StageAction>> actions;
    for (int s = 0; s < p_.stages; ++s) {
      actions.push_back(p_.chunks() > 1 ? interleaved(s, p_.stages, p_.chunks(), micro_batches_)
                                        : zero_bubble(s, p_.stages, micro_batches_));
    }
    std::vector<std::size_t> next(actions.size(), 0);
    if (period_ != nullptr) period_->start(actions, p_.chunks() > 1 ? p_.stages : 1);
    bool progress = true;
    while (progress) {
      if (period_ != nullptr) period_->wave(next, out_.program.tasks().size());
      progress = false;
      for (int s = 0; s < p_.stages; ++s) {
        auto& mine = actions[at(s)];
        while (next[at(s)] < mine.size()) {
          const StageAction action = mine[next[at(s)]];
          if (action.kind == Kind::weights) {
            segment(s, action);
            compute(s, action);
            ++next[at(s)];
            progress = true;
            continue;
          }
          const bool forward = action.kind == Kind::forward;
          const int part = action.chunk * p_.stages + s;  // of the model
          const int source = forward ? part - 1 : part + 1;
          const bool has_source = source >= 0 && source < p_.chunks() * p_.stages;
          const Key from{forward, source, action.micro_batch};
          if (has_source && !made_.contains(from)) break;
          segment(s, action);
          const auto start = static_cast<TaskId>(out_.program.tasks().size());
          const int goal = forward ? part + 1 : part - 1;
          const bool has_goal = goal >= 0 && goal < p_.chunks() * p_.stages;
          if (has_source) occupy(s, std::min(source, part), forward);
          const auto begin = static_cast<TaskId>(out_.program.tasks().size());
          compute(s, action);
          // A send starts when it is launched; the receiver's pass waits for it, its queue does not.
          if (has_goal) work(s, p_.message_launch, {&p_.message_launch, s, 0, false, "launch"});
          if (has_source) deliver(from, forward, std::min(source, part), s, begin);
          std::vector<TaskId>& ends = made_[{forward, part, action.micro_batch}];
          ends = last_of_lanes(s, start);
          if (has_goal) hold(s, std::min(goal, part), forward);
          ++next[at(s)];
          progress = true;
        }
      }
    }
    for (std::size_t s = 0; s < actions.size(); ++s) {
      if (next[s] < actions[s].size()) throw std::logic_error("the pipeline schedule deadlocks");
    }
  }

  /// The receive is a graph of its own.
  void occupy(int stage, int below, bool activation) {
    work(stage, p_.message_launch, {&p_.message_launch, stage, 0, false, "launch"});
    hold(stage, below, activation);
  }
  /// The queue of a stage while the message over the boundary above part `below` of the model passes.
  void hold(int stage, int below, bool activation) {
    const Item& item = p_.hold(below % p_.stages, activation);
    work(stage, item, {&item, stage, 0, false, "hold"});
  }

  struct Key {
    bool forward;
    int part, micro_batch;
    auto operator<=>(const Key&) const = default;
  };

  /// The last task of each lane of a stage among those from `start` on.
  std::vector<TaskId> last_of_lanes(int stage, TaskId start) const {
    return of_lanes(stage, start, [](TaskId& known, TaskId t) { known = t; });
  }
  std::vector<TaskId> first_of_lanes(int stage, TaskId start) const {
    return of_lanes(stage, start, [](TaskId& known, TaskId t) {
      if (known == sim::Run::kNone) known = t;
    });
  }
  template <class Note>
  std::vector<TaskId> of_lanes(int stage, TaskId start, Note&& note) const {
    std::vector<TaskId> tasks(at(layout_.lanes(stage)), sim::Run::kNone);
    const sim::Program& program = out_.program;
    for (TaskId t = start; t < program.tasks().size(); ++t) {
      const sim::Task& task = program.tasks()[t];
      for (std::uint32_t i = 0; i < task.device_count; ++i) {
        const sim::DeviceId d = program.task_devices()[task.first_device + i];
        if (d >= device(stage, 0) && d < device(stage, 0) + tasks.size())
          note(tasks[d - device(stage, 0)], t);
      }
    }
    return tasks;
  }

  /// The message over the boundary above part `below` of the model, to the pass that starts with `start`.
  void deliver(const Key& from, bool forward, int below, int stage, TaskId start) {
    const std::vector<TaskId> senders = made_.at(from);
    const std::vector<TaskId> receivers = first_of_lanes(stage, start);
    made_.erase(from);
    const int boundary = below % p_.stages;
    const Boundary& b = p_.boundaries[at(boundary)];
    std::vector<TaskId> before = senders;
    for (const Item& item : forward ? *b.activation : *b.gradient) {
      const std::uint32_t t = tag({&item, -1 - boundary, 0, false, forward ? "activation" : "gradient"});
      for (const Layout::Share& share : layout_.pair_shares(boundary, item)) {
        const int lanes = layout_.lanes(boundary);
        const int lower = share.lanes.front() % lanes, upper = share.lanes.back() % lanes;
        const TaskId task = out_.program.add_transfer({}, flow_of(share), item.length, t);
        out_.program.add_dependency(before[at(forward ? lower : upper)], task);
        out_.program.add_dependency(task, receivers[at(forward ? upper : lower)]);
      }
    }
  }

  void end_of_step() {
    std::vector<sim::DeviceId> all;
    segment(0, {StageAction::Kind::weights, -1});
    for (int s = 0; s < p_.stages; ++s) {
      for (int lane = 0; lane < layout_.lanes(s); ++lane) all.push_back(device(s, lane));
      const Source source{nullptr, s, 0, false, "end"};
      for (const Items* items :
           {&p_.work(s).gradients_to_norms, &p_.work(s).context_reduce, &p_.work(s).reduce}) {
        chain(s, *items, source);
      }
    }
    out_.program.add_transfer(all, nothing_, p_.barrier.length,
                              tag({&p_.barrier, kAllStages, 0, false, "end"}));
    for (int s = 0; s < p_.stages; ++s) {
      const StageWork& w = p_.work(s);
      work(s, w.optimizer, {&w.optimizer, s, 0, false, "end"});
      chain(s, w.gather, {nullptr, s, 0, false, "end"});
      work(s, w.end, {&w.end, s, 0, false, "end"});
    }
  }

  const StepParts& p_;
  Layout& layout_;
  bool expand_, segments_;
  int micro_batches_;
  PeriodFinder* period_;  ///< or null
  StepProgram out_;
  sim::DeviceId engines_ = 0;  ///< what a compute queue's number differs by from its collective engine's
  sim::FlowId nothing_ = 0;
  std::vector<sim::ResourceId> resource_of_;
  struct TagHash {
    std::size_t operator()(const Source& k) const {
      const auto mix = [](std::size_t h, std::size_t v) { return (h ^ v) * 0x9e3779b97f4a7c15u; };
      return mix(mix(mix(0, reinterpret_cast<std::size_t>(k.item)), static_cast<std::size_t>(k.stage)),
                 static_cast<std::size_t>(k.chunk) ^ reinterpret_cast<std::size_t>(k.label));
    }
  };
  // Asked for single entries, never walked: their order is nobody's.
  std::unordered_map<const Layout::Share*, sim::FlowId> flows_;
  std::unordered_map<Source, std::uint32_t, TagHash> tags_;
  std::map<Key, std::vector<TaskId>>
      made_;  ///< interleaved: ends of passes whose result is not delivered yet
  std::vector<sim::DeviceId> devices_;
};

}  // namespace

std::unique_ptr<Layout> lane_per_stage(const StepParts& parts) {
  return std::make_unique<LanePerStage>(parts);
}

std::unique_ptr<Layout> lane_per_core(const StepParts& parts) {
  return std::make_unique<LanePerCore>(parts);
}

StepProgram make_program(const StepParts& parts, Layout& layout, bool expand, bool segments) {
  return Emitter(parts, layout, expand, segments, parts.micro_batches, nullptr).run();
}

StepProgram make_program_of(int micro_batches, const StepParts& parts, Layout& layout, bool expand,
                            bool segments) {
  PeriodFinder period;
  StepProgram program = Emitter(parts, layout, expand, segments, micro_batches, &period).run();
  std::tie(program.repeats, program.micro_batches_of_period) = period.find();
  return program;
}

SimTime beyond_fixed(const sim::Program& program, const sim::Run& run, sim::TaskId t) {
  return run.ended[t] - run.started[t] - program.tasks()[t].fixed;
}

ChainRun run_chain(const Fabric& fabric, const Items& chain, double slowdown) {
  sim::Program program;
  program.add_device({});
  program.add_device({});
  if (slowdown > 1) program.add_slowdown(0, 1, slowdown);
  const sim::FlowId nothing = program.add_flow({});
  std::map<Fabric::Id, sim::ResourceId> resources;
  constexpr std::uint32_t kJoin = 0xffffffffu;
  const auto join = [&] { program.add_transfer({0, 1}, nothing, {}, kJoin); };
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Item& item = chain[i];
    const bool forks = item.overlapped && i + 1 < chain.size();
    if (forks) join();
    if (item.is_transfer()) {
      std::vector<sim::Weight> weights;
      for (const auto& [id, bytes] : item.load) {
        const auto [it, fresh] = resources.try_emplace(id);
        if (fresh) it->second = program.add_resource({}, fabric.capacity(id));
        weights.push_back({it->second, bytes});
      }
      program.add_transfer({forks ? 1u : 0u}, program.add_flow(std::move(weights), item.scale), item.length,
                           static_cast<std::uint32_t>(i));
    } else {
      program.add_work(0, item.length, static_cast<std::uint32_t>(i));
    }
    if (i > 0 && chain[i - 1].overlapped) join();
  }
  const sim::Run run = sim::execute(program);
  ChainRun out;
  out.length = run.end;
  out.spans.resize(chain.size());
  for (sim::TaskId t = 0; t < program.tasks().size(); ++t) {
    const std::uint32_t item = program.tasks()[t].tag;
    if (item == kJoin) continue;
    const bool overlapped = program.task_devices()[program.tasks()[t].first_device] == 1;
    out.spans[item] = {run.started[t], run.ended[t], overlapped};
  }
  for (const sim::TaskId t : run.critical_path()) {
    if (program.tasks()[t].tag == kJoin) continue;
    const Item& item = chain[program.tasks()[t].tag];
    out.attribution.add(item.fixed);
    attribute_beyond(out.attribution, item, beyond_fixed(program, run, t), slowdown);
  }
  return out;
}

}  // namespace trnplan::models
