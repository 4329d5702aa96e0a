// Ends of runs: their causes and remedies, and what only follows from them.
#include <fmt/format.h>

#include <algorithm>

#include "logs/training/failures.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/launch/watch/watched.h"

using namespace trnplan;

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
      // Reported: none of these was seen, and the exit code was 0.
      Case{"slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1742.0 cgroup. Some of your processes "
           "may have been killed",
           "host-memory", "ran out of memory", "memory"},
      Case{"srun: error: n1: task 5: Out Of Memory", "host-memory", "ran out of memory", "memory"},
      Case{"t.sh: line 3: 12 Aborted                 (core dumped) python t.py", "crashed", "compiled code",
           "stack"},
      Case{
          "ERROR  NRT:nrt_allocate_neuron_cores  NeuronCore(s) not available - Requested:nc1-nc1 Available:0",
          "configuration", "holds the NeuronCores", "neuron-ls"},
      Case{"ERROR  NRT:nrt_init  This runtime requires Neuron Driver version 2.0 or greater.",
           "configuration", "older than the runtime", "aws-neuronx-dkms"},
      Case{"ERROR  NMGR:dlr_infer  Inference completed with err: 5", "execution-timeout", "time limit",
           "first rank"},
      Case{"ERROR  NMGR:dlr_infer  Inference completed with err: 1006. mode->h_nn=1001", "device-error",
           "outside a tensor", "vocabulary"},
      Case{"ERROR  NMGR:dlr_infer  Inference completed with err: 1201", "hardware", "Neuron device", "drain"},
      Case{"ERROR  TDRV:exec  Missing infer_status notification: (end:1)", "execution-timeout", "time limit",
           "first rank"},
      Case{"(FATAL-RT-UNDEFINED-STATE) missing collectives status", "execution-timeout", "time limit",
           "first rank"},
      Case{"NRT_EXEC_COMPLETED_WITH_ERR (1004)", "device-error", "a Neuron device", "first error"},
      Case{"ERROR  NRT:nrt_infodump  Failure: NRT_EXEC_SW_NQ_OVERFLOW in nrt_execute()", "execution-timeout",
           "notifications", "DGE_NOTIFICATIONS=0"},
      Case{"torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3356, unhandled system "
           "error",
           "error", "NCCL", "Last error"},
      Case{"Net : Call to recv from 10.0.0.7<41000> failed : Connection reset by peer", "lost-rank",
           "another rank", "first error"},
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
  // Reported: where the job was started again, its first end was only "cancelled".
  const auto again = [&](const std::string& text) {
    const std::string steps = bars(1, 12, [](int) { return 100; });
    const io::WatchReport r = watch(steps + text + steps, nothing_known());
    return r.failures.size() == 1 ? r.failures[0].kind : "";
  };
  CHECK(again(ended + cancelled) == "error");
  CHECK(again("(FATAL-RT-UNDEFINED-STATE) missing infer_status notifications: (node: 1)\n" + ended +
              cancelled) == "execution-timeout");
  CHECK(again(cancelled) == "cancelled");
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
