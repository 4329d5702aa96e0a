// Additions of model families to Llama's layer, in the time of a layer.
#include <cmath>

#include "models/memory/memory.h"
#include "models/operators/operators.h"
#include "models/step/step.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

double seconds_of(const OperatorList& list, std::string_view name) {
  double seconds = 0;
  for (const Operator& op : list) {
    if (op.name == name) seconds += op.seconds.value;
  }
  return seconds;
}

}  // namespace

TEST_CASE("norms of queries and keys take time forward and backward", "[models]") {
  Job job = job_of("llama3-8b", 1, 4096, 32);
  const Strategy s = strategy_of(job, "tp=8");
  const Profile profile = datasheet();
  const LayerModel plain(job, s, profile);
  CHECK(seconds_of(plain.layer_forward(), "norm of heads") == 0);
  job.architecture.qk_norm = true;
  const LayerModel normed(job, s, profile);
  CHECK(seconds_of(normed.layer_forward(), "norm of heads") > 0);
  CHECK(seconds_of(normed.layer_backward(), "norm of heads") > 0);
}

// A token goes to 2 of 8 experts: the products are those of one dense MLP of twice the width, n 2 (h 2f + f h)
// FLOPs for each of 2; 4096 x 2 / 8 tokens come to each.
TEST_CASE("experts without a capacity do the work of those that tokens go to", "[models]") {
  Job job = job_of("mixtral-8x7b", 1, 4096, 32);
  const Strategy s = strategy_of(job, "tp=8");
  const Profile profile = datasheet();
  const auto work = [&](double capacity) {
    job.architecture.capacity_factor = capacity;
    double flops = 0;
    for (const Operator& op : LayerModel(job, s, profile).layer_forward()) {
      if (op.name == "gate_up" || op.name == "down") flops += op.flops.value;
    }
    return flops;
  };
  const double of_a_token = 2.0 * 3 * 4096 * 14336 / 8;
  CHECK(std::abs(work(0) / (4096 * 2 * of_a_token) - 1) < 1e-12);
  CHECK(std::abs(work(2) / work(0) - 2) < 1e-12);
}

TEST_CASE("a model that is only counted has no step", "[models]") {
  Job job = job_of("llama3-8b", 1, 4096, 32);
  const Strategy s = strategy_of(job, "tp=8");
  CHECK(StepModel::not_modelled(job, s).empty());
  job.architecture.blocks.untimed = "a block";
  CHECK(StepModel::not_modelled(job, s).find("a block") != std::string::npos);
}
