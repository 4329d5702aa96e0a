#include "launch/watch/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "logs/training/failures.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/launch/watch/find_plans.h"
#include "tests/launch/watch/watched.h"
#include "tests/models/setup.h"
#include "text/document.h"

using namespace trnplan;
using logs::FailureKind;

namespace {

std::string fixture(const std::string& name) {
  return read_text(TRNPLAN_SOURCE_DIR "/tests/launch/fixtures/" + name);
}

}  // namespace

TEST_CASE("the refused group of the tutorial, and the next plan", "[launch]") {
  const std::string text = fixture("replica-group-failure-tp16-dp2.txt");
  const auto failures = logs::find_failures(text, "log");
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].kind == FailureKind::replica_group);
  CHECK(failures[0].devices == std::vector<int>{1, 17});
  CHECK(failures[0].group_ranks == 2);

  const io::WatchReport r = watch(text, nothing_known());
  REQUIRE(r.failures.size() == 1);
  const io::WatchFailure& f = r.failures[0];
  CHECK(f.rule == "replica-group");
  CHECK(f.ranks == std::vector<int>{1, 17});
  CHECK(f.chips == std::vector<int>{0, 8});
  CHECK(contains(f.problem, "TP 16 x PP 1 x DP 2"));
  CHECK(contains(f.problem, "DP pair {1, 17}"));
  CHECK(contains(f.next, "TP 8 x PP 1 x DP 4"));
  CHECK(contains(f.next, "ActivationMultiplyMLP"));
  CHECK(contains(f.fix, "assumed"));  // the log does not say which model ran
  CHECK_FALSE(f.went_on);

  // With the plan that failed the answer is the same, and nothing is assumed.
  auto ran = planned("tp=8,recompute=CoreAttention+LlamaMLP");
  ran.ran.strategy = strategy_of(ran.ran.job, "tp=16");
  const io::WatchFailure known = watch(text, ran).failures.at(0);
  CHECK(known.ranks == f.ranks);
  CHECK(known.next == f.next);
  CHECK_FALSE(contains(known.fix, "assumed"));
}

// Reported: the step time of such a log leaves out what happens between two steps, which a prediction, and calibrate,
// count. 1024 sequences at 80 a second are 12.8 s for 12; steps a quarter slower have a rate of 64.
TEST_CASE("a run is compared by whole steps where its log states their rate", "[launch]") {
  const auto log = [](int steady, int slow) {
    std::string text;
    for (int i = 1; i <= steady + slow; ++i)
      text += fmt::format("step {} step_time {}.0s throughput {} seq/s loss 2.5 grad norm 1\n", i,
                          i > steady ? 15 : 12, i > steady ? 64 : 80);
    return text;
  };
  const launch::WatchContext plan = planned("tp=8,recompute=CoreAttention+LlamaMLP");
  const io::WatchReport r = watch(log(40, 0), plan);
  CHECK(*r.step_seconds == Approx(12.8));
  CHECK(*r.recent_seconds == Approx(12.8));
  CHECK(*r.tokens_per_second == Approx(1024 * 8192 / 12.8));
  CHECK(*r.wall_seconds == Approx(40 * 12.8));
  CHECK(*r.goodput == Approx(1));
  CHECK(*r.usd_so_far == Approx(40 * 12.8 / 3600 * 21.5));
  REQUIRE(r.remarks.size() == 1);
  CHECK(r.remarks[0] == "a step takes 12.8 s by the throughput in the log (12 by the step time in the log)");
  CHECK(*watch(log(40, 0)).step_seconds == Approx(12));  // the batch is unknown
  const io::WatchReport slower = watch(log(40, 30), plan);
  CHECK(*slower.recent_seconds == Approx(16));
  CHECK(*slower.wall_seconds == Approx(40 * 12.8 + 30 * 16));
}

TEST_CASE("a graph that is too large leads to a plan that needs less", "[launch]") {
  auto ran = planned("tp=8,recompute=CoreAttention+LlamaMLP");
  const std::string line =
      "[XCG815]  Estimated peak HBM usage (18.5) exceeds 16GB. Neff won't be able to load on chip\n";
  const io::WatchFailure f = watch(line, ran).failures.at(0);
  CHECK(f.kind == "compile-memory");
  CHECK(f.rule == "memory");
  CHECK(contains(f.problem, "18.50 GiB"));
  REQUIRE(f.next_step_seconds);
  // 2.5 GiB too large: the next plan is predicted to need at least as much less.
  const auto next =
      launch::advise(logs::find_failures(line, "log"), ran.ran, datasheet(), launch::find_fastest).at(0).next;
  REQUIRE(next);
  CHECK(next->memory.worst().peak().value <= ran.plan->peak.value - 2.5 * 0x1p30);
  // Nothing says what ran: no plan is made up.
  const io::WatchFailure unknown = watch(line, nothing_known()).failures.at(0);
  CHECK(unknown.next.empty());
  CHECK(contains(unknown.fix, "--plan"));
}

TEST_CASE("failures by their words", "[launch]") {
  struct Case {
    const char* line;
    FailureKind kind;
  };
  const Case cases[] = {
      {"error NCC_EOOM001: The combined memory needed for the model tensors exceeds",
       FailureKind::compile_memory},
      {"ERROR  TDRV:dmem_alloc_internal  Failed to alloc DEVICE memory: 180355072",
       FailureKind::device_memory},
      {"RuntimeError: nrt_tensor_allocate status=4 message=\"Allocation Failure\"",
       FailureKind::device_memory},
      {"(FATAL-RT-UNDEFINED-STATE) execution timeout (30000 ms)", FailureKind::execution_timeout},
      {"suspected hang in collectives operation 3 out of 9", FailureKind::execution_timeout},
      {"NRT_EXEC_HW_ERR_HBM_UE (1201)", FailureKind::hardware},
      {"NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR instance-id=i-0", FailureKind::hardware},
      {"ENC:enc_init_comm global comm (2) has less channels than this replica group (4) :likely not enough "
       "EFA "
       "devices found if running on multiple nodes or CC not permitted on this group [1 3 5 7 ]",
       FailureKind::replica_group},
      {"NRT_EXEC_NETWORK_PROXY_FAILURE (1206)", FailureKind::network},
      {"||NEURON_PARALLEL_COMPILE||: Total failed compilations: 2", FailureKind::compile_failed},
      {"slurmstepd: error: Detected 1 oom_kill event in StepId=7.0", FailureKind::host_memory},
  };
  for (const Case& c : cases) {
    INFO(c.line);
    const auto found = logs::find_failures(c.line, "log");
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == c.kind);
  }
  for (const char* line :
       {"Timeout waiting for RX (waited 120 sec) - retrying",
        "||NEURON_PARALLEL_COMPILE||: Total failed compilations: 0", "libfabric:1:efa:info", ""}) {
    INFO(line);
    CHECK(logs::find_failures(line, "log").empty());
  }
  const auto full = logs::find_failures(
      "TDRV:dmem_alloc_internal  Failed to alloc DEVICE memory: 1\nTDRV:log_dev_mem  Failed to allocate "
      "172.000MB\n"
      "  * total: 15.855GB\n",
      "log");
  REQUIRE(full.size() == 1);
  CHECK(full[0].count == 2);
  CHECK(*full[0].gib == Approx(15.855));
}

TEST_CASE("steps of a log that is cut, repeated and resumed", "[launch]") {
  const auto log =
      launch::read_run_log("[trnplan] start 0 of job 7 at 2026-11-21T10:00:00Z\n" +
                               bars(1, 12, [](int i) { return i == 1 ? 30 : 10; }) +
                               "[trnplan] failed with 1 at 2026-11-21T10:03:00Z\n[trnplan] queued again\n"
                               "[trnplan] start 1 of job 7 at 2026-11-21T10:05:00Z\n" +
                               bars(11, 20, [](int) { return 10; }),
                           "log");
  REQUIRE(log.stretches.size() == 2);
  CHECK(log.last == 20);
  CHECK(log.total == 100);
  CHECK_FALSE(log.finished);
  CHECK(log.stretches[0].elapsed == 140);      // 30 + 11 x 10
  CHECK(log.stretches[0].steps.size() == 11);  // the first step also loads
  CHECK(*log.stretches[1].start - *log.stretches[0].start == 300);
  CHECK(log.events.size() == 4);
  for (const double s : log.seconds()) CHECK(s == 10);
  CHECK(launch::read_run_log("step 1 step_time 12.5s throughput 3 seq/s loss nan grad norm 1\n", "l")
            .loss_lost);
}

TEST_CASE("a new epoch is not a restart", "[launch]") {
  std::string text = bars(
                  1, 4, [](int) { return 10; }, 0, 4),
              second = bars(
                  1, 3, [](int) { return 10; }, 0, 4);
  for (std::size_t at = second.find("Epoch 0"); at != std::string::npos; at = second.find("Epoch 0", at + 1))
    second[at + 6] = '1';
  const auto log = launch::read_run_log(text + second, "log");
  REQUIRE(log.stretches.size() == 1);
  CHECK(log.last == 7);
  CHECK(log.stretches[0].elapsed == 70);
  CHECK_FALSE(log.finished);
  CHECK(launch::read_run_log(text, "log").finished);
  for (const double s : log.seconds()) CHECK(s == 10);
}

TEST_CASE("goodput counts what was done twice and the time to the next start", "[launch]") {
  const io::WatchReport r =
      watch("[trnplan] start 0 of job 7 at 2026-11-21T10:00:00Z\n" + bars(1, 12, [](int) { return 10; }) +
                "[trnplan] start 1 of job 7 at 2026-11-21T10:05:00Z\n" + bars(11, 20, [](int) { return 10; }),
            planned("tp=32"));
  CHECK(r.restarts == 1);
  CHECK(r.lost_steps == 2);             // 11 and 12
  CHECK(*r.wall_seconds == 300 + 100);  // to the second start, then ten steps
  CHECK(*r.goodput == Approx(20 * 10.0 / 400));
  CHECK(*r.eta_seconds == Approx(80 * 10 / 0.5));
  CHECK(*r.usd_so_far == Approx(400.0 / 3600 * 21.5));
}

TEST_CASE("a run without interruptions has a goodput near one, also when the log begins late", "[launch]") {
  const auto even = [](int) { return 10; };
  CHECK(*watch(bars(1, 50, even), nothing_known()).goodput == 1);
  CHECK(*watch(bars(30, 50, even, 5000), nothing_known()).goodput == 1);
  const io::WatchReport resumed = watch(fixture("hyperpod_auto_resume_transcript.txt"), nothing_known());
  CHECK(resumed.events.size() == 8);
  CHECK(*resumed.step_seconds == Approx(285.126).epsilon(1e-4));  // steps 7 to 9
  CHECK(resumed.failures.empty());
}

TEST_CASE("alarms for drift, stragglers, a wrong prediction and a lost loss", "[launch]") {
  const auto at = [](const std::function<int(int)>& s) {
    return watch(bars(1, 60, s, 0, 100), planned("tp=32"));
  };
  CHECK_FALSE(alarmed(at([](int) { return 600; }), "drift"));
  CHECK_FALSE(alarmed(at([](int i) { return i > 30 ? 625 : 600; }), "drift"));  // 4 %
  CHECK(alarmed(at([](int i) { return i > 30 ? 640 : 600; }), "drift"));        // 7 %
  // A checkpoint every 20 steps is no straggler, a slow step in every four is.
  CHECK_FALSE(alarmed(at([](int i) { return i % 20 == 0 ? 900 : 600; }), "straggler"));
  CHECK(alarmed(at([](int i) { return i > 40 && i % 4 == 0 ? 900 : 600; }), "straggler"));
  const double high = planned("tp=32").plan->high.value;
  const int slow = static_cast<int>(high * 1.1), inside = static_cast<int>(high * 0.9);
  CHECK(alarmed(at([&](int) { return slow; }), "slower"));
  CHECK_FALSE(alarmed(at([&](int) { return inside; }), "slower"));
  CHECK(alarmed(at([](int) { return 20; }), io::kBeyondPeak));
  CHECK(alarmed(watch("step 1 step_time 12.5s throughput 3 seq/s loss nan grad norm 1\n", nothing_known()),
                "loss"));
}

// Reported: what was left, and its cost, took the pace of the first steps, and an alarm said that it was over; and
// where most of the last steps were a quarter longer, a straggler was named besides.
TEST_CASE("a run that became slower goes on at its last pace", "[launch]") {
  const io::WatchReport r = watch(bars(
                                      1, 100, [](int i) { return i > 60 ? 752 + i % 3 : 600; }, 0, 200),
                                  planned("tp=32"));
  CHECK(io::drifts(r));
  CHECK_FALSE(alarmed(r, "straggler"));
  CHECK(*r.step_seconds == 600);
  CHECK(*r.recent_seconds == Approx(753).epsilon(1e-3));
  CHECK(*r.eta_seconds == Approx(100 * 753).epsilon(0.01));  // slow steps are the pace, not losses besides
}

// Catches: a job's tokens that are no whole number of the epochs that the log counts, without a word.
TEST_CASE("steps of the log and tokens of the job that differ are both said", "[launch]") {
  launch::WatchContext context = planned("tp=32");
  context.plan->job.training.tokens = 8192.0 * 1024 * 1000;
  const std::string log = bars(1, 50, [](int) { return 600; });
  const io::WatchReport r = watch(log, context);
  CHECK(r.total == 100);
  REQUIRE(r.remarks.size() == 1);
  CHECK(r.remarks[0].find("100 steps") != std::string::npos);
  CHECK(r.remarks[0].find("1000") != std::string::npos);
  context.plan->job.training.tokens = 8192.0 * 1024 * 100;
  CHECK(watch(log, context).remarks.empty());
}

TEST_CASE("memory of neuron-monitor compared with the prediction", "[launch]") {
  const auto report = [](double tensors) {
    return fmt::format(
        "{{\"neuron_runtime_data\":[{{\"pid\":1,\"report\":{{\"memory_used\":{{\"neuron_runtime_used_bytes\":"
        "{{\"usage_breakdown\":{{\"neuroncore_memory_usage\":{{\"0\":{{\"constants\":0,\"model_code\":0,"
        "\"model_shared_scratchpad\":0,\"runtime_memory\":0,\"tensors\":{:.0f}}}}}}}}}}}}}}}]}}\n",
        tensors);
  };
  const auto context = planned("tp=32");
  const double peak = context.plan->peak.value;
  const io::WatchReport below = watch(report(peak * 0.9), context),
                        above = watch(report(peak * 1.1), context);
  REQUIRE(below.memory_bytes);
  CHECK(*below.memory_bytes == Approx(peak * 0.9));
  CHECK_FALSE(alarmed(below, "memory"));
  CHECK(alarmed(above, "memory"));
  // An allocator reserves up to a tenth more than is counted.
  const auto reserved = [&](double part) {
    return watch(
        fmt::format(
            "2026-08-21 10:15:30,123 - root - INFO - step: 20  loss:  7.1234  memory: {:.2f}GiB(56.42%)  "
            "tps: 7,530  tflops: 436.05  mfu: 44.09%\n",
            part * peak / 0x1p30),
        context);
  };
  CHECK(reserved(1.05).memory_bytes);
  CHECK_FALSE(alarmed(reserved(1.05), "memory"));
  CHECK(alarmed(reserved(1.2), "memory"));
}

TEST_CASE("every published line of a failure is known", "[launch]") {
  const auto kind_of = [](const std::string& line) {
    const auto failures = logs::find_failures(line + "\n", "log");
    return failures.size() == 1 ? std::string(to_string(failures[0].kind)) : "none";
  };
  // aws-neuron/aws-neuron-sdk@81ce03ae archive/nxd-training/training-troubleshooting.rst
  CHECK(
      kind_of("TDRV:tdrv_one_tmpbuf_reserve  Number of ONE TMPBUF pages requested exceeded the max number of "
              "pages allowed (requested: 28, max allowed: 16).") == "device-memory");
  // huggingface/optimum-neuron issues 761 and 424, aws-neuron-sdk issue 1030; trn2: aws-neuron QIE
  CHECK(kind_of("ENC:init_metaring_algorithm  failed to reuse global comm devmem reservation") ==
        "replica-group");
  CHECK(kind_of("RuntimeError: nrt_load_collectives status=2") == "replica-group");
  CHECK(kind_of("ENC:enc_parse_replica_groups [nec_dev 1] replica groups (0/1) does not have myself 1") ==
        "replica-group");
  CHECK(kind_of("Failed to find device to device paths") == "replica-group");
  CHECK(kind_of("Timeout waiting for RX (waited 120 sec) - retrying") == "none");
}

TEST_CASE("a refused group that the log lists is judged as it is", "[launch]") {
  // huggingface/optimum-neuron issue 761: TP 2 with 16 processes
  const std::string line =
      "ENC:enc_init_comm global comm (2) has less channels than this replica group (4) :likely not enough "
      "EFA "
      "devices found if running on multiple nodes or CC not permitted on this group [1 3 5 7 9 11 13 15 ]\n";
  const auto failures = logs::find_failures(line, "log");
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].group == std::vector<int>{1, 3, 5, 7, 9, 11, 13, 15});
  const auto r = watch(line, nothing_known());
  REQUIRE(r.failures.size() == 1);
  CHECK(r.failures[0].chips == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});  // two cores a chip
  CHECK(contains(r.failures[0].problem, "the runtime refused the group {1, 3, 5, 7, 9, 11, 13, 15}"));
  CHECK(contains(r.failures[0].problem, "doubtful"));
  CHECK_FALSE(r.failures[0].next.empty());
}

TEST_CASE("a bar that is cut while it is written is not a restart", "[launch]") {
  const std::string whole = bars(1, 30, [](int) { return 100; });
  const std::string cut = whole.substr(0, whole.rfind("[0:50:00<") + 4);  // "[0:5": five minutes, it seems
  REQUIRE(cut.size() > whole.size() / 2);
  const auto r = watch(cut, nothing_known());
  CHECK(r.restarts == 0);
  CHECK(r.step == 30);
}
