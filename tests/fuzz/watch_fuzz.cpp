// Logs given to watch: progress, interruptions, failures.
#include "launch/watch/watch.h"

#include <cmath>

#include "logs/training/failures.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"
#include "tests/launch/watch/find_plans.h"

using namespace trnplan;

namespace {

bool sound(const std::optional<double>& value) {
  return !value || (!std::isnan(*value) && *value >= 0);
}

void check(const launch::RunLog& log) {
  fuzz::ensure(log.last >= 0 && log.total >= 0, "steps are counted");
  for (const double s : log.seconds()) fuzz::ensure(std::isfinite(s) && s > 0, "a step takes time");
  for (const launch::Stretch& s : log.stretches) {
    fuzz::ensure(s.last >= s.first, "a stretch goes forward");
    fuzz::ensure(s.elapsed >= s.before_first && s.before_first >= 0, "a clock goes forward");
  }
  for (const launch::RunEvent& e : log.events)
    fuzz::ensure(fuzz::is_printable(e.text), "an event is safe to print");
}

void check(const std::vector<logs::Failure>& failures) {
  for (const logs::Failure& f : failures) {
    fuzz::ensure(fuzz::is_printable(f.text), "a failure is safe to print");
    fuzz::ensure(f.count > 0 && f.at.line > 0 && f.last_line >= f.at.line, "a failure has lines");
    fuzz::ensure(sound(f.gib), "memory is a number");
  }
}

void check(const io::WatchReport& r) {
  fuzz::ensure(sound(r.step_seconds) && sound(r.recent_seconds) && sound(r.wall_seconds) &&
                   sound(r.goodput) && sound(r.eta_seconds) && sound(r.memory_bytes),
               "reported values are numbers");
  fuzz::ensure(!r.goodput || *r.goodput <= 1, "goodput is a share");
  for (const io::WatchAlarm& a : r.alarms)
    fuzz::ensure(fuzz::is_printable(a.message), "an alarm is safe to print");
}

}  // namespace

void fuzz::watch_target(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  fuzz::refusable([&] {
    check(launch::read_run_log(text, "log"));
    launch::WatchedLog pieces("log"), whole("log");
    for (std::size_t at = 0; at < text.size(); at += 7) pieces.feed(std::string_view(text).substr(at, 7));
    whole.feed(text);
    fuzz::ensure(io::watch_json(launch::watch(pieces.now(), {}, "log", {})) ==
                     io::watch_json(launch::watch(whole.now(), {}, "log", {})),
                 "pieces read as the whole");
    check(launch::watch(whole.now(), {}, "log", {}));
  });
  const auto failures = logs::find_failures(text, "log");
  check(failures);
  if (!failures.empty()) return;  // advice searches, which is slow and reads no more of the text
  fuzz::refusable([&] { check(launch::watch(text, "log", {}, {}, launch::find_fastest)); });
}
