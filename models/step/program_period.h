// Where a step's program repeats itself. Internal to the step's program (step_program.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "models/framework/schedule.h"
#include "sim/executor.h"

namespace trnplan::models {

/// Finds where the schedules of all stages repeat themselves, and the tasks with them. Tasks are put in by
/// waves: in each, every stage goes as far as it can. A wave depends on nothing but the place of each stage
/// in its schedule, so when all have come further by as many rounds each, and their schedules are the same
/// from there on, what follows is the same.
class PeriodFinder {
 public:
  using Schedules = std::vector<std::vector<StageAction>>;

  /// `round`: micro-batches after which a steady schedule repeats itself. `first_apart`: the forward passes of the
  /// first micro-batch are others than those that follow.
  void start(const Schedules& schedules, int round, bool first_apart) {
    micro_batches_of_round_ = round;
    for (const std::vector<StageAction>& actions : schedules) {
      stages_.push_back(steady(actions, round));
      for (std::size_t i = 0; first_apart && i < actions.size(); ++i) {
        if (actions[i].kind == StageAction::Kind::forward && actions[i].micro_batch == 0)
          stages_.back().begin = std::max(stages_.back().begin, i + 1);
      }
    }
  }

  /// The places at the start of a wave.
  void wave(const std::vector<std::size_t>& places, std::size_t tasks) {
    bool begun = true, ended = false;
    for (std::size_t s = 0; s < places.size(); ++s) {
      begun = begun && places[s] >= stages_[s].begin;
      ended = ended || places[s] >= stages_[s].end;
    }
    if (begun && !ended) waves_.push_back({places, static_cast<sim::TaskId>(tasks)});
  }

  /// The earliest repetition, and its micro-batches.
  std::pair<sim::Repeats, int> find() const {
    for (std::size_t later = 1; later < waves_.size(); ++later) {
      for (std::size_t earlier = later; earlier-- > 0;) {
        const int rounds = rounds_between(waves_[earlier], waves_[later]);
        if (rounds == 0) continue;
        const sim::TaskId first = waves_[earlier].tasks;
        return {{first, waves_[later].tasks - first, waves_.back().tasks}, rounds * micro_batches_of_round_};
      }
    }
    return {};
  }

 private:
  /// Of a stage: places in its schedule between which an action is that of a round before, and the actions of
  /// a round.
  struct Steady {
    std::size_t begin = 0, end = 0, round = 0;
  };
  struct Wave {
    std::vector<std::size_t> places;
    sim::TaskId tasks;
  };

  static Steady steady(const std::vector<StageAction>& actions, int round) {
    // A round holds every kind of action as often: as many as have the first `round` micro-batches.
    Steady longest;
    for (const StageAction& a : actions)
      longest.round += a.kind != StageAction::Kind::end_of_step && a.micro_batch < round;
    const std::size_t n = longest.round;
    for (std::size_t i = 0, begin = 0; i + n < actions.size(); ++i) {
      StageAction next = actions[i];
      next.micro_batch += round;
      if (!(actions[i + n] == next)) {
        begin = i + 1;
      } else if (i + 1 + n - begin > longest.end - longest.begin) {
        longest.begin = begin;
        longest.end = i + 1 + n;
      }
    }
    return longest;
  }

  /// By which all stages have come further; 0 when that is no whole number or not the same.
  int rounds_between(const Wave& a, const Wave& b) const {
    std::size_t rounds = 0;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const std::size_t further = b.places[s] - a.places[s];
      if (further % stages_[s].round != 0) return 0;
      if (s > 0 && further / stages_[s].round != rounds) return 0;
      rounds = further / stages_[s].round;
    }
    return static_cast<int>(rounds);
  }

  int micro_batches_of_round_ = 1;
  std::vector<Steady> stages_;
  std::vector<Wave> waves_;
};

}  // namespace trnplan::models
