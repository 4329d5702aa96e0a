#include "models/step/step_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "models/step/step.h"

namespace trnplan::models {

namespace {

/// The most passes and tasks that are run one by one; a task takes some 100 bytes.
constexpr std::int64_t kMostPasses = 4'000'000, kMostTasks = 60'000'000;

/// The most tasks that are run in full rather than extrapolated, and the most that a search for a rhythm may
/// run in vain: a second, and a good 100 MB.
constexpr std::int64_t kTasksRunWhole = 4'000'000, kTasksInVain = 2'000'000;

/// Rounds that are run before the search for a rhythm, besides those that fill the pipeline.
constexpr int kFewRounds = 4;

std::int64_t passes_of(const StepParts& p, int micro_batches) {
  return saturating_product({micro_batches, p.stages, p.chunks()});
}

[[noreturn]] void throw_too_many() {
  throw TooManyPasses(
      "this step does not reach a steady rhythm of equal rounds, and has more than 4 million micro-batches "
      "times stages, or 60 million tasks");
}

/// Some 2 s and 1 GB a run.
constexpr std::int64_t kMostRandomTasks = 8'000'000;

/// Tasks of all passes, roughly.
std::int64_t random_tasks(const StepParts& p, const Layout& layout, Detail detail) {
  std::int64_t each = 1;
  for (int s = 0; s < p.stages && detail != Detail::passes; ++s) {
    for (const Chunk& chunk : p.work(s).chunks) {
      std::int64_t items = 0;
      for (const Pass* pass : {&chunk.forward, &chunk.backward, &chunk.weights}) {
        for (const Chain& c : pass->chains) items += static_cast<std::int64_t>(c.items->size()) * c.times;
      }
      each = std::max(each, items);
    }
  }
  return saturating_product({passes_of(p, p.micro_batches), layout.lanes(0), each});
}

/// An upper bound of the step's tasks where every operator is a task. Where collectives overlap work it is not known:
/// the largest integer.
std::int64_t most_tasks(const StepParts& p, Layout& layout) {
  if (p.overlaps() || p.reduces_early() || p.has_background())
    return std::numeric_limits<std::int64_t>::max();
  const std::int64_t lanes = layout.lanes(0);
  std::int64_t of_micro_batch = 0, once = 1;
  for (int s = 0; s < p.stages; ++s) {
    const auto tasks_of = [&](const Items& items) {
      std::int64_t tasks = 0;
      for (const Item& item : items)
        tasks += item.is_transfer() ? static_cast<std::int64_t>(layout.shares(s, item).size()) : lanes;
      return tasks;
    };
    for (const Chunk& chunk : p.work(s).chunks) {
      for (const Pass* pass : {&chunk.forward, &chunk.backward, &chunk.weights}) {
        of_micro_batch += lanes;  // its launch
        for (const Chain& c : pass->chains) of_micro_batch += tasks_of(*c.items) * c.times;
      }
    }
    for (const Items* items : p.work(s).collectives_of_step()) once += tasks_of(*items);
    once += 3 * lanes;  // a late start, the optimizer, the end
  }
  for (std::size_t b = 0; b < p.boundaries.size(); ++b) {
    for (const Items* items : {p.boundaries[b].activation.get(), p.boundaries[b].gradient.get()}) {
      std::int64_t message = 4 * lanes;  // a launch and a hold at both ends
      for (const Item& item : *items)
        message += static_cast<std::int64_t>(layout.pair_shares(static_cast<int>(b), item).size());
      of_micro_batch += message * p.chunks();
    }
  }
  return saturating_product({of_micro_batch + once, p.micro_batches});
}

/// Number of micro-batches that are run first: the rounds, and those that fill the pipeline.
int unit_of(const StepParts& p) {
  return p.round() > 1 ? kFewRounds * p.round() : 2 * kFewRounds + 3 * p.stages;
}

/// True if a run of these tasks can come to a rhythm: that takes two instants a period apart, both before the
/// part that repeats ends.
bool may_repeat(const sim::Repeats& r) {
  return r.period > 0 && r.first + r.period < r.beyond;
}

/// Moves the search for a rhythm behind the end of all tasks of the first `whole` micro-batches.
void keep_whole(StepProgram& step, int whole) {
  sim::TaskId last = 0;
  for (std::size_t i = 0; i + 1 < step.segments.size(); ++i) {
    if (step.segments[i].action.micro_batch < whole) last = step.segments[i + 1].first;
  }
  sim::Repeats& r = step.repeats;
  while (r.period > 0 && r.first < last) r.first += r.period;
}

}  // namespace

SimTime StepRun::end() const {
  return repeats > 0 ? run.end + run.rhythm->length * repeats : run.end;
}

StepRun run_unfolded(const StepParts& p, Layout& layout, Detail detail, bool segments, Jitter* jitter) {
  if (passes_of(p, p.micro_batches) > kMostPasses) throw_too_many();
  if (jitter != nullptr && random_tasks(p, layout, detail) > kMostRandomTasks) {
    throw TooManyPasses(
        "with random times each replica runs its passes one by one, and these are more than 8 million tasks");
  }
  StepRun r{make_program(p, layout, detail, segments, jitter), {}};
  r.run = sim::execute(r.step.program);
  return r;
}

namespace {

/// The critical path as parts that start and end with the step's first and last task. Of repeated parts the
/// first and the last time are separate.
std::vector<sim::PathPart> path_of(const StepRun& r) {
  std::vector<sim::PathPart> parts;
  for (sim::PathPart& part : r.run.critical_path(r.repeats)) {
    if (part.times > 2) parts.push_back({part.tasks, 1});
    if (part.times > 1) parts.push_back({part.tasks, std::max<std::int64_t>(part.times - 2, 1)});
    parts.push_back({std::move(part.tasks), 1});
  }
  return parts;
}

StepTimes times_of(const StepRun& r, const StepParts& p) {
  const int stages = p.stages;
  const StepProgram& step = r.step;
  const sim::Run& run = r.run;
  const std::vector<sim::PathPart> path = path_of(r);
  std::vector<std::int64_t> work(static_cast<std::size_t>(stages), 0);
  for (const sim::PathPart& part : path) {
    for (const sim::TaskId t : part.tasks) {
      const auto* pass = step.of(t).as<task::PassPart>();
      if (pass == nullptr) continue;
      work[static_cast<std::size_t>(pass->stage)] += (run.ended[t] - run.started[t]).ps * part.times;
    }
  }
  const int main = static_cast<int>(std::max_element(work.begin(), work.end()) - work.begin());
  using Place = std::pair<std::size_t, std::size_t>;  // part, task
  Place first{path.size(), 0}, last{0, 0};
  for (Place at{0, 0}; at.first < path.size(); ++at.first) {
    for (at.second = 0; at.second < path[at.first].tasks.size(); ++at.second) {
      const auto* pass = step.of(path[at.first].tasks[at.second]).as<task::PassPart>();
      if (pass == nullptr || pass->stage != main) continue;
      first = std::min(first, at);
      last = at;
    }
  }
  StepTimes times;
  times.end = r.end();
  times.folded = r.repeats > 0;
  times.tasks = static_cast<std::int64_t>(step.program.expanded_tasks());
  times.events = static_cast<std::int64_t>(run.events);
  if (r.repeats > 0) {
    times.tasks += r.repeats * run.rhythm->tasks;
    times.events += r.repeats * static_cast<std::int64_t>(run.rhythm->events);
  }
  struct Spent {
    std::int64_t times = 0;
    SimTime beyond, stretch;  ///< beyond the fixed part; of the fixed part, on slower cores
  };
  struct TagTimes {
    Spent normal, bubble;
  };
  std::vector<TagTimes> tags(step.sources.size());
  for (Place at{0, 0}; at.first < path.size(); ++at.first) {
    const std::int64_t n = path[at.first].times;
    for (at.second = 0; at.second < path[at.first].tasks.size(); ++at.second) {
      const sim::TaskId task = path[at.first].tasks[at.second];
      const bool fills = step.of(task).is<task::PassPart>() && (at < first || last < at);
      const auto spend = [&](std::uint32_t tag, SimTime fixed, SimTime length) {
        Spent& spent = fills ? tags[tag].bubble : tags[tag].normal;
        spent.times += n;
        spent.beyond += (length - fixed) * n;
        if (const Item* item = step.sources[tag].item) spent.stretch += (fixed - item->length) * n;
      };
      const sim::Task& t = step.program.tasks()[task];
      if (t.series == sim::Task::kNoSeries) {
        spend(t.tag, t.fixed, run.ended[task] - run.started[task]);
      } else {
        run.each_element(step.program, task,
                         [&](const sim::Element& e, SimTime length) { spend(e.tag, e.fixed, length); });
      }
    }
  }
  const auto attribute = [&](Attribution& to, const Item& item, const Spent& spent) {
    to.add(item.fixed, spent.times);
    attribute_beyond(to, item, spent.beyond, p.slowdown());
    attribute_stretch(to, item, spent.stretch, *p.profile.schema);
  };
  for (std::size_t tag = 0; tag < tags.size(); ++tag) {
    const Item* item = step.sources[tag].item;
    if (item == nullptr) continue;
    attribute(times.path, *item, tags[tag].normal);
    if (tags[tag].bubble.times == 0) continue;
    Attribution filling;
    attribute(filling, *item, tags[tag].bubble);
    const SimTime all = filling.total();
    filling.category = {};
    filling.category[static_cast<std::size_t>(Category::bubble)] = all.ps;
    times.path.add(filling);
  }
  return times;
}

/// All the numbers of a step.
std::vector<std::int64_t*> numbers_of(StepTimes& t) {
  std::vector<std::int64_t*> all{&t.end.ps, &t.tasks, &t.events};
  for (auto* list : {&t.path.parameter, &t.path.also})
    for (std::int64_t& n : *list) all.push_back(&n);
  for (std::int64_t& n : t.path.category) all.push_back(&n);
  for (OperatorTicks& o : t.path.operators) all.push_back(&o.time.ps);
  return all;
}

bool is_alike(const StepTimes& a, const StepTimes& b) {
  return std::equal(a.path.operators.begin(), a.path.operators.end(), b.path.operators.begin(),
                    b.path.operators.end(),
                    [](const OperatorTicks& x, const OperatorTicks& y) { return x.name == y.name; });
}

/// `b`, extrapolated: adds `times` / `parts` of the difference between `b` and the similar `a`. Throws
/// std::overflow_error beyond the clock.
StepTimes grown(StepTimes a, StepTimes b, std::int64_t times, std::int64_t parts) {
  __extension__ using Wide = __int128;
  const std::vector<std::int64_t*> from = numbers_of(a), to = numbers_of(b);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const Wide more = static_cast<Wide>(*to[i] - *from[i]) * times;
    const Wide sum = *to[i] + (more + (more < 0 ? -parts : parts) / 2) / parts;
    if (sum > std::numeric_limits<std::int64_t>::max())
      throw std::overflow_error("a step beyond the simulation clock");
    *to[i] = static_cast<std::int64_t>(sum);
  }
  b.folded = b.extrapolated = true;
  return b;
}

bool is_near(SimTime a, SimTime b) {
  constexpr double kNear = 1e-4;
  return std::abs(static_cast<double>((a - b).ps)) <= kNear * static_cast<double>(b.ps);
}

/// The longest time of one of the `lanes` of all stages for `unit` micro-batches in the steady part of a run;
/// absent where that part is too short.
std::optional<SimTime> slowest_pace(const StepRun& r, int lanes, int unit) {
  const sim::Repeats& repeats = r.step.repeats;
  if (repeats.period == 0 || unit % r.step.micro_batches_of_period != 0) return std::nullopt;
  const sim::TaskId apart = repeats.period * static_cast<sim::TaskId>(unit / r.step.micro_batches_of_period);
  const sim::Program& program = r.step.program;
  std::vector<bool> seen(static_cast<std::size_t>(lanes));
  SimTime slowest;
  int left = lanes;
  for (sim::TaskId t = repeats.beyond; left > 0 && t-- > repeats.first + apart;) {
    const sim::Task& task = program.tasks()[t];
    if (task.device_count == 0) continue;
    const sim::DeviceId d = program.task_devices()[task.first_device];
    if (d >= seen.size() || seen[d]) continue;
    seen[d] = true;
    --left;
    slowest = std::max(slowest, r.run.started[t] - r.run.started[t - apart]);
  }
  if (left > 0) return std::nullopt;
  return slowest;
}

/// What a search for a rhythm has tried in vain, and the number of all tasks as far as known.
struct InVain {
  struct Try {
    int micro_batches = 0;
    std::optional<StepTimes> times;  ///< absent if it was put off
    std::optional<SimTime> pace;     ///< slowest_pace()
  };
  std::vector<Try> tries;  ///< each with twice as many units as the previous, and the same rest
  std::int64_t tasks = 0;
};

/// True if a run of these tasks comes to so few instants that most rhythms show in none.
bool compares_few(const sim::Repeats& r) {
  constexpr sim::TaskId kFew = 4;
  return !may_repeat(r) || (r.beyond - r.first) / r.period < kFew;
}

/// Searches for a rhythm: runs `few` micro-batches, then more. Puts off runs of large steps that likely show none,
/// if it may: a longer run comes by the same instants. What it has not run and has run in vain is in `vain`.
std::optional<StepRun> find_rhythm(const StepParts& p, Layout& layout, Detail detail, int whole,
                                   bool segments, bool may_put_off, InVain& vain) {
  const int round = p.round(), m = p.micro_batches;
  const int unit = unit_of(p), first = (whole + round - 1) / round * round;
  if (m < first + 2 * unit) return std::nullopt;
  const int rest = first + (m - first) % unit;  // so that whole units are left
  std::int64_t most_in_vain = kTasksInVain;
  std::int64_t& tasks = vain.tasks;
  // A step that is not extrapolated needs no program to see that it comes to no rhythm.
  const bool few_tasks = detail != Detail::passes && most_tasks(p, layout) <= kTasksRunWhole;
  // Without a rhythm, at most half of the micro-batches are run in vain.
  const auto tries = [&](std::int64_t few) {
    const std::int64_t tried = rest + few;
    return (few == unit ? 2 : 4) * few <= m - rest && tasks / m * tried <= most_in_vain &&
           passes_of(p, static_cast<int>(tried)) <= kMostPasses;
  };
  bool found = false;
  for (std::int64_t few = unit; tries(few); few *= 2) {
    int tried = static_cast<int>(rest + few);
    for (int spare = 0; tried + spare < m;) {
      tried += spare;
      if (few_tasks && !may_repeat(period_in_actions(tried, p))) break;
      StepRun r{make_program_of(tried, p, layout, detail, segments), {}};
      keep_whole(r.step, whole);
      tasks = static_cast<std::int64_t>(r.step.program.tasks().size()) / tried * m;
      // Where many are kept whole, the part searched after them is comparatively small.
      if (few == unit) most_in_vain = std::max(most_in_vain, 2 * (tasks / m * (tried + unit)));
      // Steps that are not extrapolated have no use for a run without a rhythm.
      if (tasks <= kTasksRunWhole && !may_repeat(r.step.repeats)) break;
      if (may_put_off && tasks > kTasksRunWhole && compares_few(r.step.repeats) && tries(2 * few)) {
        vain.tries.push_back({tried, {}, {}});
        break;
      }
      r.run = sim::execute(r.step.program, r.step.repeats);
      if (!r.run.rhythm) {
        if (spare == 0)
          vain.tries.push_back({tried, times_of(r, p), slowest_pace(r, p.stages * layout.lanes(0), unit)});
        break;
      }
      found = true;
      const auto periods = static_cast<int>(r.run.rhythm->tasks / r.step.repeats.period);
      const int each = periods * r.step.micro_batches_of_period;
      r.repeats = (m - tried) / each;
      if ((m - tried) % each == 0) return r;
      if (spare > 0) break;
      spare = (m - tried) % each;
    }
  }
  const bool put_off =
      std::any_of(vain.tries.begin(), vain.tries.end(), [](const auto& t) { return !t.times; });
  // A rhythm that did not go into the rest, or no run at the end: what was put off may have come to one.
  if (!put_off || (!found && vain.tries.back().times)) return std::nullopt;
  vain = {};
  return find_rhythm(p, layout, detail, whole, segments, false, vain);
}

}  // namespace

StepRun run_folded(const StepParts& p, Layout& layout, Detail detail, int whole, bool segments) {
  InVain vain;
  if (auto found = find_rhythm(p, layout, detail, whole, segments, true, vain)) return std::move(*found);
  if (vain.tasks > kMostTasks) throw_too_many();
  return run_unfolded(p, layout, detail, segments);
}

StepTimes time_unfolded(const StepParts& p, Layout& layout, Detail detail, Jitter* jitter) {
  return times_of(run_unfolded(p, layout, detail, false, jitter), p);
}

namespace {

/// The times of a step by the growth of those that were tried in vain; absent where it does not grow evenly.
std::optional<StepTimes> extrapolated(const StepParts& p, Layout& layout, Detail detail, const InVain& vain) {
  const std::size_t n = vain.tries.size();
  if (n < 3) return std::nullopt;
  const auto times_at = [&](std::size_t i) {
    const InVain::Try& t = vain.tries[i];
    if (t.times) return *t.times;
    StepRun r{make_program_of(t.micro_batches, p, layout, detail), {}};
    r.run = sim::execute(r.step.program);
    return times_of(r, p);
  };
  const int unit = unit_of(p);
  const std::int64_t units = std::int64_t{1} << (n - 3);  // of the first of the three
  const std::optional<SimTime> pace = vain.tries[n - 1].pace;
  if (!pace) return std::nullopt;
  const StepTimes first = times_at(n - 3), second = times_at(n - 2), third = times_at(n - 1);
  const SimTime growth = third.end - second.end;  // of twice as many
  if (!is_alike(second, third) || !is_near((second.end - first.end) * 2, growth)) return std::nullopt;
  if (!is_near(std::max(*pace * units * 2, growth), growth)) return std::nullopt;
  return grown(second, third, p.micro_batches / unit - 4 * units, 2 * units);
}

}  // namespace

StepTimes time_folded(const StepParts& p, Layout& layout, Detail detail) {
  InVain vain;
  if (const auto found = find_rhythm(p, layout, detail, 0, false, true, vain)) return times_of(*found, p);
  if (vain.tasks > kTasksRunWhole) {
    if (auto step = extrapolated(p, layout, detail, vain)) return std::move(*step);
  }
  if (vain.tasks > kMostTasks) throw_too_many();
  return time_unfolded(p, layout, detail);
}

}  // namespace trnplan::models
