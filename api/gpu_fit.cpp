#include "api/gpu_fit.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/inputs.h"
#include "calibrate/data/layout_jobs.h"
#include "io/catalog/gpu_fits.h"
#include "io/catalog/scoring.h"
#include "io/input/strategy_text.h"
#include "logs/table/layout_runs.h"
#include "models/step/step.h"
#include "text/diagnostic.h"
#include "units/parallel.h"

namespace trnplan::api {

namespace {

using calibrate::GpuFitPlan;
using calibrate::GpuRun;

constexpr int kIterations = 12;

GpuFitPlan plan_named(const std::string& profile, const io::Catalog& catalog) {
  std::vector<std::string> known;
  for (GpuFitPlan& plan : io::gpu_fits_from(*catalog.document("gpu-fits.json"))) {
    if (plan.profile == profile) return std::move(plan);
    known.push_back(plan.profile);
  }
  throw InputError({{"command line", 0, 0},
                    "--gpu",
                    "\"" + printable(profile, 40) + "\" is no fit of gpu-fits.json",
                    fmt::format("use one of {}", fmt::join(known, ", "))});
}

/// The plan's source of a row; nullptr: none.
const GpuFitPlan::Source* source_of(const logs::LayoutRun& run, const GpuFitPlan& plan) {
  const auto found = std::find_if(plan.sources.begin(), plan.sources.end(), [&](const GpuFitPlan::Source& s) {
    return run.source.find(s.name) != std::string::npos && !run.quality.empty() &&
           s.qualities.find(run.quality) != std::string::npos;
  });
  return found != plan.sources.end() && run.step_seconds && run.faults.empty() ? &*found : nullptr;
}

/// Keeps at most `most` rows of each source, evenly over the table.
void thin(std::vector<GpuRun>& runs, std::size_t most) {
  if (most == 0) return;
  std::map<std::string, std::size_t> count, seen;
  for (const GpuRun& r : runs) ++count[r.source];
  std::erase_if(runs, [&](const GpuRun& r) {
    const std::size_t i = seen[r.source]++, n = count[r.source];
    return n > most && (i + 1) * most / n == i * most / n;
  });
}

std::vector<GpuRun> runs_of(const std::string& table, const GpuFitPlan& plan, const io::Catalog& catalog,
                            Remarks& remarks) {
  const calibrate::LayoutRules rules = io::scoring_from(*catalog.document("scoring.json"));
  std::map<std::string, topology::Instance> instances;
  const auto instance = [&](const std::string& name) {
    const auto it = instances.find(name);
    return it != instances.end() ? it->second : instances.emplace(name, catalog.instance(name)).first->second;
  };
  std::vector<GpuRun> runs;
  std::size_t refused = 0;
  for (const logs::LayoutRun& run :
       logs::parse_layout_runs(read_text(table, kCsvBytes), table, logs::RunTable::gpu_runs)) {
    const GpuFitPlan::Source* source = source_of(run, plan);
    if (source == nullptr) continue;
    calibrate::LayoutJob asked = calibrate::layout_job(run, rules, instance);
    GpuRun r{run.id, source->name, std::move(asked.job), {}, *run.step_seconds, {}};
    if (!asked.refused.empty()) {
      ++refused;
      continue;
    }
    if (r.job.cluster.instance.family != plan.family) continue;
    try {
      r.strategy = io::parse_strategy(asked.strategy, r.job);
    } catch (const InputError&) {
      ++refused;
      continue;
    }
    r.job.training.precision = r.strategy.precision;
    r.job.software.framework = r.strategy.framework;
    if (run.all_reduce) r.all_reduce = BytesPerSecond(*run.all_reduce);
    runs.push_back(std::move(r));
  }
  if (refused > 0) remarks.add(fmt::format("{} rows of these sources are not modelled", refused));
  thin(runs, plan.most);
  return runs;
}

}  // namespace

calibrate::GpuFit fit_gpu(const GpuFitRequest& request, Remarks& remarks) {
  const io::Catalog catalog = io::Catalog::standard();
  const GpuFitPlan plan = plan_named(request.profile, catalog);
  const models::Profile prior = catalog.profile(plan.prior), shipped = catalog.profile(plan.profile);
  try {
    return calibrate::fit_gpu(runs_of(request.table, plan, catalog, remarks), plan, prior, shipped,
                              request.no_fit, kIterations, core_count());
  } catch (const std::invalid_argument& e) {
    throw InputError({{request.table, 0, 0},
                      "",
                      fmt::format("the table lacks rows for the fit of {}: {}", request.profile, e.what()),
                      "give a table with the rows that catalog/gpu-fits.json names"});
  }
}

}  // namespace trnplan::api
