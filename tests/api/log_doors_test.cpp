// A log teaches one thing, whichever command is asked after it.
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "api/calibrate.h"
#include "api/check.h"
#include "api/compare.h"
#include "api/plan.h"
#include "api/simulate.h"
#include "api/watch.h"
#include "api/what_ran.h"
#include "planner/plan/strategy_grammar.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "text/diagnostic.h"

using namespace trnplan;

namespace {

/// TorchTitan's log of steps that take these tenths of a second, of 64 x 8192 tokens on 16 GPUs.
std::string titan_log(const std::vector<int>& tenths) {
  std::string log;
  int now = 0, step = 0;
  for (const int t : tenths) {
    now += t;
    log += fmt::format(
        "[titan] 2026-08-31 10:{:02d}:{:02d},{}00 - root - INFO - step: {}  loss: 3.0  grad_norm:  1.5  "
        "memory: "
        "55.12GiB(69.71%)  tps: {:.0f}  tflops: 420.1  mfu: 42.5%\n",
        now / 600, now / 10 % 60, now % 10, ++step, 64 * 8192 / 16.0 / (t / 10.0));
  }
  return log;
}

/// A log of NxDT's bars, or of Megatron-LM's iterations, whose steps take so many seconds.
std::string log_of(bool bars, int batch, double seconds) {
  std::string log;
  for (int i = 1; i <= 30; ++i) {
    const auto clock = static_cast<int>(i * seconds);
    if (bars)
      log += fmt::format(
          "Epoch 0:   1%|#| {}/1000 [{}:{:02}:{:02}<1:00:00, {:.2f}s/it, v_num=2, reduced_train_loss=13.40, "
          "lr=7.5e-9, parameter_norm=5536.0, global_step={}.0, consumed_samples={}.0]\r",
          i, clock / 3600, clock / 60 % 60, clock % 60, seconds, i, i * batch);
    else
      log += fmt::format(
          " iteration {:8}/    1000 | consumed samples: {} | elapsed time per iteration (ms): {:.1f} | "
          "learning rate: "
          "1.0E-05 | global batch size: {} | lm loss: 2.0E+00 |\n",
          i, i * batch, seconds * 1e3, batch);
  }
  return log;
}

}  // namespace

// Reported: a learnt layout had a name of its own in a config, so that check, watch and compare answered otherwise than
// simulate; watch compared with the plan's file whatever profile was stated; calibrate stated other intervals.
TEST_CASE("what a log taught is the same in every command", "[api][doors]") {
  struct Case {
    std::string machine, target, config;
    int nodes, batch;
  };
  for (const Case& c : {Case{"trn1.32xlarge", "nxdt", "nxdt.yaml", 4, 1024},
                        Case{"p5.48xlarge", "megatron", "node_run.sh", 2, 128}}) {
    CAPTURE(c.target);
    const TestFolder folder;
    Remarks remarks;
    api::PlanRequest request;
    request.job.job = folder.write(
        "job.yaml", fmt::format("model: llama3-8b\ntraining: {{sequence: 8192, global_batch: {}}}\n"
                                "cluster: {{instance: {}, nodes: {}}}\nsoftware: {{framework: {}}}\n",
                                c.batch, c.machine, c.nodes, c.target));
    request.threads = 1;
    request.out = folder / "out";
    const api::PlanResult plan = api::plan(request, remarks);
    REQUIRE(plan.written);
    const planner::Plan& best = *plan.search.recommended_plan();
    const std::string strategy = planner::strategy_grammar(plan.job, best);

    api::CalibrateRequest learn;
    learn.files = {
        folder.write("ran.log", log_of(c.target == "nxdt", c.batch, 1.25 * best.report.step.value))};
    learn.job = request.job.job;
    learn.strategy = strategy;
    learn.out = folder / "mine.json";
    const api::CalibrateResult learnt = api::calibrate(learn, remarks);
    REQUIRE(learnt.step_fit);

    api::SimulateRequest simulate;
    simulate.job.job = request.job.job;
    simulate.strategy = strategy;
    simulate.profile = learn.out;
    const models::StepReport said = api::simulate(simulate, remarks).judgement.plan.value().report;
    CHECK(said.step > 1.15 * best.report.step);
    const auto same = [&](Seconds step, Seconds low, Seconds high) {
      CHECK(step.value == Approx(said.step.value).epsilon(1e-9));
      CHECK(low.value == Approx(said.low.value).epsilon(1e-9));
      CHECK(high.value == Approx(said.high.value).epsilon(1e-9));
    };
    for (const std::string& file : {request.out, request.out + "/" + c.config}) {
      CAPTURE(file);
      api::CheckRequest check;
      check.file = file;
      check.profile = learn.out;
      if (file != request.out) {
        check.instance = c.machine;
        check.nodes = c.nodes;
      }
      const api::CheckResult checked = api::check(check);
      REQUIRE(checked.prediction);
      const models::StepReport& r = checked.prediction->report;
      same(r.step, r.low, r.high);
    }
    api::WatchRequest watch;
    watch.targets = learn.files;
    watch.once = true;
    watch.ran.plan = request.out;
    watch.profile = learn.out;
    std::optional<io::WatchReport> report;
    CHECK_FALSE(api::watch(
        watch, [&](const io::WatchReport& r, bool, bool) { report = r; }, remarks));
    REQUIRE(report->predicted);
    same(Seconds(*report->predicted), Seconds(report->predicted_90->first),
         Seconds(report->predicted_90->second));
    api::CompareRequest compare;
    compare.first = request.out;
    compare.second = request.out + "/" + c.config;
    compare.profile = learn.out;
    compare.job.options.instance = c.machine;
    compare.job.options.nodes = fmt::to_string(c.nodes);
    CHECK(planner::times_as_long(api::compare(compare, remarks).ratio) == std::array{1.0, 1.0, 1.0});
    // A second log on top of the first is predicted as simulate predicts it.
    learn.files = {
        folder.write("again.log", log_of(c.target == "nxdt", c.batch, 1.3 * best.report.step.value))};
    learn.profile = learn.out;
    learn.out = folder / "again.json";
    const api::CalibrateResult again = api::calibrate(learn, remarks);
    REQUIRE(again.step_fit);
    const calibrate::OwnStep& own = again.step_fit->own.front();
    same(Seconds(own.before), Seconds(own.before_low), Seconds(own.before_high));
  }
}

TEST_CASE("calibrate, watch and simulate say one thing of a log", "[api][doors]") {
  const TestFolder folder;
  const std::string file = folder.write("titan.log", titan_log(std::vector<int>(30, 36)));
  const std::string job = "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 64}\n";
  const std::string cluster = "cluster: {instance: p5.48xlarge, nodes: 2}\n";
  // The log says which stack ran; the options say on which machine, instead of the job.
  const std::string open = folder.write("open.yaml", job + "cluster: {instance: trn1.32xlarge, nodes: 4}\n");
  const std::string stated = folder.write("job.yaml", job + cluster + "software: {framework: torchtitan}\n");
  const std::string strategy = "tp=1,shard=zero3";

  Remarks remarks;
  api::CalibrateRequest learn;
  learn.files = {file};
  learn.job = open;
  learn.strategy = strategy;
  learn.instance = "p5";
  learn.points.nodes = 2;
  learn.out = folder / "own.json";
  const api::CalibrateResult learnt = api::calibrate(learn, remarks);
  REQUIRE(learnt.step_fit);
  REQUIRE(learnt.step_fit->own.size() == 1);
  const calibrate::OwnStep& own = learnt.step_fit->own.front();

  api::WatchRequest watch;
  watch.targets = {file};
  watch.once = true;
  watch.ran.job = open;
  watch.ran.strategy = strategy;
  watch.ran.instance = "p5";
  watch.ran.nodes = 2;
  std::optional<io::WatchReport> report;
  CHECK_FALSE(api::watch(
      watch, [&](const io::WatchReport& r, bool, bool) { report = r; }, remarks));
  REQUIRE(report);
  REQUIRE(report->predicted);

  const auto says = [](const std::string& text, const char* words) {
    INFO(text);
    return text.find(words) != std::string::npos;
  };
  // What watch learns is what calibrate learns, and it refuses what calibrate refuses.
  const auto watched = [&](const std::string& target, const std::string& out) {
    watch.targets = {target};
    watch.calibrate = out;
    report.reset();
    // A profile that could not be written is no success.
    const bool lacks = api::watch(
        watch, [&](const io::WatchReport& r, bool, bool) { report = r; }, remarks);
    CHECK(lacks != std::filesystem::exists(out));
    REQUIRE_FALSE(report->remarks.empty());
    return report->remarks.back();
  };
  std::filesystem::create_directory(folder.path / "watched");
  CHECK(says(watched(file, folder / "watched/own.json"), "29 steps of 3.6 s; the plan's step goes from"));
  CHECK(read_text(folder / "watched/own.json") == read_text(learn.out));
  watch.profile = learn.out;
  CHECK(says(watched(file, folder / "watched/twice.json"), "not written"));
  watch.profile = {};
  std::vector<int> two_paces(20, 36);
  two_paces.resize(32, 52);
  const std::string uneven = folder.write("uneven.log", titan_log(two_paces));
  CHECK(says(watched(uneven, folder / "watched/uneven.json"), "not written"));
  CHECK_FALSE(std::filesystem::exists(folder / "watched/uneven.json"));

  const auto simulated = [&](const std::string& profile) {
    api::SimulateRequest request;
    request.job.job = stated;
    request.strategy = strategy;
    request.profile = profile;
    return api::simulate(request, remarks).judgement.plan.value().report;
  };
  const models::StepReport before = simulated(""), after = simulated(learn.out);
  CHECK(own.before == Approx(before.step.value));
  CHECK(own.before_low == Approx(before.low.value));
  CHECK(own.before_high == Approx(before.high.value));
  CHECK(*report->predicted == Approx(before.step.value));
  CHECK(report->predicted_90->first == Approx(before.low.value));
  CHECK(report->predicted_90->second == Approx(before.high.value));
  // Values in the profile have four digits.
  CHECK(own.after == Approx(after.step.value).epsilon(1e-3));
  CHECK(own.after_low == Approx(after.low.value).epsilon(1e-3));
  CHECK(own.after_high == Approx(after.high.value).epsilon(1e-3));
  // A layout that ran is at no distance from what ran: its interval is that of one run to the next.
  CHECK(after.high / after.low < before.high / before.low);
  CHECK(std::log(after.high / after.low) < 0.3);
}

// Reported: watch --plan of a folder of TorchTitan said nothing of a log of Megatron-LM, watch --job did.
TEST_CASE("a log of another stack than the one stated is named", "[api]") {
  CHECK(api::other_stack("megatron", "torchtitan", "out/plan.json") ==
        "the log is one of megatron, and out/plan.json states torchtitan, as which it is taken");
  for (const auto& [logged, stated] : {std::pair{"", "nxdt"}, {"nxdt", ""}, {"nxdt", "nxdt"}})
    CHECK(api::other_stack(logged, stated, "job.yaml").empty());
}
