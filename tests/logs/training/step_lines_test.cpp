// Lines of NxD, Megatron, the Trainer and the compiler.
#include <cmath>

#include <fmt/format.h>

#include "tests/logs/readings.h"

using namespace trnplan;
using namespace trnplan::logs;

TEST_CASE("step lines of NxD, Llama-3 70B on 16 nodes", "[calibrate]") {
  const StepSample s = step_of(log_text("nxd-llama3-70b.txt"));
  // Steps 2 to 5; the middle two are 243.819584608078 and 243.86105298995972.
  CHECK(s.seconds == Approx(243.8403187990189).epsilon(1e-12));
  CHECK(s.count == 4);
  CHECK(s.left_out == 1);
  CHECK(s.framework == "nxd");
  CHECK(*s.sequences_per_second == 4.027843716250589);
  CHECK(s.at.line == 1);
  CHECK(s.last_line == 5);
}

TEST_CASE("step lines after a restart", "[calibrate]") {
  const Detected d = log_fixture("nxd-auto-resume.txt");
  REQUIRE(d.steps.size() == 1);
  // Step 6 took 458.6 s; the median of steps 7 to 9 is that of step 9.
  CHECK(d.steps[0].seconds == 285.1258006095886);
  CHECK(d.steps[0].count == 3);
  CHECK(d.steps[0].left_out == 1);
}

TEST_CASE("LOG lines, phases 1 and 2 of BERT", "[calibrate]") {
  const Detected d = log_fixture("bert-log-lines.txt");
  REQUIRE(d.steps.size() == 2);
  CHECK(d.steps[0].seconds == Approx(40.0 / 7));  // 22:30:10 to 22:30:50
  CHECK(d.steps[0].count == 7);
  CHECK(d.steps[1].seconds == Approx(395.0 / 6));  // 20:56:35 to 21:03:10, another run
  CHECK(d.steps[1].at.line == 9);
  CHECK(*d.steps[1].sequences_per_second == 496.02);
  CHECK(d.steps[0].framework == "bert");
}

TEST_CASE("LOG lines that name the unit are of NxD's script", "[calibrate]") {
  const std::string line = "LOG Thu Sep 29 22:30:1";
  const std::string rest = " step_loss : 9.1875 learning_rate : 1.56e-05 throughput : 4.21";
  const Detected nxd = detect(line + "0 2022 - (0, 2)" + rest + " seq/s grad-norm : 1.5\n" + line +
                                  "5 2022 - (0, 3)" + rest + " seq/s grad-norm : 1.5\n",
                              "log");
  REQUIRE(nxd.steps.size() == 1);
  CHECK(nxd.steps[0].framework == "nxd");
  const Detected bert = detect(line + "0 2022 - (0, 2)" + rest + " grad-norm : 1.5\n" + line +
                                   "5 2022 - (0, 3)" + rest + " grad-norm : 1.5\n",
                               "log");
  REQUIRE(bert.steps.size() == 1);
  CHECK(bert.steps[0].framework == "bert");
  CHECK(bert.steps[0].sequences_per_second == 4.21);
}

TEST_CASE("what BERT prints at the end of an epoch", "[calibrate]") {
  const Detected d = log_fixture("bert-end-of-epoch.txt");
  REQUIRE(d.steps.size() == 2);
  CHECK(d.steps[0].seconds == Approx(0.7424166639645894 * 60 / 5));
  CHECK(d.steps[0].count == 5);
  CHECK(d.steps[0].global_batch == 16384.0);  // 32 workers, 8 sequences, 320 / 5 micro-steps
  CHECK(d.steps[0].sequence == 128.0);
}

TEST_CASE("NxD lines that are cut, or state a rate only", "[calibrate]") {
  const Detected d = detect(
      "step 2 step_time nans throughput 3\nstep 3 step_time 4.5s throughput 2 seq/s\nstep 4 step_time "
      "1e999s\n"
      "step 7 loss is 9.1, lr is 1, throughput 5 seq/s,  input_ids 7, norm 1, global rank 0\n"
      "Epoch 0 step 5 loss 9.1 perf 1839.0 seq/sec (at train microstep 320)\n"
      "Current data: {'steps': 0, 'train_time_minutes': 3}\nstep 5 step_time 4.",
      "log");
  REQUIRE(d.steps.size() == 1);
  CHECK(d.steps[0].seconds == 4.5);
  CHECK(skips(d, 1, "not a number of seconds"));
  CHECK(skips(d, 3, "not a number of seconds"));
  CHECK(skips(d, 4, "2 lines state a throughput but no step time"));
  CHECK(skips(d, 6, "no steps and train_time_minutes"));
  CHECK(skips(d, 7, "the file ends within the number"));
}

TEST_CASE("iterations of Megatron, GPT-3 on trn1", "[calibrate]") {
  const StepSample s = step_of(log_text("megatron-gpt3-trn1.txt"));
  CHECK(s.seconds == Approx(7.3131));
  CHECK(s.count == 1);
  CHECK(s.global_batch == 1024.0);
  CHECK(s.sequences_per_second == 140.022);  // 1024 / 7.3131: samples, not FLOPs
  CHECK(s.framework == "megatron");
}

TEST_CASE("iterations among the lines that Slurm collects", "[calibrate]") {
  const Detected d = log_fixture("megatron-deepspeed-slurm.txt");
  REQUIRE(d.steps.size() == 1);
  // 9 iterations; without the first: 141.0968, 137.1384, 138.9289, 137.8059, 139.1836, 138.6046, 137.4485,
  // 134.1187 s. The middle two are 137.8059 and 138.6046.
  CHECK(d.steps[0].seconds == Approx(138.20525));
  CHECK(d.steps[0].count == 8);
  CHECK(d.steps[0].at.line == 11);
}

TEST_CASE("labels of srun and torchrun, seconds instead of ms, damaged iterations", "[calibrate]") {
  const Detected alone = log_fixture("megatron-srun-label.txt");
  CHECK(alone.steps.empty());  // iteration 1 only: 440 s of warm-up
  CHECK(skips(alone, 1, "no step time"));

  const Detected d = detect(
      "[default7]: iteration    12695/  115311 | elapsed time per iteration (s): 105.22 | samples per "
      "second: 19.463 "
      "| TFLOPs: 149.02 |\n"
      "[default7]: iteration    12696/  115311 | elapsed time per iteration (ms): nan |\n"
      "[default7]: iteration    12697/  115311 | consumed samples: 12\n"
      "[default7]: iteration    12698/  115311 | elapsed time per iteration (h): 3 |\n",
      "log");
  REQUIRE(d.steps.size() == 1);
  CHECK(d.steps[0].seconds == 105.22);
  CHECK(d.steps[0].sequences_per_second == 19.463);
  CHECK(skips(d, 2, "not a number of ms or s"));
  CHECK(skips(d, 3, "the line lacks it"));
  CHECK(skips(d, 4, "not a number of ms or s"));
}

TEST_CASE("iterations that somebody picked from a long log", "[calibrate]") {
  const StepSample s = step_of(
      "[default7]: iteration    12695/  115311 | elapsed time per iteration (s): 105.22 |\n"
      "[default7]: iteration    31214/  115311 | elapsed time per iteration (s): 104.60 |\n");
  CHECK(s.count == 2);
}

TEST_CASE("metrics of the Trainer", "[calibrate]") {
  const StepSample s = step_of(log_text("trainer-metrics.txt"));
  CHECK(s.seconds == Approx(1 / 5.898));
  CHECK(s.count == 1500);         // 254.32 s at 5.898 steps/s
  CHECK(s.global_batch == 16.0);  // 94.369 / 5.898 = 16.0002
  CHECK(s.sequences_per_second == 94.369);
  const StepSample json =
      step_of(R"({"epoch": 3.0, "train_runtime": 254.32, "train_samples_per_second": 94.369,
                                      "train_steps_per_second": 5.898})");
  CHECK(json.seconds == s.seconds);
  CHECK(json.global_batch == 16.0);
  const Detected cut = detect("***** train metrics *****\n  epoch = 3.0\n  train_runtime = 0:0", "log");
  CHECK(cut.steps.empty());
  CHECK(skips(cut, 1, "train_steps_per_second"));
}

TEST_CASE("what the compiler says of memory", "[calibrate]") {
  const Detected d = log_fixture("compiler.txt");
  REQUIRE(d.memory.size() == 3);
  CHECK(*d.memory[0].bytes == Approx(22.839451 * 1073741824));
  CHECK(d.memory[0].count == 2);
  CHECK(*d.memory[1].bytes == 17.25 * 1073741824);
  CHECK_FALSE(d.memory[2].bytes);
  CHECK(d.memory[2].at.line == 5);
  CHECK(skips(d, 6, "no peak usage"));
}

TEST_CASE("step lines of TorchTitan, with colours and the label of torchrun", "[calibrate]") {
  const Detected d = log_fixture("torchtitan-llama3.txt");
  REQUIRE(d.steps.size() == 1);
  // Of the printed clock, 25 s for each ten steps; the way from step 1 to 10 counts too, that to step 1 does not.
  CHECK(d.steps[0].seconds == Approx(2.5));
  CHECK(d.steps[0].count == 49);
  CHECK(d.steps[0].framework == "torchtitan");
  CHECK(d.steps[0].format == "TorchTitan steps");
  REQUIRE(d.memory.size() == 1);
  CHECK(*d.memory[0].bytes == Approx(45.3 * 1024 * 1024 * 1024));
  CHECK(d.memory[0].count == 6);
}

TEST_CASE("lines of TorchTitan that say less", "[calibrate]") {
  const std::string head = "[titan] 2026-08-31 23:59:", tail = " - root - INFO - step: ",
                    rest = "  grad_norm:  1.5  memory: 10.00GiB(12.50%)  tps: 1,000  tflops: 1.0  mfu: N/A\n";
  // A pipeline's other stages print -1 for the loss, quantised runs no MFU; midnight of another month is a second
  // later.
  const std::string log = head + "58,000" + tail + "1  loss: -1.0" + rest + head + "59,000" + tail +
                          "2  loss: -1.0" + rest + "[titan] 2026-09-01 00:00:00,000" + tail + "3  loss: nan" +
                          rest;
  CHECK(step_of(log).seconds == Approx(1));
  // Without a clock no time of a step is known; words like it are no lines of it.
  CHECK(detect("step: 1  loss: 3.0" + rest, "log").steps.empty());
  CHECK_THROWS_AS(detect("[titan] 2026-08-31 23:59:58,000 - root - INFO - step: 1 of 5 begins\n", "log"),
                  InputError);
}

TEST_CASE("iterations of Megatron-LM as it prints them now", "[calibrate]") {
  const Detected d = log_fixture("megatron-lm-gpu.txt");
  REQUIRE(d.steps.size() == 1);
  // 6981.2, 6970.4, 6975.9 and 6973.1 ms; the first holds loading.
  CHECK(d.steps[0].seconds == Approx(6.9745));
  CHECK(d.steps[0].count == 4);
  CHECK(*d.steps[0].global_batch == 128);
  CHECK(d.steps[0].framework == "megatron");
  // TFLOP/s of a GPU are no samples a second.
  CHECK_FALSE(d.steps[0].sequences_per_second.has_value());
}

// Reported: they were taken for iterations of Megatron, and dropped.
// The lines of report_memory() behind the first iteration: the most of any rank counts.
TEST_CASE("memory that Megatron reserved", "[calibrate]") {
  const logs::Detected d = logs::detect(
      " iteration        1/      10 | consumed samples: 8 | elapsed time per iteration (ms): 900.0 | lm "
      "loss: 9.0E+00 |\n"
      "[Rank 1] (after 1 iterations) memory (MB) | allocated: 12337.46 | max allocated: 19961.07 | reserved: "
      "23288.0 | max reserved: 23288.0\n"
      "[Rank 0] (after 1 iterations) memory (MB) | allocated: 12337.46 | max allocated: 19961.07 | reserved: "
      "20480.00 | max reserved: 20480.00 | total device memory used: 30000.00\n"
      "[Rank 2] (after 1 iterations) memory (MB) | allocated: 1 | max reserved: nonsense\n",
      "log");
  REQUIRE(d.memory.size() == 1);
  CHECK(*d.memory[0].bytes == 23288.0 * 1024 * 1024);
  CHECK(d.memory[0].reserved);
  CHECK(d.memory[0].at.line == 2);
  CHECK(d.memory[0].count == 2);
}

TEST_CASE("iterations of NeMo 2", "[calibrate]") {
  const auto line = [](int iteration, int global_step, const char* seconds) {
    return fmt::format(
        "[default0]:Training epoch 0, iteration {}/999 | lr: 1.5e-06 | global_batch_size: 128 | global_step: "
        "{} | "
        "reduced_train_loss: 11 | train_step_timing in s: {} | consumed_samples: {}\n",
        iteration, global_step, seconds, (global_step + 1) * 128);
  };
  const std::string log = line(0, 0, "30.5") + line(1, 1, "9.012") + line(2, 2, "9.1") + line(3, 3, "9.05");
  const Detected d = detect(log, "log");
  REQUIRE(d.steps.size() == 1);
  CHECK(d.steps[0].seconds == 9.05);
  CHECK(d.steps[0].global_batch == 128.0);
  CHECK(d.steps[0].count == 3);
  CHECK(d.kinds.at(0).name == "NeMo 2 iteration");
  CHECK(d.skipped.empty());
  CHECK(skips(detect(log + "Training epoch 0, iteration 4/999 | global_step: 4\n", "log"), 5, "lacks it"));
}

// Reported: nothing in it was recognised.
TEST_CASE("the metrics of the Trainer as one dict", "[calibrate]") {
  const std::string dict =
      "{'train_runtime': 4000.1, 'train_samples_per_second': 64.0, 'train_steps_per_second': 0.5, "
      "'train_loss': 2.1, 'epoch': 1.0}\n";
  const StepSample s = step_of(dict);
  CHECK(s.seconds == 2);
  CHECK(s.global_batch == 128.0);
  // They are a mean: where steps are timed, those count.
  CHECK(detect("step 1 step_time 9.0s loss 1\nstep 2 step_time 3.0s loss 1\n" + dict, "log").steps.size() ==
        1);
}

TEST_CASE("tokens a second of a device, as TorchTitan groups them", "[calibrate]") {
  const auto line = [](int step, const char* tps, const char* tflops = "1.0") {
    return fmt::format(
        "[titan] 2026-08-31 23:00:{:02d},000 - root - INFO - step: {}  loss: 3.0  grad_norm:  1.5  memory: "
        "10.00GiB(12.50%)  tps: {}  tflops: {}  mfu: N/A\n",
        step * 5, step, tps, tflops);
  };
  // That of the warm-up is left out; one more rate alone says nothing of the run's.
  CHECK(step_of(line(1, "900") + line(2, "1,007,500") + line(3, "7500") + line(4, "7500"))
            .device_tokens_per_second == 7500.0);
  CHECK_FALSE(step_of(line(1, "300") + line(2, "7500")).device_tokens_per_second);
  // Reported: 1,234.50 TFLOP/s were read as 1.
  const auto flops = [&](const char* text) {
    return step_of(line(1, "900") + line(2, "900", text) + line(3, "900", text) + line(4, "900", text))
        .device_flops_per_second.value_or(0);
  };
  CHECK(flops("1,234.50") == Approx(1234.5e12));
  CHECK(flops("436.05") == Approx(436.05e12));
  CHECK(flops("1,234,567.25") == Approx(1234567.25e12));
  CHECK(flops("12,34") == Approx(12e12));  // no group of thousands
  CHECK(flops("nan") == 0);
}

// Reported: with a clock of whole seconds 5.33 s were read as 5 s, give or take 0.0004.
TEST_CASE("a clock of TorchTitan that is cut to whole seconds", "[calibrate]") {
  std::string log;
  for (int i = 1; i <= 31; ++i) {
    const int now = i * 16 / 3;
    log += fmt::format(
        "[titan] 2026-08-31 10:{:02d}:{:02d} - root - INFO - step: {}  loss: 3.0  grad_norm:  1.5  memory: "
        "10.00GiB(12.50%)  tps: 1,536  tflops: 1.0  mfu: N/A\n",
        now / 60, now % 60, i);
  }
  const StepSample s = step_of(log);
  CHECK(s.count == 30);
  CHECK(s.seconds == Approx((165.0 - 5) / 30));    // from step 1 to 31, the ticks in between cancel
  CHECK(*s.spread == Approx(std::sqrt(1.0 / 6)));  // of the difference of two clocks that are cut
  CHECK(s.low == s.high);                          // what one tick explains is no pace
  CHECK(*s.device_tokens_per_second == Approx(1536));
}

// Reported: a log was learnt as that of another layout and sequence, though it states its own.
TEST_CASE("arguments that Megatron lists before its first iteration", "[calibrate]") {
  const std::string iterations =
      " iteration        1/     100 | elapsed time per iteration (ms): 9000.0 | global batch size:   128 |\n"
      " iteration        2/     100 | elapsed time per iteration (ms): 9000.0 | global batch size:   128 |\n"
      " iteration        3/     100 | elapsed time per iteration (ms): 9000.0 | global batch size:   128 |\n";
  const StepSample s = step_of(
      "using world size: 64, data-parallel-size: 1, tensor-model-parallel size: 4, pipeline-model-parallel "
      "size: 16 \n"
      "------------------------ arguments ------------------------\n"
      "  context_parallel_size ........................... 2\n"
      "  decoder_seq_length .............................. None\n"
      "  micro_batch_size ................................ 4\n"
      "  seq_length ...................................... 1024\n"
      "  virtual_pipeline_model_parallel_size ............ None\n" +
      iterations + "  micro_batch_size ................................ 8\n");
  CHECK(s.layout.devices == 64);
  CHECK(s.layout.tensor_parallel == 4);
  CHECK(s.layout.pipeline_parallel == 16);
  CHECK(s.layout.virtual_pipeline == 1);
  CHECK(s.layout.context_parallel == 2);
  CHECK(s.layout.micro_batch == 4);
  CHECK(s.sequence == 1024.0);
  // A second start in the same file has arguments of its own.
  const std::string slower =
      " iteration        1/     100 | elapsed time per iteration (ms): 19000.0 | global batch size:   128 |\n"
      " iteration        2/     100 | elapsed time per iteration (ms): 19000.0 | global batch size:   128 "
      "|\n";
  const Detected both = detect("  micro_batch_size ........ 4\n  seq_length ........ 1024\n" + iterations +
                                   "  micro_batch_size ........ 8\n  seq_length ........ None\n" + slower,
                               "log");
  REQUIRE(both.steps.size() == 2);
  CHECK(both.steps[0].layout.micro_batch == 4);
  CHECK(both.steps[0].sequence == 1024.0);
  CHECK(both.steps[1].layout.micro_batch == 8);
  CHECK_FALSE(both.steps[1].sequence);
  const StepSample none = step_of(iterations);
  CHECK_FALSE(none.layout.devices);
  CHECK_FALSE(none.sequence);
}

TEST_CASE("a loss that is no number, in each format", "[calibrate]") {
  for (const char* loss : {"lm loss: nan |", "number of nan iterations:   1 |"}) {
    std::string log;
    for (int i = 1; i <= 3; ++i)
      log += fmt::format(
          " iteration {:8}/     100 | elapsed time per iteration (ms): 9000.0 | global batch size:   "
          "128 | {}\n",
          i, loss);
    const Detected d = detect(log, "log");
    CHECK(skips(d, 1, "loss: is not a number"));
    CHECK(d.skipped.size() == 1);
  }
}
