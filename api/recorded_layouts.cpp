#include "api/recorded_layouts.h"

#include <map>
#include <set>
#include <utility>

#include "calibrate/data/layout_jobs.h"
#include "io/catalog/scoring.h"
#include "io/input/strategy_text.h"
#include "logs/table/layout_runs.h"
#include "text/diagnostic.h"
#include "text/document.h"

namespace trnplan::api {

std::vector<RecordedLayout> recorded_layouts(const io::Catalog& catalog) {
  const calibrate::LayoutRules rules = io::scoring_from(*catalog.document("scoring.json"));
  const std::vector<logs::LayoutRun> runs = logs::parse_layout_runs(read_text(catalog.file("gpu-runs.csv")),
                                                                    "gpu-runs.csv", logs::RunTable::gpu_runs);
  std::map<std::string, topology::Instance> machines;
  const auto instance_named = [&](const std::string& name) {
    const auto known = machines.find(name);
    return known != machines.end() ? known->second
                                   : machines.emplace(name, catalog.instance(name)).first->second;
  };
  std::set<std::pair<std::string, std::string>> seen_strategies;  // group and strategy
  std::vector<RecordedLayout> all;
  for (const logs::LayoutRun& run : runs) {
    const bool good = run.quality == "A" || run.quality == "B";
    if (!good || !run.faults.empty() || (!run.step_seconds && !run.memory_bytes && !run.out_of_memory))
      continue;
    calibrate::LayoutJob asked = calibrate::layout_job(run, rules, instance_named);
    if (!asked.refused.empty() ||
        !seen_strategies.emplace(calibrate::layout_group(run), asked.strategy).second)
      continue;
    try {
      models::Strategy strategy = io::parse_strategy(asked.strategy, asked.job);
      all.push_back({run.id, run.source, run.model, !run.out_of_memory, std::move(asked.job), strategy});
    } catch (const InputError&) {
      continue;  // a layout that this program does not know
    }
  }
  return all;
}

}  // namespace trnplan::api
