// A strategy as on the command line, for a job of one node and for one of many.
#include "io/format/stored_strategy.h"
#include "io/input/strategy_text.h"
#include "planner/check/rules.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

namespace {

models::Job job_on(int nodes) {
  models::Job job;
  job.architecture = fuzz::catalog().architecture("llama3-8b");
  job.training = {8192, 1024, 0, models::Precision::mixed_precision};
  job.cluster = {fuzz::catalog().instance("trn1.32xlarge"), nodes};
  return job;
}

/// A strategy survives the files that hold it.
void check_stored(const models::Strategy& s) {
  std::vector<Diagnostic> faults;
  const Node node = parse_document(io::strategy_json(s), "s.json");
  MapReader map(node, "strategy", faults);
  fuzz::ensure(io::strategy_from(map) == s, "a strategy is read back as it was");
  map.finish();
  fuzz::ensure(faults.empty(), "what was written is read");
}

}  // namespace

void fuzz::strategy_text_target(const std::uint8_t* data, std::size_t size) {
  static const models::Job jobs[] = {job_on(1), job_on(16)};
  const std::string text = fuzz::text_of(data, size);
  for (const models::Job& job : jobs) {
    fuzz::refusable([&] {
      const models::Strategy s = io::parse_strategy(text, job);
      fuzz::ensure(saturating_product({s.model_parallel(), s.data_parallel}) == job.cluster.cores(),
                   "a strategy uses every core");
      fuzz::ensure(s == models::canonical(s), "a strategy is canonical");
      check_stored(s);
      planner::rule_violations(job, s);
    });
  }
  // The prose of older files.
  if (const auto s = io::strategy_of_prose(text)) {
    fuzz::ensure(s->tensor_parallel >= 1 && s->micro_batch >= 1, "degrees are counted from 1");
    check_stored(*s);
  }
}
