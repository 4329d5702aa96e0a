#include "launch/folder/measure.h"

#include <algorithm>
#include <stdexcept>

#include "planner/check/judge.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

using OutputFiles = std::vector<io::OutputFile>;

const io::OutputFile* find(const OutputFiles& files, const std::string& folder, const std::string& name) {
  const auto it = std::find_if(files.begin(), files.end(),
                               [&](const auto& f) { return f.name == name && f.folder == folder; });
  return it == files.end() ? nullptr : &*it;
}

struct Pair {
  models::Job job = job_of("llama3-8b", 2, 4096, 128);
  planner::Plan first = plan("tp=8,recompute=full"), second = plan("tp=8,pp=2,recompute=CoreAttention");

  planner::Plan plan(const char* strategy) const {
    return *planner::judge(job, strategy_of(job, strategy), datasheet()).plan;
  }
  OutputFiles files(const planner::Experiment& m, const launch::MeasureUse& use = {"job.yaml", "trn1", {}},
                    const planner::Target& target = targets::standard()) const {
    return launch::measure_files(job, first, second, m, target, use);
  }
};

planner::Experiment runs(int of_first, int of_second, double threshold) {
  planner::Experiment m;
  m.runs_of_first = of_first;
  m.runs_of_second = of_second;
  m.threshold = threshold;
  return m;
}

}  // namespace

TEST_CASE("short runs: a folder for each plan, with what training needs", "[launch]") {
  const Pair pair;
  const OutputFiles files = pair.files(runs(2, 2, 0.98765));
  CHECK(files.size() == 1 + 2 * 8);
  REQUIRE(find(files, "", "measure.sh") != nullptr);
  CHECK(find(files, "", "measure.sh")->executable);
  for (const char* folder : {"measure-1", "measure-2"}) {
    REQUIRE(find(files, folder, "nxdt.yaml") != nullptr);
    const std::string& yaml = find(files, folder, "nxdt.yaml")->text;
    CHECK(contains(yaml, "  max_steps: 11\n"));
    CHECK(contains(yaml, "  log_every_n_steps: 1\n"));
    for (const char* name : {"config.json", "settings.env", "setup_env.sh", "node_run.sh", "compile.sbatch",
                             "train.sbatch", "plan.json"})
      CHECK(find(files, folder, name) != nullptr);
  }
  CHECK(contains(find(files, "measure-2", "nxdt.yaml")->text, "pipeline_model_parallel_size: 2\n"));
  const std::string& script = files.front().text;
  CHECK(contains(script, "\nrun 1 1\nrun 2 1\nrun 1 2\nrun 2 2\n"));
  CHECK(contains(script, "below 0.9877 times that of plan 1."));
  CHECK(contains(script, "calibrate \"${runs[@]}\" --profile \"$profile\""));
}

TEST_CASE("runs of one plan only need its folder", "[launch]") {
  const Pair pair;
  planner::Experiment of_first = runs(1, 0, 123.456);
  of_first.above = true;
  const OutputFiles first = pair.files(of_first), second = pair.files(runs(0, 1, 99.5));
  CHECK(find(first, "measure-2", "plan.json") == nullptr);
  CHECK(find(second, "measure-1", "plan.json") == nullptr);
  CHECK(contains(first.front().text, "if plan 1's step is above 123.5 s."));
  CHECK(contains(second.front().text, "if its step is below 99.5 s."));
}

TEST_CASE("other targets have no YAML, and refuse what they lack", "[launch]") {
  Pair pair;
  const auto& nxd = *targets::find("nxd");
  const OutputFiles files = pair.files(runs(1, 1, 1), {"job.yaml", "trn1", {}}, nxd);
  CHECK(find(files, "measure-1", "nxdt.yaml") == nullptr);
  CHECK(contains(find(files, "measure-1", "node_run.sh")->text, "steps=${TRAIN_ITERS:-11}\n"));
  pair.second = pair.plan("tp=8,recompute=LlamaMLP");
  CHECK_THROWS_AS(pair.files(runs(1, 1, 1), {"job.yaml", "trn1", {}}, nxd), std::invalid_argument);
}

TEST_CASE("words of a person are quoted", "[launch]") {
  const OutputFiles files =
      Pair().files(runs(1, 1, 1), {"/a b/it's $(touch x).yaml", "`x`.json", {"--top", "$5"}});
  CHECK(contains(files.front().text, "\njob='/a b/it'\\''s $(touch x).yaml'\n"));
  CHECK(contains(files.front().text, "\nprofile='`x`.json'\n"));
  CHECK(contains(files.front().text, "plan \"$job\" --top '$5' --profile"));
}

TEST_CASE("tables of nccom-test, on the nodes they need", "[launch]") {
  using models::CollectiveOp;
  planner::Experiment m;
  m.tables = {{CollectiveOp::all_gather, 8, 1, 1024, 0x1p30}};
  const std::string one = Pair().files(m).front().text;
  CHECK(contains(one, "\n  table 8 1 nccom-test -r 8 -N 1 -b 1024 -e 1073741824 -f 4 -d bf16 allg\n"));
  CHECK(contains(one, " --nodes=1 --exclusive "));
  CHECK_FALSE(contains(one, "TRNPLAN_DATA"));  // nothing is trained
  CHECK(contains(one, "--with-catalogue"));
  m.tables.push_back({CollectiveOp::reduce_scatter, 16, 2, 1024, 0x1p30});
  const OutputFiles files = Pair().files(m);
  CHECK(files.size() == 1);
  CHECK(contains(files.front().text,
                 "\n  table 16 2 nccom-test -r 16 -N 2 -b 1024 -e 1073741824 -f 4 -d bf16 redsct\n"));
  CHECK(contains(files.front().text, " --nodes=2 --exclusive "));
  CHECK(contains(files.front().text, "NEURON_RT_ROOT_COMM_ID="));
}

// GPUs and trn2 compile nothing ahead: their folders have no compile.sbatch, and measure.sh no job that would fail for
// want of it.
TEST_CASE("short runs of a target that compiles nothing ahead", "[launch]") {
  models::Job job = job_of("llama3-8b", 2, 8192, 128);
  job.cluster.instance = test_catalog().instance("p5.48xlarge");
  const auto plan = [&](const char* strategy) {
    return *planner::judge(job, strategy_of(job, strategy), test_catalog().profile("h100")).plan;
  };
  const planner::Plan first = plan("tp=2,framework=megatron,flash=true"),
                      second = plan("tp=4,framework=megatron,flash=true");
  const OutputFiles files = launch::measure_files(job, first, second, runs(1, 1, 0.99),
                                                  *targets::find("megatron"), {"job.yaml", "h100", {}});
  for (const char* folder : {"measure-1", "measure-2"}) {
    for (const char* name :
         {"config.json", "settings.env", "setup_env.sh", "node_run.sh", "train.sbatch", "plan.json"})
      CHECK(find(files, folder, name) != nullptr);
    CHECK(find(files, folder, "compile.sbatch") == nullptr);
    CHECK(contains(find(files, folder, "node_run.sh")->text, "steps=${TRAIN_ITERS:-11}"));
  }
  const std::string& script = files.front().text;
  CHECK(contains(script, "work \"$folder\" train"));
  CHECK_FALSE(contains(script, "compile"));
  CHECK(contains(script, "export TRNPLAN_VENV TRNPLAN_CODE TRNPLAN_DATA TRNPLAN_CACHE"));
}
