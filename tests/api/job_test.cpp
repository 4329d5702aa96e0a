// Queries about a job and its strategies.
#include <algorithm>
#include <filesystem>
#include <set>

#include "api/check.h"
#include "api/compared_jobs.h"
#include "api/plan.h"
#include "api/simulate.h"
#include "api/what_ran.h"
#include "api/whatif.h"
#include "planner/plan/strategy_grammar.h"
#include "tests/folder.h"

using namespace trnplan;

namespace {

/// Llama-3 8B on one node, a batch that little work makes.
api::JobInput small_job() {
  api::JobInput job;
  job.job = "llama3-8b";
  job.options.nodes = "1";
  job.options.sequence = "4096";
  job.options.global_batch = "64";
  return job;
}

}  // namespace

TEST_CASE("plan ranks what it simulated, and counts the rest", "[api]") {
  const TestFolder folder;
  Remarks remarks;
  api::PlanRequest request;
  request.job = small_job();
  request.top = 3;
  request.threads = 1;
  const api::PlanResult result = api::plan(request, remarks);
  const planner::SpaceCounts& c = result.search.counts;
  CHECK(c.enumerated == c.refused + c.too_large + c.bounded + c.simulated);
  REQUIRE(result.search.plans.size() == 3);
  CHECK(std::is_sorted(
      result.search.plans.begin(), result.search.plans.end(),
      [](const planner::Plan& a, const planner::Plan& b) { return a.report.step < b.report.step; }));
  for (const planner::Plan& p : result.search.plans) CHECK(p.memory.worst().peak() <= p.memory.limit);
  CHECK(result.job.training.global_batch == 64);
  CHECK_FALSE(result.written);
  CHECK_FALSE(result.interrupted);
}

TEST_CASE("simulate gives the step of one strategy, and judges it", "[api]") {
  const TestFolder folder;
  Remarks remarks;
  api::SimulateRequest request;
  request.job = small_job();
  request.strategy = "tp=8,recompute=CoreAttention+LlamaMLP";
  request.trace = folder / "step.json";
  const api::SimulateResult result = api::simulate(request, remarks);
  CHECK(result.strategy.data_parallel == 4);
  CHECK_FALSE(result.judgement.refused());
  REQUIRE(result.judgement.plan);
  Seconds sum{};
  for (const Seconds s : result.judgement.plan->report.breakdown) sum += s;
  CHECK(sum.value == Approx(result.judgement.plan->report.step.value));
  CHECK(std::filesystem::file_size(request.trace) > 0);

  request.trace.clear();
  request.strategy = "tp=1";  // 8.03e9 parameters on one core of 16 GiB
  const api::SimulateResult large = api::simulate(request, remarks);
  CHECK(large.judgement.refused());
  CHECK(std::any_of(large.judgement.broken.begin(), large.judgement.broken.end(),
                    [](const planner::Violation& v) { return v.rule == "memory"; }));
}

TEST_CASE("export writes a trace for each rank", "[api]") {
  const TestFolder folder;
  Remarks remarks;
  api::ExportRequest request;
  request.job = small_job();
  request.job.options.global_batch = "4";
  request.strategy = "tp=8,recompute=CoreAttention+LlamaMLP";
  request.chakra = folder / "traces";
  CHECK_FALSE(api::export_traces(request, remarks));
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(request.chakra))
    names.insert(file.path().filename().string());
  CHECK(names.size() == 33);  // 32 ranks and the groups
  CHECK(names.contains("comm_groups.json"));
  CHECK(names.contains("trnplan.31.et"));
  CHECK_THROWS_AS(api::export_traces(request, remarks), InputError);  // the files are there
}

TEST_CASE("check judges a config, and finds the nearest that fit", "[api]") {
  const TestFolder folder;
  api::CheckRequest request;
  request.file = source_file("tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml");
  const api::CheckResult shipped = api::check(request);
  CHECK(shipped.verdict != "refused");
  REQUIRE(shipped.prediction);
  CHECK(shipped.nearest.empty());
  CHECK(shipped.no_prediction.empty());
  // Whoever reads the config takes the same software for granted, and predicts the same of it.
  Remarks remarks;
  const auto ran = api::what_ran({"", "", request.file, "trn1.32xlarge"}, io::Catalog::standard(), remarks);
  REQUIRE(ran);
  const planner::Judgement watched =
      planner::judge(ran->job, models::canonical(*ran->strategy), io::Catalog::standard().profile("trn1"));
  REQUIRE(watched.plan);
  CHECK(shipped.prediction->report.step == watched.plan->report.step);
  CHECK(shipped.prediction->report.low == watched.plan->report.low);

  request.file = source_file("tests/planner/fixtures/oom.yaml");
  const api::CheckResult large = api::check(request);
  CHECK(large.verdict == "refused");
  REQUIRE_FALSE(large.findings.empty());
  CHECK(large.findings.front().severity == targets::Severity::error);
  CHECK(large.findings.front().rule == "memory");
  REQUIRE_FALSE(large.nearest.empty());
  for (const targets::NearConfig& near : large.nearest) {
    CHECK_FALSE(near.changes.empty());
    CHECK(near.fit_probability >= 0.9);
  }

  request.file = folder.write("job.yaml", "model: llama3-8b\n");
  CHECK_THROWS_AS(api::check(request), InputError);
}

TEST_CASE("whatif compares clusters for a whole run", "[api]") {
  const TestFolder folder;
  Remarks remarks;
  api::WhatIfRequest request;
  request.job = small_job();
  request.job.options.nodes.clear();
  request.nodes = "1,2";
  request.tokens = "1B";
  const api::WhatIfAnswered answer = api::whatif(request, remarks);
  REQUIRE(answer.result.points.size() == 2);
  CHECK(answer.question.tokens == 1e9);
  REQUIRE(answer.result.recommended >= 0);
  for (const planner::WhatIfPoint& p : answer.result.points) {
    REQUIRE(p.plan);
    CHECK(p.global_batch == 64);
    CHECK(p.run.time.value * p.plan->report.tokens_per_second * p.run.goodput.goodput == Approx(1e9).epsilon(0.01));
  }

  request.nodes = "2..1";
  request.tokens = "many";
  CHECK_THROWS_AS(api::whatif(request, remarks), InputError);
}

TEST_CASE("plan, whatif, simulate and check say the same of one plan", "[api]") {
  const TestFolder folder;
  Remarks remarks;
  api::PlanRequest request;
  request.job = small_job();
  request.threads = 1;
  request.target = "nxdt";
  request.out = folder / "out";
  const api::PlanResult planned = api::plan(request, remarks);
  REQUIRE(planned.written);
  CHECK(planned.job.software.framework == "nxdt");  // it is what --out writes for
  const planner::Plan& best = *planned.search.recommended_plan();
  REQUIRE(best.works);

  api::SimulateRequest one;
  one.job.job = folder.write("job.yaml",
                             "model: llama3-8b\ntraining: {sequence: 4096, global_batch: 64}\n"
                             "cluster: {instance: trn1.32xlarge, nodes: 1}\nsoftware: {framework: nxdt}\n");
  one.strategy = planner::strategy_grammar(planned.job, best);
  const api::SimulateResult simulated = api::simulate(one, remarks);
  REQUIRE(simulated.judgement.plan);
  CHECK(simulated.judgement.plan->report.step == best.report.step);
  CHECK(simulated.judgement.plan->report.high == best.report.high);
  CHECK(simulated.judgement.plan->works == best.works);

  api::CheckRequest file;
  file.file = folder / "out/nxdt.yaml";
  const api::CheckResult checked = api::check(file);
  REQUIRE(checked.prediction);
  CHECK(checked.prediction->report.step == best.report.step);
  CHECK(checked.prediction->report.high == best.report.high);

  api::WhatIfRequest compared;
  compared.job = one.job;
  compared.nodes = "1";
  compared.tokens = "1B";
  const api::WhatIfAnswered answer = api::whatif(compared, remarks);
  REQUIRE(answer.result.points.at(0).plan);
  CHECK(answer.result.points[0].plan->strategy == best.strategy);
  CHECK(answer.result.points[0].run.works == *best.works);
}

TEST_CASE("a config whose nearest keep another fault has none that is accepted", "[api]") {
  const TestFolder folder;
  std::ifstream in(source_file("tests/planner/fixtures/oom.yaml"));
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::size_t at = text.find("num_nodes:");
  REQUIRE(at != std::string::npos);
  text.replace(at, text.find('\n', at) - at, "num_nodes: -4");
  api::CheckRequest request;
  request.file = folder.write("oom.yaml", text);
  const api::CheckResult result = api::check(request);
  CHECK(result.verdict == "refused");
  CHECK(result.nearest.empty());
}

TEST_CASE("nothing is predicted of a run whose kind is not modelled", "[api]") {
  const TestFolder folder;
  Remarks remarks;
  const std::string file = source_file("tests/io/fixtures/nxdt/hf_llama3_8B_DPO_config.yaml");
  CHECK_FALSE(api::what_ran({"", "", file, "trn1.32xlarge"}, io::Catalog::standard(), remarks));
  CHECK(std::any_of(remarks.all().begin(), remarks.all().end(), [](const Remark& r) {
    const auto* text = std::get_if<std::string>(&r);
    return text != nullptr && text->find("not modelled, so there is no prediction") != std::string::npos;
  }));
}

TEST_CASE("a published configuration that nobody saw running is not said to have run", "[api]") {
  const TestFolder folder;
  const std::vector<logs::MemoryCase> cases = api::memory_cases(io::Catalog::standard());
  const auto recipe = std::find_if(cases.begin(), cases.end(), [](const auto& c) { return c.id == "X032"; });
  REQUIRE(recipe != cases.end());
  CHECK(recipe->shipped);  // "configuration only, no measurement"
  const auto run = std::find_if(cases.begin(), cases.end(), [](const auto& c) { return c.kind == "train"; });
  REQUIRE(run != cases.end());
  CHECK_FALSE(run->shipped);
}
