// Counting steady rounds gives the same as running every micro-batch, on random steps. A failure prints the
// seed.
#include <cstdlib>
#include <string>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "models/step/step.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "tests/seeds.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

struct Step {
  Job job;
  Strategy strategy;
};

/// Interleaved, zero bubble or 1F1B with uneven stages; layers of neighbours on common links or not; from
/// fewer micro-batches than fill the pipeline up to `most` rounds of it.
Step random_step(unsigned seed, int most) {
  boost::random::mt19937 random(seed);
  const auto between = [&](int low, int high) {
    return boost::random::uniform_int_distribution<int>(low, high)(random);
  };
  Step step;
  const int kind = between(0, 3), stages = 2 << between(0, seed % 5 == 0 ? 2 : 1);
  const int chunks = kind < 2 ? between(2, 6) : 1;
  const int tensor = std::max(8, std::min(32 / stages, 8 << between(0, 1))),
            nodes = (between(0, 3) == 0 ? 2 : 1) * (stages == 8 ? 2 : 1);
  const int data = 32 * nodes / tensor / stages, rounds = between(1, most);
  const int micro_batches = chunks > 1 ? rounds * stages : between(1, most * stages);
  step.job = job_of("llama3-8b", nodes, between(0, 1) == 1 ? 2048 : 4096, micro_batches * data);
  step.job.architecture.vocabulary = between(0, 1) == 1 ? 32000 : 128256;
  step.job.architecture.layers = chunks > 1 ? stages * chunks : between(stages, 3 * stages);
  std::string text = "tp=" + std::to_string(tensor) + ",pp=" + std::to_string(stages);
  if (chunks > 1) text += ",vpp=" + std::to_string(chunks);
  if (between(0, 3) == 0) text += ",recompute=full";
  step.strategy = strategy_of(step.job, text);
  step.strategy.data_parallel = data;
  if (chunks == 1 && between(0, 1) == 1) {  // stages of any size
    std::vector<int>& cuts = step.strategy.pipeline_cuts;
    const int layers = step.job.architecture.layers;
    for (int s = 1, last = -1; s < stages; ++s)
      cuts.push_back(last = between(last + 1, std::min(last + 4, layers - 1 - (stages - s))));
  }
  if (kind == 2) step.strategy.schedule = Schedule::zero_bubble;
  return step;
}

}  // namespace

TEST_CASE("counted rounds and every micro-batch run agree to the tick", "[property]") {
  int folded_steps = 0, interleaved = 0, split = 0, expanded = 0;
  for (const unsigned seed : seeds(1, 300)) {
    const Step s = random_step(seed, seed % 10 == 0 ? 120 : 40);
    CAPTURE(seed, describe(s.strategy), s.strategy.virtual_pipeline,
            micro_batches(s.job.training, s.strategy), s.job.cluster.nodes, s.job.architecture.layers);
    const StepModel model(s.job, s.strategy, datasheet(), topology::ChipGraph(s.job.cluster.instance));
    const StepReport every = model.simulate({.unfolded = true}), counted = model.simulate();
    CHECK(counted.step.value == every.step.value);
    CHECK(counted.breakdown == every.breakdown);
    CHECK(counted.by_parameter == every.by_parameter);
    CHECK(counted.exclusive == every.exclusive);
    CHECK(counted.by_operator == every.by_operator);
    CHECK(counted.tasks == every.tasks);
    CHECK(counted.low == every.low);
    if (counted.folded) {
      ++folded_steps;
      interleaved += s.strategy.virtual_pipeline > 1;
      split += s.strategy.schedule == Schedule::zero_bubble;
      expanded += counted.expanded;
    }
  }
  CAPTURE(folded_steps, interleaved, split, expanded);
  CHECK(folded_steps >= at_least(100));
  CHECK(interleaved >= at_least(40));
  CHECK(split >= at_least(20));
  CHECK(expanded >= at_least(40));
}

// Its stages drift apart by microseconds a round: no two rounds are alike. Four million tasks.
TEST_CASE("a step without a rhythm grows as it does when all of it is run", "[once][property]") {
  const Job job = job_of("llama3-8b", 8, 2048, 1200);
  const StepModel model(job, strategy_of(job, "tp=32,pp=8,vpp=2,recompute=full"),
                        test_catalog().profile("trn1"), topology::ChipGraph(job.cluster.instance));
  const StepReport every = model.simulate({.expand = true, .unfolded = true}),
                   counted = model.simulate({.expand = true});
  CHECK(counted.folded);
  CHECK(counted.tasks == every.tasks);
  CHECK(counted.step.value == Approx(every.step.value).epsilon(1e-5));
  double sum = 0;
  for (const Seconds s : counted.breakdown) sum += s.value;
  CHECK(sum == Approx(counted.step.value).epsilon(1e-9));
  // A short one is run whole.
  const Job fewer = job_of("llama3-8b", 8, 2048, 800);
  CHECK_FALSE(StepModel(fewer, strategy_of(fewer, "tp=32,pp=8,vpp=2,recompute=full"),
                        test_catalog().profile("trn1"), topology::ChipGraph(job.cluster.instance))
                  .simulate({.expand = true})
                  .folded);
}
