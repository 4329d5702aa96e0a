#include "planner/confidence/machine_shapes.h"

#include "models/collective/switched_parameters.h"
#include "models/device/gpu_parameters.h"
#include "models/step/step.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"

using namespace trnplan;
using planner::MachineShapes;

namespace {

MachineShapes shapes_with(const models::Profile& profile) {
  models::Job job = job_of("llama3-8b", 2, 4096, 64);
  job.cluster.instance = test_catalog().instance("p4d.24xlarge");
  planner::Plan plan;
  plan.strategy = strategy_of(job, "tp=8,framework=megatron");
  plan.nodes = 2;
  plan.instance = job.cluster.instance.name;
  plan.global_batch = 64;
  plan.report = models::simulate_step(job, plan.strategy, profile);
  return planner::machine_shapes(job, plan, profile, 0.1);
}

}  // namespace

TEST_CASE("shapes that are worth timing follow the doubt", "[planner]") {
  // Catches a kind that is measured though nothing depends on it, and shapes that are not the plan's.
  models::Profile profile = test_catalog().profile("a100");
  const MachineShapes usual = shapes_with(profile);
  CHECK(usual.of_products + usual.of_attention + usual.in_node + usual.between_nodes == Approx(1));
  REQUIRE_FALSE(usual.products.empty());
  double sum = 0;
  for (std::size_t i = 0; i < usual.products.size(); ++i) {
    sum += usual.products[i].share;
    if (i > 0) CHECK(usual.products[i].share <= usual.products[i - 1].share);
  }
  CHECK(sum <= 1 + 1e-9);
  // llama3-8b, a sequence of 4,096 tokens, TP 8: gate and up of 14,336 are (4096 x 4096) (4096 x 3584), in forward,
  // and their two products in backward take as long.
  const auto has = [&](double n, double k, double width) {
    return std::any_of(usual.products.begin(), usual.products.end(), [&](const planner::ProductShape& p) {
      return p.shape.n == n && p.shape.k == k && p.shape.width == width;
    });
  };
  CHECK(has(4096, 4096, 3584));
  // Links alone in doubt: nothing else is measured, and the table is of the tensor-parallel group.
  profile.value(models::switched::link_share).log_sd = 5;
  const MachineShapes links = shapes_with(profile);
  CHECK(links.products.empty());
  REQUIRE_FALSE(links.tables.empty());
  for (const planner::TableRequest& t : links.tables) CHECK(t.nodes == 1);
  CHECK(links.tables.front().ranks == 8);
  CHECK(planner::nccl_command(links.tables.front()).front().ends_with("_perf"));
}

// Catches a table of ranks that the runtime refuses, and an attention kernel that no script can call.
TEST_CASE("on NeuronCores products and tables that run are timed", "[planner]") {
  models::Job job = job_of("llama3-8b", 4, 4096, 64);
  planner::Plan plan;
  plan.strategy = strategy_of(job, "tp=8,recompute=full");
  plan.nodes = 4;
  plan.instance = job.cluster.instance.name;
  plan.global_batch = 64;
  models::Profile profile = datasheet();
  plan.report = models::simulate_step(job, plan.strategy, profile);
  const MachineShapes usual = planner::machine_shapes(job, plan, profile, 0.1);
  CHECK(usual.of_attention == 0);
  CHECK(usual.attention.empty());
  REQUIRE_FALSE(usual.products.empty());
  // A shape is compiled for some minutes: three each, a little for its runs, and half a minute for the start.
  const auto shapes = static_cast<double>(usual.products.size());
  CHECK(usual.minutes == Approx(0.5 + 3.05 * shapes + static_cast<double>(usual.tables.size())));
  profile.value(models::neuron::efa_fraction).log_sd = 5;
  const MachineShapes between = planner::machine_shapes(job, plan, profile, 0.1);
  REQUIRE_FALSE(between.tables.empty());
  CHECK(between.tables.back().nodes == 2);
  CHECK(between.tables.back().ranks % 2 == 0);
}
