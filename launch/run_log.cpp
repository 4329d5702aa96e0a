#include "launch/run_log.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "calibrate/log_lines.h"

namespace trnplan::launch {

namespace {

using calibrate::LogLine;
using calibrate::Scan;

constexpr std::size_t kTextLength = 200;
constexpr std::size_t kMostEvents = 10'000;
constexpr std::size_t kMostSteps = 2'000'000;
constexpr std::int64_t kMostTotal = 1'000'000'000, kMostEpochs = 1'000'000;  // their product fits
/// A first step longer than the second by this factor holds compiling and loading: above the noise of steps,
/// far below any warm-up seen (1.6 in awsome-distributed-training's auto-resume transcript).
constexpr double kWarmUp = 1.2;

struct Sign {
  std::string_view word, kind;
};
constexpr std::array kSigns = {
    Sign{"[trnplan] start", "start"},
    Sign{"[trnplan] failed", "failed"},
    Sign{"[trnplan] queued again", "requeued"},
    Sign{"[Auto Resume]", "auto-resume"},
    Sign{"DUE TO NODE FAILURE", "node-failure"},
    Sign{"DUE TO JOB REQUEUE", "requeued"},
    Sign{"DUE to SIGNAL Terminated", "cancelled"},
    Sign{"CANCELLED AT", "cancelled"},
    Sign{"Training finished successfully", "finished"},
};

/// "2026-11-21T20:21:11" (with or without Z) as seconds since 1970.
std::optional<std::int64_t> time_in(std::string_view line) {
  for (std::size_t t = line.find('T'); t != std::string_view::npos; t = line.find('T', t + 1)) {
    if (t < 10 || t + 9 > line.size()) continue;
    const std::string stamp(line.substr(t - 10, 19));
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
    if (std::sscanf(stamp.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d", &year, &month, &day, &hour, &minute, &second) !=
        6)
      continue;
    const std::chrono::year_month_day date{std::chrono::year(year),
                                           std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day))};
    if (!date.ok() || hour > 24 || minute > 60 || second > 60) continue;
    const auto days = std::chrono::sys_days(date).time_since_epoch().count();
    return (static_cast<std::int64_t>(days) * 24 + hour) * 3600 + minute * 60 + second;
  }
  return std::nullopt;
}

/// What one line says of one step.
struct Mark {
  std::int64_t step = 0, total = 0;
  std::int64_t epoch = 0;
  std::optional<double> clock;    ///< s since the epoch began
  std::optional<double> seconds;  ///< of the step
};

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  void read(const LogLine& line) {
    if (read_event(line)) return;
    if (!line.rank.empty() && line.rank != "0") {
      if (rank_.empty()) rank_ = std::string(line.rank);  // one rank tells for all
      if (line.rank != rank_) return;
    }
    read_bars(line);
    read_step_line(line);
  }

  RunLog finish() {
    for (Stretch& s : log_.stretches) drop_warm_up(s);
    if (log_.total > 0 && log_.last >= log_.total) log_.finished = true;
    return std::move(log_);
  }

 private:
  bool read_event(const LogLine& line) {
    for (const Sign& sign : kSigns) {
      if (line.text.find(sign.word) == std::string_view::npos) continue;
      const std::optional<std::int64_t> time = time_in(line.text);
      if (sign.kind == "start") start_ = time;
      if (sign.kind == "start") fresh_ = true;
      if (sign.kind == "finished") log_.finished = true;
      if (log_.events.size() < kMostEvents) {
        log_.events.push_back({{name_, line.number, 1},
                               std::string(sign.kind),
                               printable(calibrate::trimmed(line.text), kTextLength),
                               time});
      }
      return true;
    }
    return false;
  }

  void read_bars(const LogLine& line) {
    constexpr std::string_view kEpoch = "Epoch ";
    for (std::size_t at = line.text.find(kEpoch); at != std::string_view::npos;
         at = line.text.find(kEpoch, at + kEpoch.size())) {
      Scan scan(line.text.substr(at));
      if (!scan.past("|") || !scan.past("|")) continue;
      Mark mark;
      mark.epoch = Scan(line.text.substr(at + kEpoch.size())).whole().value_or(0);
      const auto step = scan.whole();
      if (!step || !scan.take("/")) continue;
      mark.step = *step;
      mark.total = scan.whole().value_or(0);
      if (!scan.past("[")) continue;
      const std::string_view rest = scan.rest();
      const std::size_t less = rest.find('<'), close = rest.find(']');
      if (less == std::string_view::npos) continue;  // cut while it was written: its clock may be, too
      mark.clock = calibrate::clock_seconds(rest.substr(0, less));
      read_fields(rest.substr(0, close), mark);
      if (mark.clock || mark.seconds) add(counted(mark), line.number);
    }
  }

  /// Steps and clock start anew with each epoch; here they go on.
  Mark counted(Mark mark) {
    const std::int64_t whole_epochs = std::min(mark.epoch, kMostEpochs);
    if (fresh_ || mark.epoch < epoch_)
      before_epoch_ = 0;
    else if (mark.epoch > epoch_)
      before_epoch_ = clock_;
    epoch_ = mark.epoch;
    if (mark.clock) *mark.clock += before_epoch_;
    if (mark.total > kMostTotal) mark.total = 0;
    mark.step = std::min(mark.step, kMostTotal) + whole_epochs * mark.total;
    if (whole_epochs > 0) mark.total = 0;  // how many epochs there will be is not said
    return mark;
  }

  void read_fields(std::string_view fields, Mark& mark) {
    for (const std::string_view key : {"iteration_time=", "train_step_timing="}) {
      Scan scan(fields);
      if (!mark.seconds && scan.past(key)) mark.seconds = scan.number();
    }
    Scan loss(fields);
    if (loss.past("reduced_train_loss=")) note_loss(loss);
  }

  void note_loss(Scan& scan) {
    const auto loss = scan.number();
    log_.loss_lost = !loss;
    if (loss) log_.loss = loss;
  }

  void read_step_line(const LogLine& line) {
    Scan scan(line.text);
    Mark mark;
    if (!scan.take("step ")) return;
    const auto step = scan.whole();
    if (!step || !scan.take("step_time")) return;
    mark.step = std::min(*step, kMostTotal);
    mark.seconds = scan.number();
    if (scan.past("loss")) note_loss(scan);
    if (mark.seconds) add(mark, line.number);
  }

  void add(const Mark& mark, int line) {
    const bool back =
        log_.stretches.empty() || fresh_ || mark.step < log_.last || (mark.clock && *mark.clock < clock_);
    log_.total = mark.epoch > 0 ? 0 : std::max(mark.total, mark.clock ? 0 : log_.total);
    log_.last_line = line;
    if (!back && mark.step == log_.last) return;  // printed again; the first time is when it was done
    if (back) {
      log_.stretches.push_back({mark.step, mark.step, 0, mark.clock.value_or(0), start_, {}, line});
      start_.reset();
      fresh_ = false;
    }
    Stretch& s = log_.stretches.back();
    // The clock also runs while the first step compiles and loads.
    std::optional<double> seconds = mark.seconds;
    if (!seconds && !back && mark.clock)
      seconds = (*mark.clock - clock_) / static_cast<double>(mark.step - log_.last);
    if (seconds && *seconds > 0 && kept_++ < kMostSteps) s.steps.push_back({mark.step, *seconds, line});
    s.last = mark.step;
    s.elapsed =
        mark.clock ? std::max(s.elapsed, *mark.clock) : s.elapsed + std::max(0.0, mark.seconds.value_or(0));
    clock_ = mark.clock.value_or(0);
    log_.last = mark.step;
  }

  static void drop_warm_up(Stretch& s) {
    if (s.steps.size() >= 2 && s.steps[0].seconds > kWarmUp * s.steps[1].seconds)
      s.steps.erase(s.steps.begin());
  }

  std::string name_, rank_;
  RunLog log_;
  double clock_ = 0, before_epoch_ = 0;
  std::int64_t epoch_ = 0;
  std::optional<std::int64_t> start_;
  bool fresh_ = false;
  std::size_t kept_ = 0;
};

}  // namespace

std::vector<double> RunLog::seconds() const {
  std::vector<double> all;
  for (const Stretch& s : stretches) {
    for (const StepTime& t : s.steps) all.push_back(t.seconds);
  }
  return all;
}

RunLog read_run_log(std::string_view text, const std::string& name) {
  Reader reader(name);
  calibrate::LogLines lines(text);
  while (lines.next()) reader.read(lines.line());
  return reader.finish();
}

}  // namespace trnplan::launch
