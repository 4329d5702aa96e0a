#include <algorithm>
#include <stdexcept>

#include "sim/executor.h"

namespace trnplan::sim {

std::vector<TaskId> Run::critical_path() const {
  std::vector<TaskId> path;
  const auto last = std::find(ended.begin(), ended.end(), end);
  TaskId t = last == ended.end() ? kNone : static_cast<TaskId>(last - ended.begin());
  for (; t != kNone; t = released_by[t]) path.push_back(t);
  std::reverse(path.begin(), path.end());
  return path;
}

namespace {

/// The chain of a run, backwards from one instant of its rhythm to the one before.
struct Way {
  TaskId entry, exit;  ///< under way at the later and at the earlier instant; the entry is of the way
  std::vector<TaskId> tasks;
};

PathPart backwards(std::vector<TaskId> tasks, std::int64_t times = 1) {
  std::reverse(tasks.begin(), tasks.end());
  return {std::move(tasks), times};
}

}  // namespace

std::vector<PathPart> Run::critical_path(std::int64_t repeats) const {
  std::vector<TaskId> once = critical_path();
  if (repeats == 0) return {{std::move(once), 1}};
  if (once.empty() || !rhythm) throw std::logic_error("a run without a rhythm has nothing to repeat");
  const auto walk = [&](TaskId& t, const std::vector<TaskId>& instant) {
    std::vector<TaskId> tasks;
    for (; t != kNone && !std::binary_search(instant.begin(), instant.end(), t); t = released_by[t])
      tasks.push_back(t);
    if (t == kNone) throw std::logic_error("a chain of tasks does not cross an instant of its run");
    return tasks;
  };
  // From the end to the second instant; then, once for each time, from the second to the first. Such a way is
  // known by where it starts: from the second time that it starts at the same task on, all comes again.
  std::vector<PathPart> parts;  // the last first
  TaskId t = once.back();
  parts.push_back(backwards(walk(t, rhythm->to)));
  std::vector<Way> paths;
  auto known = paths.end();
  std::int64_t left = repeats + 1;
  for (; left > 0; --left) {
    known = std::find_if(paths.begin(), paths.end(), [&](const Way& w) { return w.entry == t; });
    if (known != paths.end()) break;
    Way way{t, t, {}};
    way.tasks = walk(way.exit, rhythm->from);
    t = way.exit + rhythm->tasks;
    parts.push_back(backwards(way.tasks));
    paths.push_back(std::move(way));
  }
  TaskId exit = paths.back().exit;
  if (left > 0) {
    const std::int64_t cycle = paths.end() - known, whole = left / cycle, rest = left % cycle;
    std::vector<TaskId> round;
    for (auto w = known; w != paths.end(); ++w) round.insert(round.end(), w->tasks.begin(), w->tasks.end());
    if (whole > 0) parts.push_back(backwards(std::move(round), whole));
    for (auto w = known; w != known + rest; ++w) parts.push_back(backwards(w->tasks));
    if (rest > 0) exit = known[rest - 1].exit;
  }
  std::vector<TaskId> before;
  for (t = exit; t != kNone; t = released_by[t]) before.push_back(t);
  parts.push_back(backwards(std::move(before)));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace trnplan::sim
