// calibrate on GPUs: logs, kernels and nccl-tests, and what an answer says of the stack that was measured.
#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>

#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/cli/json_of.h"
#include "tests/cli/run_cli.h"
#include "tests/training_logs.h"

using namespace trnplan;
using cli::json_of;
using cli::Session;
using nlohmann::json;

namespace {

/// A job on GPUs that states no stack.
const std::string kOnGpus =
    "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 128}\n"
    "cluster: {instance: p5.48xlarge, nodes: 2}\n";

/// Iterations of Megatron-LM's log around 9 s, each of its own length.
std::string iterations_of_pace(int last) {
  std::string text;
  for (int i = 1; i <= last; ++i)
    text += megatron_iteration(i, fmt::format("{:.1f}", 9000.0 + 7.3 * (i * 37 % 41)));
  return text;
}

}  // namespace

TEST_CASE("a trace alone, and logs that two numbers of one layout contradict", "[cli]") {
  Session cli;
  cli.write("job.yaml", kOnGpus);
  // A trace does not name the loop that ran: the fit had no run, and ended in a crash.
  cli.write("trace.json",
            R"({"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 8000000},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "ts": 8000000, "dur": 8000000}]})");
  cli.expect(0, "trace.json does not say which training loop ran it: learnt as a run of megatron",
             "calibrate $work/trace.json --job $work/job.yaml --strategy tp=2 --out $work/trace-fit.json");
  cli.prints("^your run trace.json.*: 8 s, predicted ");
  CHECK(cli.last.err.find("made on") == std::string::npos);  // the job's machine has such GPUs
  cli.expect(0, "made on NVIDIA H100 80GB HBM3, which a trn1.32xlarge does not have",
             "calibrate $work/trace.json");
  // Steps of one layout, 1.8 times apart in one log: their mean is that of neither.
  cli.write("two.log", megatron_iterations("9000.0") + megatron_iterations("16000.0"));
  cli.expect(3, "two.log:7:1: step: 16 s is 1.8 times the 9 s of two.log:1, of the same layout",
             "calibrate $work/two.log --job $work/job.yaml --strategy tp=2 --out $work/two.json");
  cli.says("two.json is not written");
  // Reported: two steps taught as much as sixty, and steps that were still warming up, or growing, as steady ones.
  const auto paces = [](const std::vector<std::string>& milliseconds) {
    std::string text;
    for (std::size_t i = 0; i < milliseconds.size(); ++i)
      text += megatron_iteration(static_cast<int>(i) + 1, milliseconds[i]);
    return text;
  };
  cli.write("short.log", paces({"9000.0", "9000.0", "9000.0"}));
  cli.expect(0, "short.log:1:1: step: 2 steps are little to learn from: the pace of a run shows from 5 on",
             "calibrate $work/short.log --job $work/job.yaml --strategy tp=2 --out $work/short.json");
  cli.write("warm.log", paces({"90000.0", "13200.0", "13100.0", "9000.0", "9000.0", "9000.0"}));
  cli.expect(3, "warm.log:1:1: step: the steps have no common pace: a part takes at most 9 s",
             "calibrate $work/warm.log --job $work/job.yaml --strategy tp=2 --out $work/warm.json");
  std::vector<std::string> growing;
  for (int i = 0; i < 40; ++i) growing.push_back(std::to_string(8000 + 60 * i) + ".0");
  cli.write("growing.log", paces(growing));
  cli.expect(0, "the last third of the steps takes 1.1[0-9]+ times as long as the first",
             "calibrate $work/growing.log --job $work/job.yaml --strategy tp=2 --out $work/growing.json");
  cli.write("megatron.yaml", kOnGpus + "software: {framework: megatron}\n");
  cli.expect(0, "the strategy is one of torchtitan, the job states megatron: predicted as torchtitan runs it",
             "simulate $work/megatron.yaml --strategy tp=2,framework=fsdp");
  // Reported: two copies of a log counted as two runs; memory beyond the prediction was read and not said.
  cli.write("one.log",
            megatron_iterations("9000.0") +
                "[Rank 0] (after 1 iterations) memory (MB) | allocated: 1.0 | max allocated: 1.0 | "
                "reserved: 80000.0 | max reserved: 80000.0\n");
  cli.write("copy.log", cli.read(cli.work("one.log")));
  cli.expect(0, "copy.log holds the same as .*one.log: it is read once",
             "calibrate $work/one.log $work/copy.log --job $work/job.yaml --strategy tp=2");
  cli.prints("fitted to 1 step of 1 program");
  cli.says("one.log: 78.12 GiB of a device were reserved, .* are predicted");
  // Bars of 900 s each that state a throughput of 10 sequences/s: the clock decides.
  std::string bars;
  for (int i = 1; i <= 12; ++i) {
    const int minutes = 15 * i;
    bars += "Epoch 0:   1%|#| " + std::to_string(i) + "/100 [" + std::to_string(minutes / 60) + ":" +
            (minutes % 60 < 10 ? "0" : "") + std::to_string(minutes % 60) +
            ":00<9:00:00, v_num=1, reduced_train_loss=2.0, lr=1e-5, parameter_norm=1.0, global_step=" +
            std::to_string(i) + ".0, throughput=9.990, throughput_peak=9.99]\n";
  }
  cli.write("bars.log", bars);
  cli.expect(0, "9.99 sequences/s are 102.5 s a step, and the printed clock says 900 s: the clock is used",
             "calibrate $work/bars.log --job $source/examples/llama3-70b-16-nodes/job.yaml --strategy "
             "tp=32,pp=8");
  cli.prints("^your run bars.log:1: 900 s, predicted");
}

TEST_CASE("kernels and nccl-tests of a machine", "[cli]") {
  Session cli;
  cli.set("machine", cli.get("source") + "/tests/calibrate/fixtures/machine");
  cli.write("job.yaml",
            "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 128}\n"
            "cluster: {instance: p5.48xlarge, nodes: 2}\nsoftware: {framework: megatron}\n");
  // A profile that predicts otherwise once it is read again would show here: calibrate says 8.3, and simulate too.
  cli.expect(
      0, R"(by what was learnt 8\.[0-9]+ s/step)",
      "calibrate $machine/products.csv $machine/attention.csv $machine/all_reduce.txt --job $work/job.yaml "
      "--strategy tp=2 --out $work/mine.json");
  cli.prints(R"(products\.csv:7)");
  cli.expect(0, R"(step +8\.[0-9]+ s)", "simulate $work/job.yaml --strategy tp=2 --profile $work/mine.json");
  cli.refuse("mine has already learnt this file",
             "calibrate $machine/products.csv --instance p5.48xlarge --profile $work/mine.json");
  // Reported: tables behind a log counted twice what its steps hold already.
  cli.write("ran.log", megatron_iterations("9000.0"));
  cli.expect(0, "your run ran.log:1: 9 s",
             "calibrate $work/ran.log --job $work/job.yaml --strategy tp=2 --out $work/ran.json");
  cli.refuse("ran has learnt steps on p5.48xlarge, which hold these kernels and collectives already",
             "calibrate $machine/products.csv --instance p5.48xlarge --profile $work/ran.json");
  // Reported: a run that was ten times too fast for its GPUs was learnt.
  cli.write("fast.log", megatron_iterations("900.0"));
  cli.expect(3, "fast.log:1:1: step: 0.9 s would be [0-9]+ % of the peak FLOPS of 16 GPUs",
             "calibrate $work/fast.log --job $work/job.yaml --strategy tp=2 --out $work/fast.json");
  // Reported: two runs a quarter apart had an interval that held neither.
  cli.write("other.log", megatron_iterations("11200.0"));
  cli.expect(
      0, "your run other.log:1: 11.2 s",
      "calibrate $work/ran.log $work/other.log --job $work/job.yaml --strategy tp=2 --out $work/two.json");
  const json two = json_of(cli, "simulate $work/job.yaml --strategy tp=2 --profile $work/two.json");
  CHECK(two.at("step_seconds_90").at(0).get<double>() < 9);
  CHECK(two.at("step_seconds_90").at(1).get<double>() > 11.2);
  // Reported: the network of the cluster counted twice, in the steps that ran there and in an all-reduce.
  const auto step_of = [&](const char* more) {
    return json_of(cli,
                   std::string("simulate $work/job.yaml --strategy tp=2 --profile $work/ran.json") + more)
        .at("step_seconds");
  };
  CHECK(step_of("") == step_of(" --all-reduce-gbps 100"));
  cli.expect(0, "the measured all-reduce is not used: ran has learnt steps of megatron on p5.48xlarge",
             "simulate $work/job.yaml --strategy tp=2 --profile $work/ran.json --all-reduce-gbps 100");
  // Reported: what ran was called untested.
  CHECK(json_of(cli, "simulate $work/job.yaml --strategy tp=2,mbs=2 --profile $work/ran.json")
            .at("works_probability") >
        json_of(cli, "simulate $work/job.yaml --strategy tp=2,mbs=2").at("works_probability"));
  // All of a request's faults in words of the request.
  cli.refuse("is less than the .* that matmul.* takes at the peak of a core",
             "calibrate $machine/products.csv");
  cli.refuse(R"(a table of nccl-tests, which measures GPUs, and a trn1\.32xlarge has none)",
             "calibrate $machine/all_reduce.txt");
  cli.refuse("what was timed on a machine is compared and learnt at once",
             "calibrate $machine/products.csv --instance p5.48xlarge --no-fit");
  cli.write(
      "mixed.csv",
      "batch,heads,seq,head_dim,dtype,causal,pass,us,library\n1,8,4096,128,bf16,yes,forward,900,mine\n");
  cli.refuse(R"(mixed\.csv:2:[0-9]+: library: "mine" is run by no training loop)",
             "calibrate $work/mixed.csv --instance p5.48xlarge");
}

// Catches a stack that is recommended over the one that was measured slow, without a word in the answer on
// which of them was measured.
TEST_CASE("an answer names the stack that was measured in place of its own", "[cli]") {
  Session cli;
  cli.write("job.yaml", kOnGpus);
  cli.write("ran.yaml", kOnGpus + "software: {framework: megatron}\n");
  cli.write("ran.log", megatron_iterations("12200.0"));
  cli.expect(0, "^your cluster: megatron on p5.48xlarge takes 1.5",
             "calibrate $work/ran.log --job $work/ran.yaml --strategy tp=2 --out $work/mine.json --force");
  const std::string& answer =
      cli.run_with("COLUMNS", "100", "plan $work/job.yaml --profile $work/mine.json").out;
  cli.prints("^Unknown +torchtitan was not measured on your p5.48xlarge, but megatron was: ");
  CHECK(std::count(answer.begin(), answer.end(), '\n') <= 16);
  cli.says("so it is predicted 1.2[0-9] times as long, give or take ");
  cli.run("plan $work/job.yaml --profile $work/mine.json --target megatron");
  cli.prints_no("was not measured");
  cli.run("plan $work/job.yaml");
  cli.prints_no("was not measured");
}

// Reported: a factor of 2.3 was learnt from a log that says of which layout it is.
TEST_CASE("a log that states another layout, and logs that count twice", "[cli]") {
  Session cli;
  cli.write("job.yaml", kOnGpus + "software: {framework: megatron}\n");
  const std::string groups =
      "using world size: {}, data-parallel size: 8, context-parallel size: 1, tensor-model-parallel size: 2, "
      "pipeline-model-parallel size: 1\n";
  const auto log_of = [&](int devices) {
    return fmt::format(fmt::runtime(groups), devices) + iterations_of_pace(60);
  };
  const std::string learn =
      "calibrate $work/ran.log --job $work/job.yaml --out $work/mine.json --force --strategy ";
  cli.write("ran.log", log_of(32));
  cli.refuse("no step of the files can be learnt", learn + "tp=2");
  cli.says("on 32 GPUs by the log, but on 16 GPUs");
  cli.expect(0, "ALARM other-job: on 32 GPUs by the log",
             "watch $work/ran.log --once --job $work/job.yaml --strategy tp=2");
  cli.write("ran.log", log_of(16));
  cli.refuse("no step of the files can be learnt", learn + "tp=4");
  cli.says("TP 2 by the log, but TP 4");
  cli.expect(0, "^your run ran.log", learn + "tp=2");
  // A log that grew since, and one with the same steps in another file.
  cli.write("ran.log", log_of(16) + megatron_iteration(61, "9000.0"));
  cli.refuse("has grown since mine learnt its first [0-9]+ bytes",
             "calibrate $work/ran.log --job $work/job.yaml --strategy tp=2 --profile $work/mine.json");
  cli.write("copy.log", "\n" + log_of(16) + megatron_iteration(61, "9000.0"));
  cli.expect(0, "^your run ran.log",
             "calibrate $work/ran.log $work/copy.log --job $work/job.yaml --strategy tp=2");
  cli.says("copy.log:[0-9]+:1: shows the same 60 steps as .*ran.log: they count once");
}

// Reported: products at a tenth of the peak were learnt, and "no shape contradicts".
TEST_CASE("tables that are hardly of the machine", "[cli]") {
  Session cli;
  std::string table = "m,n,k,dtype,us\n";
  for (const int n : {4096, 8192, 14336})  // 2 m n k flops at 99 TFLOP/s
    table += fmt::format("8192,{},4096,bf16,{:.1f}\n", n, 2.0 * 8192 * n * 4096 / 99e12 * 1e6);
  cli.write("slow.csv", table);
  const std::string learn = "calibrate $work/slow.csv --instance p5.48xlarge --out $work/mine.json";
  cli.expect(
      3, "slow.csv:[0-9]+:[0-9]+: gemm_share: .* standard deviations away: hardly of this type of machine",
      learn);
  cli.prints_no("No shape contradicts");
  cli.expect(0, "wrote", learn + " --force");
  cli.refuse(
      "collectives of nccom-test, which measures NeuronCores, and a p5.48xlarge has none",
      "calibrate $source/tests/calibrate/fixtures/nccom/allg-r8-percentiles.txt --instance p5.48xlarge");
}

TEST_CASE("the script that started a run says what ran", "[cli]") {
  Session cli;
  cli.write("job.yaml", kOnGpus + "software: {framework: megatron}\n");
  cli.run("plan $work/job.yaml --out $work/out");
  cli.write("ran.log", iterations_of_pace(40));
  const json by_folder = json_of(cli, "watch $work/ran.log --once --plan $work/out"),
             by_script = json_of(
                 cli, "watch $work/ran.log --once --config $work/out/node_run.sh --instance p5.48xlarge");
  CHECK(by_folder.at("predicted_step_seconds") == by_script.at("predicted_step_seconds"));
  // Reported: a script that leaves its nodes to the scheduler was learnt as one of a single node.
  cli.write("open.sh", std::regex_replace(cli.read(cli.work("out/node_run.sh")),
                                          std::regex("--nnodes[= ][^ ]+"), "--nnodes $NNODES"));
  cli.refuse("the script does not state on how many nodes it ran",
             "calibrate $work/ran.log --config $work/open.sh --instance p5.48xlarge");
  cli.expect(0, "^your run ran.log",
             "calibrate $work/ran.log --config $work/open.sh --instance p5.48xlarge --nodes 2");
}
