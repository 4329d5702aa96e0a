#include "logs/training/step_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "units/median.h"
#include "units/quantity.h"

namespace trnplan::logs {

namespace {

constexpr std::size_t kRecords = 1'000'000;
constexpr std::size_t kRanks = 4096;
constexpr std::size_t kEchoes = 8;    ///< steps by which ranks lag
constexpr double kStart = 1;          ///< s: a clock below has just been started
constexpr double kNear = 0.1;         ///< of the median
constexpr double kMostPauses = 0.25;  ///< part of the steps in which a run saves or validates
constexpr double kWarmUp = 0.2;       ///< over the median of the steps that follow: after a restart
constexpr double kSecondsLeast = 1e-6, kSecondsMost = 7 * kDay;
constexpr double kCountMost = 1e9, kRateMost = 1e9;
/// Steps of which NxD's throughput is the mean, at most: the window of its class Throughput
/// (aws-neuron/neuronx-distributed@0598cd8b:examples/training/llama/training_utils.py).
constexpr std::size_t kRateSteps = 10;
const double kTickToSigma = std::sqrt(1.0 / 6);  ///< of the difference of two cut clocks: 2 / 12
constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

bool sane(double seconds) {
  return seconds >= kSecondsLeast && seconds <= kSecondsMost;
}

int seen(const StepSample& s) {
  return s.by_clock ? s.count + s.unlike : s.count;
}

/// True if pauses do not explain so many steps that are not like the others.
bool has_paces(const StepSample& s) {
  return s.unlike > kMostPauses * seen(s);
}

}  // namespace

void set_range(std::vector<double> single, StepSample& s) {
  constexpr auto least = static_cast<std::size_t>(kFewestSteps);
  s.low = s.high = 0;
  s.trend = 1;
  if (single.size() < least) return;
  if (const std::size_t third = single.size() / 3; third >= least) {
    const auto end = static_cast<std::ptrdiff_t>(third);
    const double first = median({single.begin(), single.begin() + end}),
                 last = median({single.end() - end, single.end()});
    if (first > 0 && last > 0) s.trend = last / first;
  }
  std::sort(single.begin(), single.end());
  const std::size_t tenth = std::max<std::size_t>(1, single.size() / 10);
  s.low = single[tenth];
  s.high = single[single.size() - 1 - tenth];
}

std::string range_words(int steps, double low, double high) {
  const char* part = steps < 10 ? "a part" : "a tenth";
  return fmt::format("{} takes at most {:.4g} s, {} at least {:.4g} s", part, low, part, high);
}

double weighted_median(std::vector<std::pair<double, double>> values) {
  std::sort(values.begin(), values.end());
  double whole = 0;
  for (const auto& [value, weight] : values) whole += weight;
  double below = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    below += values[i].second;
    if (below > whole / 2) return values[i].first;
    if (below == whole / 2 && i + 1 < values.size()) return (values[i].first + values[i + 1].first) / 2;
  }
  return values.back().first;
}

bool StepLog::goes_on(const Run& run, const StepRecord& record) const {
  const Kept& last = run.steps.back();
  if (run.name != record.run) return false;
  if (record.epoch != last.epoch) return record.epoch > last.epoch;
  if (record.step < last.step) return false;
  const double apart = record.since_epoch ? 0 : kNodesApart;
  return !record.clock || !(*record.clock < last.clock - apart);
}

/// True if another rank repeats one of the last lines, or another node any: its lines may come in blocks.
bool StepLog::echoes(Run& run, const StepRecord& record) {
  if (run.name != record.run) return false;
  if (!record.since_epoch && record.clock) {
    const auto kept =
        std::lower_bound(run.steps.begin(), run.steps.end(), record, [](const Kept& k, const StepRecord& r) {
          return std::tie(k.epoch, k.step) < std::tie(r.epoch, r.step);
        });
    if (kept != run.steps.end() && kept->epoch == record.epoch && kept->step == record.step &&
        is_other_node(*record.clock, kept->clock, run.steps.back().clock, run.echoed))
      return run.echoed = true;
  }
  const std::size_t recent = std::min(run.steps.size(), kEchoes);
  for (auto kept = run.steps.end() - static_cast<std::ptrdiff_t>(recent); kept != run.steps.end(); ++kept) {
    if (kept->epoch != record.epoch || kept->step != record.step) continue;
    if (record.clock && !std::isnan(kept->clock)) {
      return std::abs(*record.clock - kept->clock) <= 2 * run.tick;
    }
    return record.seconds && std::abs(*record.seconds - kept->seconds) <= kNear * kept->seconds;
  }
  return false;
}

/// Sets the batch as stated, or by the growth of consumed samples.
void StepLog::note_batch(Run& run, const StepRecord& record) {
  if (record.batch) {
    run.batch_changes |= run.batch && *run.batch != *record.batch;
    run.batch = record.batch;
  }
  if (record.sequences_per_second) run.sequences_per_second = record.sequences_per_second;
  if (!record.global_step || !record.consumed) return;
  if (run.global_step && *record.global_step > *run.global_step) {
    const double growth = (*record.consumed - *run.consumed) / (*record.global_step - *run.global_step);
    run.growth_changes |= run.growth && *run.growth != growth;
    run.growth = growth;
    ++run.growths;
  }
  if (!run.global_step || *record.global_step != *run.global_step) {
    run.global_step = record.global_step;
    run.consumed = record.consumed;
  }
}

void StepLog::add(const StepRecord& record, Samples& out) {
  if (record.seconds && !sane(*record.seconds)) {
    out.warnings.add({name_, record.line, 1}, "",
                     fmt::format("{:.6g} s is not the time of a step; the line is left out", *record.seconds),
                     "correct or remove the line");
    return;
  }
  if (record.loss && std::isnan(*record.loss) && !std::exchange(lost_, true))
    out.warnings.add({name_, record.line, 1}, "loss", "is not a number; the steps are read all the same",
                     "use the steps of a healthy run if the run failed");
  if (out.sink != nullptr) out.sink->step(record, traits_.format, traits_.averages);
  if (records_ >= kRecords || (ranks_.size() >= kRanks && !ranks_.contains(record.rank))) {
    if (records_++ == kRecords) {
      out.warnings.add({name_, record.line, 1}, "",
                       fmt::format("more than {} lines of steps; the rest is left out", kRecords),
                       "split the file");
    }
    return;
  }
  auto rank = ranks_.find(record.rank);
  if (rank == ranks_.end()) rank = ranks_.emplace(std::string(record.rank), std::vector<Run>()).first;
  std::vector<Run>& runs = rank->second;
  if (runs.empty() || !goes_on(runs.back(), record)) {
    if (!runs.empty() && echoes(runs.back(), record)) return;
    if (runs.size() == kMostRuns) {
      out.warnings.add({name_, record.line, 1}, "",
                       fmt::format("more than {} runs; the line is left out", kMostRuns), "split the file");
      return;
    }
    runs.emplace_back().name = record.run;
  }
  Run& run = runs.back();
  run.echoed = false;
  const Kept kept{record.epoch,
                  record.step,
                  record.clock.value_or(kAbsent),
                  record.seconds.value_or(kAbsent),
                  record.line,
                  record.device_tokens_per_second.value_or(kAbsent),
                  record.device_flops_per_second.value_or(kAbsent),
                  record.batch.value_or(kAbsent)};
  const bool again =
      !run.steps.empty() && run.steps.back().epoch == record.epoch && run.steps.back().step == record.step;
  if (again) {
    // The earliest clock counts: a second line is printed a little later, a node's clock may be ahead.
    if (!record.since_epoch && record.clock && *record.clock < run.steps.back().clock)
      run.steps.back().clock = *record.clock;
    run.steps.back().seconds = kept.seconds;
  } else {
    run.steps.push_back(kept);
    ++records_;
  }
  if (record.clock) run.tick = std::max(run.tick, record.tick);
  // Records may be sorted by step, not by line.
  run.first_line = run.first_line == 0 ? record.line : std::min(run.first_line, record.line);
  run.last_line = std::max(run.last_line, record.line);
  note_batch(run, record);
}

/// Steps from one line to the next as the log is written: the most frequent difference, the smallest of
/// those. A larger one is a gap, as where somebody kept single lines, and the steps in it are not measured. 1
/// if no difference occurs twice: then nothing shows how many steps a line covers.
std::int64_t StepLog::interval_of(const Run& run) {
  std::map<std::int64_t, int> often;
  const Kept* before = nullptr;
  for (const Kept& k : run.steps) {
    if (std::isnan(k.seconds)) continue;
    if (before != nullptr) ++often[k.step - before->step];
    before = &k;
  }
  std::int64_t interval = 1;
  int most = 1;
  for (const auto& [steps, times] : often) {
    if (times <= most) continue;
    interval = steps;
    most = times;
  }
  return interval;
}

std::vector<StepLog::Value> StepLog::stated(const Run& run, bool averages, double& left_out) {
  std::vector<Value> values;
  const Kept* before = nullptr;
  const std::int64_t interval = averages ? interval_of(run) : 1;
  for (const Kept& k : run.steps) {
    if (std::isnan(k.seconds)) continue;
    double weight = 1;
    if (before != nullptr) weight = static_cast<double>(std::min(k.step - before->step, interval));
    values.push_back({k.seconds, weight});
    before = &k;
  }
  if (values.empty()) return values;
  const bool starts = run.steps.front().epoch == 0 && run.steps.front().step <= 1;
  bool warms_up = starts;
  if (!starts && values.size() > 1) {
    std::vector<std::pair<double, double>> others;
    for (std::size_t i = 1; i < values.size(); ++i) others.emplace_back(values[i].seconds, values[i].weight);
    warms_up = values.front().seconds > (1 + kWarmUp) * weighted_median(std::move(others));
  }
  if (warms_up) {
    values.erase(values.begin());
    left_out = 1;
  }
  return values;
}

/// Tokens or FLOPs of a device in a step, by lines with the rate and the time of the same steps: a rate and a step of
/// different paces would not belong together. The median, or the mean where the clock is too coarse for single lines:
/// its ticks cancel in a sum.
std::optional<double> StepLog::of_device_a_step(const Run& run, double Kept::*rate) {
  std::vector<double> counts;
  double sum = 0, steps = 0, seconds_of_all = 0;
  const Kept* before = nullptr;
  for (const Kept& k : run.steps) {
    double seconds = k.seconds, weight = 1;
    const bool by_clock = std::isnan(seconds) && before != nullptr && before->epoch == k.epoch;
    if (by_clock) {
      weight = static_cast<double>(k.step - before->step);
      seconds = (k.clock - before->clock) / weight;
    }
    before = &k;
    if (std::isnan(k.*rate) || !(seconds >= 0) || seconds > kSecondsMost) continue;
    if (sane(seconds)) counts.push_back(k.*rate * seconds);
    if (!by_clock) continue;
    sum += k.*rate * seconds * weight;
    seconds_of_all += seconds * weight;
    steps += weight;
  }
  if (steps > 1 && run.tick > kNear * seconds_of_all / steps) return sum / steps;
  return counts.size() > 1 ? std::optional(median(std::move(counts))) : std::nullopt;
}

/// Sequences by the last rate in the step times that it is of: in a log that warms up, or changes its pace, those
/// before do not belong to it.
std::optional<double> StepLog::sequences_a_step(const Run& run) {
  std::vector<double> seconds;
  for (auto k = run.steps.rbegin(); k != run.steps.rend() && seconds.size() < kRateSteps; ++k)
    if (sane(k->seconds)) seconds.push_back(k->seconds);
  if (seconds.empty() || !run.sequences_per_second) return std::nullopt;
  return *run.sequences_per_second * median(std::move(seconds));
}

std::vector<StepLog::Value> StepLog::differences(const Run& run, double& left_out, std::vector<Value>& all) {
  std::vector<Value> kept;
  for (std::size_t i = 1; i < run.steps.size(); ++i) {
    const Kept &from = run.steps[i - 1], &to = run.steps[i];
    if (from.epoch != to.epoch || std::isnan(from.clock) || std::isnan(to.clock)) continue;
    const double steps = static_cast<double>(to.step - from.step);
    const double seconds = (to.clock - from.clock) / steps;
    if (from.clock < kStart || to.step <= 1 || seconds > kSecondsMost) {
      left_out += steps;
      continue;
    }
    all.push_back({seconds, steps});
  }
  if (all.empty()) return kept;
  std::vector<std::pair<double, double>> values;
  for (const Value& v : all) values.emplace_back(v.seconds, v.weight);
  const double middle = weighted_median(std::move(values));
  for (const Value& v : all) {
    // A difference over many steps is off by one tick in total.
    const double slack = std::max(2 * run.tick / v.weight, kNear * middle);
    if (std::abs(v.seconds - middle) <= slack) {
      kept.push_back(v);
    } else {
      left_out += v.weight;
    }
  }
  return kept;
}

/// The steps of the last batch that has enough; nullopt if none has, or if the batch does not change.
std::optional<StepLog::Run> StepLog::of_one_batch(const Run& run) {
  if (!run.batch_changes) return std::nullopt;
  constexpr auto least = static_cast<std::size_t>(kFewestSteps);
  for (std::size_t end = run.steps.size(), begin = end; end > 0; end = begin) {
    begin = end - 1;
    while (begin > 0 && run.steps[begin - 1].batch == run.steps[end - 1].batch) --begin;
    if (end - begin < least) continue;
    Run one = run;
    one.steps.assign(run.steps.begin() + static_cast<std::ptrdiff_t>(begin),
                     run.steps.begin() + static_cast<std::ptrdiff_t>(end));
    one.batch = one.steps.back().batch;
    one.batch_changes = false;
    if (end < run.steps.size()) one.sequences_per_second.reset();  // it is of the last steps
    return one;
  }
  return std::nullopt;
}

/// Steps of the last batch where they are too few for of_one_batch(), which takes those of a batch before it.
std::optional<StepLog::Run> StepLog::of_new_batch(const Run& run) {
  const std::optional<Run> before = of_one_batch(run);
  if (!before || before->steps.back().step == run.steps.back().step) return std::nullopt;
  Run last = run;
  std::size_t begin = run.steps.size() - 1;
  while (run.steps[begin - 1].batch == run.steps.back().batch) --begin;
  // The clock of the step before shows how long the first one took.
  last.steps.assign(run.steps.begin() + static_cast<std::ptrdiff_t>(begin) - 1, run.steps.end());
  last.steps.front().seconds = kAbsent;
  last.batch = run.steps.back().batch;
  last.batch_changes = false;
  return last;
}

std::optional<StepSample> StepLog::sample_of(const Run& run) const {
  if (const auto one = of_one_batch(run)) {
    auto sample = sample_of(*one);
    const auto of = [](const Run& r) { return r.steps.back().step - r.steps.front().step; };
    const auto others = static_cast<double>(std::max<std::int64_t>(0, of(run) - of(*one)));
    if (sample) sample->left_out = static_cast<int>(std::min(sample->left_out + others, kCountMost));
    return sample;
  }
  StepSample s;
  double left_out = 0, clock_left_out = 0;
  std::vector<Value> values = stated(run, traits_.averages, left_out);
  std::vector<Value> all;
  const std::vector<Value> clock = differences(run, clock_left_out, all);
  const auto mean = [](const std::vector<Value>& all) {
    double sum = 0, weight = 0;
    for (const Value& v : all) {
      sum += v.seconds * v.weight;
      weight += v.weight;
    }
    return sum / weight;
  };
  const bool by_clock = values.empty();
  if (by_clock) {
    values = clock;
    left_out += clock_left_out;
  }
  if (values.empty()) return std::nullopt;
  std::vector<std::pair<double, double>> pairs;
  double steps = 0;
  for (const Value& v : values) {
    pairs.emplace_back(v.seconds, v.weight);
    steps += v.weight;
  }
  s.seconds = by_clock ? mean(values) : weighted_median(pairs);
  if (!sane(s.seconds)) return std::nullopt;
  const double tick = by_clock ? kTickToSigma * run.tick * static_cast<double>(pairs.size()) / steps : 0;
  s.count = static_cast<int>(std::min(steps, kCountMost));
  s.by_clock = by_clock;
  double unlike = 0;
  if (by_clock) {
    for (const Value& v : all) unlike += v.weight;
    unlike -= steps;
  } else {
    for (const Value& v : values)
      unlike += std::abs(v.seconds - s.seconds) > kNear * s.seconds ? v.weight : 0;
  }
  s.unlike = static_cast<int>(std::min(unlike, kCountMost));
  // A difference of a cut clock may be off by a tick, which says nothing of the pace.
  const auto without_tick = [&](const Value& v) {
    const double off = v.seconds - s.seconds, tick_of = by_clock ? run.tick / v.weight : 0;
    return s.seconds + std::copysign(std::max(0.0, std::abs(off) - tick_of), off);
  };
  const bool paces = by_clock && has_paces(s);
  std::vector<double> single;
  for (const Value& v : paces ? all : values) single.push_back(without_tick(v));
  set_range(std::move(single), s);
  if (pairs.size() > 1 || tick > 0) {
    const double middle = weighted_median(pairs);
    for (auto& [value, weight] : pairs) value = std::abs(value - middle);
    s.spread = std::max(kDeviationToSigma * weighted_median(std::move(pairs)), tick);
  }
  if (!by_clock && !clock.empty() && sane(mean(clock))) s.wall_seconds = mean(clock);
  s.basis = by_clock ? "differences of the printed clock" : traits_.basis;
  s.left_out = static_cast<int>(std::min(left_out, kCountMost));
  s.at = {name_, run.first_line, 1};
  s.last_line = run.last_line;
  s.format = traits_.format;
  std::optional<double> batch = run.batch_changes ? std::nullopt : run.batch;
  if (!run.batch && run.growths >= 2 && !run.growth_changes) batch = run.growth;
  if (batch && *batch >= 1 && *batch <= kCountMost && *batch == std::floor(*batch)) s.global_batch = batch;
  const auto rate = run.sequences_per_second;
  if (rate && *rate > 0 && *rate < kRateMost) s.sequences_per_second = rate;
  if (s.sequences_per_second) s.sequences_a_step = sequences_a_step(run);
  if (const auto tokens = of_device_a_step(run, &Kept::device_tokens))
    s.device_tokens_per_second = *tokens / s.seconds;
  if (const auto flops = of_device_a_step(run, &Kept::device_flops))
    s.device_flops_per_second = *flops / s.seconds;
  return s;
}

void StepLog::finish(const std::string& framework, std::optional<double> sequence, Samples& out) {
  const auto steps_of = [](const std::vector<Run>& runs) {
    std::size_t steps = 0;
    for (const Run& run : runs) steps += run.steps.size();
    return steps;
  };
  const std::vector<Run>* chosen = nullptr;
  std::string chosen_rank;
  for (const auto& [rank, runs] : ranks_) {
    if (chosen != nullptr && steps_of(runs) <= steps_of(*chosen)) continue;
    chosen = &runs;
    chosen_rank = rank;
  }
  if (chosen == nullptr) return;
  if (ranks_.size() > 1) {
    out.warnings.add({name_, chosen->front().steps.front().line, 1}, "",
                     fmt::format("{} ranks print {}; those of {} are used", ranks_.size(), traits_.format,
                                 chosen_rank.empty() ? "lines without a rank" : "rank " + chosen_rank),
                     "nothing to do: all ranks do the same steps");
  }
  for (const Run& run : *chosen) {
    if (auto sample = sample_of(run)) {
      sample->framework = framework;
      sample->sequence = sequence;
      if (has_paces(*sample) && sample->high > 0)
        out.warnings.add(
            sample->at, "",
            fmt::format("{} of {} steps take another time than {:.4g} s{}: {}", sample->unlike, seen(*sample),
                        sample->seconds, sample->by_clock ? " and are left out" : "",
                        range_words(sample->count, sample->low, sample->high)),
            "if the run has two paces, give the part of the log that is meant");
      if (sequence && sample->sequences_per_second) {
        sample->tokens_per_second = *sample->sequences_per_second * *sequence;
      }
      out.steps.push_back(std::move(*sample));
      const auto last = of_new_batch(run);
      if (auto grown = last ? sample_of(*last) : std::nullopt) {
        grown->framework = framework;
        grown->sequence = sequence;
        out.steps.push_back(std::move(*grown));
      }
      continue;
    }
    out.warnings.add({name_, run.steps.front().line, 1}, "",
                     fmt::format("{}: no step time is left from {} line{}: the first step includes compiling "
                                 "and loading, and a rate is a mean since the start",
                                 traits_.format, run.steps.size(), run.steps.size() == 1 ? "" : "s"),
                     "give a longer part of the log");
  }
  ranks_.clear();
}

}  // namespace trnplan::logs
