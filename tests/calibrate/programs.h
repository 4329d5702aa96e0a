// Measured programs for tests of fits.
#pragma once

#include <set>
#include <vector>

#include "calibrate/fit/step_fit.h"
#include "logs/table/measured_runs.h"
#include "tests/models/setup.h"
#include "text/document.h"

namespace trnplan {

/// One run of each program of the catalogue that simulates in at most two milliseconds.
inline std::vector<calibrate::MeasuredStep> programs() {
  auto mapped = calibrate::map_runs(
      logs::parse_measured_runs(read_text(TRNPLAN_SOURCE_DIR "/catalog/measured-runs.csv"), "runs"),
      test_catalog().instance("trn1.32xlarge"));
  std::vector<calibrate::MeasuredStep> kept;
  std::set<std::size_t> seen;
  const calibrate::StepBench bench(mapped.steps);
  for (const auto& o : bench.observations()) {
    const calibrate::MeasuredStep& s = mapped.steps[o.rows.front()];
    const int passes = models::micro_batches(s.job.training, s.strategy) * s.strategy.pipeline_parallel;
    if (passes <= 600 && seen.insert(o.program).second) kept.push_back(s);
  }
  for (calibrate::MeasuredStep& s : kept) {
    s.group.clear();
    s.job.software.release.clear();
  }
  return kept;
}

}  // namespace trnplan
