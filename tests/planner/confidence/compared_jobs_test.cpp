#include "planner/confidence/compared_jobs.h"

#include "models/step/graph_size.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::planner;

namespace {

ComparedJob known(const char* id, const models::Job& job, const char* strategy, bool ran) {
  return {id, "somewhere", ran ? "ran" : "ran out of memory", ran, job, strategy_of(job, strategy)};
}

}  // namespace

// TP 8 against 32 is 2 away, DP 4 against 1 half of one, micro-batch 2 against 1 one; recompute LlamaMLP against none
// one.
TEST_CASE("the nearest known job, and what sets a plan apart from it", "[planner]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const ComparedJobs jobs({known("A", job, "tp=32", true), known("B", job, "tp=8", false)}, datasheet());
  const Experience same = jobs.nearest(job, strategy_of(job, "tp=32")).value();
  CHECK(same.id == "A");
  CHECK(same.distance == 0);
  CHECK(same.differences.empty());
  CHECK(same.words == "llama3-8b on 1 x trn1.32xlarge, TP 32 PP 1 DP 1, sequence 8192, micro-batch 1");

  const Experience wide = jobs.nearest(job, strategy_of(job, "tp=8,mbs=2,recompute=LlamaMLP")).value();
  CHECK(wide.id == "B");
  CHECK(wide.known == "ran out of memory");
  CHECK(wide.distance == Approx(2));
  CHECK(wide.differences.size() == 2);
  CHECK(wide.differences.front() == "micro-batch 2 against 1");

  const ComparedJobs one({known("A", job, "tp=32", true)}, datasheet());
  CHECK(one.nearest(job, strategy_of(job, "tp=8"))->distance == Approx(2.5));
}

TEST_CASE("the largest graph known is of what ran, on the same device", "[planner]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const ComparedJobs jobs({known("A", job, "tp=32", true), known("B", job, "tp=8", false)}, datasheet());
  const Experience e = jobs.nearest(job, strategy_of(job, "tp=8")).value();
  CHECK(e.largest_graph_id == "A");
  CHECK(e.largest_graph == models::largest_graph(job, strategy_of(job, "tp=32"), datasheet()).expected);
  models::Job other = job;
  other.cluster.instance.core.device = "gpu";
  CHECK(jobs.largest_graph(other).instructions == 0);
}

TEST_CASE("jobs on another kind of device are no cases", "[planner]") {
  models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const ComparedJobs one({known("A", job, "tp=32", true)}, datasheet());
  job.cluster.instance.traits.accelerator = topology::Accelerator::gpu;
  CHECK_FALSE(one.nearest(job, strategy_of(job, "tp=8")));
}
