// Queries about runs: logs, tables of published runs, folders and grids.
#include <algorithm>
#include <filesystem>

#include <zlib.h>

#include "api/calibrate.h"
#include "api/cluster.h"
#include "api/launch.h"
#include "api/plan.h"
#include "api/simulate.h"
#include "api/sweep.h"
#include "api/validate.h"
#include "api/watch.h"
#include "api/whatif.h"
#include "io/input/readers.h"
#include "planner/plan/strategy_grammar.h"
#include "tests/folder.h"
#include "text/document.h"

using namespace trnplan;

namespace {

const char* const kLog = "tests/calibrate/fixtures/logs/nxd-llama3-70b.txt";

}  // namespace

TEST_CASE("calibrate reads logs, and compares points with a profile", "[api]") {
  const TestFolder folder;
  Remarks remarks;
  api::CalibrateRequest request;
  request.files = {source_file(kLog)};
  const api::CalibrateResult steps = api::calibrate(request, remarks);
  REQUIRE(steps.steps.size() == 1);
  CHECK(steps.steps[0].seconds == Approx(243.84).epsilon(1e-4));
  CHECK_FALSE(steps.step_fit);  // nothing says what ran

  request.files = {source_file("catalog/measured-collectives.csv")};
  request.points.build = "2023-04";
  request.profile = "trn1-2023-04";
  request.no_fit = true;
  const api::CalibrateResult points = api::calibrate(request, remarks);
  REQUIRE(points.collectives);
  CHECK(points.collectives->fit.estimates.empty());
  CHECK(points.collectives->fit.rows.size() == points.collectives->chosen.points.size());
  CHECK(points.collectives->fit.median_error < 0.25);
  CHECK_FALSE(points.refused);

  request.files = {folder / "nothing"};
  CHECK_THROWS_AS(api::calibrate(request, remarks), InputError);
}

TEST_CASE("validate compares published runs with predictions", "[api]") {
  const TestFolder folder;
  Remarks remarks;
  const api::ValidateResult v = api::validate({"", "trn1", calibrate::LeaveOut::none}, remarks);
  CHECK(v.profile == "trn1");
  REQUIRE_FALSE(v.steps.validation.rows.empty());
  for (const auto& row : v.steps.validation.rows) {
    CHECK(row.low < row.predicted);
    CHECK(row.predicted < row.high);
  }
  const api::MemoryValidationResult memory = api::validate_memory("trn1");
  CHECK(memory.rows.count("").layouts == static_cast<int>(memory.rows.rows.size()));
  const api::UptimeValidationResult uptimes = api::validate_uptimes("trn1");
  REQUIRE_FALSE(uptimes.rows.empty());
  for (const planner::CheckedUptime& row : uptimes.rows) CHECK(row.check.estimate.uptime > 0);
}

TEST_CASE("watch reports a log once, with its prediction", "[api]") {
  const TestFolder folder;
  Remarks remarks;
  api::WatchRequest request;
  request.targets = {source_file(kLog)};
  request.once = true;
  request.ran.job = source_file("examples/llama3-70b-16-nodes/job.yaml");
  request.ran.strategy = "tp=32,pp=8,recompute=CoreAttention+LlamaMLP";
  std::vector<io::WatchReport> reports;
  const auto show = [&](const io::WatchReport& r, bool whole, bool assumed) {
    CHECK(whole);
    CHECK_FALSE(assumed);
    reports.push_back(r);
  };
  CHECK_FALSE(api::watch(request, show, remarks));
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].step == 5);
  CHECK(*reports[0].step_seconds == Approx(254.25).epsilon(1e-4));  // by the throughput; 243.86 is printed
  REQUIRE(reports[0].predicted);
  CHECK(reports[0].predicted_90->first < *reports[0].predicted);
}

TEST_CASE("watch --once reads a log packed with gzip as it reads it unpacked, and says damage", "[api]") {
  const TestFolder folder;
  const std::string text = read_text(source_file(kLog)), packed = folder / "train.out.gz";
  const gzFile file = gzopen(packed.c_str(), "wb");
  REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
  gzclose(file);
  std::filesystem::copy_file(packed, folder / "cut.gz");
  std::filesystem::resize_file(folder / "cut.gz", std::filesystem::file_size(packed) - 4);
  std::vector<io::WatchReport> reports;
  Remarks remarks;
  api::WatchRequest request;
  request.targets = {source_file(kLog), packed, folder / "cut.gz"};
  request.once = true;
  (void)api::watch(
      request, [&](const io::WatchReport& r, bool, bool) { reports.push_back(r); }, remarks);
  REQUIRE(reports.size() == 3);
  for (const io::WatchReport& r : reports) {
    CHECK(r.step == 5);
    CHECK(r.step_seconds == reports[0].step_seconds);
  }
  std::string said;
  for (const Remark& remark : remarks.all()) {
    if (const auto* fault = std::get_if<Diagnostic>(&remark)) said += to_string(*fault);
  }
  CHECK(said.find("its gzip data are cut off") != std::string::npos);
}

TEST_CASE("calibrate reads the folder of a profile as its tables one by one", "[api]") {
  const TestFolder folder;
  const auto copy = [&](const char* from, const char* to) {
    std::filesystem::create_directories((folder.path / to).parent_path());
    std::filesystem::copy_file(source_file("tests/calibrate/fixtures/logs/" + std::string(from)),
                               folder.path / to);
  };
  copy("cc-op-v1-snappy.parquet", "measured/CcOp_0.parquet");
  copy("cc-op-v2-delta.parquet", "measured/CcOp_1.parquet");
  copy("summary.parquet", "measured/Summary.parquet");
  copy("cc-op-brotli.parquet", "measured/DmaPacket.parquet");  // not read
  copy("metadata-simulated.parquet", "estimated/Metadata.parquet");
  copy("summary.parquet", "estimated/Summary.parquet");
  Remarks remarks;
  api::CalibrateRequest request;
  request.files = {folder / "measured"};
  const auto files = api::calibrate(request, remarks).files;
  REQUIRE(files.size() == 3);
  CHECK(files[0].path.ends_with("CcOp_0.parquet"));
  CHECK(files[0].content.collectives.size() == 2);
  CHECK(files[2].content.devices.size() == 1);
  request.files = {folder / "estimated"};
  const auto estimated = api::calibrate(request, remarks).files;
  REQUIRE(estimated.size() == 1);
  CHECK(estimated[0].content.simulated);
}

TEST_CASE("launch checks a folder, and tells the commands of one that is not ready", "[api]") {
  const TestFolder folder;
  Remarks remarks;
  api::PlanRequest plan;
  plan.job.job = "llama3-8b";
  plan.job.options.nodes = "1";
  plan.job.options.sequence = "4096";
  plan.job.options.global_batch = "64";
  plan.out = folder / "plan";
  plan.threads = 1;
  REQUIRE(api::plan(plan, remarks).written);

  // Programs that say nothing: no sinfo names a partition, and settings.env is not filled in.
  std::vector<std::string> ran;
  const launch::Runner runner = [&](const std::vector<std::string>& arguments,
                                    const launch::ProcessOptions&) {
    ran.push_back(arguments.front());
    return launch::ProcessResult{true, 0, "", "", false};
  };
  const api::LaunchResult dry = api::launch({plan.out, "slurm", "eks-mpijob", "", true}, remarks, runner);
  CHECK_FALSE(dry.faults.empty());
  REQUIRE(dry.commands.size() == 2);
  CHECK(dry.commands[0].front() == "sbatch");
  CHECK(dry.jobs.empty());
  CHECK(std::count(ran.begin(), ran.end(), "sbatch") <= 1);  // its --version alone
  CHECK_THROWS_AS(api::launch({plan.out, "slurm", "eks-mpijob", "", false}, remarks, runner), InputError);
  CHECK_THROWS_AS(api::launch({folder / "nothing", "slurm", "eks-mpijob", "", true}, remarks, runner),
                  InputError);
  CHECK_THROWS_AS(api::launch({plan.out, "cron", "eks-mpijob", "", true}, remarks, runner), InputError);
}

TEST_CASE("sweep computes what is missing, and then makes the table", "[api]") {
  const TestFolder folder;
  Remarks remarks;
  folder.write("job.yaml",
               "model: llama3-8b\ntraining: {sequence: 4096, global_batch: 64, tokens: 1B}\n"
               "cluster: {instance: trn1.32xlarge, nodes: 1}\n"
               "pin: {tensor_parallel: 8, pipeline_parallel: 1, recompute: full}\n");
  api::SweepRequest request;
  request.grid = folder.write("grid.yaml", "job: job.yaml\nnodes: [1, 2]\nglobal_batch: [64, 128]\n");
  request.task = "0/2";
  const api::SweepResult half = api::sweep(request, remarks);
  CHECK(half.points == 4);
  CHECK(half.csv.empty());
  request.task.clear();
  request.collect = true;
  const api::SweepResult open = api::sweep(request, remarks);
  CHECK(open.missing == std::vector<std::size_t>{1, 3});  // task 0 of 2 does the even ones
  CHECK(open.csv.empty());
  request.collect = false;
  const api::SweepResult done = api::sweep(request, remarks);
  CHECK(done.missing.empty());
  CHECK(done.folder == std::filesystem::path(folder / "grid.sweep"));
  CHECK(std::filesystem::exists(done.csv));
  CHECK(std::filesystem::exists(done.sqlite));
  request.task = "2/2";
  CHECK_THROWS_AS(api::sweep(request, remarks), InputError);
}

// Twice the time of every node's work, and no node beyond the smallest cluster. A plan whose interval or run stays that
// of the ideal machine fails here.
TEST_CASE("whatif times its plans in a scenario, and refuses one that a cluster cannot be in", "[api]") {
  Remarks remarks;
  api::WhatIfRequest request;
  request.job.job = "llama3-8b";
  request.nodes = "2";
  request.tokens = "1B";
  const auto point = [&](const std::string& scenario) {
    request.scenario = scenario;
    return api::whatif(request, remarks).result.points.at(0);
  };
  const planner::WhatIfPoint ideal = point(""), slow = point("slow-node=1:2"), same = point("slow-node=1:1");
  CHECK(same.plan->report.step == ideal.plan->report.step);
  CHECK(same.run.time == ideal.run.time);
  CHECK(slow.plan->strategy == ideal.plan->strategy);
  const double times = slow.plan->report.step / ideal.plan->report.step;
  CHECK(times > 1.5);
  CHECK(times < 2);  // messages take no longer
  CHECK(slow.plan->report.high / slow.plan->report.step ==
        Approx(ideal.plan->report.high / ideal.plan->report.step));
  CHECK(slow.run.time.value / ideal.run.time.value == Approx(times).epsilon(0.05));

  api::SimulateRequest simulate;
  simulate.job.job = "llama3-8b";
  simulate.job.options.nodes = "2";
  simulate.scenario = "slow-node=1:2";
  simulate.strategy = planner::strategy_grammar(
      api::on_cluster(api::whatif(request, remarks).job, {}, *slow.plan), *slow.plan);
  CHECK(api::simulate(simulate, remarks).scenario->report.step.value == Approx(slow.plan->report.step.value));

  CHECK_THROWS_AS(point("slow-node=2:2"), InputError);
  request.nodes = "1,2";
  CHECK_THROWS_AS(point("slow-node=1:2"), InputError);
  CHECK_THROWS_AS(point("spine=2"), InputError);
  request.nodes.clear();
  request.deadline = "10d";
  CHECK_THROWS_AS(point("slow-node=0:2"), InputError);
}

// Two equal jobs on a spine that carries an eighth: alone each sees a quarter, which it hides behind its work, and
// together they want more than there is. Then a step takes what its traffic takes at half the spine: as long as one
// whose nodes have an eighth each, less the little that is not traffic.
TEST_CASE("jobs that fill a spine take as long as their traffic", "[api]") {
  const TestFolder folder;
  const std::string job =
      "job: llama3-8b, sequence: 8192, global_batch: 512, tokens: 1T, nodes: 16, strategy: "
      "\"tp=1,framework=fsdp\"";
  api::ClusterRequest request;
  request.file = folder.write("two.yaml",
                              "cluster: {instance: p5.48xlarge, nodes: 32, oversubscription: 8, "
                              "storage_gb_per_second: 20}\n"
                              "jobs:\n  - {name: a, " +
                                  job + "}\n  - {name: b, " + job + "}\n");
  request.runs = 2;
  Remarks remarks;
  const planner::ClusterAnswer a = api::cluster(request, remarks);
  REQUIRE(a.jobs.size() == 2);
  for (const planner::AnsweredClusterJob& j : a.jobs) {
    CHECK(j.together > 0.9 * j.together_most);
    CHECK(j.together <= j.together_most);
  }
}

// Catches: a command that takes a rack for one host. The goodput of either is computed from M alone.
TEST_CASE("cluster and whatif say how often racks fail, and take a stated rate for a whole one's", "[api]") {
  const TestFolder folder;
  const std::string setup =
      "cluster: {instance: gb200-nvl72, nodes: 2, storage_gb_per_second: 20}\n"
      "jobs:\n  - {name: a, job: llama3-8b, sequence: 8192, global_batch: 576, tokens: 1T, nodes: 2}\n";
  api::ClusterRequest cluster;
  cluster.file = folder.write("racks.yaml", setup);
  cluster.runs = 2;
  Remarks remarks;
  const planner::ClusterAnswer a = api::cluster(cluster, remarks);
  api::WhatIfRequest request;
  request.job.job = "llama3-8b";
  request.job.options.sequence = "8192";
  request.job.options.global_batch = "576";
  request.instances = "gb200-nvl72";
  request.nodes = "2";
  request.tokens = "1T";
  request.storage_speed = 20;
  const api::WhatIfAnswered answer = api::whatif(request, remarks);
  const planner::FailureModel& of = answer.result.points.at(0).run.goodput.model;
  CHECK(of.mtbf.value == Approx(86400 / (2 * 9 * 0.0054)));
  planner::Reliability r = answer.reliability;
  CHECK(planner::failure_model(r, planner::shape_of(a.setup.jobs.at(0))).mtbf.value == of.mtbf.value);
  CHECK(a.setup.jobs.at(0).every_steps == answer.result.points.at(0).run.goodput.every_steps);
  request.failure_rate = 0.01;
  CHECK(api::whatif(request, remarks).result.points.at(0).run.goodput.model.mtbf.value ==
        Approx(86400 / (2 * 0.01)));
}
