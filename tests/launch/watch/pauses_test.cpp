// What a log says of starts and checkpoints between its lines of steps.
#include <fmt/format.h>

#include <algorithm>

#include "launch/watch/explanation_words.h"
#include "launch/watch/slow_steps.h"
#include "logs/training/checkpoint_lines.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/launch/watch/watched.h"

using namespace trnplan;

namespace {

std::string megatron(int step, int at) {
  return fmt::format(
      " [2025-03-04 {:02d}:{:02d}:{:02d}.125000] iteration {:8d}/  100000 | elapsed time per iteration (ms): "
      "9000.0 "
      "| global batch size:   128 | lm loss: 2.5E+00 |\n",
      at / 3600, at / 60 % 60, at % 60, step);
}

/// Every tenth step from one to another, each of 9 s.
std::string tenths(int first, int last, int at) {
  std::string text;
  for (int step = first; step <= last; step += 10) text += megatron(step, at += 90);
  return text;
}

/// A line of TorchTitan, so many milliseconds after midnight.
std::string titan_line(int ms, const std::string& text) {
  const int at = ms / 1000;
  return fmt::format("[rank0]:[titan] 2026-09-01 {:02d}:{:02d}:{:02d},{:03d} - root - INFO - {}\n", at / 3600,
                     at / 60 % 60, at % 60, ms % 1000, text);
}

std::string step_text(int step) {
  return fmt::format("step: {}  loss:  7.0  memory: 45.3GiB(56.6%)  tps: 6,554", step);
}

std::string titan(int step, int at) {
  return titan_line(1000 * at, step_text(step));
}

/// What each of four nodes prints at about the same time; torchrun calls the first rank of each of them 0.
std::string of_nodes(int at, const std::string& text) {
  std::string all;
  for (const int apart : {400, 0, 350, 420}) all += titan_line(1000 * at + apart, text);
  return all;
}

constexpr const char* kLoaded =
    " successfully loaded checkpoint from /fsx/run [ t 1/2, p 1/1 ] at iteration 45\n";
constexpr const char* kReady = "[before the start of training step] datetime: 2025-03-04 01:03:00\n";

}  // namespace

// Reported: restarts from step 45 of a log that states 50 and 60 were missed, and so was one that got to no tenth step.
TEST_CASE("a restart between two lines of steps counts", "[launch]") {
  const std::string before = tenths(10, 50, 0), after = tenths(60, 100, 1000);
  const auto restarted = [&](const std::string& start) { return watch(before + start + after); };
  CHECK(restarted("").restarts == 0);
  for (const char* start : {kReady, kLoaded}) CHECK(restarted(start).restarts == 1);
  const io::WatchReport one = restarted(std::string(kLoaded) + kReady);
  CHECK(one.restarts == 1);
  CHECK(one.lost_steps == 5);  // 46 to 50
  CHECK(one.events.size() == 1);
  const io::WatchReport three =
      restarted(std::string(kLoaded) + kReady + kLoaded + kReady + kLoaded + kReady);
  CHECK(three.restarts == 3);
  CHECK(three.lost_steps == 5);
  CHECK(three.events.size() == 3);
  // A start loads two checkpoints where it has two models.
  CHECK(restarted(std::string(kLoaded) + kLoaded + kReady).restarts == 1);
  CHECK(watch(std::string(kReady) + kReady + before).restarts == 0);  // before the first step
}

// Reported: one restart of four nodes was four, as each prints the line of a start.
TEST_CASE("a start that every node prints is one", "[launch]") {
  const auto start = [](int at, int step) {
    return of_nodes(at, fmt::format("Training starts at step {}", step));
  };
  std::string before = start(0, 1), after;
  for (int step = 10; step <= 100; step += 10) before += of_nodes(6 * step, step_text(step));
  for (int step = 100; step <= 200; step += 10) after += of_nodes(1500 + 6 * (step - 90), step_text(step));
  CHECK(watch(before).restarts == 0);
  const io::WatchReport one = watch(before + start(1500, 91) + after);
  CHECK(one.restarts == 1);
  CHECK(one.lost_steps == 10);  // 91 to 100
  CHECK(one.events.size() == 1);
  // Starts are others if they are much later, begin with another step, or have steps between them.
  const io::WatchReport later = watch(before + start(1200, 91) + start(1500, 91) + after);
  CHECK(later.restarts == 2);
  CHECK(later.events.size() == 2);
  CHECK(watch(before + start(1490, 91) + start(1500, 81) + after).restarts == 2);
  CHECK(watch(before + start(1450, 91) + of_nodes(1460, step_text(100)) + start(1500, 91) + after).restarts ==
        2);
}

// Reported: of lines of several nodes in one log, each by its own clock, every step began a run.
TEST_CASE("clocks of nodes that differ by a second are no restarts", "[launch]") {
  std::string tenths, singles;
  for (int step = 10; step <= 200; step += 10)
    for (const int ahead : {1400, 0, 350, 420}) tenths += titan_line(6000 * step + ahead, step_text(step));
  for (int step = 1; step <= 60; ++step)  // another node is the first to print each
    for (const int node : {step % 2, 1 - step % 2})
      singles += titan_line(1200 * step + 1400 * node, step_text(step));
  for (const auto& [text, seconds] : {std::pair(tenths, 6.0), std::pair(singles, 1.2)}) {
    const logs::Detected content = logs::detect(text, "train.out");
    REQUIRE(content.steps.size() == 1);
    CHECK(content.steps[0].seconds == Approx(seconds));
    const io::WatchReport r = watch(text);
    CHECK(r.restarts == 0);
    CHECK(*r.step_seconds == Approx(seconds).epsilon(0.05));
  }
  // A job that is started again begins later, or with an earlier step.
  CHECK(watch(titan(10, 200) + titan(20, 260) + titan(30, 100) + titan(40, 160)).restarts == 1);
}

// Catches: nodes whose lines come in blocks, each of which was a restart, and a run of its own.
TEST_CASE("blocks of lines of several nodes are no restarts", "[launch]") {
  const auto block = [](int first, int last, int ahead) {
    std::string text;
    for (int step = first; step <= last; ++step) text += titan_line(1200 * step + ahead, step_text(step));
    return text;
  };
  const auto begins = [](int ahead) { return titan_line(100 + ahead, "Training starts at step 1"); };
  for (const int ahead : {-900, 0, 350, 4000}) {
    INFO(ahead);
    std::string text = begins(0) + block(1, 20, 0) + begins(ahead) + block(1, 25, ahead);
    for (int from = 20; from < 100; from += 20)
      text += block(from + 1, from + 20, 0) + block(from + 6, from + 25, ahead);
    const logs::Detected content = logs::detect(text, "train.out");
    REQUIRE(content.steps.size() == 1);
    CHECK(content.steps[0].seconds == Approx(1.2).epsilon(0.01));
    const io::WatchReport r = watch(text);
    CHECK(r.restarts == 0);
    CHECK(r.lost_steps == 0);
    CHECK(*r.step_seconds == Approx(1.2).epsilon(0.05));
  }
  // A restart within a minute repeats steps later than the last line.
  const std::string twice = block(1, 20, 0) + block(15, 40, 20'000);
  CHECK(watch(twice).restarts == 1);
  CHECK(logs::detect(twice, "train.out").steps.size() == 2);
}

TEST_CASE("the words of checkpoints state seconds", "[launch]") {
  using logs::save_seconds;
  CHECK(*save_seconds("    save-checkpoint ................................: (81611.24, 81611.82)") ==
        Approx(81.61182));
  CHECK(*save_seconds("    save-checkpoint ................................: 18512.90") == Approx(18.5129));
  CHECK(*save_seconds("[titan] 2026 - root - INFO - Finished saving the checkpoint in 12.34 seconds.") ==
        12.34);
  CHECK(*save_seconds("Finished saving the checkpoint (or staging if async is enabled)in 5.53 seconds.") ==
        5.53);
  CHECK(*save_seconds("Global Checkpoint Save : Rank: 0 : Iteration: 50 : Start time: 1744408121.151s : Save "
                      "duration: 4.389s") == 4.389);
  for (const char* other :
       {"save-checkpoint ....: (nan, nan)", "save-checkpoint ....: (1, -1)", "load-checkpoint ....: (1, 2)",
        "Finished saving the checkpoint", "Finished saving the checkpoint in 1e300 seconds.", ""})
    CHECK_FALSE(save_seconds(other));
}

// Reported: the cause of a pause was a guess although the log states it.
TEST_CASE("a pause that the log explains by a checkpoint", "[launch]") {
  const auto paused = [](const std::string& between) {
    return watch(tenths(10, 100, 0) + between + tenths(110, 200, 2000));
  };
  const auto cause = [](const io::WatchReport& r) {
    const auto a =
        std::find_if(r.alarms.begin(), r.alarms.end(), [](const auto& one) { return one.kind == "pause"; });
    REQUIRE(a != r.alarms.end());
    return a->cause + "; " + a->fix;
  };
  CHECK(contains(cause(paused("")), "a rank that hung"));
  const std::string saved = cause(paused("    save-checkpoint .........: (1050000.0, 1100000.0)\n"));
  CHECK(contains(saved, "the log states 1100 s of saving a checkpoint"));
  CHECK(contains(saved, "save less often"));
  // One that takes a small part of the pause does not explain it.
  CHECK(contains(cause(paused("    save-checkpoint .........: (50000.0, 50000.0)\n")),
                 "look at what the log says"));
}

// Every line of TorchTitan has 10 steps of 6 s and a checkpoint of 30 s: 9 s a step, of which 3 are saving. The plan's
// step is 6 s, at most 7.
TEST_CASE("slow steps that the log explains by checkpoints", "[launch]") {
  const auto slow = [](double step, int lines) {
    std::string text;
    double at = 0;
    for (int i = 0; i < lines; ++i) {
      text += titan(10 * i + 10, static_cast<int>(at));
      text += "[rank0]:[titan] 2026 - root - INFO - Finished saving the checkpoint in 30.00 seconds.\n";
      at += 10 * step + 30;
    }
    io::PlanFile plan;
    plan.step = Seconds(6);
    plan.low = Seconds(5.5);
    plan.high = Seconds(7);
    const auto found = launch::slow_steps(launch::read_run_log(text, "log"), plan);
    REQUIRE(found);
    return *found;
  };
  const launch::SlowSteps all = slow(6, 12);
  CHECK(all.seconds == Approx(6));
  CHECK(all.saving == Approx(3));
  CHECK(all.explained);
  const auto words = launch::in_words({}, all, job_of("llama3-8b", 1, 8192, 1024));
  REQUIRE(words.size() == 1);
  CHECK(words[0].kind == "checkpoint");
  CHECK(words[0].what == "all of it: saving checkpoints, 3 s a step by the log; 6 s without");
  CHECK(*words[0].times == Approx(1.5));
  io::WatchReport report;
  report.explanations = words;
  CHECK(contains(io::watch_json(report), "\"probability\":null"));  // a fact, of no probability
  const launch::SlowSteps part = slow(8, 12);
  CHECK(part.saving == Approx(3));
  CHECK_FALSE(part.explained);
  CHECK(launch::in_words({}, part, job_of("llama3-8b", 1, 8192, 1024))[0].what ==
        "part of it: saving checkpoints, 3 s a step by the log; 8 s without, which is still slow");
}

// Reported: saves were summed over the nodes, so that steps without them took no time; and the last ones of very many
// were not seen.
TEST_CASE("a checkpoint that every node states is one", "[launch]") {
  const auto saved = [](double seconds) {
    return fmt::format("Finished saving the checkpoint in {:.2f} seconds.", seconds);
  };
  const auto log_of = [](const std::string& text) { return launch::read_run_log(text, "log"); };
  const auto slow_of = [&](const std::string& text) {
    io::PlanFile plan;
    plan.step = Seconds(6);
    plan.low = Seconds(5.5);
    plan.high = Seconds(7);
    const auto found = launch::slow_steps(log_of(text), plan);
    REQUIRE(found);
    return *found;
  };
  // Lines of 10 steps of 6 s, after which four nodes save for about 30 s.
  std::string nodes, without_clock;
  for (int i = 0; i < 12; ++i) {
    const std::string step = of_nodes(90 * i, step_text(10 * i + 10));
    nodes += step;
    without_clock += step;
    for (const double seconds : {29.5, 30.0, 28.0, 29.9}) {
      nodes += titan_line(90'000 * i + 31'000 - static_cast<int>(seconds), saved(seconds));
      without_clock += "[rank0]:" + saved(seconds) + "\n";
    }
  }
  for (const std::string& text : {nodes, without_clock}) {
    CHECK(log_of(text).saves.size() == 12);
    const launch::SlowSteps slow = slow_of(text);
    CHECK(slow.saving == Approx(3));
    CHECK(slow.seconds == Approx(6));
  }
  // Two checkpoints of which the second begins when the first is done.
  CHECK(log_of(of_nodes(0, step_text(10)) + of_nodes(10, saved(5)) + of_nodes(14, saved(2))).saves.size() ==
        2);

  // Saves of 100 s in 90 s, as the log states them, explain nothing.
  std::string more;
  for (int i = 0; i < 12; ++i) more += titan(10 * i + 10, 90 * i) + saved(100) + "\n";
  const launch::SlowSteps beyond = slow_of(more);
  CHECK(beyond.saving == 0);
  CHECK(beyond.seconds == Approx(9));
  CHECK_FALSE(beyond.explained);
  CHECK(launch::in_words({}, beyond, job_of("llama3-8b", 1, 8192, 1024)).empty());

  std::string many = titan(10, 0);
  for (int i = 0; i < 10'010; ++i) many += saved(1) + "\nx\n";
  const launch::RunLog last = log_of(many);
  CHECK(last.saves.size() == 10'000);
  CHECK(last.saves.back().line == 2 * 10'010);
}

namespace {

/// Iterations of 1024 sequences of Megatron-LM, each of so many seconds.
template <class Seconds>
std::string iterations_of(int count, const Seconds& seconds) {
  std::string text;
  for (int i = 1; i <= count; ++i)
    text += fmt::format(
        " iteration {:8d}/  100000 | elapsed time per iteration (ms): {:.1f} | global batch size:  1024 |\n",
        i, 1e3 * seconds(i));
  return text;
}

const io::WatchAlarm* alarm_named(const io::WatchReport& r, const std::string& kind) {
  for (const io::WatchAlarm& a : r.alarms)
    if (a.kind == kind) return &a;
  return nullptr;
}

}  // namespace

// Reported: nothing was said of a run whose every tenth step takes twice as long.
TEST_CASE("pauses at one distance are named with what they cost", "[launch]") {
  const auto every = [](int n, double more) {
    return iterations_of(60, [=](int i) { return 70 + i % 3 + (i % n == 0 ? more : 0); });
  };
  const io::WatchReport tenth = watch(every(10, 70));
  const io::WatchAlarm* pauses = alarm_named(tenth, "pauses");
  REQUIRE(pauses != nullptr);
  CHECK(contains(pauses->message, "a step in 10 takes 141"));
  CHECK(contains(pauses->message, "6 such pauses cost 9.0 % of the time"));
  // Neither even steps, nor slow ones at any distance, nor three of them.
  CHECK(alarm_named(watch(every(10, 0)), "pauses") == nullptr);
  CHECK(alarm_named(watch(every(20, 70)), "pauses") == nullptr);
  const auto at_times = [](int i) { return i == 3 || i == 11 || i == 30 || i == 44 || i == 47 ? 140. : 70.; };
  CHECK(alarm_named(watch(iterations_of(60, at_times)), "pauses") == nullptr);
}

// Reported: "--calibrate learns from it" of steps that calibrate refuses, above the peak of their devices.
TEST_CASE("steps beyond the peak are not called a prediction that is too slow", "[launch]") {
  const auto run = [](double seconds) {
    return watch(iterations_of(20, [=](int) { return seconds; }), planned("tp=8"));
  };
  const io::WatchReport beyond = run(100);
  const io::WatchAlarm* alarm = alarm_named(beyond, io::kBeyondPeak);
  REQUIRE(alarm != nullptr);
  CHECK(contains(alarm->message, "% of the peak FLOPS of 32 cores"));
  CHECK(contains(alarm->fix, "check that nodes, batch and strategy"));
  CHECK(alarm_named(beyond, "faster") == nullptr);
  CHECK(alarm_named(run(300), io::kBeyondPeak) == nullptr);
}
