// The period of a step's program. Internal to the step's program (step_program.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "models/framework/schedule.h"
#include "sim/executor.h"

namespace trnplan::models {

/// Finds the period of the schedules of all stages, and of the tasks. Tasks are added in waves: in each,
/// every stage goes as far as it can. A wave depends only on the position of each stage in its schedule. So
/// when all stages have advanced by the same number of rounds, and their schedules are the same from there
/// on, the waves that follow are the same.
class PeriodFinder {
 public:
  using Schedules = std::vector<std::vector<StageAction>>;

  /// `round` is the number of micro-batches after which a steady schedule repeats itself. `first_apart`: the
  /// forward passes of the first micro-batch differ from the later ones.
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

  /// Records the positions at the start of a wave.
  void wave(const std::vector<std::size_t>& places, std::size_t tasks) {
    bool begun = true, ended = false;
    for (std::size_t s = 0; s < places.size(); ++s) {
      begun = begun && places[s] >= stages_[s].begin;
      ended = ended || places[s] >= stages_[s].end;
    }
    if (begun && !ended) waves_.push_back({places, static_cast<sim::TaskId>(tasks)});
  }

  /// The earliest repetition, and its number of micro-batches.
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
  /// The steady part of a stage: the positions in its schedule between which each action equals that of a
  /// round before, and the number of actions of a round.
  struct Steady {
    std::size_t begin = 0, end = 0, round = 0;
  };
  struct Wave {
    std::vector<std::size_t> places;
    sim::TaskId tasks;
  };

  static Steady steady(const std::vector<StageAction>& actions, int round) {
    // A round holds as many actions of every kind as the first `round` micro-batches have.
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

  /// Number of rounds by which all stages have advanced; 0 when it is not whole or not the same for all.
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
