// calibrate of logs on GPUs: what a log repeats, states of its job, or leaves to be assumed, and how sure the ratio of
// two layouts is of which one was learnt.
#include <cmath>
#include <regex>
#include <string>

#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/cli/json_of.h"
#include "tests/cli/run_cli.h"
#include "tests/training_logs.h"
#include "units/normal.h"

using namespace trnplan;
using cli::json_of;
using cli::Session;
using nlohmann::json;

namespace {

const std::string kMegatron =
    "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 128}\n"
    "cluster: {instance: p5.48xlarge, nodes: 2}\nsoftware: {framework: megatron}\n";

/// Iterations of Megatron-LM's log around so many milliseconds, each of its own length.
std::string iterations(int last, double milliseconds, const std::string& more = "") {
  std::string text;
  for (int i = 1; i <= last; ++i) {
    std::string line =
        megatron_iteration(i, fmt::format("{:.1f}", milliseconds * (1 + 8e-4 * (i * 37 % 41))));
    line.insert(line.find(" learning rate"), more);
    text += line;
  }
  return text;
}

double log_sd(const json& interval) {
  return std::log(interval.at(1).get<double>() / interval.at(0).get<double>()) / (2 * kNinetyPercent);
}

}  // namespace

// Reported: 0.8 % for the ratio of two steps whose intervals leave at least 3.9 % open. Whatever two values share,
// the sd of their difference is at least the difference of their sd.
TEST_CASE("a ratio is not surer than the intervals of its two steps", "[cli]") {
  Session cli;
  cli.write("job.yaml", kMegatron);
  cli.write("ran.log", iterations(40, 9000));
  cli.run("calibrate $work/ran.log --job $work/job.yaml --strategy tp=2 --out $work/mine.json");
  for (const char* other : {"tp=2,mbs=2", "tp=4", "tp=2,recompute=full"}) {
    CAPTURE(other);
    const json c =
        json_of(cli, fmt::format("compare tp=2 {} --job $work/job.yaml --profile $work/mine.json", other));
    const auto of_side = [&](int i) { return log_sd(c.at("sides").at(i).at("plan").at("step_seconds_90")); };
    CHECK(of_side(1) > of_side(0));  // the learnt one is surer
    CHECK(log_sd(c.at("times_as_long_90")) >= 0.999 * (of_side(1) - of_side(0)));
  }
}

// Reported: the steps of a folder's log counted again where the log was given by name as well.
TEST_CASE("steps of a folder that a log repeats count once", "[cli]") {
  Session cli;
  cli.write("job.yaml", kMegatron);
  cli.run("plan $work/job.yaml --out $work/out");
  const std::string log = iterations(40, 9000);
  cli.write("out/train-1.out", log);
  cli.write("copy.log", "\n" + log);
  cli.expect(
      0, "copy.log:[0-9]+:1: shows the same 39 steps as .*train-1.out: they count once",
      "calibrate $work/copy.log --config $work/out/node_run.sh --instance p5.48xlarge --run $work/out");
  cli.prints("^your run .*train-1.out");
  cli.prints_no("^your run copy.log");
  cli.prints("^fitted to 1 step of 1 program");
}

// Reported: check says which vocabulary it assumes of a script that states none, and calibrate learnt with it in
// silence.
TEST_CASE("what is assumed of a start script is said once", "[cli]") {
  Session cli;
  cli.write("job.yaml", kMegatron);
  cli.run("plan $work/job.yaml --out $work/out");
  cli.write("ran.log", iterations(40, 9000));
  cli.write("lone/start.sh", std::regex_replace(cli.read(cli.work("out/node_run.sh")),
                                                std::regex("[^\n]*--vocab-size[^\n]*\n"), ""));
  const std::string assumed = "the vocabulary is assumed to be that of llama3-8b: 128256";
  cli.expect(0, assumed, "check $work/lone/start.sh --instance p5.48xlarge --details");
  cli.run("calibrate $work/ran.log --config $work/lone/start.sh --instance p5.48xlarge");
  const std::string& said = cli.last.err;
  CHECK(said.find(assumed) != std::string::npos);
  CHECK(said.find(assumed) == said.rfind(assumed));
}

// 8.03e9 parameters, less a table of 128,256 x 4096, are 45.03 GFLOPs a token in products; attention is 12 x 32 x
// 4096 x 8192 = 12.88 GFLOPs in full and half of that where it is causal: 128 x 8192 tokens in 3.193 s on 16 GPUs of
// 989 TFLOPS are 107 % of the peak. Without gradients of weights, 15.01 GFLOPs less, they are 76 %.
TEST_CASE("a step above the peak may be one of frozen weights", "[cli]") {
  Session cli;
  cli.write("job.yaml", kMegatron);
  const std::string learn = " --job $work/job.yaml --strategy tp=2 --out $work/fit.json";
  cli.write("lora.log", iterations(10, 3150));
  cli.expect(3, "step: 3.193 s would be 107 % of the peak FLOPS of 16 GPUs",
             "calibrate $work/lora.log" + learn);
  cli.says("with frozen ones \\(LoRA\\), which are not modelled, it would be 76 %");
  cli.write("fast.log", iterations(10, 900));  // no training is that fast
  cli.expect(3, "of the peak FLOPS", "calibrate $work/fast.log" + learn);
  cli.says_no("LoRA");
}

// With the FLOPs of a token above, 9 s a step are 421.6 TFLOPS a GPU with the whole of attention, as Megatron-LM
// counted at first, and 374.7 with half of it, as it does now.
TEST_CASE("a throughput in the log that the layers of the job contradict", "[cli]") {
  Session cli;
  cli.write("job.yaml", kMegatron);
  const auto state = [&](double teraflops) {
    std::string text;
    const std::string rate = fmt::format(" throughput per GPU (TFLOP/s/GPU): {:.1f} |", teraflops);
    for (int i = 1; i <= 10; ++i) {
      text += megatron_iteration(i, "9000.0");
      text.insert(text.rfind(" learning rate"), rate);
    }
    cli.write("ran.log", text);
    cli.run("calibrate $work/ran.log --job $work/job.yaml --strategy tp=2");
  };
  for (const double fits : {421.6, 374.7, 400.0}) {
    state(fits);
    cli.says_no("TFLOPS");
  }
  state(300);
  cli.says(
      "throughput: the log states 300 TFLOPS a GPU: 41.2 GFLOPs a token, but 51.4[0-9] with half of the "
      "attention "
      "and 57.9[0-9]* with all by the layers of the model");
  cli.says("fix: check the model of the job: layers");
  cli.run("watch $work/ran.log --once --job $work/job.yaml --strategy tp=2");
  cli.prints("the log states 300 TFLOPS a GPU");
  state(600);
  cli.says("82.4 GFLOPs a token, but 51.4[0-9] with half of the attention");
}

// TP 2 is predicted to need 50.9 GiB of a GPU, 2.8 of them outside of PyTorch: 48.1, less a tenth 43.3.
TEST_CASE("memory that a log reserves far below the prediction is said", "[cli]") {
  Session cli;
  cli.write("job.yaml", kMegatron);
  const auto learn = [&](double gib) {
    cli.write(
        "ran.log",
        fmt::format("[Rank 0] (after 1 iterations) memory (MB) | allocated: 1.0 | max reserved: {:.1f}\n",
                    gib * 1024) +
            iterations(10, 9000));
    cli.run("calibrate $work/ran.log --job $work/job.yaml --strategy tp=2");
  };
  learn(42);
  cli.says("42.00 GiB of a device were reserved, 48.1[0-9] are predicted. Memory is not learnt: layouts");
  learn(45);
  cli.says_no("were reserved");
}
