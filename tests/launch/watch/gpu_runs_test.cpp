// Runs on GPUs: what lines of Megatron-LM and NeMo say and leave out, full devices, advice.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "launch/watch/advice.h"
#include "logs/training/failures.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/launch/watch/watched.h"

using namespace trnplan;

namespace {

/// Iterations of Megatron-LM, each with its time of day.
std::string iterations(int first, int last, const std::function<int(int)>& second,
                       const std::function<double(int)>& ms,
                       const std::string& end =
                           " lm loss: 2.5E+00 | number of skipped iterations:   0 | number of "
                           "nan iterations:   0 |",
                       int every = 1) {
  std::string text;
  for (int i = first; i <= last; i += every) {
    const int at = second(i);
    text += fmt::format(
        " [2025-03-04 {:02d}:{:02d}:{:02d}.125000] iteration {:8d}/  100000 | elapsed time per iteration "
        "(ms): {:.1f} | global batch size:   128 |{}\n",
        at / 3600, at / 60 % 60, at % 60, i, ms(i), end);
  }
  return text;
}
const auto kEven = [](int i) { return 9 * i; };
const auto kNine = [](int) { return 9000.0; };

const io::WatchAlarm& alarm_of(const io::WatchReport& r, const std::string& kind) {
  const auto a =
      std::find_if(r.alarms.begin(), r.alarms.end(), [&](const auto& one) { return one.kind == kind; });
  REQUIRE(a != r.alarms.end());
  return *a;
}

}  // namespace

// Reported: Megatron leaves the loss of an iteration with a NaN out, and counts it.
TEST_CASE("iterations of Megatron that are NaN or skipped", "[launch]") {
  const std::string start = iterations(1, 19, kEven, kNine);
  const auto ends = [&](const std::string& end, int last) {
    return watch(start + iterations(20, last, kEven, kNine, end), nothing_known());
  };
  const io::WatchReport nan =
      ends(" number of skipped iterations:   0 | number of nan iterations:   1 |", 21);
  CHECK(alarm_of(nan, "loss").fatal);
  CHECK(io::failed(nan));
  CHECK(io::failed(ends(" lm loss: 0.0E+00 | number of nan iterations:   1 |", 21)));
  const io::WatchReport over =
      watch(start + iterations(20, 21, kEven, kNine, " number of nan iterations:   1 |") +
                iterations(22, 30, kEven, kNine),
            nothing_known());
  CHECK_FALSE(alarm_of(over, "loss").fatal);
  CHECK(contains(alarm_of(over, "loss").message, "2 steps"));
  const std::string skipped =
      " lm loss: 2.5E+00 | number of skipped iterations:   1 | number of nan iterations:   0 |";
  CHECK_FALSE(alarmed(ends(skipped, 28), "skipped-steps"));  // nine
  const io::WatchReport idle = ends(skipped, 29);
  CHECK(alarm_of(idle, "skipped-steps").step == 20);
  CHECK(io::failed(idle));
  // A loss scale is found at the start.
  CHECK_FALSE(alarmed(watch(iterations(1, 39, kEven, kNine, skipped), nothing_known()), "skipped-steps"));
  CHECK(alarmed(watch(iterations(1, 40, kEven, kNine, skipped), nothing_known()), "skipped-steps"));
}

// Reported: an hour between two lines of Megatron left a goodput of 100 %, and a step of an hour was no alarm.
TEST_CASE("a pause is named, whether the clock shows it or the step states it", "[launch]") {
  const auto late = [](int i) { return 9 * i + (i >= 40 ? 3600 : 0); };
  const io::WatchReport clock = watch(iterations(1, 59, late, kNine), nothing_known());
  CHECK(*clock.wall_seconds == Approx(59 * 9 + 3600));
  CHECK(*clock.goodput == Approx(59 * 9.0 / (59 * 9 + 3600)).epsilon(1e-3));
  CHECK(alarm_of(clock, "pause").step == 40);
  CHECK(alarm_of(clock, "pause").line == 40);
  CHECK(contains(alarm_of(clock, "pause").message, "step 40 took 3609 s, where 9 s are usual"));
  CHECK(clock.restarts == 0);
  const io::WatchReport stated =
      watch(iterations(1, 59, late, [](int i) { return i == 40 ? 3609e3 : 9000.0; }), nothing_known());
  CHECK(alarm_of(stated, "pause").step == 40);
  CHECK(*stated.wall_seconds == Approx(59 * 9 + 3600));
  // Neither checkpoints of a minute, nor a clock that is set back, nor one that lags behind the steps.
  CHECK_FALSE(alarmed(watch(iterations(
                                1, 200, [](int i) { return 9 * i + i / 50 * 70; }, kNine),
                            nothing_known()),
                      "pause"));
  const io::WatchReport back = watch(iterations(
                                         1, 59, [](int i) { return 9 * i + (i < 30 ? 3600 : 0); }, kNine),
                                     nothing_known());
  CHECK(back.restarts == 0);
  CHECK(*back.wall_seconds == Approx(59 * 9));
  CHECK(*watch(iterations(
                   1, 59, [](int i) { return 6 * i; }, kNine),
               nothing_known())
             .wall_seconds == Approx(59 * 9));
}

// Catches: a total of one epoch that ends the run in the second, a line without its time that counts as the whole run
// so far, and a first line of a hundred steps whose one NaN is all of them.
TEST_CASE("lines that say less than others", "[launch]") {
  std::string nemo;
  for (int i = 40; i < 50; ++i)
    nemo += fmt::format(
        "Training epoch 1, iteration {}/99 | global_batch_size: 8 | global_step: {} | reduced_train_loss: 2 "
        "| "
        "train_step_timing in s: 1.0\n",
        i, 100 + i);
  CHECK_FALSE(launch::read_run_log(nemo, "log").finished);
  std::string even = iterations(1, 59, kEven, kNine);
  const std::string at = " [2025-03-04 00:04:30.125000]";  // of iteration 30
  even.erase(even.find(at), at.size());
  const io::WatchReport r = watch(even, nothing_known());
  CHECK(*r.wall_seconds == Approx(59 * 9).epsilon(0.05));
  CHECK_FALSE(alarmed(r, "pause"));
  const std::string one =
      iterations(100, 100, kEven, kNine, " lm loss: 5.0E+00 | number of nan iterations:   1 |");
  CHECK_FALSE(io::failed(watch(one, nothing_known())));
}

// Reported: lines were counted as steps, and steady growth was a straggler to take out.
TEST_CASE("steps are counted, and steady growth is a drift", "[launch]") {
  const io::WatchReport tenth = watch(iterations(10, 400, kEven, kNine, "", 10), nothing_known());
  CHECK(tenth.timed_steps == 391);  // the first line covers as many as are known
  CHECK(tenth.recent_steps == 50);  // five lines
  const auto slower = [](int i) { return 9.0 * (i > 200 ? 1.2 : 1); };
  CHECK(alarmed(watch(iterations(10, 250, kEven, slower, "", 10), nothing_known()), "drift"));
  const io::WatchReport grows =
      watch(iterations(
                1, 79, [](int i) { return 15 * i; }, [](int i) { return 9000 * (1 + i / 60.0); }),
            nothing_known());
  CHECK_FALSE(alarmed(grows, "straggler"));
  CHECK(contains(alarm_of(grows, "drift").message, "longer and longer"));
}

// Reported: with every second step twice as long, step, time left and goodput were by the parity of the number of
// lines, and the alarm a drift with nothing to fix.
TEST_CASE("steps that take turns have no common pace", "[launch]") {
  const auto clock = [](int i) { return 18 + i / 2 * 27 + i % 2 * 9; };
  const auto turns = [](int i) { return i % 2 == 0 ? 18000.0 : 9000.0; };
  for (const int last : {60, 61, 62}) {
    CAPTURE(last);
    const io::WatchReport r = watch(iterations(1, last, clock, turns), nothing_known());
    CHECK(*r.step_seconds == Approx(13.5).epsilon(0.02));
    CHECK(*r.recent_seconds == Approx(13.5).epsilon(0.02));
    CHECK(*r.goodput > 0.9);
    CHECK_FALSE(alarmed(r, "drift"));
    CHECK(contains(alarm_of(r, "straggler").message, "no common pace"));
  }
}

// Reported: the hour between two lines counted only where the next step followed, not where steps were repeated.
TEST_CASE("the hour before a restart counts, whatever step it goes on with", "[launch]") {
  const auto resumed = [](int step, const std::string& start) {
    return watch(iterations(1, 21, kEven, kNine) + start +
                     iterations(
                         step, step + 20, [&](int i) { return 3600 + 9 * (i - step + 22); }, kNine),
                 nothing_known());
  };
  const std::string ready = "[before the start of training step] datetime: 2025-03-04 01:03:00\n";
  for (const int step : {22, 20}) {
    const io::WatchReport r = resumed(step, ready);
    CHECK(*r.wall_seconds == Approx(42 * 9 + 3600));
    CHECK(*r.goodput == Approx(9.0 * (step + 20) / (42 * 9 + 3600)).epsilon(1e-3));
    CHECK(r.restarts == 1);
    CHECK(r.lost_steps == 22 - step);
    CHECK_FALSE(alarmed(r, "pause"));
    REQUIRE(r.events.size() == 1);  // not the first start
  }
  CHECK(resumed(20, "").wall_seconds == resumed(20, ready).wall_seconds);
  CHECK(alarmed(resumed(22, ""), "pause"));
}

// Reported: a restart of TorchTitan at the next line was a pause of a rank that hung, and nothing was repeated.
TEST_CASE("TorchTitan states with which step it starts", "[launch]") {
  const auto run = [](int first, int at) {
    const auto stamp = [&](int s) {
      return fmt::format("[rank0]:[titan] 2026-09-01 {:02d}:{:02d}:{:02d},000 - root - INFO - ", s / 3600,
                         s / 60 % 60, s % 60);
    };
    std::string text = stamp(at) + fmt::format("Training starts at step {}\n", first);
    for (int step = (first + 9) / 10 * 10; step < first + 100; step += 10) {
      at += 50;
      text += stamp(at) + fmt::format("step: {}  loss:  7.0  memory: 45.3GiB(56.6%)  tps: 6,554\n", step);
    }
    return text;
  };
  const io::WatchReport r = watch(run(1, 0) + run(91, 4000), nothing_known());
  CHECK(r.restarts == 1);
  CHECK(r.lost_steps == 10);  // 91 to 100
  CHECK_FALSE(alarmed(r, "pause"));
  CHECK(*r.wall_seconds == Approx(4000 + 500 - 50));  // since the first line of steps
  // Another rank's line, printed late, is no restart.
  std::string late = run(1, 0);
  late.insert(late.find("step: 20"), "x\n[rank3]:[titan] 2026 - INFO - Training starts at step 1\n");
  CHECK(watch(late, nothing_known()).restarts == 0);
}

// Reported: the step time was one between two speeds, which never occurred, and "the first steps were slowed".
TEST_CASE("after a restart at another speed the rest is at that speed", "[launch]") {
  const auto sevens = [](int i) { return 3600 + 7 * i; };
  const auto run = [&](int last) {
    return watch(iterations(1, 40, kEven, kNine) + iterations(31, last, sevens, [](int) { return 7000.0; }),
                 nothing_known());
  };
  const io::WatchReport r = run(70);
  CHECK(*r.step_seconds == Approx(7));
  CHECK(*r.eta_seconds / (100000 - 70) == Approx(7 * *r.wall_seconds / (40 * 9 + 30 * 7)).epsilon(1e-2));
  CHECK(contains(alarm_of(r, "drift").cause, "started again"));
  CHECK_FALSE(alarmed(r, "straggler"));
  CHECK(*run(34).step_seconds == Approx(9));  // four steps are too few
}

// Reported: 1.5 h of compiling at the start was extrapolated to the whole run.
TEST_CASE("the first start is not repeated in the time left", "[launch]") {
  const io::WatchReport r = watch(bars(1, 7, [](int i) { return i == 1 ? 5400 : 500; }), planned("tp=32"));
  CHECK(*r.goodput == Approx(3500.0 / 8400));
  CHECK(*r.eta_seconds == Approx(93 * 500));
  CHECK(*r.usd_total == Approx((8400 + 93 * 500) / 3600.0 * 21.5));
}

// Reported: without --job a GPU had 16 GiB, and with it a plan was offered that did not need so much less.
TEST_CASE("a GPU that is full", "[launch]") {
  const std::string line =
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of "
      "79.11 GiB of "
      "which 1.02 GiB is free. Including non-PyTorch memory, this process has 78.08 GiB memory in use.\n";
  const io::WatchFailure unknown = watch(line, nothing_known()).failures.at(0);
  CHECK(contains(unknown.problem,
                 "an allocation of 2.00 GiB failed with 78.08 GiB in use; a GPU has 79.11 GiB"));
  const io::WatchFailure less =
      watch("RuntimeError: CUDA error: out of memory\n", nothing_known()).failures.at(0);
  CHECK(contains(less.problem, "does not say how much"));
  CHECK_FALSE(contains(less.problem, "16 GiB"));
  // What was needed beyond the prediction is needed by the next plan too.
  const std::string cores =
      "ERROR  TDRV:dmem_alloc_internal  Failed to alloc DEVICE memory: 1073741824\n"
      "ERROR  TDRV:log_dev_mem  total: 15.5 GB\n";
  const auto ran = planned("tp=8,pp=4");
  const double predicted = ran.plan->peak.value / 0x1p30;
  const launch::Advice a =
      launch::advise(logs::find_failures(cores, "log"), ran.ran, datasheet(), launch::find_fastest).at(0);
  CHECK(contains(a.problem, "an allocation of 1.00 GiB failed with 15.50 GiB in use"));
  const double excess = 16.5 - predicted;
  if (a.next) CHECK(a.next->memory.worst().peak().value / 0x1p30 + excess <= 16.0);
  CHECK(contains(a.fix, "beyond its prediction"));
  // Reported: where the log does not say how much was in use, a plan was offered that needs 0.25 GiB less.
  const launch::Advice least = launch::advise(logs::find_failures(cores.substr(0, cores.find('\n')), "log"),
                                              ran.ran, datasheet(), launch::find_fastest)
                                   .at(0);
  CHECK(contains(least.fix, "beyond its prediction"));
}

// Reported: fragments were called need beyond the prediction, and a process with a number was not read.
TEST_CASE("a GPU whose memory is in fragments", "[launch]") {
  const std::string line =
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of "
      "79.10 GiB "
      "of which 1.20 GiB is free. Process 1234 has 77.89 GiB memory in use. Of the allocated memory 60.11 "
      "GiB is "
      "allocated by PyTorch, and 15.30 GiB is reserved by PyTorch but unallocated.\n";
  const auto ran = planned("tp=8,pp=4");
  const auto of = [&](const std::string& text) {
    return launch::advise(logs::find_failures(text, "log"), ran.ran, datasheet(), launch::find_fastest).at(0);
  };
  CHECK(contains(of(line).problem, "an allocation of 1.00 GiB failed with 77.89 GiB in use"));
  CHECK(contains(of(line).fix, "expandable_segments"));
  std::string larger = line;
  larger.replace(larger.find("1.00 GiB"), 8, "16.0 GiB");
  CHECK_FALSE(contains(of(larger).fix, "expandable_segments"));
}

// Reported: a run of Megatron on GPUs was advised to set keys of NxDT, and to use tools of Neuron.
TEST_CASE("advice fits the machine and the framework", "[launch]") {
  const std::string text = "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0\n";
  CHECK_FALSE(contains(watch(text, nothing_known()).failures.at(0).fix, "save_xser"));
  CHECK(contains(watch(text, planned("tp=32")).failures.at(0).fix, "save_xser"));
  launch::WatchContext gpu = nothing_known();
  gpu.ran = {models::Job{}, std::nullopt, true, true};
  gpu.ran.job.cluster.instance.traits.accelerator = topology::Accelerator::gpu;
  const std::string slow = iterations(1, 60, kEven, [](int i) { return i > 40 && i % 4 == 0 ? 20e3 : 9e3; });
  CHECK(contains(alarm_of(watch(slow, gpu), "straggler").fix, "compare nvidia-smi"));
}
