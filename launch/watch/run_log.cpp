#include "launch/watch/run_log.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

#include "launch/watch/watched_log.h"
#include "logs/training/checkpoint_lines.h"
#include "logs/training/step_log.h"

namespace trnplan::launch {

namespace {

constexpr std::size_t kTextLength = 200;
constexpr std::size_t kMostEvents = 10'000;
constexpr std::size_t kMostSteps = 2'000'000;
constexpr std::size_t kMostRanks = 4096;
constexpr std::size_t kMostMoments = 4096;  ///< more than any block of lines that nodes write at once
/// Consecutive lines of another rank after which the followed one is silent: ranks wait for each other in
/// every step, and a bar prints a step twice.
constexpr int kSilent = 8;
constexpr double kMostClock = 1e10;                                          ///< s: 300 years
constexpr std::int64_t kMostTotal = 1'000'000'000, kMostEpochs = 1'000'000;  // their product fits
/// Factor by which a first step exceeds the second if it includes compiling and loading: above the noise of
/// steps, far below any warm-up seen (1.6 in awsome-distributed-training's auto-resume transcript).
constexpr double kWarmUp = 1.2;

using logs::kNodesApart;

/// Seconds. A clock of whole seconds is wrong by up to 10 % over kShort, and by 3 % over kWindow.
constexpr double kShort = 10, kWindow = 30;

constexpr std::string_view kAtTheEnd = "Trainer metrics";  ///< printed at the end of a run

struct Sign {
  std::string_view word, kind;
};
/// Printed by a training script that starts, in this order, and the words before its last step or, with TorchTitan, its
/// first one. NVIDIA/Megatron-LM@86df799:megatron/training/checkpointing.py (load_checkpoint), training.py
/// (print_datetime); pytorch/torchtitan@000204a:torchtitan/train.py.
struct Ready {
  std::string_view word;
  std::optional<std::string_view> before_step;
  std::int64_t first;  ///< step that it begins with, less the one that it states
  bool once;           ///< in a start
};
constexpr std::array kReady = {
    Ready{"successfully loaded checkpoint from ", " at iteration ", 1, false},
    Ready{"Training starts at step ", "", 0, true},
    Ready{"[before the start of training step] datetime: ", std::nullopt, 0, true}};
constexpr std::array kSigns = {
    Sign{"[trnplan] start", "start"},           Sign{"[trnplan] failed", "failed"},
    Sign{"[trnplan] queued again", "requeued"}, Sign{"[trnplan] stopped", "stopped"},
    Sign{"[Auto Resume]", "auto-resume"},       Sign{"DUE TO NODE FAILURE", "node-failure"},
    Sign{"DUE TO JOB REQUEUE", "requeued"},     Sign{"DUE to SIGNAL Terminated", "cancelled"},
    Sign{"CANCELLED AT", "cancelled"},          Sign{"Training finished successfully", "finished"},
    Sign{"{'train_runtime': ", "finished"},
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

/// Seconds since 1970 of the first "2026-11-21 20:21:11,123" in the line.
std::optional<double> clock_in(std::string_view line) {
  constexpr std::size_t kYear = 4;  // digits
  for (std::size_t t = line.find('-'); t != std::string_view::npos; t = line.find('-', t + 1)) {
    if (t < kYear) continue;
    Scan scan(line.substr(t - kYear));
    if (const auto time = calendar_time(scan)) return time->seconds;
  }
  return std::nullopt;
}

/// True if two lines state one checkpoint: the later save began before the other one was done. Without clocks,
/// nodes print theirs in lines that follow each other.
bool is_same(const Save& before, const Save& save) {
  if (!before.clock || !save.clock) return save.line == before.last + 1;
  const Save& later = *save.clock < *before.clock ? before : save;
  return std::abs(*save.clock - *before.clock) < later.seconds;
}

/// Of the saves stated behind line `since`, up to line `until`.
double seconds_saved(const std::deque<Save>& saves, int since, int until) {
  double seconds = 0;
  for (auto save = saves.rbegin(); save != saves.rend() && save->line > since; ++save)
    if (save->line <= until) seconds += save->seconds;
  return seconds;
}

void drop_warm_up(Stretch& s) {
  const bool longer = s.steps.size() >= 2 && s.steps[0].seconds > kWarmUp * s.steps[1].seconds;
  const bool alone = s.steps.size() == 1 && s.steps[0].step <= 1;
  if (longer || alone) s.steps.erase(s.steps.begin());
}

}  // namespace

void RunLogReader::restart(std::size_t part, std::optional<std::int64_t> time,
                           std::optional<std::int64_t> step) {
  // A start that repeats a part of itself without a step between is another one.
  const bool once = part == 0 || kReady[part - 1].once;
  if (start_part_ && (part < *start_part_ || (once && part == *start_part_))) {
    if (last_line_ > 0) ++idle_starts_;
    began_.reset();
  }
  start_part_ = part;
  if (time) start_ = time;
  if (step) began_ = step;
  fresh_ = true;
  for (Track& t : tracks_) {
    if (time) t.start = time;
    t.began = began_;
    t.fresh = true;
  }
}

void RunLogReader::note_save(const Save& save) {
  if (!saves_.empty() && is_same(saves_.back(), save)) {
    Save& whole = saves_.back();
    whole.last = save.line;
    if (save.seconds > whole.seconds) {
      whole.seconds = save.seconds;
      whole.clock = save.clock;
    }
    return;
  }
  if (saves_.size() == kMostEvents) saves_.pop_front();
  saves_.push_back(save);
}

void RunLogReader::read(const LogLine& line) {
  const auto note = [&](std::string_view kind, std::optional<std::int64_t> time) {
    if (events_.size() >= kMostEvents) return;
    events_.push_back(
        {{name_, line.number, 1}, std::string(kind), printable(trimmed(line.text), kTextLength), time});
  };
  for (const Sign& sign : kSigns) {
    if (line.text.find(sign.word) == std::string_view::npos) continue;
    const std::optional<std::int64_t> time = time_in(line.text);
    if (sign.kind == "start") restart(0, time, std::nullopt);
    if (sign.kind == "finished") finished_ = true;
    return note(sign.kind, time);
  }
  if (!represents(line.rank)) return;
  if (const auto seconds = last_line_ > 0 ? logs::save_seconds(line.text) : std::nullopt)
    note_save({*seconds, line.number, line.number, clock_in(line.text)});
  for (std::size_t i = 0; i < kReady.size(); ++i) {
    Scan scan(line.text);
    if (!scan.past(kReady[i].word)) continue;
    std::optional<std::int64_t> step;
    if (kReady[i].before_step && scan.past(*kReady[i].before_step)) step = scan.whole();
    if (step) *step = std::min(*step, kMostTotal) + kReady[i].first;
    const std::optional<double> clock = clock_in(line.text);
    const bool dated = clock && start_clock_, later = dated && *clock - *start_clock_ > kNodesApart;
    // torchrun counts ranks in a node, so that each node's line is one of rank 0; it may come after steps of another.
    const bool again =
        start_part_ == i + 1 ||
        (dated && step_clock_ && logs::is_other_node(*clock, *start_clock_, *step_clock_, false));
    if (kReady[i].once && step == start_step_ && !later && again) return;
    start_step_ = step;
    start_clock_ = clock;
    if (last_line_ == 0) return;                             // the first start interrupts nothing
    const bool known = start_part_ && *start_part_ < i + 1;  // its event is that of an earlier part
    restart(i + 1, std::nullopt, step);
    if (!known) note("start", std::nullopt);
    return;
  }
}

RunLogReader::Track& RunLogReader::track_of(const std::string& format) {
  for (Track& t : tracks_) {
    if (t.format == format) return t;
  }
  Track& track = tracks_.emplace_back();
  track.format = format;
  track.start = start_;
  track.began = began_;
  track.fresh = fresh_;
  return track;
}

bool RunLogReader::represents(std::string_view rank) const {
  return rank.empty() || rank == "0" || (!zero_ && (rank_.empty() || rank == rank_));
}

/// True for the one rank that is followed: steps of others come slightly earlier or later. A replaced pod has
/// another name.
bool RunLogReader::tells(std::string_view rank) {
  zero_ = zero_ || rank == "0";
  if (rank.empty() || rank == "0") return true;
  if (rank_.empty()) rank_ = std::string(rank);
  if (rank == rank_) {
    others_.clear();
    return true;
  }
  auto other = others_.find(rank);
  if (other == others_.end() && others_.size() < kMostRanks)
    other = others_.emplace(std::string(rank), 0).first;
  if (other == others_.end() || ++other->second <= kSilent) return false;
  rank_ = other->first;
  others_.clear();
  return true;
}

bool RunLogReader::repeats(const logs::StepRecord& record, const std::string& format) {
  const std::optional<double>& clock = record.clock ? record.clock : record.stamp;
  if (!clock || record.since_epoch) return false;
  const auto track =
      std::find_if(tracks_.begin(), tracks_.end(), [&](const Track& t) { return t.format == format; });
  if (track == tracks_.end() || track->fresh) return false;
  const auto& seen = track->moments;
  const auto same = std::lower_bound(seen.begin(), seen.end(), std::pair(record.step, -kMostClock));
  return track->echoed = same != seen.end() && same->first == record.step &&
                         record.step < seen.back().first &&
                         logs::is_other_node(*clock, same->second, seen.back().second, track->echoed);
}

bool RunLogReader::count_bad(Track& track, const logs::StepRecord& record, bool first) {
  if (!record.nan_steps && !record.skipped_steps) return false;
  // The first line may be of as many steps as its number says.
  const std::int64_t covered = std::max<std::int64_t>(1, record.step - (first ? 0 : track.last));
  const std::int64_t nan = record.nan_steps.value_or(0), skipped = record.skipped_steps.value_or(0);
  const auto add = [&](BadSteps& bad, std::int64_t count) {
    if (bad.count == 0) bad = {0, record.step, record.line};
    bad.count += std::min(count, kMostTotal);
  };
  if (nan > 0) add(track.nan, nan);
  if (skipped > 0) add(track.skipped, skipped);
  if (skipped < covered) {
    track.skipped = {};
    track.useful = true;
  }
  return nan >= covered;
}

void RunLogReader::step(const logs::StepRecord& record, const std::string& format, bool averages) {
  last_line_ = std::max(last_line_, record.line);
  if (repeats(record, format) || !tells(record.rank)) return;
  start_part_.reset();
  began_.reset();
  Track& track = track_of(format);
  Mark mark;
  mark.step = record.step;
  mark.total = record.total;
  mark.epoch = record.epoch;
  mark.clock = record.clock ? record.clock : record.stamp;
  mark.seconds = record.seconds;
  mark.line = record.line;
  mark.absolute = mark.clock && !record.since_epoch;
  const std::optional<double> moment = mark.absolute ? mark.clock : std::nullopt;
  const bool first = track.stretches.empty() || track.fresh || record.step < track.last;
  const bool all_nan = count_bad(track, record, first);
  const std::optional<double> loss = all_nan ? std::nan("") : record.loss;
  if (loss) {
    loss_lost_ = std::isnan(*loss);
    if (!loss_lost_) loss_ = loss;
  }
  mark.batch = record.batch.value_or(0);
  mark.useless = loss && std::isnan(*loss)
                     ? kMostTotal
                     : std::max(record.nan_steps.value_or(0), record.skipped_steps.value_or(0));
  if (averages && !first)
    mark.weight = std::max(1.0, static_cast<double>(std::min(record.step, kMostTotal) - track.last));
  if (mark.absolute) {
    mark.anew = track.origin && *mark.clock < *track.origin - kNodesApart;
    if (first || !track.origin || mark.anew) track.origin = *mark.clock - mark.seconds.value_or(0);
    *mark.clock -= *track.origin;
  }
  if (mark.clock && !(std::abs(*mark.clock) < kMostClock)) return;  // not the clock of a run
  mark = counted(track, mark);
  if (loss) track.losses.add(mark.step, *loss, mark.line);
  if (record.gradient_norm) track.gradient_norms.add(mark.step, *record.gradient_norm, mark.line);
  const std::size_t stretches = track.stretches.size();
  add(track, mark);
  if (track.stretches.size() > stretches) track.moments.clear();
  if (!moment) return;
  step_clock_ = moment;
  if (!track.moments.empty() && record.step <= track.moments.back().first) return;
  if (track.moments.size() == kMostMoments) track.moments.pop_front();
  track.moments.emplace_back(record.step, *moment);
}

/// Steps and clock of a bar restart with each epoch; here they continue.
RunLogReader::Mark RunLogReader::counted(Track& track, Mark mark) {
  if (mark.absolute) mark.epoch = 0;
  const std::int64_t whole_epochs = std::min(mark.epoch, kMostEpochs);
  if (track.fresh || mark.epoch < track.epoch)
    track.before_epoch = 0;
  else if (mark.epoch > track.epoch)
    track.before_epoch = track.clock;
  track.epoch = mark.epoch;
  if (mark.clock) *mark.clock += track.before_epoch;
  if (mark.total > kMostTotal) mark.total = 0;
  mark.step = std::min(mark.step, kMostTotal) + whole_epochs * mark.total;
  if (whole_epochs > 0) mark.total = 0;  // the number of epochs is unknown
  return mark;
}

double RunLogReader::saved(int since, int until) const {
  return seconds_saved(saves_, since, until);
}

void RunLogReader::settle(Track& track) const {
  Window& w = track.window;
  if (w.steps.empty()) return;
  const auto steps = static_cast<double>(w.steps.back().step - w.from);
  const double mean = (track.clock - w.since) / steps, saving = saved(w.line, w.steps.back().line) / steps;
  for (StepTime& t : w.steps) {
    t.seconds = mean;
    t.saving = std::min(saving, mean);
    if (mean > 0) track.stretches.back().steps.push_back(t);
  }
  w.steps.clear();
}

void RunLogReader::add(Track& track, const Mark& mark) {
  const bool timed = mark.absolute && mark.seconds;  // then the calendar's clock may be set
  // Nodes print the same steps, each by its own clock.
  const double apart = mark.absolute ? kNodesApart : 0;
  const bool back = track.stretches.empty() || track.fresh || mark.step < track.last ||
                    (mark.clock && !timed && (mark.anew || *mark.clock < track.clock - apart));
  track.total = mark.epoch > 0 ? 0 : std::max(mark.total, mark.clock ? 0 : track.total);
  const int since = std::exchange(track.last_line, mark.line);
  if (!back && mark.step == track.last) return;  // printed again; the first time is when it was done
  if (back) {
    settle(track);
    Stretch& s = track.stretches.emplace_back();
    s.first = s.last = s.began = mark.step;
    // A log that states every tenth step leaves out the first ones.
    if (track.began && *track.began > 0) s.began = std::min(*track.began, mark.step);
    s.before_first = mark.clock.value_or(0);
    s.first_untimed = mark.absolute && !mark.seconds;
    if (mark.absolute) s.origin = track.origin;
    s.start = track.start;
    s.first_line = mark.line;
    track.start.reset();
    track.began.reset();
    track.fresh = false;
  } else {
    track.intervals.add(track.last, mark.step, mark.line);
  }
  Stretch& s = track.stretches.back();
  const std::int64_t covered = back ? 1 : mark.step - track.last;
  StepTime time{mark.step, 0, mark.line, covered, 0, std::min(mark.useless, covered), mark.batch};
  // The clock also runs while the first step compiles and loads.
  std::optional<double> seconds = mark.seconds;
  const double passed = mark.clock.value_or(0) - track.clock;
  const bool ticks = !seconds && !back && mark.clock;
  if (ticks && passed < kShort) {
    if (track.window.steps.empty()) track.window = {track.clock, track.last, since, {}};
    if (kept_++ < kMostSteps) {
      track.window.steps.push_back(time);
      ++track.timed;
    }
  } else {
    settle(track);
    if (ticks) seconds = passed / static_cast<double>(covered);
  }
  const double stated = std::max(0.0, mark.seconds.value_or(0)) * static_cast<double>(covered);
  if (!back && mark.clock && mark.seconds) {
    const bool longest = !track.pause || passed - stated > track.pause->passed - track.pause->stated;
    if (longest) track.pause = {track.last, mark.step, passed, stated, since, mark.line};
  }
  if (seconds && *seconds > 0 && kept_++ < kMostSteps) {
    const double saving = ticks ? saved(since, mark.line) / static_cast<double>(covered) : 0;
    time.seconds = *seconds;
    time.saving = std::min(saving, *seconds);
    s.steps.push_back(time);
    ++track.timed;
  }
  s.last = mark.step;
  if (timed && !back) {
    s.elapsed += std::max(passed, stated);
  } else if (mark.clock) {
    s.elapsed = std::max(s.elapsed, *mark.clock);
  } else {
    s.elapsed += std::max(0.0, mark.seconds.value_or(0)) * mark.weight;
  }
  if (back) s.with_first = s.elapsed;
  track.clock = mark.clock.value_or(track.clock > 0 ? track.clock + stated : 0);
  track.last = mark.step;
  if (track.clock - track.window.since >= kWindow) settle(track);
}

RunLog RunLogReader::now(const std::vector<logs::StepSample>& samples) const {
  RunLog log;
  log.events = events_;
  log.finished = finished_;
  log.loss = loss_;
  log.loss_lost = loss_lost_;
  log.idle_starts = idle_starts_;
  log.saves = saves_;
  const Track* most = nullptr;
  for (const Track& t : tracks_) {
    if (most == nullptr || t.timed > most->timed) most = &t;
  }
  if (most != nullptr) {
    Track whole = *most;
    settle(whole);
    log.stretches = std::move(whole.stretches);
    log.last = most->last;
    log.last_line = most->last_line;
    log.total = most->total;
    log.losses = most->losses.now();
    log.gradient_norms = most->gradient_norms.now();
    log.gaps = most->intervals.gaps();
    log.interval = most->intervals.usual();
    log.pause = most->pause;
    log.nan = most->nan;
    log.skipped = most->skipped;
    log.always_skipped = !most->useful;
  }
  for (Stretch& s : log.stretches) drop_warm_up(s);
  if (log.total > 0 && log.last >= log.total) log.finished = true;
  if (log.last == 0 && !samples.empty()) {
    log.mean = samples.back();
    log.finished = log.finished || log.mean->format == kAtTheEnd;
  }
  return log;
}

double RunLog::saved_in(const Pause& of) const {
  return seconds_saved(saves, of.since, of.line);
}

std::vector<double> RunLog::seconds() const {
  std::vector<double> all;
  for (const Stretch& s : stretches) {
    for (const StepTime& t : s.steps) all.push_back(t.seconds);
  }
  return all;
}

double RunLog::share() const {
  for (auto s = stretches.rbegin(); s != stretches.rend(); ++s)
    if (!s->steps.empty()) return s->steps.back().share;
  return 1;
}

std::vector<double> RunLog::alike() const {
  const double of_last = share();
  std::vector<double> all;
  for (const Stretch& s : stretches)
    for (const StepTime& t : s.steps)
      if (t.share == of_last) all.push_back(t.seconds);
  return all;
}

std::int64_t RunLog::timed_steps() const {
  std::int64_t all = 0;
  for (const Stretch& s : stretches) {
    for (const StepTime& t : s.steps) all += std::min(t.steps, interval);
  }
  return all;
}

Pace RunLog::pace() const {
  const auto least = static_cast<std::size_t>(logs::kFewestSteps);
  std::size_t from = stretches.size();
  while (from > 0 && stretches[from - 1].steps.size() < least) --from;
  if (from > 0) --from;  // else no stretch has enough
  const double of_last = share();
  std::size_t of_batch = 0;
  for (std::size_t i = from; i < stretches.size(); ++i)
    for (const StepTime& t : stretches[i].steps) of_batch += t.share == of_last ? 1 : 0;
  Pace pace;
  for (; from < stretches.size(); ++from) {
    for (const StepTime& t : stretches[from].steps) {
      if (of_batch >= least && t.share != of_last) continue;
      pace.seconds.push_back(t.seconds);
      pace.without_saves.push_back(t.seconds - t.saving);
      pace.steps += std::min(t.steps, interval);
      pace.smaller |= t.share < 1;
    }
  }
  return pace;
}

RunLog read_run_log(std::string_view text, const std::string& name) {
  WatchedLog log(name);
  log.feed(text);
  return log.now().run;
}

}  // namespace trnplan::launch
