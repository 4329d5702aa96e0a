// What a run's time was spent on, in logs whose batch grows, that begin late, or of runs that have failed.
#include "launch/watch/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "launch/watch/slow_steps.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/launch/watch/watched.h"

using namespace trnplan;

namespace {

struct RunLine {
  int batch = 32;
  double seconds = 10;
  const char* loss = "2.5E+00";
  int skipped = 0;
  double norm = 0.4;
  int every = 1;     ///< steps from one line to the next
  double pause = 0;  ///< s on the clock beyond the steps
};

/// Lines of Megatron-LM, with its clock, of steps `first` to `last`.
std::string run_lines(int first, int last, const std::function<RunLine(int)>& line_of, double at = 0) {
  std::string text;
  for (int step = first; step <= last;) {
    const RunLine line = line_of(step);
    at += line.every * line.seconds + line.pause;
    const int now = static_cast<int>(at), milli = static_cast<int>((at - now) * 1000);
    text += fmt::format(
        " [2025-03-{:02d} {:02d}:{:02d}:{:02d}.{:03d}000] iteration {:8d}/   1000 | elapsed time per "
        "iteration "
        "(ms): {:.1f} | global batch size: {:5d} | lm loss: {} | grad norm: {:.3f} | number of skipped "
        "iterations: {} | number of nan iterations: 0 |\n",
        4 + now / 86400, now / 3600 % 24, now / 60 % 60, now % 60, milli, step, line.seconds * 1000,
        line.batch, line.loss, line.norm, line.skipped);
    step += line.every;
  }
  return text;
}

/// A plan of 1000 steps of 32 sequences, which take 10 s.
launch::WatchContext of_ten_seconds() {
  launch::WatchContext context = planned("tp=32");
  context.plan->job.training.global_batch = 32;
  context.plan->job.training.tokens = 1000.0 * 32 * context.plan->job.training.sequence;
  context.plan->step = Seconds{10};
  context.plan->low = Seconds{9};
  context.plan->high = Seconds{11};
  return context;
}

bool slow(const std::string& text, const launch::WatchContext& context) {
  launch::WatchedLog log("train.out");
  log.feed(text);
  launch::LogReading reading = log.now();
  launch::take_whole_steps(reading, context.plan);
  return launch::slow_steps(reading.run, *context.plan).has_value();
}

const io::WatchAlarm& alarm_in(const io::WatchReport& r, const std::string& kind) {
  const auto found =
      std::find_if(r.alarms.begin(), r.alarms.end(), [&](const auto& a) { return a.kind == kind; });
  REQUIRE(found != r.alarms.end());
  return *found;
}

std::string remarks_in(const io::WatchReport& r) {
  std::string all;
  for (const std::string& remark : r.remarks) all += remark + "\n";
  return all;
}

}  // namespace

// Reported: 150 steps of half the batch in half the time were a drift of +100 %, a slow network, and a goodput of 75 %.
TEST_CASE("a batch that grows is no drift", "[launch]") {
  const auto ramp = [](int step) { return step <= 150 ? RunLine{.batch = 16, .seconds = 5} : RunLine{}; };
  const launch::WatchContext context = of_ten_seconds();
  const std::string text = run_lines(1, 300, ramp);
  const io::WatchReport r = watch(text, context);
  CHECK(r.alarms.empty());
  CHECK(*r.step_seconds == Approx(10));
  CHECK(*r.goodput == Approx(1).epsilon(0.01));
  CHECK(*r.eta_seconds == Approx(700 * 10).epsilon(0.01));
  CHECK(*r.tokens_per_second == Approx(32 * 8192 / 10.0));
  CHECK(contains(remarks_in(r), "steps had 16 sequences and now have 32"));
  CHECK(contains(remarks_in(r), "the log counts 1000 steps, the tokens of the job are 1075"));
  CHECK_FALSE(slow(text, context));
  // Small batches leave pipelines emptier: each sequence takes longer, which is no loss and nothing that is over.
  const io::WatchReport bubbles =
      watch(run_lines(1, 300,
                      [](int step) { return step <= 150 ? RunLine{.batch = 16, .seconds = 8} : RunLine{}; }),
            context);
  CHECK(bubbles.alarms.empty());
  CHECK(*bubbles.goodput == Approx(1).epsilon(0.01));
  // The same times without another batch are a drift.
  CHECK(
      alarmed(watch(run_lines(1, 300, [](int step) { return RunLine{.seconds = step <= 150 ? 5.0 : 10.0}; }),
                    context),
              "drift"));
}

// Catches: until five steps had the whole batch, such a log was one of another job.
TEST_CASE("the first steps of the whole batch are of the plan's job", "[launch]") {
  const launch::WatchContext context = of_ten_seconds();
  for (const int whole : {1, 2, 4, 5}) {
    INFO(whole);
    const auto ramp = [](int step) {
      return step <= 100 ? RunLine{.batch = 16, .seconds = 8} : RunLine{.batch = 32, .seconds = 10};
    };
    const std::string text = run_lines(1, 100 + whole, ramp);
    const io::WatchReport r = watch(text, context);
    CHECK(r.alarms.empty());
    CHECK(r.predicted);
    CHECK(r.smaller_batch == (whole < 5));  // most of the times are still those of half the batch
    const std::vector<logs::StepSample> samples = logs::detect(text, "train.out").steps;
    REQUIRE(samples.size() == (whole < 5 ? 2u : 1u));
    CHECK(samples.back().global_batch == 32.0);
    CHECK(samples.back().seconds == Approx(10));
  }
}

// Reported: the first half of such a log was that of another job.
TEST_CASE("a batch that still grows is no other job", "[launch]") {
  const auto half = [](int) { return RunLine{.batch = 16, .seconds = 8}; };
  const launch::WatchContext context = of_ten_seconds();
  const io::WatchReport r = watch(run_lines(1, 100, half), context);
  CHECK(r.alarms.empty());  // 16 s a whole step, but the prediction is not of half the batch
  CHECK(*r.step_seconds == Approx(16));
  CHECK(*r.goodput == Approx(1).epsilon(0.02));
  CHECK(r.smaller_batch);
  CHECK(contains(remarks_in(r), "taken to grow to 32"));
  CHECK_FALSE(slow(run_lines(1, 100, half), context));
  // The arguments that the log lists decide, whatever its steps are.
  const std::string argument = "  global_batch_size ............................... {}\n";
  CHECK_FALSE(alarmed(watch(fmt::format(fmt::runtime(argument), 32) + run_lines(1, 100, half), context),
                      "other-job"));
  CHECK(alarmed(watch(fmt::format(fmt::runtime(argument), 16) + run_lines(1, 100, half), context),
                "other-job"));
  // As many tokens with twice the steps is a job of its own.
  launch::WatchContext twice = of_ten_seconds();
  twice.plan->job.training.tokens /= 2;
  CHECK(alarmed(watch(run_lines(1, 100, half), twice), "other-job"));
}

// Reported: "as fast as it should be, goodput 99.1 %, loss 4.4" of a run whose loss was NaN for ten steps.
TEST_CASE("a run whose loss is NaN makes no progress", "[launch]") {
  const io::WatchReport r =
      watch(run_lines(1, 60, [](int step) { return RunLine{.loss = step >= 50 ? "nan" : "2.5E+00"}; }),
            of_ten_seconds());
  const io::WatchAlarm& a = alarm_in(r, "loss");
  CHECK(contains(a.message, "NaN from step 50 on, after 2.5 at step 49"));
  CHECK(*a.step == 50);
  CHECK(a.line == 50);
  CHECK(r.loss_lost);
  CHECK(*r.goodput == Approx(49.0 / 60).epsilon(0.02));
  CHECK_FALSE(r.eta_seconds);
  CHECK_FALSE(r.usd_total);
}

// Reported: "the last 119 steps changed no weight", and "goodput 100.0 %, 24.0 days left".
TEST_CASE("steps that change no weight are no progress", "[launch]") {
  const auto skips = [](int from, int to) {
    return [from, to](int step) { return RunLine{.skipped = step >= from && step < to ? 1 : 0}; };
  };
  const launch::WatchContext context = of_ten_seconds();
  const io::WatchReport failed = watch(run_lines(1, 120, skips(21, 200)), context);
  CHECK(*failed.goodput == Approx(20.0 / 120).epsilon(0.02));
  CHECK_FALSE(failed.eta_seconds);
  // Those that are over cost progress, but not the steps that are left.
  const io::WatchReport over = watch(run_lines(1, 120, skips(21, 29)), context);
  CHECK(*over.goodput == Approx(112.0 / 120).epsilon(0.01));
  CHECK(*over.eta_seconds == Approx(880 * 10).epsilon(0.01));
  // Those that were done again after a restart are lost as repeated steps, not twice.
  const io::WatchReport again =
      watch(run_lines(1, 120, skips(101, 121)) + run_lines(101, 200, skips(0, 0), 1200), context);
  CHECK(again.lost_steps == 20);
  CHECK(*again.goodput == Approx(200.0 / 220).epsilon(0.02));
}

// Reported: the total left out the 5000 steps before the log.
TEST_CASE("the cost of the whole run counts the steps before the log", "[launch]") {
  const auto even = [](int) { return RunLine{}; };
  const double usd = 21.5 / 3600;
  const io::WatchReport r = watch(run_lines(501, 600, even), of_ten_seconds());
  CHECK(r.steps_before == 500);
  CHECK(*r.usd_so_far == Approx(100 * 10 * usd).epsilon(0.02));
  CHECK(*r.usd_total == Approx(1000 * 10 * usd).epsilon(0.02));
  const io::WatchReport whole = watch(run_lines(1, 600, even), of_ten_seconds());
  CHECK(whole.steps_before == 0);
  CHECK(*whole.usd_total == Approx(1000 * 10 * usd).epsilon(0.02));
  // A log of every tenth step that begins with step 10 begins with the run.
  const auto tenth = [](int) { return RunLine{.every = 10}; };
  CHECK(watch(run_lines(10, 600, tenth), of_ten_seconds()).steps_before == 0);
}

// Reported: 60 of 200 steps were 35 % slower: goodput 90.6 %, and no word on the rest.
TEST_CASE("steps that were slow for a time are said", "[launch]") {
  const auto part = [](double slow) {
    return watch(run_lines(1, 200,
                           [slow](int step) {
                             const double noise = 0.05 * (step * 7 % 5);
                             return RunLine{.seconds = step >= 100 && step < 160 ? slow + noise : 10 + noise};
                           }),
                 of_ten_seconds());
  };
  const io::WatchReport r = part(13.5);
  const io::WatchAlarm& a = alarm_in(r, "straggler");
  CHECK(contains(a.message, "no common pace"));
  CHECK(contains(a.message, "60 slow ones from step 100 to 159 cost 9."));
  CHECK(*a.step == 100);
  CHECK(part(11).alarms.empty());
}

// Reported: one spike of the gradient norm gave two alarms of one cause and fix.
TEST_CASE("a spike that lasts is one alarm", "[launch]") {
  const auto norms = [](int high) {
    return watch(run_lines(1, 60, [high](int step) { return RunLine{.norm = step >= high ? 95 : 0.4}; }),
                 of_ten_seconds());
  };
  CHECK(alarmed(norms(40), "gradient-spike"));
  CHECK_FALSE(alarmed(norms(40), "gradient-norm"));
  CHECK(alarmed(norms(58), "gradient-norm"));  // not yet one that lasts
}
