#include "models/step/layer_split.h"

#include <algorithm>
#include <array>
#include <limits>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "models/step/move_bounds.h"
#include "tests/catch.h"
#include "tests/models/layers.h"
#include "tests/seeds.h"
#include "units/index.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

constexpr SimTime kAnything{std::numeric_limits<std::int64_t>::max()};

/// Stages of different overheads and room; a layer more never makes a stage quicker.
LayerCosts random_costs(unsigned seed) {
  boost::random::mt19937 random(seed);
  const auto pick = [&](int least, int most) {
    return boost::random::uniform_int_distribution<int>(least, most)(random);
  };
  LayerCosts c;
  c.layers = pick(4, 11);
  c.up = SimTime{pick(1, 40)};
  c.down = SimTime{pick(1, 80)};
  const int stages = pick(2, 4), micro_batches = pick(1, 20);
  std::vector<SimTime> reduce;
  for (int i = 0; i < stages; ++i) {
    c.before.push_back(SimTime{i * pick(0, 30)});
    c.after.push_back(SimTime{i * pick(0, 30)});
    c.most.push_back(std::min(pick(3, 12), c.layers - (stages - 1)));
    reduce.push_back(SimTime{pick(0, 2000)});
    const SimTime overhead{pick(0, 200)};
    std::vector<SimTime> body;
    for (int l = 0; l <= c.most.back(); ++l) body.push_back((overhead + (c.up + c.down) * l) * micro_batches);
    c.body.push_back(body);
  }
  c.finish = [reduce](int stage, int layers) { return reduce[static_cast<std::size_t>(stage)] * layers; };
  return c;
}

/// Splits that have room.
std::vector<std::vector<int>> splits(const LayerCosts& c) {
  std::vector<std::vector<int>> all;
  for (const std::vector<int>& split : compositions(c.layers, static_cast<int>(c.most.size()))) {
    bool room = true;
    for (std::size_t i = 0; i < split.size(); ++i) room = room && split[i] <= c.most[i];
    if (room) all.push_back(split);
  }
  return all;
}

/// The longest over the stages of: the way up, all micro-batches, and the longer of the own end and the last
/// gradient's way down to the first stage and its end.
SimTime bound_of(const LayerCosts& c, const std::vector<int>& split) {
  SimTime longest;
  const SimTime first = c.finish(0, split[0]);
  int below = 0;
  for (std::size_t i = 0; i < split.size(); ++i) {
    const SimTime own = c.finish(static_cast<int>(i), split[i]);
    const SimTime end = i == 0 ? own : std::max(own, c.after[i] + c.down * below + first);
    longest =
        std::max(longest, c.before[i] + c.up * below + c.body[i][static_cast<std::size_t>(split[i])] + end);
    below += split[i];
  }
  return longest;
}

SimTime busiest(const LayerCosts& c, const std::vector<int>& split) {
  SimTime most;
  for (std::size_t i = 0; i < split.size(); ++i)
    most = std::max(most, c.body[i][static_cast<std::size_t>(split[i])]);
  return most;
}

}  // namespace

TEST_CASE("the split of the smallest bound, of all splits", "[models]") {
  int with_room = 0;
  for (const unsigned seed : seeds(1, 300)) {
    const LayerCosts c = random_costs(seed);
    SimTime least = kAnything, shortest = kAnything;
    for (const std::vector<int>& split : splits(c)) {
      least = std::min(least, bound_of(c, split));
      shortest = std::min(shortest, busiest(c, split));
    }
    CAPTURE(seed, c.layers, c.most.size());
    SimTime found = kAnything;
    const std::vector<int> best = smallest_bound_split(c, found);
    const std::vector<int> level = level_split(c);
    REQUIRE(best.empty() == (least == kAnything));
    REQUIRE(level.empty() == best.empty());
    if (best.empty()) continue;
    ++with_room;
    CHECK(found.ps == least.ps);
    CHECK(bound_of(c, best).ps == least.ps);
    CHECK(busiest(c, level).ps == shortest.ps);
    CHECK(smallest_bound_split(c, found).empty());  // nothing is better than the best
    CHECK(found.ps == least.ps);
  }
  CHECK(with_room > at_least(200));
}

// Two stages, a micro-batch, a layer of 1 up and 1 down: the time of a split (l, 6 - l) is what one
// micro-batch takes all the way, 12, whatever the split, and the reduction of the first stage, 10 l: least
// with one layer.
TEST_CASE("layers move while that saves time", "[models]") {
  std::array<std::array<StageCost, 7>, 2> costs;  // by stage and layers
  for (int l = 1; l < 7; ++l) {
    costs[0][at(l)] = {SimTime{2 * l}, SimTime{l}, SimTime{l}, SimTime{10 * l}, {}};
    costs[1][at(l)] = {SimTime{2 * l}, SimTime{l}, SimTime{l}, {}, {}};
  }
  const auto stage = [&](int i, int l) -> const StageCost& { return costs[at(i)][at(l)]; };
  std::vector<int> layers{4, 2};
  const StepCosts step{{stage(0, 4), stage(1, 2)}, std::vector<BoundaryCost>(1)};
  SimTime time = pipeline_time(step);
  CHECK(time.ps == 52);
  SECTION("as far as there is room") {
    move_layers(stage, step, {6, 4}, layers, time);
    CHECK(layers == std::vector<int>{2, 4});
    CHECK(time.ps == 32);
  }
  SECTION("down to one layer") {
    move_layers(stage, step, {6, 6}, layers, time);
    CHECK(layers == std::vector<int>{1, 5});
    CHECK(time.ps == 22);
  }
}

// Catches an order of trying moves that changes which of equally good ones is made: here costs are so small that many
// are.
TEST_CASE("of equally good moves the one between the lowest stages is made", "[models]") {
  boost::random::mt19937 random(11);
  const auto pick = [&](int least, int most) {
    return boost::random::uniform_int_distribution<int>(least, most)(random);
  };
  for (int round = 0; round < 200; ++round) {
    const int stages = pick(2, 5), most = 5;
    std::vector<std::vector<StageCost>> costs(at(stages));
    for (auto& of_stage : costs) {
      StageCost c;
      for (int l = 0; l <= most; ++l) {
        c.up += SimTime{pick(0, 2)};
        c.down += SimTime{pick(0, 3)};
        c.each = c.up + c.down;
        c.reduce = SimTime{pick(0, 4)};
        of_stage.push_back(c);
      }
    }
    const auto stage = [&](int i, int l) -> const StageCost& { return costs[at(i)][at(l)]; };
    std::vector<int> layers;
    StepCosts step;
    step.micro_batches = pick(1, 12);
    for (int i = 0; i < stages; ++i) {
      layers.push_back(pick(1, most));
      step.stages.push_back(stage(i, layers.back()));
      if (i > 0) step.boundaries.push_back({SimTime{pick(0, 1)}, SimTime{pick(0, 1)}});
    }
    SimTime time = pipeline_time(step), plain_time = time;
    std::vector<int> plain = layers;
    const std::vector<int> room(at(stages), most);
    for (bool better = true; better;) {
      better = false;
      const std::vector<int> from = plain;
      for (int a = 0; a < stages; ++a) {
        for (int b = 0; b < stages; ++b) {
          if (a == b || from[at(a)] == 1 || from[at(b)] == most) continue;
          std::vector<int> moved = from;
          --moved[at(a)];
          ++moved[at(b)];
          StepCosts one = step;
          for (int i = 0; i < stages; ++i) one.stages[at(i)] = stage(i, moved[at(i)]);
          const SimTime t = pipeline_time(one);
          if (t >= plain_time) continue;
          plain_time = t;
          plain = moved;
          better = true;
        }
      }
    }
    move_layers(stage, step, room, layers, time);
    CAPTURE(round, stages, step.micro_batches);
    CHECK(layers == plain);
    CHECK(time.ps == plain_time.ps);
  }
}

// Catches a bound of a move that is not that of the step after it, in either direction, near the ends, with waits, and
// where sums leave the range in which it is put together.
TEST_CASE("bounds of moves are those of the steps after them", "[models]") {
  boost::random::mt19937 random(11);
  const auto ticks = [&](std::int64_t most) {
    return SimTime{boost::random::uniform_int_distribution<std::int64_t>(0, most)(random)};
  };
  for (int round = 0; round < 200; ++round) {
    const std::int64_t unit = round % 10 == 9 ? 100'000'000'000'000'000 : 1000;
    const auto stage = [&] {
      return StageCost{ticks(unit / 50), ticks(unit), ticks(unit), ticks(unit),
                       ticks(unit),      ticks(unit), ticks(unit), ticks(unit)};
    };
    const int count = boost::random::uniform_int_distribution<int>(2, 7)(random);
    StepCosts costs;
    costs.micro_batches = boost::random::uniform_int_distribution<int>(1, 30)(random);
    costs.barrier = ticks(unit);
    for (int i = 0; i < count; ++i) {
      costs.stages.push_back(stage());
      if (i + 1 < count) costs.boundaries.push_back({ticks(unit / 50), ticks(unit / 50)});
    }
    MoveBounds bounds(costs);
    for (int from = 0; from < count; ++from) {
      StepCosts taken = costs;
      taken.stages[at(from)] = stage();
      bounds.take_from(from, taken.stages[at(from)]);
      for (int to = 0; to < count; ++to) {
        if (from == to) continue;
        StepCosts moved = taken;
        moved.stages[at(to)] = stage();
        CAPTURE(round, count, from, to);
        CHECK(bounds.give_to(to, moved.stages[at(to)]).ps == step_bound(moved, true, true).ps);
      }
    }
  }
}
