#include "models/step/layer_split.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "models/step/move_bounds.h"
#include "units/index.h"

namespace trnplan::models {

namespace {

/// Finds the smallest bound (layer_split.h) over all distributions of layers over stages: a dynamic programme
/// over the stages, from the last one down; its state is the number of layers below. The cost of a stage's end
/// is asked for only where the rest does not decide: each number of layers has collectives of its own.
class BoundSearch {
 public:
  explicit BoundSearch(const LayerCosts& costs) : c_(costs), stages_(static_cast<int>(costs.before.size())) {}

  /// Returns the layers per stage and puts their bound in `known`; empty when nothing is better than `known`.
  std::vector<int> improve(SimTime& known) {
    std::vector<int> best;
    for (int first = 1; first <= c_.most[0] && first <= c_.layers - (stages_ - 1); ++first) {
      if (c_.body[0][at(first)] >= known) break;
      if (!set_windows(first, known)) continue;
      const SimTime end = c_.finish(0, first);
      const SimTime own = c_.body[0][at(first)] + end;
      if (own >= known) break;
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
  struct Window {
    int low = 0, high = -1;  ///< layers below the stage
    std::vector<SimTime> best;
    std::vector<int> choice;
  };

  /// Sets the numbers of layers that may lie below each stage. Returns false when the layers do not fit.
  bool set_windows(int first, SimTime known) {
    std::vector<int> most(at(stages_));
    for (int i = 1; i < stages_; ++i) {
      const SimTime before = c_.before[at(i)] + c_.up * (first + i - 1);
      const auto misses = [&](int l) {
        const SimTime passes = before + c_.body[at(i)][at(l)];
        return passes >= known || passes + c_.finish(i, l) >= known;
      };
      int l = c_.most[at(i)];
      while (l > 0 && misses(l)) --l;
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
        // The even share comes first, then the others by distance from it: among equals the nearest wins.
        for (int step = 0; step <= 2 * c_.layers; ++step) {
          const int l = even + (step % 2 == 0 ? step / 2 : -(step + 1) / 2);
          if (even - (step + 1) / 2 < 1 && even + step / 2 > most_[at(i)]) break;
          if (l < 1 || l > most_[at(i)] || below + l < next.low || below + l > next.high) continue;
          const SimTime above = next.best[at(below + l - next.low)];
          if (above >= known) continue;
          const SimTime passes = before + c_.body[at(i)][at(l)];
          if (passes + drain >= std::min(best, known)) continue;
          const SimTime here = passes + std::max(c_.finish(i, l), drain);
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

  const LayerCosts& c_;
  int stages_;
  std::vector<int> most_;
  std::vector<Window> windows_;
};

}  // namespace

std::vector<int> level_split(const LayerCosts& costs) {
  const int stages = static_cast<int>(costs.most.size());
  std::vector<int> split(at(stages), 1);
  for (int left = costs.layers - stages; left > 0; --left) {
    int to = -1;
    for (int i = 0; i < stages; ++i) {
      const int l = split[at(i)] + 1;
      if (l > costs.most[at(i)]) continue;
      if (to < 0 || costs.body[at(i)][at(l)] < costs.body[at(to)][at(split[at(to)] + 1)]) to = i;
    }
    if (to < 0) return {};
    ++split[at(to)];
  }
  return split;
}

std::vector<int> smallest_bound_split(const LayerCosts& costs, SimTime& known) {
  return BoundSearch(costs).improve(known);
}

namespace {

/// A move of one layer, with a time that it does not beat.
struct Move {
  SimTime bound;
  int from, to;
  auto operator<=>(const Move&) const = default;
};

/// Moves of one layer with bounds below `time`, the lowest first. `costs` are those of `layers`.
std::vector<Move> promising(const CostOfStage& stage, const StepCosts& costs, const std::vector<int>& most,
                            const std::vector<int>& layers, SimTime time) {
  const int stages = static_cast<int>(layers.size());
  MoveBounds bounds(costs);
  std::vector<Move> moves;
  for (int a = 0; a < stages; ++a) {
    if (layers[at(a)] == 1) continue;
    bounds.take_from(a, stage(a, layers[at(a)] - 1));
    for (int b = 0; b < stages; ++b) {
      if (a == b || layers[at(b)] == most[at(b)]) continue;
      const SimTime bound = bounds.give_to(b, stage(b, layers[at(b)] + 1));
      if (bound < time) moves.push_back({bound, a, b});
    }
  }
  std::sort(moves.begin(), moves.end());
  return moves;
}

}  // namespace

void move_layers(const CostOfStage& stage, StepCosts costs, const std::vector<int>& most,
                 std::vector<int>& layers, SimTime& time) {
  for (;;) {
    std::optional<Move> best;  // of equals the one with the lowest stages
    for (const Move& move : promising(stage, costs, most, layers, time)) {
      const bool earlier = best && std::pair(move.from, move.to) < std::pair(best->from, best->to);
      const SimTime limit = earlier ? time + SimTime{1} : time;
      if (move.bound >= limit) continue;
      const StageCost fuller = costs.stages[at(move.from)], emptier = costs.stages[at(move.to)];
      costs.stages[at(move.from)] = stage(move.from, layers[at(move.from)] - 1);
      costs.stages[at(move.to)] = stage(move.to, layers[at(move.to)] + 1);
      if (const SimTime t = pipeline_time(costs, limit); t < limit) {
        time = t;
        best = move;
      }
      costs.stages[at(move.from)] = fuller;
      costs.stages[at(move.to)] = emptier;
    }
    if (!best) return;
    for (const auto& [i, more] : {std::pair(best->from, -1), std::pair(best->to, 1)}) {
      layers[at(i)] += more;
      costs.stages[at(i)] = stage(i, layers[at(i)]);
    }
  }
}

}  // namespace trnplan::models
