#include "calibrate/validate/memory_validation.h"

#include <algorithm>
#include <utility>

#include "models/memory/fit_probability.h"

namespace trnplan::calibrate {

namespace {

/// Least share of a published upper limit that a prediction must reach for the limit to say something about
/// it.
constexpr double kLeastOfLimit = 0.5;

MemoryValidation::Row predict(const logs::MemoryCase& c, const Lookup& lookup,
                              const models::Profile& profile) {
  MemoryValidation::Row row;
  row.published = c;
  CaseJob published = job_of(c, lookup);
  row.job = std::move(published.job);
  row.memory = models::memory_of(row.job, published.strategy, profile);
  row.limit = c.fact == logs::MemoryFact::at_most ? c.at_most : row.memory.limit;
  row.memory.limit = row.limit;
  row.fit_probability = models::fit_distribution(row.memory, profile).probability;
  switch (c.fact) {
    case logs::MemoryFact::fits:
      row.right = row.memory.fits();
      break;
    case logs::MemoryFact::too_large:
      row.right = !row.memory.fits();
      break;
    case logs::MemoryFact::at_most:
      row.right =
          row.fit_probability >= models::kLeastFitProbability && row.peak() >= kLeastOfLimit * c.at_most;
      break;
  }
  return row;
}

}  // namespace

CaseJob job_of(const logs::MemoryCase& c, const Lookup& lookup) {
  CaseJob out;
  models::Job& job = out.job;
  job.architecture = lookup.architecture(c.model);
  if (c.layers > 0) job.architecture.layers = c.layers;
  if (c.vocabulary > 0) job.architecture.vocabulary = c.vocabulary;
  job.cluster = {lookup.instance(c.instance), c.nodes};
  job.training = {c.sequence, c.global_batch, 0, c.strategy.precision};
  out.strategy = c.strategy;
  out.strategy.kv_replicator = std::max(1, c.strategy.tensor_parallel / job.architecture.kv_heads);
  return out;
}

MemoryValidation::Count MemoryValidation::count(const std::string& kind) const {
  Count all;
  for (const Row& row : rows) {
    if (!kind.empty() && row.published.kind != kind) continue;
    ++all.layouts;
    all.rows += row.published.rows;
    if (!row.right) all.wrong += row.published.rows;
  }
  return all;
}

MemoryValidation validate_memory(const std::vector<logs::MemoryCase>& cases, const Lookup& lookup,
                                 const models::Profile& profile) {
  MemoryValidation v;
  for (const logs::MemoryCase& c : cases) {
    if (c.left_out.empty()) {
      v.rows.push_back(predict(c, lookup, profile));
    } else {
      v.left_out.push_back(c);
    }
  }
  return v;
}

}  // namespace trnplan::calibrate
