#include "models/step.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "models/collective.h"
#include "models/memory.h"
#include "models/schedule.h"
#include "sim/executor.h"
#include "sim/program.h"
#include "topology/placement.h"
#include "topology/rank_order.h"

namespace trnplan::models {

namespace {

/// What a step may hold: some 1.5 GB of tasks while layers are not expanded.
constexpr std::int64_t kMostPasses = 4'000'000;
constexpr std::size_t kCategories = static_cast<std::size_t>(Category::count);
/// Plain data-parallel bucket (ALLREDUCE_BUCKET_CAP_MB; aws-neuron/neuronx-distributed
/// src/neuronx_distributed/parallel_layers/grads.py).
constexpr double kAllReduceBucketBytes = 512e6;
/// Two-sided 90 % of a normal distribution.
constexpr double kNinetyPercent = 1.6448536269514722;

std::size_t index(Category c) {
  return static_cast<std::size_t>(c);
}
std::size_t index(Parameter p) {
  return static_cast<std::size_t>(p);
}

/// Ticks by category and seconds by parameter; the categories add up to the ticks exactly.
struct Charge {
  std::array<std::int64_t, kCategories> category{};
  ParameterSeconds parameter{};

  SimTime total() const {
    SimTime t;
    for (const std::int64_t ps : category) t += SimTime{ps};
    return t;
  }
  void add(Category c, Parameter p, SimTime t) {
    category[index(c)] += t.ps;
    parameter[index(p)] += to_seconds(t);
  }
  void add(Category c, Parameter p, Seconds s) { add(c, p, to_sim_time(s)); }
  void add(const Charge& other, int times = 1) {
    for (std::size_t i = 0; i < kCategories; ++i)
      category[i] = (SimTime{category[i]} + SimTime{other.category[i]} * times).ps;
    for (std::size_t i = 0; i < parameter.size(); ++i) parameter[i] += other.parameter[i] * times;
  }
};

/// A task as the step knows it: a fixed part, then perhaps a transfer. A collective is one item per phase.
struct Item {
  Charge fixed;
  Fabric::Load load;  ///< empty: work only
  Category transfer_category = Category::compute;
  Parameter transfer_parameter = Parameter::link_fraction;
  Seconds alone{};                ///< the transfer's length without contention
  int stage = -1;                 ///< -1: belongs to several
  bool micro_batch_work = false;  ///< forward or backward of a micro-batch

  SimTime uncontended() const { return fixed.total() + to_sim_time(alone); }
};

/// `also`: a second parameter the length scales with, unless `count`.
Item work_item(Category c, Parameter p, Seconds s, Parameter also = Parameter::count) {
  Item item;
  item.fixed.add(c, p, s);
  if (also != Parameter::count) item.fixed.parameter[index(also)] += s;
  return item;
}

using Items = std::vector<Item>;

/// `collective` done `repeat` times in a row: its phases, each for all repeats at once.
Items transfer_items(const Fabric& fabric, Category c, const Collective& collective, int repeat = 1) {
  Items items;
  for (const Phase& phase : collective.phases) {
    Item item;
    item.fixed.add(c, Parameter::hop_latency, phase.hops * repeat);
    item.fixed.add(c, Parameter::efa_latency, phase.network * repeat);
    item.load = phase.load;
    for (auto& [id, bytes] : item.load) bytes *= repeat;
    item.transfer_category = c;
    item.transfer_parameter = phase.bottleneck(fabric);
    item.alone = phase.transfer(fabric) * repeat;
    to_sim_time(item.alone);  // throws where there is no way for the bytes
    items.push_back(std::move(item));
  }
  if (!items.empty()) {
    items.front().fixed.add(c, Parameter::in_graph_alpha, collective.alpha * repeat);
  }
  return items;
}

SimTime uncontended(const Items& items) {
  SimTime t;
  for (const Item& item : items) t += item.uncontended();
  return t;
}

/// Puts items into a sim::Program; resources and flows are made once.
class Builder {
 public:
  Builder(const Fabric& fabric, int devices) : fabric_(fabric) {
    for (int d = 0; d < devices; ++d) program_.add_device("stage " + std::to_string(d));
  }

  /// The item must outlive the builder's use.
  void emit(const Item& item, const std::vector<sim::DeviceId>& devices) {
    const auto [it, fresh] = known_.try_emplace(&item);
    if (fresh) it->second = define(item);
    const Known& known = it->second;
    if (known.flow == sim::Task::kNoFlow && devices.size() == 1) {
      program_.add_work(devices[0], known.fixed, known.tag);
    } else {
      const sim::FlowId flow = known.flow == sim::Task::kNoFlow ? empty_flow() : known.flow;
      program_.add_transfer(devices, flow, known.fixed, known.tag);
    }
  }

  const sim::Program& program() const { return program_; }
  const Item& item_of(sim::TaskId t) const { return *items_[program_.tasks()[t].tag]; }

 private:
  struct Known {
    sim::FlowId flow = sim::Task::kNoFlow;
    SimTime fixed;
    std::uint32_t tag = 0;
  };

  Known define(const Item& item) {
    Known known{sim::Task::kNoFlow, item.fixed.total(), static_cast<std::uint32_t>(items_.size())};
    items_.push_back(&item);
    std::vector<sim::Weight> weights;
    for (const auto& [id, bytes] : item.load) weights.push_back({resource(id), bytes});
    if (!weights.empty()) known.flow = program_.add_flow(std::move(weights));
    return known;
  }

  sim::ResourceId resource(Fabric::Id id) {
    const auto [it, fresh] = resources_.try_emplace(id);
    if (fresh) it->second = program_.add_resource(fabric_.name(id), fabric_.capacity(id));
    return it->second;
  }

  sim::FlowId empty_flow() {
    if (empty_flow_ == sim::Task::kNoFlow) empty_flow_ = program_.add_flow({});
    return empty_flow_;
  }

  const Fabric& fabric_;
  sim::Program program_;
  std::map<const Item*, Known> known_;
  std::map<Fabric::Id, sim::ResourceId> resources_;
  std::vector<const Item*> items_;
  sim::FlowId empty_flow_ = sim::Task::kNoFlow;
};

/// What a task's transfer took, beyond its fixed part.
SimTime transfer_of(const sim::Program& program, const sim::Run& run, sim::TaskId t) {
  return run.ended[t] - run.started[t] - program.tasks()[t].fixed;
}

/// A sub-program: items one after the other on one device, run on the engine.
Charge run_chain(const Fabric& fabric, const Items& chain) {
  Builder builder(fabric, 1);
  for (const Item& item : chain) builder.emit(item, {0});
  const sim::Run run = sim::execute(builder.program());
  Charge total;
  for (sim::TaskId t = 0; t < chain.size(); ++t) {
    const Item& item = builder.item_of(t);
    total.add(item.fixed);
    total.add(item.transfer_category, item.transfer_parameter, transfer_of(builder.program(), run, t));
  }
  return total;
}

using Groups = std::vector<std::vector<int>>;

}  // namespace

/// Everything the program is made of.
struct StepModel::Parts {
  Job job;
  Strategy strategy;
  Profile profile;
  topology::ChipGraph graph;
  topology::RankOrder order;
  topology::Placement placement;
  Fabric fabric;
  LayerModel layer_model;
  int micro_batches;
  int stages;

  /// Operators of a stage's pass over one micro-batch, in runs of equal layers.
  struct Pass {
    std::vector<std::pair<const Items*, int>> chains;  ///< (operators, how often)
    std::vector<std::unique_ptr<Items>> own;
    Item launch;
    Item whole;  ///< the same as one task of known length
    Flops flops{};
  };
  struct Stage {
    Pass forward, backward;
    Items gradients_to_norms, reduce, gather;
    Item optimizer, end;
  };
  std::vector<Stage> parts;
  std::vector<Items> activation, gradient;  ///< per boundary
  Item barrier;
  bool must_expand = false;

  Parts(const Job& j, const Strategy& s, const Profile& p, const topology::ChipGraph& g)
      : job(j),
        strategy(s),
        profile(p),
        graph(g),
        order(job.cluster, {s.tensor_parallel, s.context_parallel, s.data_parallel, s.pipeline_parallel}),
        placement(job.cluster, order),
        fabric(job.cluster, graph, placement, profile),
        layer_model(job, strategy, profile),
        micro_batches(models::micro_batches(job.training, s)),
        stages(s.pipeline_parallel) {
    const auto layers = layers_per_stage(job.architecture, strategy);
    const auto tensor = by_stage(order.groups(topology::GroupKind::tensor)),
               data = by_stage(order.groups(topology::GroupKind::data)),
               kv = by_stage(order.kv_groups(strategy.kv_replicator));
    for (int stage = 0; stage < stages; ++stage) {
      const auto i = static_cast<std::size_t>(stage);
      make_stage(stage, layers[i], tensor[i], kv[i], data[i]);
    }
    for (int boundary = 0; boundary + 1 < stages; ++boundary) make_boundary(boundary);
    barrier = make_barrier();
    must_expand = chains_share_with_others();
  }

  /// Groups by stage, only those that touch a representative node: the others do the same elsewhere.
  std::vector<Groups> by_stage(Groups groups) const {
    std::vector<Groups> mine(static_cast<std::size_t>(stages));
    for (auto& group : groups) {
      if (std::none_of(group.begin(), group.end(), [&](int r) { return placement.represents(r); })) continue;
      mine[static_cast<std::size_t>(order.stage_of(group.front()))].push_back(std::move(group));
    }
    return mine;
  }

  /// A stage's groups and the collectives already worked out for them: a layer uses the same few again and
  /// again.
  struct StageGroups {
    const Groups *tensor, *kv;
    std::map<std::tuple<CollectiveOp, Scope, double>, Collective> known = {};
  };

  const Collective& collective_of(StageGroups& groups, const Operator& o) const {
    const auto [it, fresh] = groups.known.try_emplace({o.op, o.scope, o.bytes.value});
    if (fresh) {
      it->second = collective(fabric, o.op, o.scope == Scope::tensor ? *groups.tensor : *groups.kv, o.bytes);
    }
    return it->second;
  }

  Items items_of(const OperatorList& operators, StageGroups& groups, int stage) const {
    Items items;
    for (const Operator& o : operators) {
      if (o.scope == Scope::none) {
        items.push_back(work_item(o.category, o.parameter, o.seconds, o.also));
      } else {
        for (Item& item : transfer_items(fabric, o.category, collective_of(groups, o), o.repeat)) {
          items.push_back(std::move(item));
        }
      }
    }
    for (Item& item : items) {
      item.stage = stage;
      item.micro_batch_work = true;
    }
    return items;
  }

  void append(Pass& pass, const OperatorList& operators, int times, StageGroups& groups, int stage) {
    if (operators.empty() || times == 0) return;
    pass.own.push_back(std::make_unique<Items>(items_of(operators, groups, stage)));
    pass.chains.emplace_back(pass.own.back().get(), times);
    for (const Operator& o : operators) pass.flops += o.flops * times;
  }

  void finish(Pass& pass, int stage) const {
    pass.whole.fixed.add(pass.launch.fixed);
    for (const auto& [chain, times] : pass.chains) pass.whole.fixed.add(run_chain(fabric, *chain), times);
    pass.whole.stage = stage;
    pass.whole.micro_batch_work = true;
    pass.launch.stage = stage;
    pass.launch.micro_batch_work = true;
  }

  void make_stage(int stage, int layers, const Groups& tensor, const Groups& kv, const Groups& data) {
    StageGroups groups{&tensor, &kv};
    const bool first = stage == 0, last = stage == stages - 1;
    const double n = local_parameters(job.architecture, strategy, stage);
    Stage s;
    if (stages > 1) {
      s.forward.launch =
          work_item(Category::overhead, Parameter::task_launch, Seconds(profile[Parameter::task_launch]));
      s.backward.launch = s.forward.launch;
    } else {  // forward and backward of a micro-batch are one graph
      s.forward.launch =
          work_item(Category::overhead, Parameter::graph_launch, Seconds(profile[Parameter::graph_launch]));
    }
    if (first) append(s.forward, layer_model.embedding_forward(), 1, groups, stage);
    append(s.forward, layer_model.layer_forward(), layers, groups, stage);
    if (last) append(s.forward, layer_model.head_forward(), 1, groups, stage);
    if (last) append(s.backward, layer_model.head_backward(), 1, groups, stage);
    append(s.backward, layer_model.layer_backward(), layers, groups, stage);
    if (first) append(s.backward, layer_model.embedding_backward(), 1, groups, stage);
    append(s.backward, layer_model.accumulate(n), 1, groups, stage);
    finish(s.forward, stage);
    finish(s.backward, stage);
    make_end_of_step(s, stage, layers, n, tensor, data);
    parts.push_back(std::move(s));
  }

  void make_end_of_step(Stage& s, int stage, int layers, double n, const Groups& tensor, const Groups& data) {
    if (strategy.sequence_parallel) {  // norm weights' gradients, one fp32 vector each
      s.gradients_to_norms = transfer_items(
          fabric, Category::tensor_parallel,
          collective(fabric, CollectiveOp::all_reduce, tensor, Bytes(4.0 * job.architecture.hidden)),
          2 * layers + (stage == stages - 1 ? 1 : 0));
    }
    const double narrow = strategy.precision == Precision::fp32 ? 4 : 2;
    if (strategy.zero1) {
      const double wide = strategy.precision == Precision::bf16_sr ? 2 : 4;
      s.reduce = bucketed(CollectiveOp::reduce_scatter, data, wide * n, kZeroBucketBytes);
      s.gather = bucketed(CollectiveOp::all_gather, data, narrow * n, kZeroBucketBytes);
    } else {
      s.reduce = bucketed(CollectiveOp::all_reduce, data, narrow * n, kAllReduceBucketBytes);
    }
    const OperatorList update = layer_model.optimizer(n, strategy.data_parallel * strategy.context_parallel);
    s.optimizer = work_item(update.front().category, update.front().parameter, update.front().seconds);
    s.end =
        work_item(Category::overhead, Parameter::step_overhead, Seconds(profile[Parameter::step_overhead]));
    for (Items* items : {&s.gradients_to_norms, &s.reduce, &s.gather}) {
      for (Item& item : *items) item.stage = stage;
    }
    s.optimizer.stage = s.end.stage = stage;
  }

  /// A long vector in buckets, one collective each, one after the other.
  Items bucketed(CollectiveOp op, const Groups& groups, double bytes, double bucket) const {
    if (groups.empty()) return {};
    const int buckets = static_cast<int>(std::max(1.0, std::ceil(bytes / bucket)));
    Items items = transfer_items(fabric, Category::data_parallel,
                                 collective(fabric, op, groups, Bytes(bytes / buckets)), buckets);
    items.front().fixed.add(Category::data_parallel, Parameter::bucket_overhead,
                            Seconds(profile[Parameter::bucket_overhead] * buckets));
    return items;
  }

  void make_boundary(int boundary) {
    Groups pairs;
    const int ranks = job.cluster.cores() / stages;
    for (int r = 0; r < ranks; ++r) {
      const int below = boundary * ranks + r, above = below + ranks;
      if (placement.represents(below) || placement.represents(above)) pairs.push_back({below, above});
    }
    const auto message = [&](Bytes bytes) {
      Items items = transfer_items(fabric, Category::pipeline,
                                   collective(fabric, CollectiveOp::send_recv, pairs, bytes));
      items.front().fixed.add(Category::pipeline, Parameter::task_launch,
                              Seconds(profile[Parameter::task_launch]));
      return items;
    };
    activation.push_back(message(layer_model.boundary() + layer_model.pass_along()));
    gradient.push_back(message(layer_model.boundary()));
  }

  /// The gradient norm: scalar all-reduces over tensor, data and pipeline groups; every stage waits.
  Item make_barrier() const {
    Item item;
    item.fixed.add(Category::overhead, Parameter::in_graph_alpha,
                   Seconds(3 * profile[Parameter::in_graph_alpha]));
    if (job.cluster.nodes > 1) {
      item.fixed.add(Category::overhead, Parameter::efa_latency,
                     Seconds(2 * profile[Parameter::efa_latency]));
    }
    return item;
  }

  /// True when a stage's own collectives use a link or NIC that another stage may use at the same time: then
  /// layers must run inside the step, where the engine shares the resource out.
  bool chains_share_with_others() const {
    std::map<Fabric::Id, int> user;  ///< the stage whose chains use a resource
    for (std::size_t s = 0; s < parts.size(); ++s) {
      for (const Pass* pass : {&parts[s].forward, &parts[s].backward}) {
        for (const auto& [chain, times] : pass->chains) {
          for (const Item& item : *chain) {
            for (const auto& [id, bytes] : item.load) {
              if (user.try_emplace(id, static_cast<int>(s)).first->second != static_cast<int>(s)) return true;
            }
          }
        }
      }
    }
    // A transfer cannot disturb the stages that take part in it: they are busy with it.
    const auto disturbs = [&](const Items& items, int first_stage, int last_stage) {
      for (const Item& item : items) {
        for (const auto& [id, bytes] : item.load) {
          const auto it = user.find(id);
          if (it != user.end() && (it->second < first_stage || it->second > last_stage)) return true;
        }
      }
      return false;
    };
    for (int s = 0; s < stages; ++s) {
      const Stage& stage = parts[static_cast<std::size_t>(s)];
      for (const Items* items : {&stage.gradients_to_norms, &stage.reduce, &stage.gather}) {
        if (disturbs(*items, s, s)) return true;
      }
    }
    for (int b = 0; b + 1 < stages; ++b) {
      const auto i = static_cast<std::size_t>(b);
      if (disturbs(activation[i], b, b + 1) || disturbs(gradient[i], b, b + 1)) return true;
    }
    return false;
  }

  static void emit_all(Builder& builder, const Items& items, const std::vector<sim::DeviceId>& devices) {
    for (const Item& item : items) builder.emit(item, devices);
  }

  void emit_pass(Builder& builder, const Pass& pass, sim::DeviceId device, bool expand) const {
    if (!expand) return builder.emit(pass.whole, {device});
    if (pass.launch.fixed.total().ps > 0) builder.emit(pass.launch, {device});
    for (const auto& [chain, times] : pass.chains) {
      for (int i = 0; i < times; ++i) {
        for (const Item& item : *chain) builder.emit(item, {device});
      }
    }
  }

  /// Emits all micro-batches. A transfer goes in when both its stages have reached it, so that the order of
  /// every queue is the order of its schedule.
  void emit_micro_batches(Builder& builder, bool expand) const {
    std::vector<std::vector<StageAction>> actions;
    for (int s = 0; s < stages; ++s) actions.push_back(one_f_one_b(s, stages, micro_batches));
    std::vector<std::size_t> next(actions.size(), 0);
    const auto waits_for = [&](std::size_t stage, StageAction action) {
      return next[stage] < actions[stage].size() && actions[stage][next[stage]] == action;
    };
    using Kind = StageAction::Kind;
    bool progress = true;
    while (progress) {
      progress = false;
      for (std::size_t s = 0; s < actions.size(); ++s) {
        while (next[s] < actions[s].size()) {
          const StageAction action = actions[s][next[s]];
          const auto device = static_cast<sim::DeviceId>(s);
          if (action.kind == Kind::forward || action.kind == Kind::backward) {
            emit_pass(builder, action.kind == Kind::forward ? parts[s].forward : parts[s].backward, device,
                      expand);
          } else if (action.kind == Kind::activation_up &&
                     waits_for(s + 1, {Kind::activation_down, action.micro_batch})) {
            emit_all(builder, activation[s], {device, device + 1});
            ++next[s + 1];
          } else if (action.kind == Kind::gradient_up &&
                     waits_for(s + 1, {Kind::gradient_down, action.micro_batch})) {
            emit_all(builder, gradient[s], {device, device + 1});
            ++next[s + 1];
          } else {
            break;  // the neighbour is not there yet; it will emit the transfer or let us
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

  void emit_end_of_step(Builder& builder) const {
    std::vector<sim::DeviceId> all;
    for (int s = 0; s < stages; ++s) {
      const auto device = static_cast<sim::DeviceId>(s);
      all.push_back(device);
      emit_all(builder, parts[static_cast<std::size_t>(s)].gradients_to_norms, {device});
      emit_all(builder, parts[static_cast<std::size_t>(s)].reduce, {device});
    }
    builder.emit(barrier, all);
    for (int s = 0; s < stages; ++s) {
      const Stage& stage = parts[static_cast<std::size_t>(s)];
      const auto device = static_cast<sim::DeviceId>(s);
      builder.emit(stage.optimizer, {device});
      emit_all(builder, stage.gather, {device});
      builder.emit(stage.end, {device});
    }
  }
};

std::string StepModel::not_modelled(const Job& job, const Strategy& s) {
  if (job.architecture.experts > 0) return "mixture of experts is not modelled yet";
  if (s.context_parallel > 1) return "context parallel is not modelled yet";
  if (s.expert_parallel > 1) return "expert parallel is not modelled yet";
  if (s.virtual_pipeline > 1)
    return "the interleaved pipeline schedule (virtual pipeline) is not modelled yet";
  const std::int64_t passes =
      saturating_product({models::micro_batches(job.training, s), s.pipeline_parallel});
  if (passes > kMostPasses)
    return "more than 4 million micro-batches times stages in a step are not simulated";
  return "";
}

StepModel::StepModel(const Job& job, const Strategy& strategy, const Profile& profile,
                     const topology::ChipGraph& graph) {
  const std::string missing = not_modelled(job, strategy);
  if (!missing.empty()) throw std::invalid_argument(missing);
  if (models::micro_batches(job.training, strategy) < 1) {
    throw std::invalid_argument(
        "the global batch is smaller than one micro-batch on every data-parallel rank");
  }
  parts_ = std::make_unique<const Parts>(job, strategy, profile, graph);
}

StepModel::~StepModel() = default;
StepModel::StepModel(StepModel&&) noexcept = default;
StepModel& StepModel::operator=(StepModel&&) noexcept = default;

Seconds StepModel::lower_bound() const {
  const Parts& p = *parts_;
  const auto tail = [](const Parts::Stage& s) {
    return s.optimizer.uncontended() + uncontended(s.gather) + s.end.uncontended();
  };
  // Before stage i can start, the stages below must have passed a micro-batch up; after its last backward
  // they must pass the gradient down. Meanwhile the stage's own queue is never faster than its tasks one
  // after the other.
  SimTime best, before, after;
  for (std::size_t i = 0; i < p.parts.size(); ++i) {
    const Parts::Stage& s = p.parts[i];
    SimTime own = s.forward.whole.uncontended() + s.backward.whole.uncontended();
    if (i > 0) own += uncontended(p.activation[i - 1]) + uncontended(p.gradient[i - 1]);
    if (i < p.activation.size()) own += uncontended(p.activation[i]) + uncontended(p.gradient[i]);
    const SimTime body = own * p.micro_batches;
    const auto finish = [&](const Parts::Stage& which) {
      return uncontended(which.gradients_to_norms) + uncontended(which.reduce) + p.barrier.uncontended() +
             tail(which);
    };
    best = std::max(best, before + body + std::max(finish(s), after + finish(p.parts.front())));
    before += s.forward.whole.uncontended();
    after += s.backward.whole.uncontended();
    if (i > 0) {
      before += uncontended(p.activation[i - 1]);
      after += uncontended(p.gradient[i - 1]);
    }
  }
  return to_seconds(best);
}

Seconds StepModel::compute_bound() const {
  SimTime most;
  for (const Parts::Stage& s : parts_->parts) {
    SimTime once;
    for (const Category c : {Category::compute, Category::overhead}) {
      once += SimTime{s.forward.whole.fixed.category[index(c)]} +
              SimTime{s.backward.whole.fixed.category[index(c)]};
    }
    most = std::max(most, once * parts_->micro_batches);
  }
  return to_seconds(most);
}

namespace {

/// Adds up the critical path. Micro-batch work of other stages before the path first and after it last visits
/// its main stage is the bubble: filling and draining the pipeline.
Charge fold_path(const Builder& builder, const sim::Run& run, int stages) {
  const std::vector<sim::TaskId> path = run.critical_path();
  std::vector<std::int64_t> work(static_cast<std::size_t>(stages), 0);
  const auto stage_of = [&](sim::TaskId t) {
    const Item& item = builder.item_of(t);
    return item.micro_batch_work ? item.stage : -1;
  };
  for (const sim::TaskId t : path) {
    if (stage_of(t) >= 0) work[static_cast<std::size_t>(stage_of(t))] += (run.ended[t] - run.started[t]).ps;
  }
  const int main = static_cast<int>(std::max_element(work.begin(), work.end()) - work.begin());
  std::size_t first = path.size(), last = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (stage_of(path[i]) != main) continue;
    first = std::min(first, i);
    last = i;
  }
  Charge total;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Item& item = builder.item_of(path[i]);
    Charge charge = item.fixed;
    charge.add(item.transfer_category, item.transfer_parameter, transfer_of(builder.program(), run, path[i]));
    if (stage_of(path[i]) >= 0 && (i < first || i > last)) {
      const SimTime all = charge.total();
      charge.category = {};
      charge.category[index(Category::bubble)] = all.ps;
    }
    total.add(charge);
  }
  return total;
}

/// Spread of the logarithm of the step time: each parameter by its share of the path, and what no parameter
/// explains.
double log_spread(const Profile& profile, const Software& software, const ParameterSeconds& by_parameter,
                  Seconds step) {
  double variance = std::pow(profile[Parameter::configuration_spread], 2);
  if (software.framework.empty() || software.release.empty()) {
    variance += std::pow(profile[Parameter::stack_spread], 2);
  }
  for (std::size_t i = 0; i < by_parameter.size(); ++i) {
    variance += std::pow(by_parameter[i] / step * profile.values[i].log_sd, 2);
  }
  return std::sqrt(variance);
}

}  // namespace

StepReport StepModel::simulate(StepOptions options) const {
  const Parts& p = *parts_;
  StepReport report;
  report.expanded = options.flat || p.must_expand;
  Builder builder(p.fabric, p.stages);
  p.emit_micro_batches(builder, report.expanded);
  p.emit_end_of_step(builder);
  const sim::Run run = sim::execute(builder.program());

  report.step = to_seconds(run.end);
  report.tasks = builder.program().tasks().size();
  report.events = run.events;
  const Charge path = fold_path(builder, run, p.stages);
  for (std::size_t i = 0; i < kCategories; ++i) report.breakdown[i] = to_seconds(SimTime{path.category[i]});
  report.by_parameter = path.parameter;
  const double spread = log_spread(p.profile, p.job.software, report.by_parameter, report.step);
  report.low = report.step * std::exp(-kNinetyPercent * spread);
  report.high = report.step * std::exp(kNinetyPercent * spread);

  const Training& training = p.job.training;
  const FlopsPerSecond peak = p.job.cluster.instance.core.bf16 * p.job.cluster.cores();
  report.tokens_per_second =
      static_cast<double>(training.global_batch) * training.sequence / report.step.value;
  report.model_flops =
      FlopsPerSecond(report.tokens_per_second * model_flops_per_token(p.job.architecture, training.sequence));
  report.six_n_flops = FlopsPerSecond(report.tokens_per_second * six_n_flops_per_token(p.job.architecture));
  report.mfu = report.model_flops / peak;
  Flops executed{};
  const double replicas = static_cast<double>(p.micro_batches) * p.job.cluster.cores() / p.stages;
  for (const Parts::Stage& s : p.parts) executed += (s.forward.flops + s.backward.flops) * replicas;
  report.hfu = executed / report.step / peak;
  return report;
}

StepReport simulate_step(const Job& job, const Strategy& strategy, const Profile& profile,
                         StepOptions options) {
  return StepModel(job, strategy, profile, topology::ChipGraph(job.cluster.instance)).simulate(options);
}

}  // namespace trnplan::models
