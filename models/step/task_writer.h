// A writer that puts items of stages into a program, as tasks on the queues of their lanes. Internal to the
// step's program (step_program.h).
#pragma once

#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/step/step_program.h"

namespace trnplan::models {

/// One program. Every lane has a compute queue and, where collectives overlap it, an engine for the
/// collectives of layers, one for those in the background, and one for the reductions of gradients.
class TaskWriter {
 public:
  using Source = StepProgram::Source;

  /// Keeps references to its arguments. `series`: the operators of a pass are one, where that is possible.
  TaskWriter(const StepParts& parts, Layout& layout, Detail detail, bool series);

  /// Multiplies the times of the passes and messages that follow, by replica; empty: not.
  void vary(std::vector<double> factors) { factors_ = std::move(factors); }

  void work(int stage, const Item& item, const Source& source);
  /// Adds the start of a message that is not a meeting of its stages.
  void launch(int stage);
  /// Occupies the queues of a stage while a message passes.
  void hold(int stage, const MessageEnd& end);
  /// Adds operators one after the other. `source` comes without its item.
  void chain(int stage, const Items& items, Source source);
  /// Adds a pass as one task or as all its operators. With `early`, its gradients are reduced part by part
  /// while the stage goes on; from then on the stage's operators are tasks, which share links with the
  /// reductions.
  void pass(int stage, const Pass& pass, Source source, const BesidePass* early = nullptr);
  /// Adds the first forward pass of a chunk with the gathers of weights that overlap it. In the first chunk
  /// the weights of each part are gathered during the part before. After the pass the next chunk's weights
  /// are gathered, during the work that follows. Up to the last chunk the stage's operators are tasks.
  void first_forward(int stage, int chunk, Source source);
  /// Makes the compute queues of a stage wait for its reductions.
  void wait_for_reductions(int stage);
  /// Adds a message as a meeting, in which both its stages take part.
  void meeting(const Items& items, const task::Message& message);
  /// Adds a message outside the queues: after the tasks `before`, one for each lane at the sending end, and
  /// before the tasks `after` at the receiving end.
  void message(const Items& items, const task::Message& message, std::span<const sim::TaskId> before,
               std::span<const sim::TaskId> after);
  /// Makes all compute queues wait for each other.
  void barrier(const Item& item);

  /// Sets `tasks` to the first, or the last, task of each lane of a stage among those from `start` on.
  void first_of_lanes(int stage, sim::TaskId start, std::span<sim::TaskId> tasks) const;
  void last_of_lanes(int stage, sim::TaskId start, std::span<sim::TaskId> tasks) const;

  sim::TaskId tasks() const { return static_cast<sim::TaskId>(out.program.tasks().size()); }

  StepProgram out;

 private:
  sim::DeviceId device(int stage, int lane) const {
    return static_cast<sim::DeviceId>(stage * layout_.lanes(stage) + lane);
  }
  void start_late();
  std::uint32_t tag(const Source& source);
  /// Factor of the times of a lane now.
  double factor(int lane) const {
    return factors_.empty() ? 1 : factors_[static_cast<std::size_t>(layout_.replica(lane))];
  }
  /// Adds a message of a share of the pairs of a boundary, `factor` times as long as usual.
  sim::TaskId add_message(const Layout::Share& share, const Item& item, std::uint32_t tag);
  sim::FlowId flow_of(const Layout::Share& share);
  /// Adds a transfer. `engine` is 0 for the compute queue, else the offset of the engine's number.
  void transfer(int stage, const Item& item, const Source& source, sim::DeviceId engine);
  void join(int stage, sim::DeviceId other);
  void reduce(int stage, const Items& items, sim::TaskId since);
  void gather(int stage, const Items& items);

  /// Tasks that are written again and again, once they are.
  struct Written {
    sim::TaskId first = 0, beyond = 0;
  };
  /// Messages outside the queues: also the lanes that each comes from and goes to.
  struct WrittenMessages : Written {
    std::vector<std::pair<int, int>> ends;
  };
  /// Writes tasks with `write`, or those of the last time once more.
  template <class Write>
  void write_or_repeat(Written& written, const Write& write);
  /// The same, but always with `write` where times are random, since they differ each time.
  template <class Write>
  void write_or_vary(Written& written, const Write& write);
  void write_pass(int stage, const Pass& pass, Source source, const BesidePass* early);
  void write_series(int stage, const Pass& pass, Source source);
  bool can_be_series(int stage, const Pass& pass);
  const Items& items_of(int stage, const Chain& chain) const;
  void write_messages(const Items& items, const task::Message& message, WrittenMessages& written);

  struct TagHash {
    std::size_t operator()(const Source& source) const;
  };

  const StepParts& p_;
  Layout& layout_;
  /// Offsets from the number of a compute queue to those of its engines for collectives, for collectives in
  /// the background, and for reductions.
  sim::DeviceId engines_ = 0, backgrounds_ = 0, reducers_ = 0;
  Detail detail_;
  bool series_;
  std::vector<bool> expanded_;  ///< stages whose passes are expanded into operators from here on
  sim::FlowId nothing_ = 0;
  std::vector<sim::ResourceId> resource_of_;
  // Looked up by key and never iterated, so their order has no effect.
  std::unordered_map<const Layout::Share*, sim::FlowId> flows_;
  std::unordered_map<Source, std::uint32_t, TagHash> tags_;
  std::vector<sim::DeviceId> devices_;
  std::vector<double> factors_;
  std::vector<Written> passes_;            ///< by stage, chunk, kind and whether it is expanded
  std::vector<Written> launches_;          ///< by stage
  std::vector<Written> holds_, meetings_;  ///< by boundary, kind and end; by boundary, direction and kind
  std::vector<WrittenMessages> messages_;  ///< by boundary, direction and kind
};

}  // namespace trnplan::models
