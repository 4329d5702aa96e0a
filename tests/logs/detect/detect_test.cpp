#include "logs/detect/detect.h"

#include "tests/logs/readings.h"

using namespace trnplan;
using namespace trnplan::logs;

namespace {

std::string nccom(const std::string& file) {
  return read_text(TRNPLAN_SOURCE_DIR "/tests/calibrate/fixtures/nccom/" + file);
}

/// `text` with a label before each line.
std::string labelled(const std::string& text, const std::string& label) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    out += label + text.substr(at, end - at);
    at = end;
  }
  return out;
}

std::string repeated(std::string_view text, std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += text;
  return out;
}

}  // namespace

TEST_CASE("a Slurm file with everything in it", "[calibrate]") {
  const std::string out = "srun: job 83 queued\n" + nccom("allr-r64-slurm.txt") + "\n" +
                          labelled(log_text("nxdt-llama3-70b.txt"), "0: ") +
                          labelled(log_text("nxd-llama3-70b.txt"), "3: ") + log_text("compiler.txt") + "\n" +
                          log_text("trainer-metrics.txt") + log_text("neuron-monitor-trn1.2xlarge.json") +
                          log_text("bert-log-lines.txt") + log_text("megatron-deepspeed-slurm.txt");
  const Detected d = detect(out, "slurm-1.out");
  std::string kinds;
  for (const auto& kind : d.kinds) kinds += kind.name + ", ";
  CHECK(kinds ==
        "progress-bar line, NxD line, Megatron iteration, compiler line, Trainer metrics line, "
        "neuron-monitor report, "
        "nccom-test table, ");
  REQUIRE(d.tables.size() == 1);
  CHECK(d.tables[0].rows.size() == detect(nccom("allr-r64-slurm.txt"), "x").tables.at(0).rows.size());
  std::vector<double> seconds;
  for (const StepSample& s : d.steps) seconds.push_back(s.seconds);
  REQUIRE(seconds.size() == 7);
  CHECK(seconds[0] == 315);
  CHECK(seconds[1] == 316);
  CHECK(seconds[2] == Approx(243.84032));
  CHECK(seconds[3] == Approx(0.169549));
  CHECK(seconds[4] == Approx(40.0 / 7));
  CHECK(seconds[6] == Approx(138.20525));
  CHECK(d.memory.size() == 6);  // the last is what Megatron reserved
}

TEST_CASE("two ranks in one file, line by line", "[calibrate]") {
  std::string both;
  for (int step = 1; step <= 4; ++step) {
    for (const char* rank : {"0", "1"}) {
      both += std::string(rank) + ": step " + std::to_string(step) + " step_time " +
              std::to_string(20 + step) + ".5s throughput 4 seq/s\n";
    }
  }
  const Detected d = detect(both, "log");
  check_step(d, 23.5, 3);
  CHECK(skips(d, 1, "2 ranks print"));
}

TEST_CASE("two ranks in one file without labels, one ahead of the other", "[calibrate]") {
  const Detected d = detect(
      "step 3 step_time 20.5s\nstep 4 step_time 21.5s\nstep 3 step_time 20.6s\nstep 5 step_time 22.5s\n"
      "step 4 step_time 21.6s\nstep 5 step_time 22.4s\n",
      "log");
  check_step(d, 21.5, 3);
  const Detected bars = detect(
      "Epoch 0: |#| 3/9 [1:00<2:00]\nEpoch 0: |#| 4/9 [1:20<2:00]\nEpoch 0: |#| 3/9 [0:59<2:00]\n"
      "Epoch 0: |#| 4/9 [1:19<2:00]\nEpoch 0: |#| 5/9 [1:40<2:00]\n",
      "log");
  check_step(bars, 20, 2);
}

TEST_CASE("tables of nccom-test, old and new, and their JSON", "[calibrate]") {
  // The old build prints 2^30 bytes as a GB, the new one 10^9; seconds come from the times.
  const Detected old = detect(nccom("allr-r2-sweep.txt"), "t");
  CHECK(old.tables.at(0).time_heading == "time(us)");
  CHECK(old.tables[0].printed_giga == 0x1p30);
  CHECK(old.tables[0].rows.back().seconds == Approx(18930e-6));
  const Detected fresh = detect(nccom("allg-r8-percentiles.txt"), "t");
  CHECK(fresh.tables.at(0).time_heading.starts_with("time:"));
  CHECK(fresh.tables[0].printed_giga == 1e9);
  NccomCommand command;
  command.op = "all_gather";
  command.ranks = 32;
  const Detected json = detect(nccom("allg-r32-results.json"), "t", command);
  CHECK(json.kinds.at(0).name == "nccom-test report");
  REQUIRE(json.tables.size() == 1);
  CHECK(json.tables[0].ranks == 32);
  CHECK_FALSE(json.tables[0].rows.empty());
  CHECK(json.tables[0].rows[0].seconds == Approx(6.19e-6));
  const Detected cut = detect(nccom("allg-r32-results.json").substr(0, 300), "t", command);
  CHECK(cut.tables.at(0).rows.size() < json.tables[0].rows.size());
  CHECK_FALSE(cut.skipped.empty());
}

TEST_CASE("the tables of the catalogue", "[calibrate]") {
  const Detected points =
      detect(read_text(TRNPLAN_SOURCE_DIR "/catalog/measured-collectives.csv"), "points.csv");
  CHECK(points.points.size() == points.kinds.at(0).pieces);
  CHECK(points.points.size() > 50);
  const Detected runs = detect(read_text(TRNPLAN_SOURCE_DIR "/catalog/measured-runs.csv"), "runs.csv");
  CHECK(runs.kinds.at(0).name == "published run");
  CHECK(runs.runs.size() > 100);
  CHECK(refusal("id,measured_us\n1,x\n").find("column") != std::string::npos);
}

TEST_CASE("files that are refused, and why", "[calibrate]") {
  CHECK(refusal("").find("is empty") != std::string::npos);
  CHECK(refusal(" \n\t\r\n").find("is empty") != std::string::npos);
  CHECK(refusal("\x1f\x8b\x08zzz").find("gunzip") != std::string::npos);
  CHECK(refusal("SQLite format 3zzz").find("damaged or cut") != std::string::npos);
  CHECK(refusal(std::string("\x7f"
                            "ELF\0\0\0\1",
                            8))
            .find("binary") != std::string::npos);
  CHECK(refusal("Hello.\nWorld 3/4 [x]\n").find("nothing in it is recognised") != std::string::npos);
  CHECK(refusal("{\"a\": 1}").find("nothing in it is recognised") != std::string::npos);
  CHECK(refusal("the words size(B) alone").find("no nccom-test table") != std::string::npos);
  const Detected system = detect(R"({"trace_events": [{"duration": 27094}], "mem_usage": []})", "log");
  CHECK(skips(system, 1, "nothing in it about steps is read"));
}

// 60 files of 2 MB: a quadratic reader would take hours, until CTest ends it.
TEST_CASE("hostile files are read once", "[calibrate]") {
  constexpr std::size_t kBytes = 2'000'000;
  for (const std::string_view piece : {"[",
                                       "{",
                                       "{\"a\":",
                                       "{\"a\":[\n",
                                       "{\"neuron_runtime_data\":[\n",
                                       "{\"neuron_runtime_data\":\"\n{\n",
                                       "|",
                                       "| 1/2 [",
                                       "[|1/2",
                                       "Epoch 0: | 1/2 [",
                                       "Epoch 0: |#| 3/9 [1:00<2]",
                                       "1",
                                       "step ",
                                       "step 1 step_time 1s\n",
                                       "LOG Thu Sep ",
                                       "iteration 1/2|",
                                       "\x1b[",
                                       "\"",
                                       "\"\n",
                                       ",\"\"\"",
                                       "\r",
                                       "\n",
                                       "size(B) ",
                                       "nccom-test -r 2 allr \\\n",
                                       "0:",
                                       "\xff",
                                       "XCG815 usage (3)\n",
                                       "***** train metrics *****\n",
                                       "{\"traceEvents\":[{\"ph\":\"X\"},",
                                       "[{\"size(B)\":1},",
                                       "{\"results\":[{},"}) {
    const std::string text = repeated(piece, kBytes);
    CAPTURE(piece);
    try {
      const Detected d = detect(text, "log");
      CHECK(d.skipped.size() <= 51);
      CHECK(d.steps.size() <= 1000);
    } catch (const InputError& e) {
      CHECK(e.faults().size() < 1000);
    }
    for (const std::string& heading : {std::string("duration_ns,operation,input_size,replica_group\n"),
                                       std::string("{\"neuron_runtime_data\": [")}) {
      try {
        detect(heading + text, "log");
      } catch (const InputError& e) {
        CHECK(e.faults().size() < 1000);
      }
    }
  }
}

TEST_CASE("a million steps, a thousand runs", "[calibrate]") {
  std::string text;
  for (int i = 0; i < 1'100'000; ++i) text += "step " + std::to_string(i) + " step_time 2.5s\n";
  const Detected d = detect(text, "log");
  REQUIRE(d.steps.size() == 1);
  CHECK(d.steps[0].count == 999'999);
  CHECK(skips(d, 1'000'001, "more than 1000000 lines of steps"));
  text.clear();
  for (int i = 0; i < 1200; ++i) text += "step " + std::to_string(5000 - i) + " step_time 2.5s\n";
  CHECK(detect(text, "log").steps.size() == 1000);
}
