#include "planner/cost/goodput.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "planner/cost/draws.h"
#include "planner/cost/run_spread.h"
#include "units/quantity.h"

namespace trnplan::planner {

namespace {

using P = ReliabilityParameter;

struct Named {
  std::string_view name, unit;
  bool share = false;
};
constexpr Named kParameters[] = {{"failure_rate", "1/day"},
                                 {"detection", "s"},
                                 {"replacement", "s"},
                                 {"replacement_share", "1", true},
                                 {"restart", "s"},
                                 {"manual_response", "s"},
                                 {"manual_share", "1", true},
                                 {"storage_per_node", "bytes/s"},
                                 {"load_ratio", "1"},
                                 {"asynchronous_stall", "s"},
                                 {"spot_interruption", "1/day"},
                                 {"storage_throughput", "bytes/s"}};
static_assert(std::size(kParameters) == kReliabilityParameters);

Seconds recovery_of(const FailureModel& m, Random& random) {
  Seconds length = m.recovery;
  if (random.uniform() < m.replacement_share) length += m.replacement;
  if (random.uniform() < m.person_share) length += m.person;
  return length;
}

/// One run in progress. Times are Seconds since its start: months exceed the engine's clock.
class RunSimulation {
 public:
  RunSimulation(const FailureModel& m, Seconds interval, Seconds work, Random& random)
      : m_(m), interval_(interval), work_(work), random_(random) {
    next_failure_ = Seconds(random_.exponential(m_.mtbf.value));
  }

  SimulatedRun run() {
    while (done_ < work_) {
      work_until_failure();
      const Seconds stop = std::min(resumed_ + interval_, work_);
      if (!pass(stop - done_)) continue;
      done_ = stop;
      if (done_ < work_) save();
    }
    run_.wall = clock_;
    run_.goodput = work_ / clock_;
    run_.uptime = 1 - run_.recovering / clock_;
    return run_;
  }

 private:
  /// Advances by `time`. False if a failure came first; the run has then recovered from it.
  bool pass(Seconds time) {
    const Seconds end = clock_ + time;
    if (next_failure_ < end) {
      fail();
      return false;
    }
    clock_ = end;
    settle();
    return true;
  }

  /// Skips intervals whose checkpoints are safe before the next one is saved, up to the last one before a
  /// failure or the end. The result is that of the loop in run(). The first interval may have begun; whole ones,
  /// each with its checkpoint, are skipped as long as they end before both.
  void work_until_failure() {
    const Seconds stop = resumed_ + interval_, saved = clock_ + (stop - done_) + m_.stall;
    const bool waits = m_.unsafe > interval_ || (written_ && written_->first > saved - m_.stall);
    if (waits || next_failure_ < saved || stop >= work_) return;
    if (written_) safe_ = written_->second;
    const Seconds each = interval_ + m_.stall;
    double whole =
        std::min(std::floor((next_failure_ - saved) / each), std::ceil((work_ - stop) / interval_) - 1);
    while (whole > 0 && (saved + whole * each > next_failure_ || stop + whole * interval_ >= work_)) --whole;
    whole = std::max(whole, 0.0);
    clock_ = saved + whole * each;
    done_ = resumed_ = stop + whole * interval_;
    if (whole > 0) safe_ = done_ - interval_;
    written_ = {clock_ + m_.unsafe, done_};
    settle();
  }

  /// Marks the checkpoint in progress as safe once its time has come.
  void settle() {
    if (!written_ || clock_ < written_->first) return;
    safe_ = written_->second;
    written_.reset();
  }

  void save() {
    if (written_ && !pass(written_->first - clock_)) return;  // the previous one is not written yet
    if (!pass(m_.stall)) return;
    resumed_ = done_;
    written_ = {clock_ + m_.unsafe, done_};
    settle();
  }

  void fail() {
    clock_ = next_failure_;
    settle();
    written_.reset();
    done_ = resumed_ = safe_;
    for (bool recovered = false; !recovered;) {
      ++run_.failures;
      const Seconds end = clock_ + recovery_of(m_, random_);
      next_failure_ = clock_ + Seconds(random_.exponential(m_.mtbf.value));
      recovered = next_failure_ >= end;
      const Seconds until = recovered ? end : next_failure_;
      run_.recovering += until - clock_;
      clock_ = until;
    }
  }

  const FailureModel& m_;
  Seconds interval_, work_;
  Random& random_;
  Seconds clock_{}, next_failure_{};
  /// Work done now, at the last checkpoint, and in the last safe checkpoint, which no failure takes away.
  Seconds done_{}, resumed_{}, safe_{};
  std::optional<std::pair<Seconds, Seconds>> written_;  ///< when it is safe, and the work in it
  SimulatedRun run_;
};

constexpr double kMostEvents = 1e6;
/// Least progress of a simulated run: below it, a run takes so long that the closed form gives the same.
constexpr double kLeastProgress = 0.01;
/// Failures and intervals from which on the length of a run is normal: its skewness is below 2 / sqrt(300).
constexpr double kMany = 300;

/// Goodput and uptime of one sampled run.
std::pair<double, double> run_once(const FailureModel& m, Seconds interval, Seconds work, Random& random) {
  const double expected = goodput(m, interval);
  if (expected < kLeastProgress || work.value <= 0) return {expected, uptime(m)};
  const double intervals = work / interval, failures = work / m.mtbf / expected;
  if (intervals >= kMany && failures >= kMany) {
    const double spread = interval_spread(m, interval) / std::sqrt(intervals);
    return {expected * std::exp(-spread * random.normal()), uptime(m)};
  }
  if (intervals / expected + failures >= kMostEvents) return {expected, uptime(m)};
  const SimulatedRun run = RunSimulation(m, interval, work, random).run();
  return {run.goodput, run.uptime};
}

}  // namespace

std::string_view to_string(P p) {
  return kParameters[static_cast<std::size_t>(p)].name;
}
std::string_view unit_of(P p) {
  return kParameters[static_cast<std::size_t>(p)].unit;
}
bool is_share(P p) {
  return kParameters[static_cast<std::size_t>(p)].share;
}

bool may_be_absent(P p) {
  return p == P::spot_interruption || p == P::storage_per_node || p == P::storage_throughput;
}

double failing_hosts(const topology::Instance& machine) {
  if (machine.hosts == 1) return 1;
  return machine.hosts * std::min(1.0, static_cast<double>(machine.host_chips()) / kAcceleratorsOfHost);
}

double Reliability::failures_of_node(double hosts) const {
  return (*this)[P::failure_rate] * (rate_of_node ? 1 : hosts);
}

P Reliability::storage_parameter() const {
  return (*this)[P::storage_throughput] > 0 ? P::storage_throughput : P::storage_per_node;
}

BytesPerSecond Reliability::storage(int nodes) const {
  const P of = storage_parameter();
  return BytesPerSecond((*this)[of] * (of == P::storage_per_node ? std::max(nodes, kFewestStorageNodes) : 1));
}

Seconds FailureModel::mean_recovery() const {
  return recovery + replacement_share * replacement + person_share * person;
}

FailureModel failure_model(const Reliability& r, const RunShape& run) {
  const Seconds write = run.checkpoint / r.storage(run.nodes);
  FailureModel m;
  const double interruptions = run.spot ? r[P::spot_interruption] : 0;
  const double rate = r.failures_of_node(run.hosts) + interruptions;
  m.mtbf = Seconds(kDay / (run.nodes * rate));
  m.interruption_share = interruptions / rate;
  m.recovery = Seconds(r[P::restart]) + r[P::load_ratio] * write;
  m.person = Seconds(r[P::manual_response]);
  if (run.recovery == Recovery::manual) {  // a person's response includes noticing and replacing
    m.person_share = 1;
  } else {
    m.recovery += Seconds(r[P::detection]);
    m.replacement = Seconds(r[P::replacement]);
    m.replacement_share = r[P::replacement_share];
    // Each interruption takes a node away.
    if (run.spot) m.replacement_share += (1 - m.replacement_share) * interruptions / rate;
    m.person_share = r[P::manual_share];
  }
  m.stall = run.asynchronous ? Seconds(r[P::asynchronous_stall]) : write;
  if (run.asynchronous) m.unsafe = write;
  return m;
}

double uptime(const FailureModel& m) {
  const auto survives = [&](Seconds s) { return std::exp(-(s / m.mtbf)); };
  const auto mixed = [&](double share, Seconds s) { return 1 - share + share * survives(s); };
  return survives(m.recovery) * mixed(m.replacement_share, m.replacement) * mixed(m.person_share, m.person);
}

double goodput(const FailureModel& m, Seconds interval) {
  // One asynchronous checkpoint is written at a time: if intervals are shorter than a write, training waits
  // for it.
  const Seconds period = std::max(interval, m.unsafe) + m.stall;
  return uptime(m) * std::exp(-(m.unsafe / m.mtbf)) * (interval / m.mtbf) / std::expm1(period / m.mtbf);
}

Seconds young_interval(Seconds stall, Seconds mtbf) {
  return Seconds(std::sqrt(2 * stall.value * mtbf.value));
}

Seconds daly_interval(Seconds stall, Seconds mtbf) {
  if (stall >= 2 * mtbf) return mtbf;
  const double ratio = stall / (2 * mtbf);
  return young_interval(stall, mtbf) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - stall;
}

Seconds best_interval(const FailureModel& m) {
  double low = 0, high = 1;  // tau / M
  const double delta = m.stall / m.mtbf;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = (low + high) / 2;
    if (middle == low || middle == high) break;
    const bool before = std::log1p(-middle) + middle + delta > 0;
    (before ? low : high) = middle;
  }
  return std::max(low * m.mtbf, m.unsafe);
}

int best_steps(const FailureModel& m, Seconds step) {
  constexpr double most = 1e9;
  const double wanted = best_interval(m) / step;
  const double below = std::clamp(std::floor(wanted), 1.0, most);
  const double above = std::clamp(std::ceil(wanted), 1.0, most);
  if (below * step < m.unsafe) return static_cast<int>(above);
  return static_cast<int>(goodput(m, below * step) >= goodput(m, above * step) ? below : above);
}

SimulatedRun simulate_run(const FailureModel& m, Seconds interval, Seconds work, std::uint64_t seed) {
  Random random(seed);
  return RunSimulation(m, interval, work, random).run();
}

GoodputEstimate estimate_goodput(const Reliability& reliability, const RunShape& run,
                                 const SamplingOptions& options) {
  GoodputEstimate e;
  e.model = failure_model(reliability, run);
  e.every_steps = run.every_steps > 0 ? run.every_steps : best_steps(e.model, run.step);
  e.interval = e.every_steps * run.step;
  e.young = young_interval(e.model.stall, e.model.mtbf);
  e.daly = daly_interval(e.model.stall, e.model.mtbf);
  e.goodput = goodput(e.model, e.interval);
  e.uptime = uptime(e.model);
  Random random(options.seed);
  const StratifiedNormals normals(options.draws, kReliabilityParameters, random);
  std::vector<double> goodputs, uptimes;
  for (int i = 0; i < options.draws; ++i) {
    const auto normal = [&](std::size_t p) { return normals(static_cast<std::size_t>(i), p); };
    const FailureModel drawn = failure_model(drawn_from(reliability, normal, run.spot), run);
    Random own(random.seed());  // so that almost equal plans have almost equal runs
    const auto [good, up] = run_once(drawn, e.interval, run.work, own);
    goodputs.push_back(good);
    uptimes.push_back(up);
  }
  if (goodputs.empty()) {
    e.goodput_90 = {e.goodput, e.goodput};
    e.uptime_90 = {e.uptime, e.uptime};
    return e;
  }
  const Percentiles good = percentiles(std::move(goodputs)), up = percentiles(std::move(uptimes));
  e.goodput = good.median < kNoProgress ? 0 : good.median;
  e.goodput_90 = good.ninety;
  e.uptime = up.median;
  e.uptime_90 = up.ninety;
  return e;
}

double implied_failure_rate(double wanted, const Reliability& medians, const RunShape& run) {
  if (!(wanted > 0 && wanted < 1))
    throw std::invalid_argument("an uptime is between 0 and 1, and at 0 or 1 no rate follows from it");
  Reliability r = medians;
  const auto up = [&](double log_rate) {
    r.value(P::failure_rate).median = std::exp(log_rate);
    return uptime(failure_model(r, run));
  };
  double low = -100, high = 100;  // of the logarithm: far beyond any machine
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (up(middle) > wanted ? low : high) = middle;
  }
  return std::exp(low);
}

}  // namespace trnplan::planner
