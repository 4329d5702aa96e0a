#include "models/step/step_parts.h"

#include <algorithm>
#include <functional>

#include "models/collective/collective_runtime.h"
#include "models/framework/loop_parameters.h"
#include "models/framework/partition.h"
#include "models/memory/memory.h"
#include "models/step/launched_work.h"
#include "sim/executor.h"
#include "units/index.h"

namespace trnplan::models {

namespace {

void append_all(Items& all, Items more) {
  for (Item& item : more) all.push_back(std::move(item));
}

constexpr const char *kForwardNames[] = {"layer", "first layer", "inner layer", "last layer"},
                     *kBackwardNames[] = {"layer back", "first layer back", "inner layer back",
                                          "last layer back"};

/// Builds the work of one class of stages.
class StageBuilder {
 public:
  /// Keeps references to the parts and the groups, those of representative().
  StageBuilder(const StepParts& parts, int stage, const std::vector<int>& layers, const StageGroups& groups)
      : p_(parts),
        stage_(stage),
        layers_(layers),
        groups_(groups),
        parameters_(local_parameters(parts.job.architecture, parts.strategy, stage)) {}

  std::shared_ptr<const StageWork> build() {
    auto work = std::make_shared<StageWork>();
    for (int chunk = 0; chunk < p_.chunks(); ++chunk) work->chunks.push_back(make_chunk(chunk));
    make_end_of_step(*work);
    return work;
  }

 private:
  bool first(int chunk) const { return p_.part_of(stage_, chunk) == 0; }
  bool last(int chunk) const { return p_.part_of(stage_, chunk) == p_.parts_of_model() - 1; }
  int layers() const {
    int sum = 0;
    for (const int l : layers_) sum += l;
    return sum;
  }

  /// Builds equal lists (every chunk's layers) once. Each ends with its share of the pass's wait for the host.
  void append(Pass& pass, Chain::Part part, const char* what, const std::function<OperatorList()>& make,
              int times) {
    if (times == 0) return;
    const auto [it, fresh] = chains_.try_emplace(what);
    if (fresh) {
      const OperatorList operators = make();
      auto items = std::make_shared<Items>(operator_items_.of(operators));
      Made& made = it->second;
      for (const Operator& o : operators) made.flops += o.flops;
      made.launches = Launches(operators);
      made.run = std::make_shared<ChainRun>(run_chain(p_.fabric, *items, p_.slowdown()));
      made.items = std::move(items);
    }
    const Made& made = it->second;
    if (made.items->empty()) return;
    const SimTime wait = host_.wait(made.run->length, made.launches, times);
    pass.chains.push_back(wait.ps == 0
                              ? Chain{part, made.items, made.run, times}
                              : with_wait({part, made.items, made.run, times}, made.launches.all, wait));
    pass.whole.fixed.add(pass.chains.back().run->attribution, times);
    pass.flops += made.flops * times;
  }

  static Chain with_wait(Chain chain, const Operator& launches, SimTime wait) {
    Item item = work_item(launches.name, launches.category, launches.parameter, to_seconds(wait));
    ChainRun run = *chain.run;
    run.spans.push_back({run.length, run.length + item.length, false});
    run.length += item.length;
    run.attribution.add(item.fixed);
    Items items = *chain.items;
    items.push_back(std::move(item));
    chain.run = std::make_shared<ChainRun>(std::move(run));
    chain.items = std::make_shared<Items>(std::move(items));
    return chain;
  }

  void launch(Pass& pass, Launch launch) const {
    pass.launch = graph_start("launch", Category::overhead, launch, p_.job, p_.profile);
    if (pass.launch) pass.whole.fixed.add(pass.launch->fixed);
  }

  static void finish(Pass& pass, std::string_view name) {
    pass.whole.name = name;
    pass.whole.length = pass.whole.fixed.total();
  }

  static OperatorList only(OperatorList list, bool weights) {
    std::erase_if(list, [&](const Operator& o) { return o.weights != weights; });
    return list;
  }

  Chunk make_chunk(int chunk) {
    using Part = Chain::Part;
    const LayerModel& model = p_.layer_model;
    const int layers = layers_[at(chunk)];
    const bool split = p_.schedule().splits_backward();
    const PassLaunches launches = p_.framework().launches(p_.strategy);
    Chunk c;
    launch(c.forward, launches.forward);
    launch(c.backward, launches.backward);
    const auto gather = [&](Pass& pass) {
      append(
          pass, Part::message, "message", [&] { return model.gather_message(); }, 1);
    };
    host_.restart();
    if (!first(chunk)) gather(c.forward);
    if (first(chunk))
      append(
          c.forward, Part::embedding, "embedding", [&] { return model.embedding_forward(); }, 1);
    const bool turns = p_.framework().units(p_.strategy).has_value();
    each_turn(turns, layers, [&](LayerTurn turn, int times) {
      append(
          c.forward, Part::layer, kForwardNames[static_cast<std::size_t>(turn)],
          [&] { return model.layer_forward(turn); }, times);
    });
    if (last(chunk))
      append(
          c.forward, Part::head, "head", [&] { return model.head_forward(); }, 1);
    const auto backward = [&](Pass& pass, const char* head, const char* layer, const char* embedding,
                              const char* add, const std::function<OperatorList(OperatorList)>& part) {
      if (last(chunk))
        append(
            pass, Part::head, head, [&] { return part(model.head_backward()); }, 1);
      each_turn(turns, layers, [&](LayerTurn turn, int times) {
        append(
            pass, Part::layer, turns ? kBackwardNames[static_cast<std::size_t>(turn)] : layer,
            [&] { return part(model.layer_backward(turn)); }, times);
      });
      if (first(chunk))
        append(
            pass, Part::embedding, embedding, [&] { return part(model.embedding_backward()); }, 1);
      append(
          pass, Part::gradients, add, [&] { return part(model.accumulate(parameters_ / p_.chunks())); }, 1);
    };
    if (!last(chunk)) {  // else the host launches the backward pass during the head
      host_.restart();
      gather(c.backward);
    }
    if (split) {
      launch(c.weights, launches.weights);
      backward(c.backward, "head back", "layer back", "embedding back", "add",
               [&](OperatorList list) { return only(std::move(list), false); });
      backward(c.weights, "head weights", "layer weights", "embedding weights", "add weights",
               [&](OperatorList list) { return only(std::move(list), true); });
      finish(c.weights, "weights");
    } else {
      backward(c.backward, "head back", "layer back", "embedding back", "add",
               [](OperatorList list) { return list; });
    }
    finish(c.forward, "forward");
    finish(c.backward, "backward");
    return c;
  }

  void make_end_of_step(StageWork& work) {
    const EndOfStep end = end_of_step(p_.job, p_.strategy, p_.profile, p_.layer_model, stage_, layers());
    work.gradients_to_norms = items_of(end.norms);
    work.context_reduce = items_of(end.context);
    work.reduce = items_of(end.reduce);
    work.gather = items_of(end.gather);
    work.early = {items_of(end.early_layer), items_of(end.early_head), items_of(end.early_embedding)};
    work.ahead = {items_of(end.ahead_layer), items_of(end.ahead_head), items_of(end.ahead_embedding)};
    const Operator& update = end.optimizer;
    work.optimizer = work_item(update.name, update.category, update.parameter, update.seconds);
    work.end = work_item("host", Category::overhead, common::step_overhead,
                         Seconds(p_.profile[common::step_overhead]));
    const Operator calls = p_.layer_model.collective_calls(
        time_in_calls(end, p_.layer_model, layers(), p_.job.cluster.instance.cores(),
                      [&](ProcessGroup of) -> const Groups& { return groups_.of(of); }));
    work.end.fixed.add(calls.name, calls.category, calls.parameter, to_sim_time(calls.seconds));
    work.end.fixed.add(end.pieces.name, end.pieces.category, end.pieces.parameter,
                       end.copied_beyond(uncontended(work.gather)));
    work.end.length = work.end.fixed.total();
  }

  Items items_of(const std::vector<EndCall>& calls) {
    Items all;
    for (const EndCall& c : calls) {
      const Groups& groups = groups_.of(c.call.process_group);
      if (groups.empty()) continue;
      Items items = transfer_items(p_.fabric, c.name, c.category,
                                   collective(p_.fabric, c.call.op, groups, c.call.bytes), c.call);
      if (items.empty()) continue;
      Item& head = items.front();
      head.fixed.add(c.name, c.category, loop::bucket_overhead, to_sim_time(c.buckets));
      head.length = head.fixed.total();
      append_all(all, std::move(items));
    }
    return all;
  }

  struct Made {
    std::shared_ptr<const Items> items;
    std::shared_ptr<const ChainRun> run;
    Flops flops{};
    Launches launches;
  };

  const StepParts& p_;
  int stage_;
  std::vector<int> layers_;  ///< per chunk
  const StageGroups& groups_;
  double parameters_;
  OperatorItems operator_items_{p_.fabric, groups_};
  std::map<std::string_view, Made> chains_;
  HostQueue host_;  ///< of the pass that is being built
};

}  // namespace

Items OperatorItems::of(const OperatorList& operators) {
  Items items;
  SimTime busy;  // with all that does not overlap other work
  LaunchedWork launched;
  Parameter background = common::overlap_slowdown;  // limit of the transfers that overlap work
  for (const Operator& o : operators) {
    if (o.of_pass) continue;
    if (o.waits > 0) {
      items.push_back(work_item(o.name, o.category, o.parameter, to_seconds(busy) * o.waits));
      items.back().transfer_parameter = background;
      busy += items.back().length;
      continue;
    }
    if (o.host.value > 0) {
      items.push_back(work_item(o.name, o.category, o.parameter, launched.beyond(busy, o.host)));
      items.back().transfer_parameter = background;
      continue;
    }
    if (o.process_group == ProcessGroup::none) {
      const bool slowed = !items.empty() && items.back().overlapped;
      const Parameter by = slowed ? items.back().transfer_parameter : background;
      items.push_back(work_item(o.name, o.category, o.parameter, o.seconds, o.also));
      items.back().flops = o.flops;
      items.back().transfer_parameter = by;
      if (!o.overlapped) busy += items.back().length;
      continue;
    }
    const auto [it, fresh] = known_.try_emplace({o.op, o.process_group, o.bytes.value});
    if (fresh) it->second = collective(fabric_, o.op, groups_.of(o.process_group), o.bytes);
    Items phases = transfer_items(fabric_, o.name, o.category, it->second,
                                  {o.process_group, o.op, o.bytes, o.repeat, 0});
    for (Item& item : phases) {
      item.overlapped = o.overlapped;
      item.background = o.background;
    }
    if (!o.overlapped && !o.background) busy += uncontended(phases);
    if (o.background && !phases.empty()) background = phases.back().transfer_parameter;
    append_all(items, std::move(phases));
  }
  return items;
}

StepParts::StepParts(const Job& j, const Strategy& s, const Profile& p, const topology::ChipGraph& g,
                     CollectiveMemory* memory)
    : StepLayout(j, s, p, g, memory),
      layer_model(job, strategy, profile),
      micro_batches(models::micro_batches(job.training, s)) {
  make_stages();
  make_boundaries();
  barrier = make_barrier(job, strategy, profile);
  find_shared();
}

void StepParts::make_stages() {
  const std::vector<int> layers = layers_per_chunk(job.architecture, strategy);
  const bool shifted = stages_are_shifted();
  std::map<std::vector<int>, std::pair<std::shared_ptr<const StageWork>, int>> known;
  for (int stage = 0; stage < stages; ++stage) {
    const int cls = class_of(stage);
    const std::vector<int> own = layers_of_chunks(layers, strategy, stage);
    const StageEnds ends = ends_of(strategy, stage);
    std::vector<int> key = own;
    key.push_back(ends.first);
    key.push_back(ends.last);
    StageGroups groups;
    if (!shifted || !known.contains(key)) groups = representative(stage);
    if (!shifted)
      for (const Groups* g : all_groups(groups)) add_key(key, *g, cls);
    const auto [it, fresh] = known.try_emplace(std::move(key));
    if (fresh) it->second = {StageBuilder(*this, stage, own, groups).build(), cls};
    parts.push_back({it->second.first, fabric.shift_of(cls) - fabric.shift_of(it->second.second)});
  }
}

namespace {

/// Returns the time of a message as work.
Item hold_of(const Items& message) {
  Item hold;
  hold.name = "message";
  hold.transfer_category = Category::pipeline;
  for (const Item& item : message) {
    hold.fixed.add(item.fixed);
    hold.fixed.add(item.name, item.transfer_category, item.transfer_parameter, to_sim_time(item.alone));
  }
  hold.length = hold.fixed.total();
  return hold;
}

}  // namespace

void StepParts::make_boundaries() {
  message_launch = *graph_start("message launch", Category::pipeline, Launch::task, job, profile);
  const PolledMessages polls = framework().polled_messages();
  std::map<std::vector<int>, std::pair<Boundary, int>> known;
  for (int b = 0; b < boundary_count(); ++b) {
    const Groups pairs = representative_pairs(b);
    const int cls = class_of(b);
    std::vector<int> key;
    add_key(key, pairs, cls);
    const auto [it, fresh] = known.try_emplace(std::move(key));
    if (fresh) {
      const auto message = [&](std::string_view name, Bytes bytes, int polled) {
        const Call call{ProcessGroup::pipeline, CollectiveOp::send_recv, bytes, 1, 0};
        Items items =
            transfer_items(fabric, name, Category::pipeline, collective(fabric, call.op, pairs, bytes), call);
        if (blocking()) {
          items.front().fixed.add(graph_start(name, Category::pipeline, Launch::task, job, profile)->fixed);
          if (polled > 0)
            items.front().fixed.add("polls of messages", Category::pipeline, loop::poll_interval,
                                    polling(polled, profile));
        }
        items.front().length = items.front().fixed.total();
        return std::make_shared<const Items>(std::move(items));
      };
      Boundary fresh_one{
          message("send activation", layer_model.boundary() + layer_model.pass_along(), polls.activation),
          message("send gradient", layer_model.boundary(), polls.gradient),
          {},
          {},
          0};
      fresh_one.activation_hold = hold_of(*fresh_one.activation);
      fresh_one.gradient_hold = hold_of(*fresh_one.gradient);
      it->second = {std::move(fresh_one), cls};
    }
    Boundary boundary = it->second.first;
    boundary.shift = fabric.shift_of(cls) - fabric.shift_of(it->second.second);
    boundaries.push_back(std::move(boundary));
  }
}

std::optional<Item> graph_start(std::string_view name, Category c, Launch launch, const Job& job,
                                const Profile& profile) {
  if (launch == Launch::none) return std::nullopt;
  const Parameter p = launch == Launch::task ? loop::task_launch : loop::graph_launch;
  Item item = work_item(name, c, p, Seconds(profile[p]));
  if (job.software.in_flight == 1) {
    item.fixed.add(name, c, common::host_launch, to_sim_time(Seconds(profile[common::host_launch])));
    item.length = item.fixed.total();
  }
  return item;
}

SimTime polling(int messages, const Profile& profile) {
  return to_sim_time(Seconds(profile[loop::poll_interval] * messages));
}

}  // namespace trnplan::models
