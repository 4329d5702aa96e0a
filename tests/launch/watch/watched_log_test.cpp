// Growing logs: every format that calibrate times, piece by piece, in constant memory.
#include "launch/watch/watched_log.h"

#include <filesystem>

#include <fmt/format.h>

#include "io/output/watch_json.h"
#include "launch/watch/watch.h"
#include "logs/profile/parquet_footer.h"
#include "tests/catch.h"
#include "tests/launch/watch/find_plans.h"
#include "tests/models/setup.h"
#include "text/document.h"

using namespace trnplan;

namespace {

struct Fixture {
  std::string name, text;
};

std::vector<Fixture> fixtures() {
  std::vector<Fixture> all;
  for (const char* folder : {"/tests/calibrate/fixtures/logs", "/tests/launch/fixtures"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::string(TRNPLAN_SOURCE_DIR) + folder)) {
      Fixture f{entry.path().filename().string(), read_text(entry.path())};
      if (!logs::is_parquet(f.text)) all.push_back(std::move(f));  // watch refuses it as no log
    }
  }
  return all;
}

std::string report_of(const launch::WatchedLog& log) {
  return io::watch_json(launch::watch(log.now(), {}, "log", {}));
}

std::string step_line(int step) {
  return fmt::format("step {} step_time {}.5s throughput 4 seq/s loss 3.25 grad norm 1.0\n", step,
                     200 + step % 7);
}

}  // namespace

TEST_CASE("watch times every log that calibrate times", "[launch]") {
  int timed = 0;
  for (const Fixture& f : fixtures()) {
    INFO(f.name);
    logs::Detected learnt;
    try {
      learnt = logs::detect(f.text, f.name);
    } catch (const InputError&) {
      continue;  // nothing in it is known
    }
    launch::LogReading seen;
    launch::WatchedLog log(f.name);
    log.feed(f.text);
    seen = log.now();
    if (seen.run.last == 0 && !seen.run.mean) {  // as the program does with what a tool wrote as one document
      TextStream whole(f.text);
      seen = launch::read_whole(whole, f.name);
    }
    const io::WatchReport r = launch::watch(seen, {}, f.name, {});
    CHECK(r.step_seconds.has_value() == !learnt.steps.empty());
    if (learnt.steps.empty()) continue;
    ++timed;
    CHECK(r.step > 0);
    // The median of one, the mean or the median of the other, of the same steps.
    double least = *r.step_seconds, most = least;
    for (const logs::StepSample& s : learnt.steps) {
      least = std::min(least, s.seconds);
      most = std::max(most, s.seconds);
    }
    CHECK(*r.step_seconds >= 0.99 * least);
    CHECK(*r.step_seconds <= 1.01 * most);
  }
  CHECK(timed >= 11);
}

TEST_CASE("a log reads the same however it comes, and looks do not disturb it", "[launch]") {
  for (const Fixture& f : fixtures()) {
    INFO(f.name);
    launch::WatchedLog whole("log");
    whole.feed(f.text);
    const std::string expected = report_of(whole);
    for (const std::size_t piece : {1, 7, 4096}) {
      launch::WatchedLog log("log");
      std::size_t looks = 0;
      for (std::size_t at = 0; at < f.text.size(); at += piece) {
        log.feed(std::string_view(f.text).substr(at, piece));
        if (++looks % 97 == 0) report_of(log);
      }
      CHECK(report_of(log) == expected);
    }
  }
}

TEST_CASE("a log without end: what is held does not grow, and pieces change nothing", "[launch]") {
  std::string expected;
  for (const std::size_t piece : {4096, 7, 1}) {
    launch::WatchedLog log("log");
    std::string waiting;
    std::size_t held = 0;
    for (int step = 1; step <= 3000; ++step) {
      waiting += step_line(step) + "[rank7]: a line of no use, as runtimes print them by the thousand\r\n";
      for (; waiting.size() >= piece; waiting.erase(0, piece)) {
        log.feed(std::string_view(waiting).substr(0, piece));
        held = std::max(held, log.held());
      }
    }
    log.feed(waiting);
    CHECK(held < 300);  // bytes: the start of one line
    const std::string report = report_of(log);
    if (expected.empty()) expected = report;
    CHECK(report == expected);
  }
  CHECK(expected.find("\"step\":3000") != std::string::npos);
  launch::WatchedLog log("log");
  for (int i = 0; i < 64; ++i) log.feed(std::string(1 << 20, 'x'));  // a line of 64 MiB
  CHECK(log.held() <= kLineKept);
}

TEST_CASE("the line that is being written counts as it stands", "[launch]") {
  launch::WatchedLog log("log");
  log.feed(step_line(1) + step_line(2) + "step 3 step_time 20");
  CHECK(log.now().run.last == 2);
  log.feed("3.5s throughput 4");
  CHECK(log.now().run.last == 3);
  log.feed(" seq/s loss 3 grad norm 1\n");
  CHECK(log.now().run.last == 3);
  CHECK(log.now().run.seconds().size() == 3);
}

TEST_CASE("the first step alone is not a time of a step", "[launch]") {
  const auto r = launch::watch(
      " iteration        1/  508626 | elapsed time per iteration (ms): 440352.6 | global batch size: 288 |\n",
      "log", {}, datasheet(), launch::find_fastest);
  CHECK(r.step == 1);
  CHECK(r.total == 508626);
  CHECK_FALSE(r.step_seconds);
}

TEST_CASE(
    "Megatron's means count as many steps as they are of, and wall times of events begin with the first",
    "[launch]") {
  const auto r = launch::watch(
      "iteration 10/ 100 | elapsed time per iteration (ms): 2000 |\niteration 20/ 100 | elapsed time per "
      "iteration (ms): "
      "2000 |\niteration 30/ 100 | elapsed time per iteration (ms): 2000 |\n",
      "log", {}, datasheet(), launch::find_fastest);
  CHECK(*r.wall_seconds == 2 + 20 + 20);
  CHECK(*r.goodput == 1);
  CHECK(*r.eta_seconds == 140);
  const auto bert = launch::watch(
      "LOG Thu Sep 29 22:30:10 2022 - (0, 78) step_loss : 9.1875  learning_rate : 1.56e-05  throughput : "
      "2873.14\n"
      "LOG Thu Sep 29 22:30:16 2022 - (0, 79) step_loss : 9.1  learning_rate : 1.56e-05  throughput : "
      "2873.14\n"
      "LOG Thu Sep 29 22:30:22 2022 - (0, 80) step_loss : 9.0  learning_rate : 1.56e-05  throughput : "
      "2873.14\n",
      "log", {}, datasheet(), launch::find_fastest);
  CHECK(*bert.step_seconds == 6);
  CHECK(*bert.wall_seconds == 12);
  CHECK(*bert.goodput == 1);
  CHECK(*bert.loss == 9);
}

TEST_CASE("steps that are short compared with the clock's seconds are timed together", "[launch]") {
  // Steps of 1.4 s, a pause of 20 s behind step 60, and a clock that shows whole seconds.
  std::string text;
  for (int step = 1; step <= 101; ++step) {
    const int second = static_cast<int>(1.4 * (step - 1)) + (step > 60 ? 20 : 0);
    text += fmt::format(
        "LOG Thu Sep 29 22:{:02}:{:02} 2022 - (0, {}) step_loss : 9.1875 learning_rate : 1.56e-05 throughput "
        ": "
        "2873.14\n",
        30 + second / 60, second % 60, step);
  }
  const auto r = launch::watch(text, "log", {}, datasheet(), launch::find_fastest);
  // Of the differences more than half are of one second.
  CHECK(*r.step_seconds == Approx(1.4).epsilon(0.03));
  CHECK(*r.recent_seconds == Approx(1.4).epsilon(0.03));
  CHECK(r.timed_steps == 100);
  CHECK(*r.wall_seconds == 160);
  const auto few =
      launch::watch(text.substr(0, text.find("- (0, 8)")), "log", {}, datasheet(), launch::find_fastest);
  CHECK(*few.step_seconds == Approx(8. / 6));  // 0, 1.4, 2.8, 4.2, 5.6, 7.0, 8.4
}

TEST_CASE("a log of another job is reported", "[launch]") {
  launch::WatchContext context;
  io::PlanFile plan;
  plan.job = job_of("llama3-8b", 1, 8192, 1024);
  plan.step = Seconds{7};
  plan.low = Seconds{6};
  plan.high = Seconds{8};
  context.plan = plan;
  const auto r =
      launch::watch("iteration 64/ 100 | elapsed time per iteration (ms): 7000 | global batch size: 512 |\n",
                    "log", context, datasheet(), launch::find_fastest);
  REQUIRE(r.alarms.size() == 1);
  CHECK(r.alarms[0].kind == "other-job");
  CHECK(r.alarms[0].message.find("global batch is 512 in the log but 1024") == 0);
  // Nothing of the plan is compared with it: not its step, nor its tokens and cost.
  CHECK_FALSE(r.predicted);
  CHECK_FALSE(r.usd_so_far);
}

TEST_CASE("packed logs are refused", "[launch]") {
  launch::WatchedLog log("log");
  CHECK_THROWS_AS(log.feed("\x1f\x8b" + std::string(100, 'z')), InputError);
  // Reported: the files in a tar were read as one text.
  launch::WatchedLog tar("log");
  CHECK_THROWS_AS(tar.feed("train.log" + std::string(248, '\0') + "ustar" + std::string(300, '\0')),
                  InputError);
}
