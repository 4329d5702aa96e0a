// What would help a run that misses its limits, asked again as a question of its own.
#include "planner/cost/remedies.h"

#include "tests/catch.h"
#include "tests/models/setup.h"
#include "tests/planner/reliability.h"

using namespace trnplan;
using namespace trnplan::planner;

namespace {

WhatIfQuestion short_of_time(double confidence) {
  WhatIfQuestion q;
  q.instances = {test_catalog().instance("trn1.32xlarge")};
  q.nodes = {4};
  q.tokens = 1e11;
  q.deadline = Seconds(10 * kDay);
  q.confidence = confidence;
  q.prices.usd_per_node_hour = 10;
  return q;
}

}  // namespace

// An advice that does not do what it says. Each changes the question, so the question is asked again: the cluster is
// then as likely as said, and is recommended where the confidence is reached.
TEST_CASE("what would help does so when it is asked", "[planner][whatif]") {
  const models::Job job = job_of("llama3-8b", 4, 8192, 1024);
  const double confidence = GENERATE(0.5, 0.9);
  const WhatIfQuestion q = short_of_time(confidence);
  const WhatIfResult none = whatif(job, q, datasheet(), round_numbers());
  REQUIRE(none.recommended < 0);
  REQUIRE(none.likeliest == 0);
  REQUIRE(none.helps.size() >= 2);
  int asked = 0;
  for (const WhatHelps& h : none.helps) {
    CAPTURE(h.option);
    WhatIfQuestion changed = q;
    if (h.option.starts_with("--deadline "))
      changed.deadline = Seconds(std::stod(h.option.substr(11)) * kDay);
    if (h.option.starts_with("--tokens ")) changed.tokens = std::stod(h.option.substr(9)) * 1e9;
    if (h.option == "--async-checkpoints") changed.asynchronous = true;
    const WhatIfResult r = whatif(job, changed, datasheet(), round_numbers());
    CHECK(r.points.at(0).run.probability_in_limits() == Approx(h.probability).epsilon(1e-9));
    CHECK(h.probability > none.points.at(0).run.probability_in_limits());
    REQUIRE(h.usd.has_value() == r.points.at(0).run.usd.has_value());
    if (h.usd) CHECK(*h.usd == Approx(*r.points.at(0).run.usd).epsilon(1e-9));
    if (h.option == "--async-checkpoints") continue;
    CHECK(r.recommended == 0);
    ++asked;
  }
  CHECK(asked == 2);
}

TEST_CASE("nothing is said to help where nothing is missing or nothing is bound", "[planner][whatif]") {
  const models::Job job = job_of("llama3-8b", 4, 8192, 1024);
  WhatIfQuestion q = short_of_time(0.5);
  q.deadline = Seconds(1000 * kDay);
  CHECK(whatif(job, q, datasheet(), round_numbers()).helps.empty());
  q.deadline.reset();
  CHECK(whatif(job, q, datasheet(), round_numbers()).helps.empty());
}
