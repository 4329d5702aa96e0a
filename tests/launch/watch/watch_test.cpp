#include "launch/watch/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "logs/training/failures.h"
#include "planner/check/judge.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/launch/watch/find_plans.h"
#include "tests/models/setup.h"
#include "text/document.h"

using namespace trnplan;
using logs::FailureKind;

namespace {

std::string fixture(const std::string& name) {
  return read_text(TRNPLAN_SOURCE_DIR "/tests/launch/fixtures/" + name);
}

/// Bars of a run from step `first` to `last`, each printed twice, whose clock starts at `clock` seconds.
std::string bars(int first, int last, const std::function<int(int)>& seconds_of, int clock = 0,
                 int total = 100) {
  std::string text;
  for (int i = first; i <= last; ++i) {
    clock += seconds_of(i);
    const std::string line = fmt::format(
        "Epoch 0:   1%|#| {}/{} [{:d}:{:02d}:{:02d}<1:00:00, 9.00s/it, v_num=2, reduced_train_loss=13.40, "
        "lr=7.5e-9, parameter_norm=5536.0, global_step={}.0, consumed_samples={}.0]\r",
        i, total, clock / 3600, clock / 60 % 60, clock % 60, i, i * 1024);
    text += line + line;
  }
  return text + "\n";
}

launch::WatchContext nothing_known() {
  launch::WatchContext context;
  context.ran = {job_of("llama3-8b", 1, 8192, 1024), std::nullopt, true};
  return context;
}

/// A plan of Llama-3 8B on one node, predicted by the data sheet's profile.
launch::WatchContext planned(const char* strategy) {
  launch::WatchContext context;
  io::PlanFile plan;
  plan.job = job_of("llama3-8b", 1, 8192, 1024);
  plan.strategy = strategy_of(plan.job, strategy);
  const auto judged = planner::judge(plan.job, plan.strategy, datasheet());
  plan.step = judged.plan->report.step;
  plan.low = judged.plan->report.low;
  plan.high = judged.plan->report.high;
  plan.peak = judged.plan->memory.worst().peak();
  plan.usd_per_hour = 21.5;
  context.plan = plan;
  context.ran = {plan.job, plan.strategy, false};
  return context;
}

io::WatchReport watch(const std::string& text, const launch::WatchContext& context) {
  return launch::watch(text, "train.out", context, datasheet(), launch::find_fastest);
}

bool alarmed(const io::WatchReport& r, const std::string& kind) {
  return std::any_of(r.alarms.begin(), r.alarms.end(), [&](const auto& a) { return a.kind == kind; });
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
  CHECK(alarmed(at([](int) { return 20; }), "faster"));
  CHECK(alarmed(watch("step 1 step_time 12.5s throughput 3 seq/s loss nan grad norm 1\n", nothing_known()),
                "loss"));
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
}

TEST_CASE("a profile learns from observed steps, and says when another plan wins", "[launch]") {
  const auto context = planned("tp=32");
  const double predicted = context.plan->step.value;
  const auto log_of = [](double seconds, int steps) {
    const int s = static_cast<int>(seconds);
    return launch::read_run_log(bars(1, steps + 1, [s](int) { return s; }), "log");
  };
  CHECK_FALSE(launch::recalibrate(log_of(predicted, 4), *context.plan, datasheet(), launch::find_fastest));
  const auto learnt =
      launch::recalibrate(log_of(predicted * 1.3, 10), *context.plan, datasheet(), launch::find_fastest);
  REQUIRE(learnt);
  CHECK(learnt->before == Approx(predicted).epsilon(1e-6));
  // A repeated run differs by repeat_spread, 0.05, so nearly all of the way: the site's factor alone has 0.3.
  CHECK(learnt->after > predicted * 1.26);
  CHECK(learnt->after < predicted * 1.3);
  for (const models::Parameter p : learnt->moved) {
    CHECK(learnt->profile.value(p).log_sd <= datasheet().value(p).log_sd);
  }
  // TP 32 is not the best plan of this job.
  REQUIRE(learnt->better);
  CHECK(learnt->gain > 0);
  CHECK(learnt->better->report.step.value == Approx(learnt->after - learnt->gain));
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

TEST_CASE("what ends a run is named with its cause and remedy, and makes it a failed one", "[launch]") {
  struct Case {
    const char *line, *kind, *problem, *fix;
  };
  const Case c = GENERATE(
      Case{"[F137] neuronx-cc was forcibly killed - This most commonly occurs due to insufficient system "
           "memory.",
           "host-memory", "while neuronx-cc compiled", "MAX_RETRIES"},
      Case{"[F134] neuronx-cc terminated abnormally - Please open a support ticket at", "compile-failed",
           "neuronx-cc crashed", "log-neuron-cc.txt"},
      Case{"slurmstepd: error: *** JOB 17 ON n1 CANCELLED AT 2026-11-20T10:00:00 DUE TO TIME LIMIT ***",
           "time-limit", "time limit", "--time"},
      Case{"slurmstepd: error: *** STEP 17.0 ON n1 CANCELLED AT 2026-11-20T10:00:00 DUE TO NODE FAILURE, SEE "
           "SLURMCTLD LOG FOR DETAILS ***",
           "node-failure", "a node went down", "--exclude"},
      Case{"srun: error: Node failure on n2", "node-failure", "a node went down", "--exclude"},
      Case{"slurmstepd: error: *** JOB 17 ON n1 CANCELLED AT 2026-11-20T10:00:00 DUE TO PREEMPTION ***",
           "cancelled", "higher priority", "last checkpoint"},
      Case{"slurmstepd: error: *** JOB 17 ON n1 CANCELLED AT 2026-11-20T10:00:00 ***", "cancelled",
           "ended the job", "sacct"},
      Case{"[rank3]:[E] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)",
           "execution-timeout", "NCCL", "node"},
      Case{"RuntimeError: CUDA error: an illegal memory access was encountered", "device-error",
           "outside its memory", "CUDA_LAUNCH_BLOCKING"},
      Case{"RuntimeError: CUDA error: uncorrectable ECC error encountered", "hardware", "memory of a GPU",
           "drain"},
      Case{"NVRM: Xid (PCI:0000:53:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
           "hardware", "PCIe", "drain"},
      Case{"ncclRemoteError: A call failed possibly due to a network error or a remote process exiting "
           "prematurely.",
           "lost-rank", "another rank", "first error"},
      Case{"OSError: [Errno 28] No space left on device", "storage", "file system is full", "checkpoint"},
      Case{"RuntimeError: Rank 5, node node-3, device 5, iteration 20: Unexpected result nan (message='found "
           "NaN in "
           "local forward loss calculation')",
           "not-finite", "not a finite number", "learning rate"},
      Case{"  exitcode  : -9 (pid: 1234)", "crashed", "SIGKILL", "dmesg"},
      Case{"Fatal Python error: Segmentation fault", "crashed", "compiled code", "stack"},
      Case{"DataLoader worker (pid 1234) is killed by signal: Bus error. It is possible that dataloader's "
           "workers are "
           "out of shared memory.",
           "host-memory", "/dev/shm", "--shm-size"},
      Case{"torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying "
           "to connect "
           "to (10.1.2.3, 29500).",
           "rendezvous", "rendezvous", "port"},
      Case{"ERROR  TDRV:exec_consume_infer_status_notifications Missed infer_status notification: (end:4)",
           "execution-timeout", "time limit", "first rank"},
      Case{"node-1:123:456 [3] NCCL WARN NET/IB : Got completion from peer 10.1.2.3<51234> with status=12",
           "network", "InfiniBand", "ibv_devinfo"},
      // The last resort: a traceback's last line, torchrun's and srun's words.
      Case{"Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\n    "
           "main()\nAssertionError: batch",
           "error", "refuses its options", "traceback"},
      Case{"Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\nmy.module.OddProblem",
           "error", "a process ended with this error", "traceback"},
      Case{"torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ", "error", "a rank failed",
           "torchrun"},
      Case{"srun: error: ip-10-1-2-3: tasks 0-7: Exited with exit code 1", "error", "a task of the job",
           "each rank"});
  INFO(c.line);
  const std::string steps = bars(1, 12, [](int) { return 100; });
  const io::WatchReport r = watch(steps + c.line + "\n", nothing_known());
  REQUIRE(r.failures.size() == 1);
  CHECK(r.failures[0].kind == c.kind);
  CHECK(contains(r.failures[0].problem, c.problem));
  CHECK(contains(r.failures[0].fix, c.fix));
  CHECK(io::failed(r));
  // Steps after it: the job was started again.
  CHECK_FALSE(io::failed(watch(c.line + ("\n" + steps), nothing_known())));
}

TEST_CASE("a job that Slurm queues again has not failed", "[launch]") {
  const std::string line =
      "slurmstepd: error: *** JOB 17 ON n1 CANCELLED AT 2026-11-20T10:00:00 DUE TO JOB REQUEUE ***\n";
  const io::WatchReport r = watch(bars(1, 12, [](int) { return 100; }) + line, nothing_known());
  CHECK(r.failures.empty());
  REQUIRE_FALSE(r.events.empty());
  CHECK(r.events.back().kind == "requeued");
}

TEST_CASE("what is cancelled because a rank failed is not a cause", "[launch]") {
  const io::WatchReport r = watch(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
      "79.10 "
      "GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 78.10 GiB memory in "
      "use.\n"
      "slurmstepd: error: *** STEP 17.0 ON n1 CANCELLED AT 2026-11-20T10:00:00 ***\n",
      nothing_known());
  REQUIRE(r.failures.size() == 1);
  CHECK(r.failures[0].kind == "device-memory");
  CHECK(contains(r.failures[0].problem, "78.10 GiB in use"));
}

// Reported: a timeout that followed an allocation that failed was a failure of its own, with "take its node out".
TEST_CASE("what follows from a failure is no failure of its own", "[launch]") {
  const auto kinds = [](const std::string& text) {
    std::string all;
    for (const logs::Failure& f : logs::find_failures(text, "log"))
      all += std::string(to_string(f.kind)) + " ";
    return all;
  };
  const std::string oom =
                        "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
                    timeout =
                        "[rank0]:[E] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)\n",
                    trace =
                        "Traceback (most recent call last):\n  File \"t.py\", line 3, in f\nValueError: x\n",
                    ended = "srun: error: n1: task 0: Exited with exit code 1\n",
                    cancelled =
                        "slurmstepd: error: *** STEP 17.0 ON n1 CANCELLED AT 2026-11-20T10:00:00 ***\n",
                    killed = "[0]:\n  exitcode  : -9 (pid: 12)\n",
                    full = "Detected 1 oom_kill event in StepId=7.0\n";
  CHECK(kinds(oom + timeout + ended) == "device-memory ");
  CHECK(kinds(timeout + "Fatal Python error: Aborted\n" + ended) == "execution-timeout ");
  CHECK(kinds("NVRM: Xid (PCI:0000:53:00): 79, GPU has fallen off the bus.\nCUDA error: launch failure\n" +
              timeout) == "hardware ");
  CHECK(kinds("NVRM: Xid (PCI:0000:53:00): 31, pid=1\n").empty());  // a fault of a program
  CHECK(kinds(trace + ended + cancelled) == "error ");
  CHECK(kinds(cancelled + trace + ended) == "cancelled ");
  CHECK(kinds(killed + full) == "host-memory ");
  CHECK(kinds(killed + timeout + ended) == "crashed ");
  // The quoted line is the error's, whatever other ranks write between the lines of the traceback.
  const auto found = logs::find_failures(
      "[rank1]: Traceback (most recent call last):\n[rank0]: INFO: loading\n[rank1]:   File \"t.py\"\n"
      "[rank0]: Note: done\n[rank1]: KeyError: 'x'\n",
      "log");
  REQUIRE(found.size() == 1);
  CHECK(found[0].text == "KeyError: 'x'");
  CHECK(
      kinds("KeyError: 'x'\nTraceback (most recent call last) is what Python prints\nWARNING: x\n").empty());
  // An error that a program catches is followed by steps. The next one counts anew, and its line is quoted.
  const std::string steps = bars(1, 12, [](int) { return 100; });
  CHECK(watch(trace + steps, nothing_known()).failures.empty());
  const io::WatchReport r =
      watch(trace + steps + "Traceback (most recent call last):\n  x\nKeyError: 'y'\n", nothing_known());
  REQUIRE(r.failures.size() == 1);
  CHECK(r.failures[0].text == "KeyError: 'y'");
  CHECK(r.failures[0].count == 1);
  // One step after it may be that of another rank at the same time.
  const std::string step = "step 1 step_time 12.5s throughput 3 seq/s loss 2.5 grad norm 1\n",
                    next = "step 2 step_time 12.5s throughput 3 seq/s loss 2.5 grad norm 1\n";
  CHECK(watch(trace + step, nothing_known()).failures.size() == 1);
  CHECK(watch(trace + step + next, nothing_known()).failures.empty());
  // The status that a line names says more than that the execution failed.
  CHECK(kinds("RuntimeError: nrt_execute failed: NRT_EXEC_HW_ERR_HBM_UE (1202)\n") == "hardware ");
}

TEST_CASE("a loss that is NaN at the end is a failed run, and one that came back is not", "[launch]") {
  const auto steps = [](bool ends) {
    std::string text;
    for (int i = 1; i <= 8; ++i)
      text += "step " + std::to_string(i) + " step_time 12.5s throughput 3 seq/s loss " +
              (i == (ends ? 8 : 4) ? "nan" : "2.5") + " grad norm 1\n";
    return text;
  };
  const io::WatchReport lost = watch(steps(true), nothing_known());
  CHECK(alarmed(lost, "loss"));
  CHECK(io::failed(lost));
  CHECK_FALSE(io::broke(lost));  // a run that is followed may find back
  CHECK_FALSE(io::failed(watch(steps(false), nothing_known())));
}

TEST_CASE("what Slurm says of the end counts where the log says nothing", "[launch]") {
  launch::WatchContext context = nothing_known();
  const std::string steps = bars(1, 12, [](int) { return 100; });
  const auto end = [&](const char* state) {
    context.state = state;
    return watch(steps, context);
  };
  CHECK(end("TIMEOUT").failures.at(0).kind == "time-limit");
  CHECK(end("NODE_FAIL").failures.at(0).kind == "node-failure");
  CHECK(end("OUT_OF_MEMORY").failures.at(0).kind == "host-memory");
  CHECK(end("PREEMPTED").failures.at(0).kind == "cancelled");
  CHECK(io::failed(end("FAILED")));
  for (const char* fine : {"RUNNING", "PENDING", "COMPLETED", "FORGOTTEN", ""})
    CHECK_FALSE(io::failed(end(fine)));
}

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
  CHECK(tenth.recent_steps == 200);
  const io::WatchReport grows =
      watch(iterations(
                1, 79, [](int i) { return 15 * i; }, [](int i) { return 9000 * (1 + i / 60.0); }),
            nothing_known());
  CHECK_FALSE(alarmed(grows, "straggler"));
  CHECK(contains(alarm_of(grows, "drift").message, "longer and longer"));
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
