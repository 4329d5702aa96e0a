#include "models/step/step_program.h"

#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "models/step/action_order.h"
#include "models/step/program_period.h"
#include "models/step/task_writer.h"
#include "units/index.h"

namespace trnplan::models {

namespace {

using Kind = StageAction::Kind;
using sim::TaskId;

/// Writes a step into a program, in the order of every queue.
class Emitter : public ActionVisitor {
 public:
  /// `period` and `jitter` may be null.
  Emitter(const StepParts& parts, Layout& layout, Detail detail, bool segments, int micro_batches,
          PeriodFinder* period, Jitter* jitter)
      : p_(parts),
        to_(parts, layout, detail, !segments && period == nullptr && jitter == nullptr),
        segments_(segments),
        micro_batches_(micro_batches),
        last_(parts, micro_batches),
        period_(period),
        jitter_(jitter),
        receivers_(at(layout.lanes(0))),
        senders_(p_.blocking() ? 0 : 2 * at(p_.parts_of_model()) * at(micro_batches) * receivers_.size()) {}

  StepProgram run() {
    each_action(p_, micro_batches_, *this);
    return std::move(to_.out);
  }

  void start(const StageActions& actions) override {
    if (period_ != nullptr) period_->start(actions, p_.round(), p_.gathers_ahead());
  }
  void wave(const std::vector<std::size_t>& places) override {
    if (period_ != nullptr) period_->wave(places, to_.tasks());
  }
  void action(int stage, const StageAction& action) override {
    if (segments_) to_.out.segments.push_back({to_.tasks(), stage, action, {}});
    if (action.kind == Kind::end_of_step) {
      end_of_step();
    } else if (action.kind == Kind::activation_up) {
      meeting(*p_.boundaries[at(stage)].activation, {stage, true, true});
    } else if (action.kind == Kind::gradient_up) {
      meeting(*p_.boundaries[at(stage)].gradient, {stage, false, false});
    } else if (p_.blocking() || action.kind == Kind::weights) {
      compute(stage, action);
    } else {
      compute_beside_messages(stage, action);
    }
  }

 private:
  /// The next random factors by replica; empty without jitter.
  std::vector<double> drawn() { return jitter_ == nullptr ? std::vector<double>{} : jitter_->draw(); }

  void meeting(const Items& items, const task::Message& message) {
    to_.vary(drawn());
    to_.meeting(items, message);
    to_.vary({});
  }

  void compute(int stage, const StageAction& action) {
    const StageWork& w = p_.work(stage);
    const StepProgram::Source source{nullptr, task::PassPart{stage, action.chunk, action.kind}};
    std::vector<double> factors = drawn();
    if (segments_) to_.out.segments.back().factors = factors;
    to_.vary(std::move(factors));
    if (p_.gathers_ahead() && is_first_forward(action)) {
      to_.first_forward(stage, action.chunk, source);
    } else {
      to_.pass(stage, w.chunks[at(action.chunk)].pass(action.kind), source,
               last_.is(stage, action) ? &w.early : nullptr);
    }
    to_.vary({});
  }

  /// Adds a pass with messages that run from the end of their producer to the start of their consumer, and
  /// occupy both queues for the same time.
  void compute_beside_messages(int stage, const StageAction& action) {
    const bool forward = action.kind == Kind::forward;
    const int part = p_.part_of(stage, action.chunk);
    const int source = forward ? part - 1 : part + 1;
    const std::optional<Link> below = link_above(p_.strategy, part - 1),
                              above = link_above(p_.strategy, part);
    const std::optional<Link>&from = forward ? below : above, &to = forward ? above : below;
    const TaskId start = to_.tasks();
    if (from) {  // the receive is a graph of its own
      launch(stage);
      to_.vary(factors_of(place_of(forward, source, action.micro_batch)));
      hold(stage, *from, forward, true);
    }
    const TaskId begin = to_.tasks();
    compute(stage, action);
    // A send starts when it is launched; the receiver's pass waits for it, but the receiver's queue does not.
    if (to) launch(stage);
    if (from) deliver(forward, source, action.micro_batch, *from, stage, begin);
    if (to) {
      const std::size_t place = place_of(forward, part, action.micro_batch);
      to_.last_of_lanes(stage, start, senders_of(place));
      if (jitter_ != nullptr) factors_[place] = drawn();
      to_.vary(factors_of(place));
      hold(stage, *to, forward, false);
      to_.vary({});
    }
  }

  void launch(int stage) {
    if (p_.sends_beside_work()) return;
    to_.launch(stage);
  }
  /// Occupies the queue of a stage while it receives or sends a message.
  void hold(int stage, const Link& link, bool activation, bool receives) {
    if (p_.sends_beside_work()) return;
    const bool up = activation == link.up;
    to_.hold(stage, {link.boundary, activation, up == receives});
  }

  /// The place of the result of a pass.
  std::size_t place_of(bool forward, int part, int micro_batch) const {
    return (at(part) * 2 + (forward ? 1 : 0)) * at(micro_batches_) + at(micro_batch);
  }
  /// The task of each lane that sends a result.
  std::span<TaskId> senders_of(std::size_t place) {
    return std::span(senders_).subspan(place * receivers_.size(), receivers_.size());
  }
  /// The factors of the message with a result.
  std::vector<double> factors_of(std::size_t place) const {
    const auto made = factors_.find(place);
    return made == factors_.end() ? std::vector<double>{} : made->second;
  }

  /// Adds the message with the result of a part to the pass that starts with `start`.
  void deliver(bool forward, int part, int micro_batch, const Link& link, int stage, TaskId start) {
    const std::size_t place = place_of(forward, part, micro_batch);
    to_.vary(factors_of(place));
    factors_.erase(place);
    const Boundary& b = p_.boundaries[at(link.boundary)];
    to_.first_of_lanes(stage, start, receivers_);
    to_.message(forward ? *b.activation : *b.gradient, {link.boundary, forward == link.up, forward},
                senders_of(place), receivers_);
    to_.vary({});
  }

  void end_of_step() {
    for (int s = 0; s < p_.stages; ++s) {
      const StageWork& w = p_.work(s);
      for (const Items* items : {&w.gradients_to_norms, &w.context_reduce, &w.reduce})
        to_.chain(s, *items, {nullptr, task::EndPart{s}});
      if (p_.reduces_early()) to_.wait_for_reductions(s);
    }
    to_.barrier(p_.barrier);
    for (int s = 0; s < p_.stages; ++s) {
      const StageWork& w = p_.work(s);
      to_.vary(drawn());
      to_.work(s, w.optimizer, {&w.optimizer, task::EndPart{s}});
      to_.vary({});
      to_.chain(s, w.gather, {nullptr, task::EndPart{s}});
      to_.work(s, w.end, {&w.end, task::EndPart{s}});
    }
  }

  const StepParts& p_;
  TaskWriter to_;
  bool segments_;
  int micro_batches_;
  LastGradients last_;
  PeriodFinder* period_;
  Jitter* jitter_;
  std::vector<TaskId> receivers_;  ///< by lane, of the message that is added
  std::vector<TaskId> senders_;    ///< by result and lane
  std::map<std::size_t, std::vector<double>>
      factors_;  ///< of messages that are not delivered yet, if times are random
};

}  // namespace

StepProgram make_program(const StepParts& parts, Layout& layout, Detail detail, bool segments,
                         Jitter* jitter) {
  return Emitter(parts, layout, detail, segments, parts.micro_batches, nullptr, jitter).run();
}

StepProgram make_program_of(int micro_batches, const StepParts& parts, Layout& layout, Detail detail) {
  return Emitter(parts, layout, detail, false, micro_batches, nullptr, nullptr).run();
}

StepProgram make_program_of(int micro_batches, const StepParts& parts, Layout& layout, Detail detail,
                            bool segments) {
  PeriodFinder period;
  StepProgram program = Emitter(parts, layout, detail, segments, micro_batches, &period, nullptr).run();
  std::tie(program.repeats, program.micro_batches_of_period) = period.find();
  return program;
}

sim::Repeats period_in_actions(int micro_batches, const StepParts& parts) {
  class Actions : public ActionVisitor {
   public:
    explicit Actions(const StepParts& p) : parts_(p) {}
    void start(const StageActions& actions) override {
      period.start(actions, parts_.round(), parts_.gathers_ahead());
    }
    void wave(const std::vector<std::size_t>& places) override { period.wave(places, count_); }
    void action(int /*stage*/, const StageAction& /*action*/) override { ++count_; }

    PeriodFinder period;

   private:
    const StepParts& parts_;
    std::size_t count_ = 0;
  };
  Actions actions(parts);
  each_action(parts, micro_batches, actions);
  return actions.period.find().first;
}

SimTime beyond_fixed(const sim::Program& program, const sim::Run& run, sim::TaskId t) {
  return run.ended[t] - run.started[t] - program.tasks()[t].fixed;
}

}  // namespace trnplan::models
