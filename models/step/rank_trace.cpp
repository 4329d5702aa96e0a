#include "models/step/rank_trace.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "models/step/action_order.h"
#include "models/step/step_parts.h"
#include "models/step/step_program.h"
#include "models/step/trace_size.h"
#include "units/index.h"

namespace trnplan::models {

namespace {

using Node = RankTrace::Node;
using sim::TaskId;

constexpr double kScalarBytes = 4;

}  // namespace

class RankTracer::Impl {
 public:
  explicit Impl(const StepModel& model)
      : p_(model.parts()),
        layout_(lane_per_core(p_)),
        last_of_few_(p_, few()),
        step_(make_program_of(few(), p_, *layout_, Detail::operators, true)) {
    find_ranks();
    queues_.resize(rank_of_.size());
    group_of_.assign(step_.program.tasks().size(), RankTrace::kAllRanks);
    for (TaskId t = 0; t < step_.program.tasks().size(); ++t) {
      const StepProgram::Source& source = step_.of(t);
      const sim::Task& task = step_.program.tasks()[t];
      if (source.is<task::Hold>()) continue;  // the message itself is a send and a receive
      for (std::uint32_t i = 0; i < task.device_count; ++i) {
        std::vector<TaskId>& queue = queues_[at(rank_of_device(t, i))];
        if (queue.empty() || queue.back() != t) queue.push_back(t);
      }
      const auto* message = source.as<task::Message>();
      if (message != nullptr && task.device_count == 0 && source.item->call.phase == 0)
        overlapped_.emplace(t, pair_of(t, *message));
    }
    for (const auto& [before, after] : step_.program.dependencies()) {
      if (const auto it = overlapped_.find(after); it != overlapped_.end())
        sends_[{it->second.first, before}].push_back(after);
      if (const auto it = overlapped_.find(before); it != overlapped_.end())
        receives_[{it->second.second, after}].push_back(before);
    }
    find_patterns();
    lay_out_step();
  }

  int ranks() const { return static_cast<int>(rank_of_.size()); }
  const Groups& groups() const { return groups_; }

  void each_node(int rank, const std::function<void(const Node&)>& visit) const {
    const std::vector<TaskId>& queue = queues_.at(at(rank));
    Output out{visit};
    Fronts fronts;
    for (const Block& block : blocks_of_[at(p_.order.stage_of(rank))]) {
      const Pattern& pattern = patterns_[block.pattern];
      const auto begin = std::lower_bound(queue.begin(), queue.end(), pattern.first);
      for (auto it = begin; it != queue.end() && *it < pattern.end; ++it)
        add_task(out, fronts, rank, *it, block);
    }
  }

 private:
  using Front = std::vector<std::uint32_t>;
  using Fronts = std::array<Front, 3>;  ///< of the compute queue and of its engines

  /// Tasks of one action of a schedule in the program, whatever the micro-batch.
  struct Pattern {
    TaskId first = 0, end = 0;
    std::vector<std::uint32_t> starts;  ///< first task in the step for each micro-batch
  };
  /// A pattern at one place in the step.
  struct Block {
    std::uint32_t pattern = 0;
    std::uint32_t first = 0;  ///< task
    int micro_batch = 0;
  };
  /// Stage, kind, chunk, last pass that makes gradients, first pass that overlaps gathers of weights.
  using PatternKey = std::tuple<int, StageAction::Kind, int, bool, bool>;

  struct Output {
    const std::function<void(const Node&)>& visit;
    std::uint32_t nodes = 0;
  };

  /// Emits nodes at the end of a queue.
  struct Emitting {
    Output& out;
    Front& front;
    const Block& block;
    Front received;
    void add(Node node) {
      node.after = front;
      node.needs = std::exchange(received, {});
      front = {out.nodes++};
      out.visit(node);
    }
  };

  /// Number of micro-batches that contain every action of the schedule.
  int few() const { return p_.round() * (p_.reduces_early() ? 2 : 1); }

  PatternKey key_of(int stage, const StageAction& a, const LastGradients& last) const {
    return {stage, a.kind, a.chunk, last.is(stage, a), p_.gathers_ahead() && is_first_forward(a)};
  }

  void find_patterns() {
    std::size_t next = 0;  // the order that is continued below must be that of the program
    each_action(p_, few(), [&](int stage, const StageAction& action) {
      const auto& segments = step_.segments;
      if (next >= segments.size() || segments[next].stage != stage || !(segments[next].action == action))
        throw std::logic_error("the order of a rank's actions is not that of the program");
      const auto end = next + 1 < segments.size() ? segments[next + 1].first
                                                  : static_cast<TaskId>(step_.program.tasks().size());
      if (pattern_of_.try_emplace(key_of(stage, action, last_of_few_), patterns_.size()).second)
        patterns_.push_back({segments[next].first, end, {}});
      ++next;
    });
  }

  /// Lays out all blocks of the step, and its groups, by their first collective.
  void lay_out_step() {
    const LastGradients last(p_, p_.micro_batches);
    blocks_of_.resize(at(p_.stages));
    std::int64_t tasks = 0;
    each_action(p_, p_.micro_batches, [&](int stage, const StageAction& action) {
      const auto index = static_cast<std::uint32_t>(pattern_of_.at(key_of(stage, action, last)));
      Pattern& pattern = patterns_[index];
      if (pattern.starts.empty()) {
        for (TaskId t = pattern.first; t < pattern.end; ++t) find_group(t);
      }
      if (tasks > std::numeric_limits<int>::max())
        throw std::overflow_error("a step has more tasks than messages have tags");
      const Block block{index, static_cast<std::uint32_t>(tasks), action.micro_batch};
      const auto place = static_cast<std::size_t>(std::max(0, action.micro_batch));
      if (pattern.starts.size() <= place) pattern.starts.resize(place + 1);
      pattern.starts[place] = block.first;
      tasks += pattern.end - pattern.first;
      const bool message =
          action.kind == StageAction::Kind::activation_up || action.kind == StageAction::Kind::gradient_up;
      for (int s = 0; s < p_.stages; ++s) {
        if (s == stage || (message && s == stage + 1) || action.kind == StageAction::Kind::end_of_step)
          blocks_of_[at(s)].push_back(block);
      }
    });
  }

  static void merge(Front& into, const Front& from) {
    into.insert(into.end(), from.begin(), from.end());
    std::sort(into.begin(), into.end());
    into.erase(std::unique(into.begin(), into.end()), into.end());
  }

  void add_task(Output& out, Fronts& fronts, int rank, TaskId t, const Block& block) const {
    const Item* item = step_.of(t).item;
    if (item == nullptr) {  // two queues wait for each other
      Front& other = fronts[queue_of(t, step_.program.tasks()[t].device_count - 1)];
      merge(fronts[0], other);
      other = fronts[0];
      return;
    }
    Front& front = fronts[queue_of(t, 0)];
    if (step_.of(t).is<task::Reduction>()) merge(front, fronts[0]);
    Emitting to{out, front, block, {}};
    if (const auto it = receives_.find({rank, t}); it != receives_.end()) {
      for (const TaskId message : it->second) {
        Front nothing;
        Emitting alone{out, nothing, block, {}};
        const Item& m = *step_.of(message).item;
        alone.add(
            message_node(Node::Kind::receive, m, overlapped_.at(message).first, tag_of(message, block)));
        to.received.push_back(nothing.front());
      }
    }
    emit(to, rank, t, *item);
    if (const auto it = sends_.find({rank, t}); it != sends_.end()) {
      for (const TaskId message : it->second) {
        Front own = to.front;
        Emitting overlapped{out, own, block, {}};
        const Item& m = *step_.of(message).item;
        launch(overlapped, launch_of(m));
        overlapped.add(message_node(Node::Kind::send, m, overlapped_.at(message).second,
                                    tag_elsewhere(message, block.micro_batch)));
      }
    }
  }

  /// Number in the step of a task of a block.
  int tag_of(TaskId t, const Block& block) const {
    return static_cast<int>(block.first + (t - patterns_[block.pattern].first));
  }
  /// Number of a message that is part of the receiving stage's pass.
  int tag_elsewhere(TaskId message, int micro_batch) const {
    const auto after =
        std::upper_bound(step_.segments.begin(), step_.segments.end(), message,
                         [](TaskId t, const StepProgram::Segment& segment) { return t < segment.first; });
    const StepProgram::Segment& segment = *(after - 1);
    const Pattern& pattern = patterns_[pattern_of_.at(key_of(segment.stage, segment.action, last_of_few_))];
    return static_cast<int>(pattern.starts[at(micro_batch)] + (message - segment.first));
  }

  void find_ranks() {
    for (int s = 0; s < p_.stages; ++s) {
      for (int d = 0; d < p_.strategy.data_parallel; ++d) {
        for (int c = 0; c < p_.strategy.context_parallel; ++c) {
          for (int i = 0; i < p_.strategy.tensor_parallel; ++i) rank_of_.push_back(p_.order.rank(s, d, c, i));
        }
      }
    }
  }

  sim::DeviceId device(TaskId t, std::uint32_t i) const {
    return step_.program.task_devices()[step_.program.tasks()[t].first_device + i];
  }
  int rank_of_device(TaskId t, std::uint32_t i) const { return rank_of_[device(t, i) % rank_of_.size()]; }

  /// Index of the compute queue or engine.
  std::size_t queue_of(TaskId t, std::uint32_t i) const { return device(t, i) / rank_of_.size(); }

  std::vector<int> ranks_of(TaskId t) const {
    std::vector<int> ranks;
    for (std::uint32_t i = 0; i < step_.program.tasks()[t].device_count; ++i)
      ranks.push_back(rank_of_device(t, i));
    return ranks;
  }

  /// Finds the group of a collective.
  void find_group(TaskId t) {
    const Item* item = step_.of(t).item;
    if (step_.of(t).is<task::Hold>() || item == nullptr || !item->is_transfer()) return;
    if (item->call.process_group == ProcessGroup::pipeline) return;
    const auto [known, fresh] = group_by_first_.try_emplace({step_.program.tasks()[t].tag, device(t, 0)}, 0);
    if (fresh) {
      std::vector<int> ranks = ranks_of(t);
      std::sort(ranks.begin(), ranks.end());
      const auto [it, added] = group_index_.try_emplace(ranks, static_cast<int>(groups_.size()));
      if (added) groups_.push_back(std::move(ranks));
      known->second = it->second;
    }
    group_of_[t] = known->second;
  }

  /// Sender and receiver of a message outside the queues. The messages of an item come in the order of the
  /// pairs over its boundary, repeatedly.
  std::pair<int, int> pair_of(TaskId t, const task::Message& message) {
    const auto [it, fresh] = pairs_.try_emplace(message.boundary);
    if (fresh) it->second = p_.pairs_of(message.boundary);
    std::size_t& next = next_pair_[step_.program.tasks()[t].tag];
    const std::vector<int>& pair = it->second[next++ % it->second.size()];
    return message.up ? std::pair(pair[0], pair[1]) : std::pair(pair[1], pair[0]);
  }

  static void launch(Emitting& to, SimTime length) {
    if (length.ps > 0) to.add({.kind = Node::Kind::compute, .name = "launch", .length = length});
  }

  static Node message_node(Node::Kind kind, const Item& item, int peer, int tag) {
    return {.kind = kind, .name = item.name, .bytes = item.call.bytes, .peer = peer, .tag = tag};
  }

  void emit(Emitting& to, int rank, TaskId t, const Item& item) const {
    if (step_.of(t).is<task::Barrier>()) {
      to.add({.kind = Node::Kind::collective,
              .name = item.name,
              .op = CollectiveOp::all_reduce,
              .bytes = Bytes(kScalarBytes),
              .members = ranks()});
    } else if (!item.is_transfer()) {
      to.add({.kind = Node::Kind::compute, .name = item.name, .length = item.length, .flops = item.flops});
    } else if (item.call.phase == 0) {
      transfer(to, rank, t, item);
    }
  }

  void transfer(Emitting& to, int rank, TaskId t, const Item& item) const {
    const int repeat = item.call.repeat;
    const SimTime launches = launch_of(item);
    for (int k = 0; k < repeat; ++k) {
      launch(to, {launches.ps / repeat + (k < launches.ps % repeat ? 1 : 0)});
      if (item.call.process_group == ProcessGroup::pipeline) {
        const std::vector<int> pair = ranks_of(t);
        const bool sends = (rank == pair[0]) == step_.of(t).as<task::Message>()->up;
        to.add(message_node(sends ? Node::Kind::send : Node::Kind::receive, item,
                            rank == pair[0] ? pair[1] : pair[0], tag_of(t, to.block)));
      } else if (item.call.op == CollectiveOp::permute) {
        permute(to, rank, t, item);
      } else {
        to.add({.kind = Node::Kind::collective,
                .name = item.name,
                .op = item.call.op,
                .bytes = item.call.bytes,
                .group = group_of_[t],
                .members = static_cast<int>(groups_[at(group_of_[t])].size())});
      }
    }
  }

  /// Sends to the next rank of the group and receives from the one before, at the same time.
  void permute(Emitting& to, int rank, TaskId t, const Item& item) const {
    const std::vector<int> ring = ranks_of(t);
    const auto place = static_cast<std::size_t>(std::find(ring.begin(), ring.end(), rank) - ring.begin());
    Front before = to.front;
    to.add(message_node(Node::Kind::send, item, ring[(place + 1) % ring.size()], tag_of(t, to.block)));
    const Front sent = std::exchange(to.front, std::move(before));
    to.add(message_node(Node::Kind::receive, item, ring[(place + ring.size() - 1) % ring.size()],
                        tag_of(t, to.block)));
    to.front.insert(to.front.begin(), sent.begin(), sent.end());
  }

  const StepParts& p_;
  std::unique_ptr<Layout> layout_;
  LastGradients last_of_few_;
  StepProgram step_;  ///< with few micro-batches
  std::map<PatternKey, std::size_t> pattern_of_;
  std::vector<Pattern> patterns_;
  std::vector<std::vector<Block>> blocks_of_;  ///< per stage, in the order of its queues
  std::vector<int> rank_of_;                   ///< per compute device
  std::vector<std::vector<TaskId>> queues_;    ///< per rank, both its devices
  std::vector<int> group_of_;                  ///< per task that is a collective
  Groups groups_;
  std::map<std::vector<int>, int> group_index_;
  std::map<std::pair<std::uint32_t, sim::DeviceId>, int> group_by_first_;  ///< by tag and first device
  std::map<int, Groups> pairs_;
  std::map<std::uint32_t, std::size_t> next_pair_;
  std::map<TaskId, std::pair<int, int>> overlapped_;  ///< messages without a queue
  std::map<std::pair<int, TaskId>, std::vector<TaskId>> sends_,
      receives_;  ///< by rank and the task at that end
};

RankTracer::RankTracer(const StepModel& model) : impl_(std::make_unique<const Impl>(model)) {}
RankTracer::~RankTracer() = default;

int RankTracer::ranks() const {
  return impl_->ranks();
}
const std::vector<std::vector<int>>& RankTracer::groups() const {
  return impl_->groups();
}
void RankTracer::each_node(int rank, const std::function<void(const RankTrace::Node&)>& visit) const {
  impl_->each_node(rank, visit);
}
RankTrace RankTracer::trace(int rank) const {
  RankTrace all;
  impl_->each_node(rank, [&](const RankTrace::Node& node) { all.nodes.push_back(node); });
  return all;
}

}  // namespace trnplan::models
