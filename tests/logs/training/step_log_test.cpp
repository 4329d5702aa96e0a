#include "logs/training/step_log.h"

#include <cmath>

#include "tests/catch.h"

using namespace trnplan::logs;

namespace {

StepRecord stated(std::int64_t step, double seconds, int line) {
  return {.step = step, .seconds = seconds, .line = line};
}

StepRecord clocked(std::int64_t step, double clock, int line) {
  return {.step = step, .clock = clock, .line = line};
}

Samples read(const std::vector<StepRecord>& records, bool averages = false) {
  StepLog log({"lines", "as printed", averages}, "log");
  Samples out;
  for (const StepRecord& r : records) log.add(r, out);
  log.finish("", std::nullopt, out);
  return out;
}

}  // namespace

TEST_CASE("the median by weight", "[calibrate]") {
  CHECK(weighted_median({{3, 1}}) == 3);
  CHECK(weighted_median({{4, 1}, {1, 1}}) == 2.5);
  CHECK(weighted_median({{9, 1}, {1, 1}, {2, 1}}) == 2);
  CHECK(weighted_median({{1, 1}, {2, 1}, {9, 5}}) == 9);
  CHECK(weighted_median({{1, 2}, {2, 1}, {3, 1}}) == 1.5);  // half of the weight lies at 1
}

TEST_CASE("stated seconds: the first step is warm-up when it is the first of all, or slow", "[calibrate]") {
  // Steps 2 to 4: median 11, deviations 1, 0, 1, so their median is 1.
  Samples s = read({stated(1, 500, 1), stated(2, 10, 2), stated(3, 12, 3), stated(4, 11, 4)});
  REQUIRE(s.steps.size() == 1);
  CHECK(s.steps[0].seconds == 11);
  CHECK(s.steps[0].count == 3);
  CHECK(s.steps[0].left_out == 1);
  CHECK(*s.steps[0].spread == Approx(1.4826));
  CHECK(s.steps[0].at.line == 1);
  CHECK(s.steps[0].last_line == 4);
  // From the middle of a run: as long as the others, so it counts.
  s = read({stated(40, 11, 1), stated(41, 10, 2), stated(42, 12, 3)});
  CHECK(s.steps.at(0).count == 3);
  s = read({stated(40, 15, 1), stated(41, 10, 2), stated(42, 12, 3)});  // 15 > 1.2 * 11
  CHECK(s.steps.at(0).count == 2);
  CHECK(s.steps.at(0).seconds == 11);
  // Alone.
  CHECK(read({stated(7, 15, 1)}).steps.at(0).count == 1);
  CHECK_FALSE(read({stated(7, 15, 1)}).steps.at(0).spread);
  Samples first = read({stated(1, 15, 9)});
  CHECK(first.steps.empty());
  const auto warnings = first.warnings.take();
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].at.line == 9);
}

TEST_CASE("means since the line before weigh by their steps", "[calibrate]") {
  // Lines at 10, 20, 30 and 35: 20 steps of 2 s outweigh 5 of 3 s; the first line counts once.
  const Samples s = read({stated(10, 2.1, 1), stated(20, 2, 2), stated(30, 2, 3), stated(35, 3, 4)}, true);
  CHECK(s.steps.at(0).seconds == 2);
  CHECK(s.steps.at(0).count == 26);
}

TEST_CASE("what an excerpt leaves out is not measured", "[calibrate]") {
  // Two lines of a log of 115,311 iterations: two values, neither of which stands for 18,519 steps.
  Samples s = read({stated(12695, 105.22, 1), stated(31214, 104.6, 2)}, true);
  REQUIRE(s.steps.size() == 1);
  CHECK(s.steps[0].count == 2);
  CHECK(s.steps[0].seconds == Approx(104.91));
  // Every tenth step is printed, and lines 40 to 990 were cut out: the line at 1000 is the mean of ten.
  // Before, its 970 steps of 9 s outweighed all others.
  s = read({stated(10, 2, 1), stated(20, 2, 2), stated(30, 2, 3), stated(1000, 9, 4), stated(1010, 2, 5)},
           true);
  CHECK(s.steps.at(0).seconds == 2);
  CHECK(s.steps.at(0).count == 41);
  // Where single steps are stated, each line is one of them.
  s = read({stated(12695, 105.22, 1), stated(31214, 104.6, 2)});
  CHECK(s.steps.at(0).count == 2);
}

TEST_CASE("a clock: the start and pauses fall out, ticks cancel", "[calibrate]") {
  // 0 to 1 holds compiling, 4 to 5 a checkpoint. Left: 5, 6, 6 and 10 s for two steps: 27 s for 5 steps.
  const Samples s = read({clocked(0, 0, 1), clocked(1, 700, 2), clocked(2, 705, 3), clocked(3, 711, 4),
                          clocked(4, 717, 5), clocked(5, 790, 6), clocked(7, 800, 7)});
  REQUIRE(s.steps.size() == 1);
  CHECK(s.steps[0].seconds == Approx(27.0 / 5));
  CHECK(s.steps[0].count == 5);
  CHECK(s.steps[0].left_out == 2);
  // One difference is known to a tick: two cut readings vary by 1/12 s^2 each.
  CHECK(*read({clocked(5, 10, 1), clocked(6, 40, 2)}).steps.at(0).spread == Approx(0.408248));
}

TEST_CASE("a clock: two paces are seen, the ticks of short steps are none", "[calibrate]") {
  const auto of = [](const std::vector<double>& seconds) {
    std::vector<StepRecord> records;
    double now = 100;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      now += seconds[i];
      records.push_back(clocked(static_cast<std::int64_t>(i) + 2, std::floor(now), static_cast<int>(i) + 1));
    }
    return read(records);
  };
  // Steps of 1.5 s are 1 or 2 s on a clock of whole seconds.
  Samples even = of(std::vector<double>(40, 1.5));
  CHECK(even.steps.at(0).high == Approx(even.steps[0].low));
  CHECK(even.warnings.take().empty());
  std::vector<double> paces(30, 20);
  paces.resize(50, 30);
  Samples two = of(paces);
  CHECK(two.steps.at(0).seconds == Approx(20));
  CHECK(two.steps[0].unlike == 20);
  CHECK(two.steps[0].low == 20);
  CHECK(two.steps[0].high == Approx(29));  // less a tick
  CHECK_FALSE(two.warnings.take().empty());
}

// Reported: a run that became a quarter slower was learnt at the pace of the larger part without a word.
TEST_CASE("stated seconds: two paces are seen, jitter is none", "[calibrate]") {
  const auto of = [](double second) {
    std::vector<StepRecord> records;
    for (int i = 0; i < 50; ++i)
      records.push_back(stated(i + 2, (i < 30 ? 20 : second) + 0.1 * (i % 7), i + 1));
    return read(records);
  };
  Samples two = of(25);
  CHECK(two.steps.at(0).unlike == 20);
  CHECK(two.steps[0].count == 50);
  CHECK_FALSE(two.warnings.take().empty());
  Samples even = of(21);
  CHECK(even.steps.at(0).unlike == 0);
  CHECK(even.warnings.take().empty());
}

TEST_CASE("a restart begins a run, a repeated step does not", "[calibrate]") {
  const Samples s = read({stated(5, 10, 1), stated(6, 11, 2), stated(6, 12, 3), stated(7, 12, 4),
                          stated(6, 20, 5), stated(7, 21, 6)});
  REQUIRE(s.steps.size() == 2);
  CHECK(s.steps[0].count == 3);  // 10, 12, 12
  CHECK(s.steps[0].seconds == 12);
  CHECK(s.steps[1].seconds == 20.5);
  CHECK(s.steps[1].at.line == 5);
  // The clock of the same step count goes back.
  CHECK(read({clocked(5, 100, 1), clocked(6, 110, 2), clocked(7, 20, 3), clocked(8, 31, 4)}).steps.size() ==
        2);
}

TEST_CASE("lines of a run whose steps were not written in order", "[calibrate]") {
  const Samples s = read({stated(5, 10, 9), stated(6, 11, 2), stated(7, 12, 4)});
  CHECK(s.steps.at(0).at.line == 2);
  CHECK(s.steps.at(0).last_line == 9);
}

TEST_CASE("of ranks that print the same, one is taken", "[calibrate]") {
  std::vector<StepRecord> records;
  for (int i = 1; i <= 4; ++i) {
    for (const char* rank : {"0", "1"}) {
      if (i == 4 && rank[0] == '0') continue;
      records.push_back(stated(10 + i, rank[0] == '0' ? 5 : 6, 2 * i));
      records.back().rank = rank;
    }
  }
  Samples s = read(records);
  REQUIRE(s.steps.size() == 1);
  CHECK(s.steps[0].seconds == 6);  // rank 1 printed 4 steps, rank 0 three
  CHECK(s.warnings.take().at(0).problem.find("rank 1") != std::string::npos);
}

TEST_CASE("the batch from consumed samples, where they always grow alike", "[calibrate]") {
  const auto with = [](std::initializer_list<std::pair<double, double>> counts) {
    std::vector<StepRecord> records;
    int i = 1;
    for (const auto& [step, consumed] : counts) {
      records.push_back(stated(i + 1, 3, i));
      records.back().global_step = step;
      records.back().consumed = consumed;
      ++i;
    }
    return read(records).steps.at(0).global_batch;
  };
  CHECK(with({{1, 2048}, {2, 3072}, {4, 5120}}) == 1024.0);
  CHECK_FALSE(with({{1, 2048}, {2, 3072}}));             // seen once only
  CHECK_FALSE(with({{1, 2048}, {2, 3072}, {3, 4000}}));  // ramps up
  CHECK_FALSE(with({{1, 1}, {2, 1.5}, {3, 2}}));         // no whole number
}

TEST_CASE("seconds that no step takes", "[calibrate]") {
  Samples s = read({stated(2, 1e300, 1), stated(3, 0, 2), stated(4, -3, 3), stated(5, 6, 4)});
  REQUIRE(s.steps.size() == 1);
  CHECK(s.steps[0].seconds == 6);
  CHECK(s.warnings.take().size() == 3);
}
