#include "api/recorded_runs.h"

#include <algorithm>
#include <map>

#include "api/recorded_layouts.h"
#include "calibrate/data/run_jobs.h"
#include "io/catalog/catalog.h"
#include "logs/table/memory_cases.h"
#include "text/document.h"

namespace trnplan::api {

namespace {

using planner::RecordedRun;

/// Models of the catalogue, each read once; cases of other models are skipped.
class Models {
 public:
  explicit Models(const io::Catalog& catalog) : catalog_(catalog) {
    for (const std::string& name : catalog.models()) names_.emplace(io::folded_name(name), name);
  }
  const models::Architecture* find(const std::string& published) {
    const auto name = names_.find(io::folded_name(published));
    if (name == names_.end()) return nullptr;
    const auto [found, fresh] = read_.try_emplace(name->second);
    if (fresh) found->second = catalog_.architecture(name->second);
    return &found->second;
  }

 private:
  const io::Catalog& catalog_;
  std::map<std::string, std::string> names_;
  std::map<std::string, models::Architecture> read_;
};

RecordedRun of_case(const logs::MemoryCase& c, models::Architecture model) {
  if (c.layers > 0) model.layers = c.layers;
  return {c.id,    c.model,    std::move(model), c.instance, topology::Accelerator::neuron_core,
          c.nodes, c.sequence, c.strategy,       !c.shipped};
}

}  // namespace

std::vector<RecordedRun> recorded_runs(const io::Catalog& catalog,
                                       const std::vector<planner::Observation>& observations,
                                       const models::Architecture& own_model, bool gpus) {
  const std::vector<std::string> machines = catalog.machines();
  const auto accelerator_of = [&](const std::string& instance) {
    const bool known = std::find(machines.begin(), machines.end(), instance) != machines.end();
    return known ? catalog.instance(instance).traits.accelerator : topology::Accelerator::neuron_core;
  };
  std::vector<RecordedRun> all;
  for (const planner::Observation& o : observations) {
    if (o.rule != "memory" || !o.accepted || !planner::is_of(o, own_model)) continue;
    all.push_back({o.file, o.model, own_model, o.instance, accelerator_of(o.instance), o.nodes, o.sequence,
                   o.strategy, true});
  }
  const auto measured = catalog.measured_runs();
  const std::vector<models::MeasuredRun>& rows = *measured;
  for (calibrate::MeasuredStep& s :
       calibrate::map_runs(rows, catalog.instance(catalog.default_instance())).steps) {
    all.push_back({s.id, s.job.architecture.name, std::move(s.job.architecture), s.job.cluster.instance.name,
                   s.job.cluster.instance.traits.accelerator, s.job.cluster.nodes, s.job.training.sequence,
                   std::move(s.strategy), true, s.job.cluster.instance.family});
  }
  Models models(catalog);
  const auto add = [&](const logs::MemoryCase& c) {
    if (!c.left_out.empty() || c.fact == logs::MemoryFact::too_large || c.kind == "train") return;
    if (const models::Architecture* model = models.find(c.model)) all.push_back(of_case(c, *model));
  };
  for (const auto& c :
       logs::parse_memory_cases(read_text(catalog.file("memory-cases.csv")), "memory-cases.csv"))
    add(c);
  for (const auto& c : logs::memory_cases_of(rows, catalog.machines())) add(c);
  if (!gpus) return all;
  for (RecordedLayout& l : recorded_layouts(catalog)) {
    if (!l.fitted) continue;
    const topology::Cluster& cluster = l.job.cluster;
    all.push_back({l.id, l.model, std::move(l.job.architecture), cluster.instance.name,
                   cluster.instance.traits.accelerator, cluster.nodes, l.job.training.sequence, l.strategy,
                   true, cluster.instance.family});
  }
  return all;
}

}  // namespace trnplan::api
