#include "models/step_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>

#include "models/memory.h"
#include "models/schedule.h"
#include "models/step.h"
#include "models/step_parts.h"

namespace trnplan::models {

namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

/// What the queue of a stage holds per micro-batch; messages that occupy both their stages are each one's
/// own.
SimTime own(const StepCosts& c, int i, bool blocking) {
  SimTime t = c.stages[at(i)].each;
  if (!blocking) return t;
  if (i > 0) t += c.boundaries[at(i - 1)].activation + c.boundaries[at(i - 1)].gradient;
  if (i + 1 < static_cast<int>(c.stages.size()))
    t += c.boundaries[at(i)].activation + c.boundaries[at(i)].gradient;
  return t;
}

SimTime longest_tail(const StepCosts& c) {
  SimTime tail;
  for (const StageCost& s : c.stages) tail = std::max(tail, s.tail);
  return tail;
}

}  // namespace

SimTime step_bound(const StepCosts& c, bool blocking, bool drains) {
  SimTime most, before, drain;
  const int count = static_cast<int>(c.stages.size());
  for (int i = 0; i < count; ++i) {
    const StageCost& stage = c.stages[at(i)];
    most = std::max(most, before + own(c, i, blocking) * c.micro_batches +
                              std::max(stage.reduce, drains ? drain : SimTime{}));
    before += stage.up;
    drain = std::max(drain, stage.reduce) + stage.down;
    if (i > 0) {  // the message above is on the next stage's own queue
      before += c.boundaries[at(i - 1)].activation;
      drain += c.boundaries[at(i - 1)].gradient;
    }
  }
  return most + c.barrier + longest_tail(c);
}

namespace {

/// 1F1B of `m` micro-batches.
class Pipeline {
 public:
  Pipeline(const StepCosts& c, int m) : c_(c), count_(static_cast<int>(c.stages.size())), m_(m) {
    for (int s = 0; s < count_; ++s) actions_.push_back(one_f_one_b(s, count_, m));
    next_.assign(at(count_), 0);
    now_.assign(at(count_), SimTime{});
    ended_.assign(at(count_ * m) * 2, SimTime{});
    for (bool progress = true; progress;) {
      progress = false;
      for (int s = 0; s < count_; ++s) progress |= run(s);
    }
  }

  SimTime reduced() const {
    SimTime last;
    for (int s = 0; s < count_; ++s) last = std::max(last, now_[at(s)] + c_.stages[at(s)].reduce);
    return last;
  }

  /// What every further micro-batch adds, when that is settled: when through some rounds in a row, while all
  /// stages go forward and backward in turn, everything ends the same time later. What a stage does in a
  /// round depends on nothing but rounds before it by two at most, and always in the same way, so it then
  /// stays so.
  std::optional<SimTime> period() const {
    constexpr int kRounds = 5;
    const int last = m_ - count_;  // the first stage's last round with a forward pass
    if (last - kRounds < 0) return std::nullopt;
    const SimTime each = ended(0, true, last) - ended(0, true, last - 1);
    for (int s = 0; s < count_; ++s) {
      const int ahead = count_ - 1 - s;
      for (int round = last; round > last - kRounds; --round) {
        if (ended(s, true, round) - ended(s, true, round - 1) != each) return std::nullopt;
        if (ended(s, false, round + ahead) - ended(s, false, round + ahead - 1) != each) return std::nullopt;
      }
    }
    return each;
  }

 private:
  using Kind = StageAction::Kind;

  std::size_t place(int stage, bool backward, int micro_batch) const {
    return (at(stage) * at(m_) + at(micro_batch)) * 2 + (backward ? 1 : 0);
  }
  SimTime ended(int stage, bool backward, int micro_batch) const {
    return ended_[place(stage, backward, micro_batch)];
  }

  /// As far as the stage can go.
  bool run(int s) {
    bool progress = false;
    for (; next_[at(s)] < actions_[at(s)].size(); progress = true) {
      const StageAction a = actions_[at(s)][next_[at(s)]];
      if (a.kind == Kind::forward || a.kind == Kind::backward) {
        const bool backward = a.kind == Kind::backward;
        now_[at(s)] += backward ? c_.stages[at(s)].down : c_.stages[at(s)].up;
        ended_[place(s, backward, a.micro_batch)] = now_[at(s)];
        ++next_[at(s)];
      } else if (a.kind == Kind::activation_up && meets(s + 1, {Kind::activation_down, a.micro_batch})) {
        pass(s, c_.boundaries[at(s)].activation);
      } else if (a.kind == Kind::gradient_up && meets(s + 1, {Kind::gradient_down, a.micro_batch})) {
        pass(s, c_.boundaries[at(s)].gradient);
      } else {
        break;  // the neighbour is not there yet, or will let us pass
      }
    }
    return progress;
  }

  bool meets(int stage, StageAction with) const {
    return next_[at(stage)] < actions_[at(stage)].size() && actions_[at(stage)][next_[at(stage)]] == with;
  }
  void pass(int below, SimTime length) {
    now_[at(below)] = now_[at(below + 1)] = std::max(now_[at(below)], now_[at(below + 1)]) + length;
    ++next_[at(below)];
    ++next_[at(below + 1)];
  }

  const StepCosts& c_;
  int count_, m_;
  std::vector<std::vector<StageAction>> actions_;
  std::vector<std::size_t> next_;
  std::vector<SimTime> now_, ended_;
};

}  // namespace

SimTime pipeline_time(const StepCosts& c) {
  const int stages = static_cast<int>(c.stages.size());
  const SimTime end = c.barrier + longest_tail(c);
  for (int few = 3 * stages + 8; 2 * few < c.micro_batches; few *= 2) {
    const Pipeline start(c, few);
    if (const auto each = start.period()) return start.reduced() + *each * (c.micro_batches - few) + end;
  }
  return Pipeline(c, c.micro_batches).reduced() + end;
}

namespace {

SimTime work(const OperatorList& list) {
  SimTime t;
  for (const Operator& o : list) {
    if (o.scope == Scope::none) t += to_sim_time(o.seconds);
  }
  return t;
}

/// Groups of one shape: what runs on them takes the same time wherever they are.
class GroupClass {
 public:
  GroupClass(const StepLayout& layout, StageGroups groups)
      : layout_(layout), groups_(std::move(groups)), operator_items_(layout.fabric, groups_) {}
  GroupClass(const GroupClass&) = delete;
  GroupClass& operator=(const GroupClass&) = delete;

  SimTime time(const Call& call) {
    const Groups& groups = groups_.of(call.scope);
    return time(call, groups);
  }

  SimTime time(const Call& call, const Groups& groups) {
    if (groups.empty()) return {};
    const auto [it, fresh] = times_.try_emplace({call.op, call.scope, call.bytes.value, call.repeat});
    if (fresh) {
      try {
        it->second =
            uncontended(transfer_items(layout_.fabric, "", Category::overhead,
                                       collective(layout_.fabric, call.op, groups, call.bytes), call));
      } catch (...) {
        times_.erase(it);
        throw;
      }
    }
    return it->second;
  }

  const StageGroups& groups() const { return groups_; }

  /// Of operators of which some run at the same time: what overlaps is put on the engine, the rest adds up.
  SimTime time(const OperatorList& list, double slowdown) {
    SimTime t;
    for (std::size_t i = 0; i < list.size();) {
      std::size_t end = i;
      while (end < list.size() && list[end].beside) ++end;
      if (end == i) {
        t += time(list[i++]);
        continue;
      }
      end = std::min(end + 1, list.size());  // with the work beside it
      const OperatorList part(list.begin() + static_cast<std::ptrdiff_t>(i),
                              list.begin() + static_cast<std::ptrdiff_t>(end));
      t += run_chain(layout_.fabric, operator_items_.of(part), slowdown).length;
      i = end;
    }
    return t;
  }

  SimTime time(const Operator& o) {
    return o.scope == Scope::none ? to_sim_time(o.seconds) : time({o.scope, o.op, o.bytes, o.repeat, 0});
  }

  /// What the layers of one micro-batch take, and what is before and after them.
  struct Chains {
    SimTime layer, layer_back, embedding, embedding_back, head, head_back;
  };
  using Key = std::tuple<int, bool, Recompute, bool, Precision>;
  std::map<Key, Chains> chains;

 private:
  const StepLayout& layout_;
  StageGroups groups_;
  OperatorItems operator_items_;
  std::map<std::tuple<CollectiveOp, Scope, double, int>, SimTime> times_;
};

/// One set of degrees on the cluster.
struct Ranks {
  StepLayout layout;
  std::vector<GroupClass*> inside;  ///< of each stage: groups that layers use
  std::vector<GroupClass*> across;  ///< and groups over which gradients are reduced
  std::vector<GroupClass*> borders;
  using FinishKey = std::tuple<GroupClass*, GroupClass*, bool, bool, int, bool, bool, Precision, int>;
  struct Finish {
    SimTime reduce, tail;
  };
  std::map<FinishKey, Finish> finish;

  /// True when a stage has groups like those of the stage below.
  bool like_below(int stage) const {
    return inside[at(stage)] == inside[at(stage - 1)] && across[at(stage)] == across[at(stage - 1)];
  }

  Ranks(const Job& job, const Strategy& s, const Profile& profile, const topology::ChipGraph& graph)
      : layout(job, s, profile, graph) {}
};

}  // namespace

struct StepBounds::State {
  const Job& job;
  const Profile& off_stack;  ///< as given; layouts put it on the job's stack themselves
  const Profile profile;     ///< on the job's stack
  const topology::ChipGraph& graph;
  std::map<std::vector<int>, GroupClass> classes;
  std::map<std::array<int, 6>, std::unique_ptr<Ranks>> layouts;

  /// What a stage of a strategy is put together from.
  struct Parts {
    const Strategy& s;
    Ranks& ranks;
    LayerModel model;
    int micro_batches, stages;
    SimTime launch, forward_launch, backward_launch, barrier;
    std::vector<BoundaryCost> boundaries;

    bool pipelined() const { return stages > 1; }
  };

  GroupClass* intern(std::vector<int> key, const StepLayout& layout, StageGroups groups) {
    return &classes.try_emplace(std::move(key), layout, std::move(groups)).first->second;
  }

  Ranks& ranks_of(const Strategy& s) {
    const std::array<int, 6> key = {s.tensor_parallel, s.context_parallel,  s.expert_parallel,
                                    s.data_parallel,   s.pipeline_parallel, s.kv_replicator};
    const auto it = layouts.find(key);
    if (it != layouts.end()) return *it->second;
    auto ranks = std::make_unique<Ranks>(job, s, off_stack, graph);
    const StepLayout& layout = ranks->layout;
    for (int stage = 0; stage < layout.stages; ++stage) {
      const int cls = layout.class_of(stage);
      StageGroups groups = layout.representative(stage), rest;
      std::vector<int> inside{0}, across{1};
      for (const Groups* g : {&groups.tensor, &groups.kv, &groups.context, &groups.expert})
        layout.add_key(inside, *g, cls);
      for (Groups StageGroups::*g : {&StageGroups::data, &StageGroups::replicas, &StageGroups::expert_data}) {
        layout.add_key(across, groups.*g, cls);
        rest.*g = std::move(groups.*g);
        (groups.*g).clear();
      }
      ranks->inside.push_back(intern(std::move(inside), layout, std::move(groups)));
      ranks->across.push_back(intern(std::move(across), layout, std::move(rest)));
    }
    for (int b = 0; b < layout.stages && layout.stages > 1; ++b) {  // the last joins its ends
      StageGroups pairs;  // as tensor groups: a class asks for no more than a name
      pairs.tensor = layout.pairs_of(b);
      const int cls = layout.placement.class_of_rank(pairs.tensor.front().front());
      layout.keep_representative(pairs.tensor);
      std::vector<int> border{2};
      layout.add_key(border, pairs.tensor, cls);
      ranks->borders.push_back(intern(std::move(border), layout, std::move(pairs)));
    }
    return *layouts.emplace(key, std::move(ranks)).first->second;
  }

  SimTime chain(GroupClass& on, const OperatorList& list, const Strategy& s) const {
    return on.time(list, overlaps(s) ? profile[Parameter::overlap_slowdown] : 1);
  }

  const GroupClass::Chains& chains(GroupClass& on, const Parts& p) const {
    const Strategy& s = p.s;
    const GroupClass::Key key{s.micro_batch, s.sequence_parallel, s.recompute, s.flash_attention,
                              s.precision};
    const auto it = on.chains.find(key);
    if (it != on.chains.end()) return it->second;
    GroupClass::Chains c;
    c.layer = chain(on, p.model.layer_forward(), s);
    c.layer_back = chain(on, p.model.layer_backward(), s);
    c.embedding = chain(on, p.model.embedding_forward(), s);
    c.embedding_back = chain(on, p.model.embedding_backward(), s);
    c.head = chain(on, p.model.head_forward(), s);
    c.head_back = chain(on, p.model.head_backward(), s);
    return on.chains.emplace(key, c).first->second;
  }

  Parts parts_of(const Strategy& s, int micro_batches) {
    if (micro_batches < 1) throw std::invalid_argument("a step has at least one micro-batch");
    Parts p{s,  ranks_of(s), LayerModel(job, s, profile), micro_batches, s.pipeline_parallel, {}, {}, {},
            {}, {}};
    const auto start = [&](Parameter launch) {
      return graph_start("", Category::overhead, launch, job, profile).length;
    };
    const SimTime task = start(Parameter::task_launch);
    p.launch = task;
    p.forward_launch = p.pipelined() ? task : start(Parameter::graph_launch);
    p.backward_launch = p.pipelined() ? task : SimTime{};
    p.barrier = make_barrier(job, s, profile).uncontended();
    for (GroupClass* border : p.ranks.borders) {
      const auto message = [&](Bytes bytes) {
        const SimTime t =
            border->time({Scope::pipeline, CollectiveOp::send_recv, bytes, 1, 0}, border->groups().tensor);
        return blocks(s, Schedule::nxd) ? t + task : t;
      };
      p.boundaries.push_back(
          {message(p.model.boundary() + p.model.pass_along()), message(p.model.boundary())});
    }
    return p;
  }

  SimTime accumulate(const Parts& p, int stage, int layers) const {
    return work(
        p.model.accumulate(stage_parameters(job.architecture, p.s, stage, layers) / p.s.virtual_pipeline));
  }

  const Ranks::Finish& finish(const Parts& p, int stage, int layers) const {
    const Strategy& s = p.s;
    GroupClass *inside = p.ranks.inside[at(stage)], *across = p.ranks.across[at(stage)];
    const Ranks::FinishKey key{
        inside,  across,      stage == 0, stage == p.stages - 1, layers, s.sequence_parallel,
        s.zero1, s.precision, s.bucket_mb};
    const auto it = p.ranks.finish.find(key);
    if (it != p.ranks.finish.end()) return it->second;
    const EndOfStep end = end_of_step(job, s, profile, p.model, stage, layers);
    const auto time = [&](const std::vector<EndCall>& calls) {
      SimTime t;
      for (const EndCall& c : calls) {
        const bool layer_groups = c.call.scope == Scope::tensor || c.call.scope == Scope::context;
        GroupClass* on = layer_groups ? inside : across;
        if (!on->groups().of(c.call.scope).empty()) t += on->time(c.call) + to_sim_time(c.buckets);
      }
      return t;
    };
    const SimTime update =
        to_sim_time(end.optimizer.seconds) + to_sim_time(Seconds(profile[Parameter::step_overhead]));
    const Ranks::Finish f{time(end.norms) + time(end.context) + time(end.reduce), update + time(end.gather)};
    return p.ranks.finish.emplace(key, f).first->second;
  }

  /// A stage whose chunks have `layers`.
  StageCost cost(const Parts& p, int stage, const int* layers) const {
    const int chunks = p.s.virtual_pipeline, last_part = p.stages * chunks - 1;
    const GroupClass::Chains& c = chains(*p.ranks.inside[at(stage)], p);
    const bool blocking = blocks(p.s, Schedule::nxd);
    int sum = 0;
    for (int chunk = 0; chunk < chunks; ++chunk) sum += layers[chunk * p.stages];
    const SimTime add = accumulate(p, stage, sum);
    StageCost cost;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const int part = chunk * p.stages + stage, own = layers[chunk * p.stages];
      SimTime up = p.forward_launch + c.layer * own, down = p.backward_launch + c.layer_back * own + add;
      if (part == 0) {
        up += c.embedding;
        down += c.embedding_back;
      }
      if (part == last_part) {
        up += c.head;
        down += c.head_back;
      }
      for (const int below : {part - 1, part}) {
        if (blocking || below < 0 || below + 1 > last_part) continue;
        const BoundaryCost& b = p.boundaries[at(below % p.stages)];
        cost.each += p.launch * 2 + b.activation + b.gradient;
      }
      cost.each += up + down;
      if (chunk == 0) {
        cost.up = up;
        cost.down = down;
      }
    }
    const Ranks::Finish& end = finish(p, stage, sum);
    cost.reduce = end.reduce;
    cost.tail = end.tail;
    return cost;
  }

  StepCosts costs(const Parts& p, const std::vector<int>& layers) const {
    StepCosts c{std::vector<StageCost>(at(p.stages)), p.boundaries, p.barrier, p.micro_batches};
    for (int i = 0; i < p.stages; ++i) {
      const bool same = i > 1 && i < p.stages - 1 && p.s.virtual_pipeline == 1 &&
                        layers[at(i)] == layers[at(i - 1)] && p.ranks.like_below(i);
      c.stages[at(i)] = same ? c.stages[at(i - 1)] : cost(p, i, &layers[at(i)]);
    }
    return c;
  }

  SimTime bound(const Parts& p, const std::vector<int>& layers) const {
    return step_bound(costs(p, layers), blocks(p.s, Schedule::nxd), true);
  }

  /// The best of all ways to move one layer, again and again. What bounds rule out is not timed.
  void move_layers(const Parts& p, const std::vector<int>& most, std::vector<int>& layers,
                   SimTime& time) const {
    for (bool better = true; better;) {
      better = false;
      const std::vector<int> from = layers;
      for (int a = 0; a < p.stages; ++a) {
        for (int b = 0; b < p.stages; ++b) {
          std::vector<int> moved = from;
          if (a == b || --moved[at(a)] < 1 || ++moved[at(b)] > most[at(b)]) continue;
          const StepCosts c = costs(p, moved);
          if (step_bound(c, true, true) >= time) continue;
          const SimTime t = pipeline_time(c);
          if (t >= time) continue;
          time = t;
          layers = std::move(moved);
          better = true;
        }
      }
    }
  }
};

StepBounds::StepBounds(const Job& job, const Profile& profile, const topology::ChipGraph& graph)
    : state_(new State{job, profile, on_job(profile, job), graph, {}, {}}) {}

StepBounds::~StepBounds() = default;

SimTime StepBounds::lower_bound(const Strategy& s, int micro_batches) {
  return state_->bound(state_->parts_of(s, micro_batches), layers_per_chunk(state_->job.architecture, s));
}

SimTime StepBounds::without_contention(const Strategy& s, int micro_batches) {
  if (s.virtual_pipeline > 1) return lower_bound(s, micro_batches);
  const State::Parts p = state_->parts_of(s, micro_batches);
  return pipeline_time(state_->costs(p, layers_per_stage(state_->job.architecture, s)));
}

SimTime compute_bound(const Job& job, const Strategy& s, const Profile& profile, int micro_batches) {
  const Profile scaled = on_job(profile, job);
  const LayerModel model(job, s, scaled);
  const std::vector<int> layers = layers_per_chunk(job.architecture, s);
  const int stages = s.pipeline_parallel;
  const SimTime layer = work(model.layer_forward()) + work(model.layer_backward());
  SimTime most;
  for (int i = 0; i < stages; ++i) {
    int sum = 0;
    for (std::size_t k = at(i); k < layers.size(); k += at(stages)) sum += layers[k];
    SimTime once = layer * sum + work(model.accumulate(stage_parameters(job.architecture, s, i, sum)));
    if (i == 0) once += work(model.embedding_forward()) + work(model.embedding_backward());
    if (i == stages - 1) once += work(model.head_forward()) + work(model.head_backward());
    most = std::max(most, once * micro_batches);
  }
  return most;
}

namespace {

/// The smallest bound over all ways to share layers out over stages: a dynamic programme over the stages,
/// from the last one down, whose state is how many layers lie below. `known` is a bound some way reaches;
/// ways above it are not looked at.
class LayerSplit {
 public:
  struct Costs {
    std::vector<SimTime> before, after;      ///< of stages without layers
    SimTime up, down;                        ///< of a layer
    std::vector<std::vector<SimTime>> body;  ///< [stage][layers]
    std::function<SimTime(int stage, int layers)> finish;
    std::vector<int> most;
    int layers;
  };

  explicit LayerSplit(const Costs& costs) : c_(costs), stages_(static_cast<int>(costs.before.size())) {}

  /// Layers per stage, and their bound in `known`; empty when no way is better than `known`.
  std::vector<int> improve(SimTime& known) {
    std::vector<int> best;
    for (int first = 1; first <= c_.most[0] && first <= c_.layers - (stages_ - 1); ++first) {
      const SimTime end = c_.finish(0, first);
      const SimTime own = c_.body[0][at(first)] + end;
      if (own >= known) break;
      if (!set_windows(first, known)) continue;
      const SimTime rest = fill(end, known);
      const SimTime all = std::max(own, rest);
      if (all >= known) continue;
      known = all;
      best = {first};
      for (int i = 1, below = first; i < stages_; ++i) {
        best.push_back(choice(i, below));
        below += best.back();
      }
    }
    return best;
  }

 private:
  static constexpr SimTime kNever{std::numeric_limits<std::int64_t>::max()};

  struct Window {
    int low = 0, high = -1;  ///< layers below the stage
    std::vector<SimTime> best;
    std::vector<int> choice;
  };

  /// Layers that may lie below each stage; false when the layers have no place.
  bool set_windows(int first, SimTime known) {
    std::vector<int> most(at(stages_));
    for (int i = 1; i < stages_; ++i) {
      int l = c_.most[at(i)];
      while (l > 0 &&
             c_.before[at(i)] + c_.up * (first + i - 1) + c_.body[at(i)][at(l)] + c_.finish(i, l) >= known)
        --l;
      if (l == 0) return false;
      most[at(i)] = l;
    }
    windows_.assign(at(stages_ + 1), {});
    int low = c_.layers, high = first;
    for (int i = stages_; i >= 1; --i) {
      windows_[at(i)].low = std::max(first + i - 1, low);
      if (i > 1) low -= most[at(i - 1)];
    }
    for (int i = 1; i <= stages_; ++i) {
      windows_[at(i)].high = std::min(high, c_.layers - (stages_ - i));
      if (i < stages_) high += most[at(i)];
      if (windows_[at(i)].low > windows_[at(i)].high) return false;
    }
    most_ = std::move(most);
    return true;
  }

  SimTime fill(SimTime end, SimTime known) {
    Window& last = windows_[at(stages_)];
    if (last.low > c_.layers || last.high < c_.layers) return kNever;
    last.low = last.high = c_.layers;
    last.best = {SimTime{}};
    for (int i = stages_ - 1; i >= 1; --i) {
      Window& w = windows_[at(i)];
      const Window& next = windows_[at(i + 1)];
      w.best.assign(at(w.high - w.low + 1), kNever);
      w.choice.assign(w.best.size(), 0);
      const int even = c_.layers / stages_;
      for (int below = w.low; below <= w.high; ++below) {
        const SimTime before = c_.before[at(i)] + c_.up * below;
        const SimTime drain = c_.after[at(i)] + c_.down * below + end;
        SimTime& best = w.best[at(below - w.low)];
        // The even share first, then by distance from it: among equals the nearest stays.
        for (int step = 0; step <= 2 * c_.layers; ++step) {
          const int l = even + (step % 2 == 0 ? step / 2 : -(step + 1) / 2);
          if (even - (step + 1) / 2 < 1 && even + step / 2 > most_[at(i)]) break;
          if (l < 1 || l > most_[at(i)] || below + l < next.low || below + l > next.high) continue;
          const SimTime above = next.best[at(below + l - next.low)];
          if (above >= known) continue;
          const SimTime here = before + c_.body[at(i)][at(l)] + std::max(c_.finish(i, l), drain);
          const SimTime all = std::max(here, above);
          if (all < best && all < known) {
            best = all;
            w.choice[at(below - w.low)] = l;
          }
        }
      }
    }
    const Window& second = windows_[1];
    return second.best.empty() ? kNever : second.best[at(windows_[1].low - second.low)];
  }

  int choice(int stage, int below) const {
    const Window& w = windows_[at(stage)];
    return w.choice[at(below - w.low)];
  }

  const Costs& c_;
  int stages_;
  std::vector<int> most_;
  std::vector<Window> windows_;
};

}  // namespace

SimTime StepBounds::bound_of_any_cuts(const Strategy& s, int micro_batches) {
  const State::Parts p = state_->parts_of(s, micro_batches);
  const int count = p.stages, layers = state_->job.architecture.layers;
  const std::vector<int> one(at(count), 1);
  const StepCosts costs = state_->costs(p, one);
  SimTime layer, quickest;
  for (int i = 0; i < count; ++i) {
    const GroupClass::Chains& c = state_->chains(*p.ranks.inside[at(i)], p);
    const SimTime once = c.layer + c.layer_back, reduce = costs.stages[at(i)].reduce;
    layer = i == 0 ? once : std::min(layer, once);
    quickest = i == 0 ? reduce : std::min(quickest, reduce);
  }
  quickest += costs.barrier + longest_tail(costs);
  // With w_i >= 0 that add up to 1, the largest term of step_bound() is at least sum w_i term_i. A layer on
  // stage j costs m w_j c in its own term and w_i c in that of every stage above. The weights that make a
  // layer cost the same wherever it is, g c, leave nothing to choose: w_j = (g - sum of those above) / m, g =
  // 1 / (1 - (1 - 1/m)^P).
  const double m = p.micro_batches, g = 1 / (1 - std::pow(1 - 1 / m, count));
  const double c = static_cast<double>(layer.ps);
  double sum = g * c * layers + static_cast<double>(quickest.ps), above = 0;
  for (int i = count - 1; i >= 0; --i) {
    const double w = (g - above) / m;
    // Below stage i, without their layers: what is passed on the way up and down.
    const StageCost& stage = costs.stages[at(i)];
    sum += w * m * (static_cast<double>(own(costs, i, true).ps) - c) +
           above * (static_cast<double>((stage.up + stage.down).ps) - c);
    if (i > 0) {
      const BoundaryCost& b = p.boundaries[at(i - 1)];
      sum += above * static_cast<double>((b.activation + b.gradient).ps);
    }
    above += w;
  }
  constexpr double kRoundedDown = 1 - 1e-9;  // of ticks and of the sums of doubles
  return to_sim_time(Seconds(sum * kRoundedDown * 1e-12));
}

std::vector<int> StepBounds::best_layers(const Strategy& s, int micro_batches, const std::vector<int>& most) {
  const State::Parts p = state_->parts_of(s, micro_batches);
  const int stages = p.stages, layers = state_->job.architecture.layers;
  std::int64_t room = 0;
  for (const int l : most) {
    if (l < 1) return {};
    room += std::min(l, layers);
  }
  if (room < layers) return {};

  LayerSplit::Costs costs;
  costs.layers = layers;
  const StepCosts thin = state_->costs(p, std::vector<int>(at(stages), 1));
  const GroupClass::Chains& chains = state_->chains(*p.ranks.inside[0], p);
  costs.up = chains.layer;
  costs.down = chains.layer_back;
  SimTime before, after;
  for (int i = 0; i < stages; ++i) {
    costs.most.push_back(std::min(most[at(i)], layers - (stages - 1)));
    costs.before.push_back(before);
    costs.after.push_back(after);
    const GroupClass::Chains& c = state_->chains(*p.ranks.inside[at(i)], p);
    const StageCost& cost = thin.stages[at(i)];
    before += SimTime{(cost.up - c.layer).ps};
    after += SimTime{(cost.down - c.layer_back).ps};
    if (i > 0) {
      before += p.boundaries[at(i - 1)].activation;
      after += p.boundaries[at(i - 1)].gradient;
    }
    const SimTime around = own(thin, i, true) - cost.each;
    std::vector<SimTime> body(at(costs.most.back() + 1));
    for (int l = 1; l <= costs.most.back(); ++l) {
      const SimTime each = cost.each + (c.layer + c.layer_back) * (l - 1) +
                           (state_->accumulate(p, i, l) - state_->accumulate(p, i, 1));
      body[at(l)] = (each + around) * p.micro_batches;
    }
    costs.body.push_back(std::move(body));
  }

  costs.finish = [&](int stage, int l) {
    const Ranks::Finish& f = state_->finish(p, stage, l);
    return f.reduce + p.barrier + f.tail;
  };

  // Layers go one by one to the stage with the least to do that has room: no way has a shorter busiest stage.
  std::vector<int> known(at(stages), 1);
  for (int left = layers - stages; left > 0; --left) {
    int to = -1;
    for (int i = 0; i < stages; ++i) {
      const int l = known[at(i)] + 1;
      if (l > costs.most[at(i)]) continue;
      if (to < 0 || costs.body[at(i)][at(l)] < costs.body[at(to)][at(known[at(to)] + 1)]) to = i;
    }
    if (to < 0) return {};
    ++known[at(to)];
  }
  const auto time = [&](const std::vector<int>& l) { return pipeline_time(state_->costs(p, l)); };
  SimTime least = time(known), split_bound = state_->bound(p, known);
  const std::vector<int> split = LayerSplit(costs).improve(split_bound);
  if (!split.empty() && time(split) < least) {
    least = time(split);
    known = split;
  }
  state_->move_layers(p, costs.most, known, least);
  Strategy plain = s;
  plain.pipeline_cuts.clear();
  const std::vector<int> automatic = layers_per_stage(state_->job.architecture, plain);
  for (int i = 0; i < stages; ++i) {
    if (automatic[at(i)] > costs.most[at(i)]) return known;
  }
  return time(automatic) <= least ? automatic : known;
}

}  // namespace trnplan::models
