#include "sim/folded_run.h"

#include <vector>

namespace trnplan::sim {

Run folded(const Program& p, const Program::Expansion& expansion, const Run& of_all) {
  Run run;
  run.end = of_all.end;
  run.events = of_all.events;
  run.elements.place.assign(p.tasks().size(), ElementTimes::kAlone);
  std::vector<TaskId> task;  // by task of the expansion
  for (TaskId t = 0; t < p.tasks().size(); ++t) task.resize(expansion.first[t + 1], t);
  for (TaskId t = 0; t < p.tasks().size(); ++t) {
    const TaskId first = expansion.first[t], beyond = expansion.first[t + 1];
    run.started.push_back(of_all.started[first]);
    run.ended.push_back(of_all.ended[beyond - 1]);
    const TaskId by = of_all.released_by[first];
    run.released_by.push_back(by == Run::kNone ? by : task[by]);
    if (!p.is_series(t)) continue;
    const std::uint32_t start = p.first_element(t);
    run.elements.place[t] = static_cast<std::uint32_t>(run.elements.ends.size());
    run.elements.ends.resize(run.elements.ends.size() + p.series_of(t).elements, SimTime{-1});
    for (TaskId i = beyond - 1;; i = of_all.released_by[i]) {
      const std::uint32_t e = expansion.element[i];
      if (e != Program::Expansion::kNoElement)
        run.elements.ends[run.elements.place[t] + e - start] = of_all.ended[i];
      if (i == first) break;
    }
  }
  return run;
}

}  // namespace trnplan::sim
