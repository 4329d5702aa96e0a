// Statements of a plan about itself.
#include "planner/plan/plan.h"

#include "tests/catch.h"

using namespace trnplan;

TEST_CASE("stages that wait ask for a global batch of more micro-batches", "[planner]") {
  planner::Plan plan;
  plan.strategy.pipeline_parallel = 4;
  plan.strategy.data_parallel = 2;
  plan.strategy.micro_batch = 3;
  plan.micro_batches = 8;
  plan.global_batch = 48;
  auto& breakdown = plan.report.breakdown;
  const auto bubble = static_cast<std::size_t>(models::Category::bubble);
  // 1F1B of four stages and eight micro-batches of one second: 3 s of waiting in 11. With n micro-batches it is 3 in 3
  // + n,
  // 5 % from n = 57 on, which are 57 x 3 x 2 sequences.
  plan.report.step = Seconds(11);
  breakdown[bubble] = Seconds(3);
  const auto waiting = planner::waiting_stages(plan);
  REQUIRE(waiting);
  CHECK(waiting->share == Approx(3.0 / 11));
  CHECK(waiting->enough == 342);
  breakdown[bubble] = Seconds(1);  // 9 %
  CHECK_FALSE(planner::waiting_stages(plan));
}
