#include "planner/confidence/distance.h"

#include <cmath>

#include "io/catalog/recommending.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using planner::Distance;
using planner::RecordedRun;
using planner::RecordedRuns;

namespace {

planner::DistanceParameters shipped() {
  return io::recommending_from(read_document(test_catalog().file("recommending.json"))).distance;
}

RecordedRun run_of(const std::string& id, const models::Job& job, const std::string& strategy) {
  return {id,
          job.architecture.name,
          job.architecture,
          job.cluster.instance.name,
          job.cluster.instance.traits.accelerator,
          job.cluster.nodes,
          job.training.sequence,
          strategy_of(job, strategy)};
}

/// 8B on one node with TP 32, and on four with TP 8 and PP 4; an encoder's batch of 16 is of another kind.
RecordedRuns some() {
  const models::Job one = job_of("llama3-8b", 1, 8192, 1024), four = job_of("llama3-8b", 4, 8192, 1024);
  models::Job encoder = job_of("bert-large", 1, 512, 1024);
  return RecordedRuns({run_of("one", one, "tp=32"), run_of("four", four, "tp=8,pp=4,recompute=LlamaMLP"),
                       run_of("encoder", encoder, "mbs=16")},
                      shipped());
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

TEST_CASE("what ran is at no distance", "[planner][distance]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const Distance d = some().distance(job, strategy_of(job, "tp=32"));
  CHECK(d.value == 0);
  CHECK(d.nearest == 0);
  CHECK(d.untested.empty());
  CHECK(d.differs.empty());
  CHECK(some().value(job, strategy_of(job, "tp=32")) == 0);
}

// From "one": TP 8 is two doublings, tried by "four": 2 x 1 / 2. From "four": no pipeline is 1 / 2, PP four times
// smaller 2 x 0.5 / 2, no LlamaMLP 0.5 / 2 and four times fewer nodes 2 x 0.25 / 2: 1.5. So 1.
TEST_CASE("what was tried in another combination counts half", "[planner][distance]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const Distance d = some().distance(job, strategy_of(job, "tp=8"));
  CHECK(d.value == Approx(1));
  CHECK(d.nearest == 0);
  CHECK(d.untested.empty());
  CHECK(has(d.differs, "TP"));
}

// Micro-batch 2 is 1.5 and cuts by hand are 1, both untried by any decoder.
TEST_CASE("what no run of the kind has is said", "[planner][distance]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const RecordedRuns runs = some();
  const double plain = runs.value(job, strategy_of(job, "tp=8,pp=4"));
  const Distance d = runs.distance(job, strategy_of(job, "tp=8,pp=4,mbs=2,cuts=5/14/23"));
  CHECK(d.value == Approx(plain + 2.5));
  CHECK(has(d.untested, "micro-batch 2"));
  CHECK(has(d.untested, "manual cuts"));
  CHECK(runs.runs_at_all(d.value) < runs.runs_at_all(plain));
  CHECK(runs.memory_log_sd(d.value) > runs.memory_log_sd(plain));
  CHECK(runs.time_log_sd(d.value, 0.07) > runs.time_log_sd(plain, 0.07));
}

TEST_CASE("nothing is added up to the distance that fits bridge", "[planner][distance]") {
  const RecordedRuns runs = some();
  const double typical = runs.parameters().typical;
  CHECK(runs.time_log_sd(0, 0.07) == 0);
  CHECK(runs.time_log_sd(typical, 0.07) == 0);
  CHECK(runs.time_log_sd(2 * typical, 0.07) == Approx(0.07));
}

TEST_CASE("without any run of the kind a plan is alone", "[planner][distance]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const RecordedRuns none({}, shipped());
  const Distance d = none.distance(job, strategy_of(job, "tp=8"));
  CHECK(d.nearest == -1);
  CHECK(d.value == none.parameters().alone);
  CHECK(d.untested == std::vector<std::string>{"any decoder"});
}

TEST_CASE("equal runs count once, in the order they are given", "[planner][distance]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const RecordedRuns runs({run_of("a", job, "tp=32"), run_of("b", job, "tp=32")}, shipped());
  REQUIRE(runs.runs().size() == 1);
  CHECK(runs.words(0) == "llama3-8b on 1 node, TP 32 (a)");
}

TEST_CASE("faults of what a recommendation weighs, all at once", "[io]") {
  const auto faults_of = [](const std::string& text) -> std::size_t {
    try {
      (void)io::recommending_from(parse_document(text, "r.json"));
    } catch (const InputError& e) {
      return e.faults().size();
    }
    return 0;
  };
  CHECK(faults_of(R"({"schema_version": 1})") == 2);
  CHECK(faults_of(R"({"schema_version": 1, "parameters": {}, "weights": {}})") == 10 + planner::kTraits);
}

TEST_CASE("runs tell of their own kind of device alone, and of their framework", "[planner][distance]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  models::Job gpus = job;
  gpus.cluster.instance.traits.accelerator = topology::Accelerator::gpu;
  const Distance alone = some().distance(gpus, strategy_of(job, "tp=32"));
  CHECK(alone.nearest == -1);
  CHECK(alone.value == shipped().alone);
  CHECK(has(alone.untested, "any decoder"));
  const RecordedRuns runs({run_of("gpu", gpus, "tp=8,framework=megatron")}, shipped());
  CHECK(runs.value(gpus, strategy_of(job, "tp=8,framework=megatron")) == 0);
  const Distance other = runs.distance(gpus, strategy_of(job, "tp=8,framework=fsdp,shard=zero3"));
  CHECK(has(other.untested, "framework fsdp"));
  CHECK(has(other.untested, "weights sharded as zero3"));
}
