#include "logs/training/progress_bars.h"

#include <fmt/format.h>

#include "tests/logs/readings.h"

using namespace trnplan::logs;

TEST_CASE("bars of NxDT, two runs of Llama-3 70B", "[calibrate]") {
  const Detected d = log_fixture("nxdt-llama3-70b.txt");
  REQUIRE(d.steps.size() == 2);
  CHECK(d.steps[0].seconds == 315);  // 21:20 - 16:05, not the 320.22 s/it since the start
  CHECK(d.steps[1].seconds == 316);  // 21:25 - 16:09
  for (const StepSample& s : d.steps) {
    CHECK(s.count == 1);
    CHECK(s.framework == "nxdt");
    CHECK(s.global_batch == 1024.0);  // 2048, 3072, 4096 samples after 1, 2, 3 steps
  }
  CHECK(d.steps[0].at.line == 1);
  CHECK(d.steps[0].last_line == 4);
  CHECK(d.steps[1].at.line == 5);
  CHECK(d.skipped.empty());
  CHECK(d.kinds.at(0).pieces == 8);
}

TEST_CASE("bars with it/s and a bar in a wrong encoding", "[calibrate]") {
  const Detected d = log_fixture("nxdt-llama3-8b-dpo.txt");
  REQUIRE(d.steps.size() == 1);
  CHECK(d.steps[0].seconds == 25.5);  // 2:59, 3:24, 3:50; 0.02it/s would be 50 s
  CHECK(d.steps[0].count == 2);
  CHECK(d.steps[0].sequences_per_second == 0.181);
  CHECK_FALSE(d.steps[0].global_batch);  // one difference is not enough
}

TEST_CASE("bars of NeMo-Megatron state the time of the iteration", "[calibrate]") {
  const StepSample s = step_of(log_text("nemo-llama2-7b.txt"));
  // 16.40 of step 4499; step 4500 is printed with the old 16.40 first, then with its own 16.50.
  CHECK(s.seconds == Approx(16.45));
  CHECK(s.count == 2);
  CHECK(s.wall_seconds == 18.0);  // 22:26:32 - 22:26:14
  CHECK(s.framework == "nemo-megatron");
  CHECK_FALSE(s.global_batch);  // 1.16e+6 has lost its digits
}

TEST_CASE("a terminal's file: many bars in a line, colours, elided lines, several epochs", "[calibrate]") {
  const StepSample s = step_of(
      "\x1b[32mEpoch 0:   0%|  | 0/4 [00:00<?, ?it/s]\rEpoch 0:  25%|##| 1/4 [10:35<31:45, 635.19s/it, "
      "thoughput_peak=0.1]\r\x1b[A...\nEpoch 0: |#| 2/? [10:45<?, 9s/it]Epoch 0: 100%|##| 4/4 [11:05<00:00]\n"
      "Epoch 1:   0%|  | 0/4 [00:00<?, ?it/s]\rEpoch 1:  50%|# | 2/4 [00:21<00:20,  0.1it/s]\r\n"
      "Epoch 1:  75%|##| 3/4 [1 day, 0:00:31<00:10]\r\nEpoch 1: 100%|##| 4/4 [1 day, 0:00:41<00:00]");
  // 2 to 4 takes 20 s, 1 to 2 and 3 to 4 of the next epoch 10 s; 0 to 1, 0 to 2 and the day are left out.
  CHECK(s.seconds == 10);
  CHECK(s.count == 4);
  CHECK(s.left_out == 4);
  CHECK(s.framework == "nemo-megatron");
}

TEST_CASE("bars that are not of training, and damaged ones", "[calibrate]") {
  const Detected d = detect(
      "Map: 100%|###| 10/10 [00:01<00:00, 9.0it/s]\n"
      "Epoch 0:  10%|#  | 3/30 [01:00<09:00, 20.0s/it, loss=nan]\n"
      "Validation DataLoader 0:  50%|#| 1/2 [00:01<00:01]\n"
      "Epoch 0:  10%|#  | 31/30 [01:10<09:00]\n"
      "Epoch 0:  10%|#  | 4/30 [xx<09:00]\n"
      "Epoch 0:  13%|#  | 4/30 [01:20<08:40, 20.0s/it, v_num=\n"
      "Epoch 0:  16%|#  | 5/30 [01:4",
      "log");
  check_step(d, 20, 1);
  CHECK(skips(d, 1, "2 progress bars are not known to be of training (\"Map\" first)"));
  CHECK(skips(d, 2, "loss: is not a number"));
  CHECK(skips(d, 4, "beyond the last one"));
  CHECK(skips(d, 5, "no elapsed time"));
  CHECK(skips(d, 6, "ends within its brackets"));
  CHECK(skips(d, 7, "no elapsed time"));
}

TEST_CASE("NeMo's own key for the time of a step", "[calibrate]") {
  const StepSample s = step_of(
      "[rank3]:Epoch 0: |#| 6/9 [1:00<2:00, v_num=0, train_step_timing in s=19.25]\n"
      "[rank3]:Epoch 0: |#| 7/9 [1:20<2:00, v_num=0, train_step_timing in s=19.75]\n");
  CHECK(s.seconds == 19.5);
  CHECK(s.wall_seconds == 20.0);
}

TEST_CASE("one bar shows no step time", "[calibrate]") {
  const Detected d = detect("Epoch 0:   1%|  | 1/91 [10:35<15:52:47, 635.19s/it]\n", "log");
  CHECK(d.steps.empty());
  CHECK(skips(d, 1, "no step time"));
}

namespace {

/// A bar without a title, as of Hugging Face's Trainer.
std::string bare(int step, int total, int seconds) {
  return fmt::format("\r {}%|##   | {}/{} [{:02d}:{:02d}<1:05:10,  2.01s/it]", step * 100 / total, step,
                     total, seconds / 60, seconds % 60);
}

}  // namespace

// Reported: such a log was refused, with a fix that did not help.
TEST_CASE("the Trainer's bar has no title: its dicts show that it is of training", "[calibrate]") {
  std::string log = bare(0, 50, 0) + bare(50, 50, 3);  // of something else
  for (int i = 1; i <= 20; ++i) {
    log += bare(i, 2000, 2 * i);
    if (i % 5 == 0)
      log += fmt::format("\n{{'loss': {}, 'grad_norm': 1.2, 'learning_rate': 5e-05, 'epoch': 0.01}}\n",
                         3 - 0.01 * i);
    if (i == 10) log += bare(1, 12, 1) + bare(12, 12, 9) + "\n{'eval_loss': 2.5, 'epoch': 0.01}\n";
  }
  const Detected d = detect(log, "log");
  REQUIRE(d.steps.size() == 1);
  CHECK(d.steps[0].seconds == Approx(2));
  CHECK(d.steps[0].framework == "huggingface");
  CHECK(d.steps[0].count == 19);
  // The dict may be first, and stand behind the bar.
  CHECK(step_of("{'loss': 2.9, 'epoch': 0.01}\n" + bare(1, 9, 20) + bare(2, 9, 40) + bare(3, 9, 60) +
                "{'loss': 2.9, 'epoch': 0.02}\n")
            .seconds == 20);
  // Another run in the same log has another total.
  const Detected two =
      detect(bare(1, 9, 20) + bare(9, 9, 180) +
                 "\n{'loss': 2.9, 'epoch': 0.01}\n{'train_runtime': 180.0, 'epoch': 1.0}\n" + bare(1, 40, 5) +
                 bare(2, 40, 10) + bare(3, 40, 15) + bare(4, 40, 20) + "\n{'loss': 2.9, 'epoch': 0.01}\n",
             "log");
  REQUIRE(two.steps.size() == 2);
  CHECK(two.steps[1].seconds == 5);
  const Detected other = detect("step 1 step_time 9s loss 1\n" + bare(1, 9, 20), "log");
  CHECK(skips(other, 3, "without a title"));
}
