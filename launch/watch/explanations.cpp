#include "launch/watch/explanations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "io/input/scenario_text.h"
#include "models/framework/framework.h"
#include "models/step/step.h"
#include "topology/chip_graph.h"
#include "topology/rank_order.h"
#include "units/normal.h"

namespace trnplan::launch {

namespace {

/// The prior of a cause: its value x, 0 on the ideal machine, is exponential with mean `mean` up to `most`, or uniform
/// where that is 0. x: slow_node factor - 1; nic, spine share lost; jitter log-sd; late_node delay / ideal step. Steps
/// spread by `spread`, known to `spread_sd` (logarithms): loads of a shared network and of storage vary, though not
/// all.
struct CauseTraits {
  Cause cause;
  std::string_view name;
  double mean, most, guess;
  double spread, spread_sd;
};
constexpr std::array<CauseTraits, kCauses> kTraits = {
    {{Cause::slow_node, io::scenario_key::slow_node, 0.25, 4, 0, 0.01, 1},
     {Cause::nic, io::scenario_key::nic, 0, 0.95, 0.5, 0.01, 1},
     {Cause::spine, io::scenario_key::spine, 0, 0.95, 0.5, 0.02, 1.2},
     {Cause::jitter, io::scenario_key::jitter, 0.1, 1, 0.2, 0, 0.5},
     {Cause::late_node, io::scenario_key::late_node, 0.25, 4, 0, 0.02, 1.2},
     {Cause::prediction, "prediction", 0, 0, 0, 0.01, 1}}};
constexpr double kNothingWrong = 0.5;
/// Shares of the prior of a node's network: one of its NICs dead, one at half its rate.
constexpr double kOneDead = 0.25, kOneHalved = 0.25;
constexpr int kMostSolving = 12, kMostNodes = 3, kPoints = 2000;
/// Log of the step to which a value is solved; of random times, whose runs differ by more.
constexpr double kSolved = 2e-4, kRandomSolved = 2e-3;
/// Passes in which random times are solved; tasks of a run that are too many; runs by which the spread is known.
constexpr double kJitterPasses = 13'000, kMostJitterTasks = 100'000, kMostRuns = 40;
constexpr int kLeastRuns = 5;

const CauseTraits& traits_of(Cause cause) {
  return kTraits[static_cast<std::size_t>(cause)];
}

/// Rounded to as many digits as are printed, so that the printed scenario is the simulated one.
double rounded(double value) {
  return std::stod(fmt::format("{:.4g}", value));
}

struct Sample {
  double x = 0, log_times = 0;
  double spread = 0;  ///< log-sd of single steps
};
/// Ascending by x; begins with the ideal machine.
struct Curve {
  std::vector<Sample> samples;
  std::optional<Sample> solved;

  double at(double x) const {
    auto above = std::upper_bound(samples.begin(), samples.end(), x,
                                  [](double value, const Sample& s) { return value < s.x; });
    if (samples.size() < 2) return 0;
    if (above == samples.end()) --above;
    const Sample &low = *(above - 1), &high = *above;
    return low.log_times + (x - low.x) / (high.x - low.x) * (high.log_times - low.log_times);
  }
};

class Simulator {
 public:
  Simulator(const models::Job& job, const models::Strategy& strategy, const models::Profile& profile)
      : job_(job),
        strategy_(strategy),
        model_(job, strategy, profile, topology::ChipGraph(job.cluster.instance)),
        ideal_(model_.simulate().step),
        nodes_(different_nodes(job, strategy)) {
    passes_ = static_cast<double>(strategy.data_parallel) * strategy.pipeline_parallel *
              models::micro_batches(job.training, strategy);
    runs_ = static_cast<int>(std::clamp(kJitterPasses / passes_, 1.0, kMostRuns));
  }

  /// True if a run with random times is small enough. A pass is some four tasks, with its messages; where operators are
  /// tasks, or collectives of its layers, some ten a layer.
  bool has_runs() const {
    const models::Framework& loop = models::framework_of(strategy_);
    const auto many = [&] {
      return loop.units(strategy_).has_value() || loop.reduces_with_backward(strategy_) ||
             !model_.has_whole_passes(scenario(Cause::jitter, 0.1, 0));
    };
    const double layers = job_.architecture.layers;
    return passes_ * 10 * layers <= kMostJitterTasks || (passes_ * 4 <= kMostJitterTasks && !many());
  }

  models::Scenario scenario(Cause cause, double x, int node) const {
    models::Scenario s;
    const int cores = job_.cluster.instance.cores();
    if (cause == Cause::slow_node) s.slow = {{node * cores, cores, rounded(1 + x)}};
    if (cause == Cause::nic) s.nodes = {{node, {.network = rounded(1 - x)}}};
    if (cause == Cause::late_node) s.nodes = {{node, {.late = Seconds(rounded(x * ideal_.value))}}};
    if (cause == Cause::spine) s.spine = rounded(1 - x);
    if (cause == Cause::jitter) s.random = {rounded(x), runs_, 1};
    return s;
  }

  Sample sample(Cause cause, double x, int node) const {
    const models::Scenario s = scenario(cause, x, node);
    if (s.random.runs > 1 && s.is_random()) return sample_of_runs(s);
    return {x, std::log(model_.simulate({.scenario = s}).step / ideal_), 0};
  }
  /// The sample of a scenario with random times, of enough runs.
  Sample sample_of_runs(const models::Scenario& s) const {
    const models::StepRuns runs = model_.simulate_runs(s);
    return {s.random.log_sd, std::log(runs.median.step / ideal_),
            std::log(runs.runs.high / runs.runs.low) / (2 * kNinetyPercent)};
  }

  /// The node on which a cause with the value x slows the step most.
  int node_for(Cause cause, double x) const {
    int worst = 0;
    double most = -1;
    for (const int node : nodes_) {
      if (nodes_.size() == 1 || cause == Cause::spine || cause == Cause::jitter) return node;
      const double slower = sample(cause, x, node).log_times;
      if (slower > most + kSolved) most = slower, worst = node;
    }
    return worst;
  }

 private:
  /// The first nodes with different pipeline stages, at most kMostNodes: with the first stage, the last, and between.
  static std::vector<int> different_nodes(const models::Job& job, const models::Strategy& s) {
    const topology::RankOrder order(
        job.cluster, {s.tensor_parallel, s.context_parallel, s.data_parallel, s.pipeline_parallel});
    std::map<std::set<int>, int> first;  // by stages
    const int cores = job.cluster.instance.cores();
    for (int node = 0; node < job.cluster.nodes; ++node) {
      std::set<int> stages;
      for (int core = 0; core < cores; ++core) stages.insert(order.stage_of(node * cores + core));
      first.try_emplace(std::move(stages), node);
    }
    std::vector<int> all, some;
    for (const auto& [stages, node] : first) all.push_back(node);
    const std::size_t count = std::min<std::size_t>(all.size(), kMostNodes);
    for (std::size_t i = 0; i < count; ++i)
      some.push_back(all[count == 1 ? 0 : i * (all.size() - 1) / (count - 1)]);
    return some;
  }

  const models::Job& job_;
  const models::Strategy& strategy_;
  models::StepModel model_;
  Seconds ideal_;
  std::vector<int> nodes_;
  double passes_ = 0;
  int runs_ = 0;
};

/// Solves the value with which the step is exp(target) times as long: false position, halved where one end stays.
Curve solve(const Simulator& simulator, const CauseTraits& t, int node, double target) {
  Curve curve{{{}}, std::nullopt};
  const auto add = [&](double x) {
    const Sample s = simulator.sample(t.cause, x, node);
    curve.samples.insert(std::upper_bound(curve.samples.begin(), curve.samples.end(), s,
                                          [](const Sample& a, const Sample& b) { return a.x < b.x; }),
                         s);
    return s;
  };
  Sample low, high{t.most, 0, 0};
  const double solved = t.cause == Cause::jitter ? kRandomSolved : kSolved;
  bool bracketed = false;
  int kept = 0;  // times that the same end stayed, with its sign
  double x = std::min(t.most, t.guess > 0 ? t.guess : std::exp(target) - 1);
  for (int i = 0; i < kMostSolving; ++i) {
    const Sample s = add(x);
    const bool below = s.log_times < target;
    if (std::abs(s.log_times - target) < solved) {
      curve.solved = s;
      return curve;
    }
    if (below && x >= t.most) return curve;  // never that slow
    kept = below ? std::max(1, kept + 1) : std::min(-1, kept - 1);
    (below ? low : high) = s;
    bracketed = bracketed || !below;
    const double share = (target - low.log_times) / (high.log_times - low.log_times);
    if (!bracketed) {
      // The logarithm grows with a power from 1 to 2 of random times, and slower than the others' values.
      const double power = std::pow(target / std::max(s.log_times, 1e-9), 2.0 / 3);
      x = std::min(t.most, x * (t.cause == Cause::jitter ? std::clamp(power, 1.05, 4.0) : 2));
    } else {
      x = low.x + (high.x - low.x) * (std::abs(kept) > 1 ? 0.5 : share);
    }
  }
  if (bracketed)
    curve.solved = std::abs(low.log_times - target) < std::abs(high.log_times - target) ? low : high;
  return curve;
}

double normal(double value, double mean, double sd) {
  return normal_density((value - mean) / sd) / sd;
}

/// Density of the observed spread of single steps; the same for all causes where it is unknown.
double spread_likelihood(const SlowSteps& slow, const CauseTraits& t, const Curve& curve) {
  if (!slow.spread) return 1;
  const double usual = traits_of(Cause::prediction).spread;
  double spread = t.spread;
  if (t.cause == Cause::jitter)
    spread = std::hypot(usual, (curve.solved ? *curve.solved : curve.samples.back()).spread);
  const double sd = std::hypot(t.spread_sd, 1 / std::sqrt(2.0 * slow.steps));
  return normal(std::log(std::max(*slow.spread, 1e-6)), std::log(spread), sd);
}

/// The integral over the values of a cause.
double evidence(const SlowSteps& slow, const CauseTraits& t, const Curve& curve, int nics) {
  const double observed = std::log(slow.seconds / slow.expected);
  const auto likelihood = [&](double x) { return normal(observed, curve.at(x), slow.log_sd); };
  if (t.cause == Cause::prediction) return likelihood(0);
  double sum = 0, mass = 0;
  for (int i = 0; i < kPoints; ++i) {
    const double x = t.most * (i + 0.5) / kPoints, density = t.mean > 0 ? std::exp(-x / t.mean) : 1;
    sum += density * likelihood(x);
    mass += density;
  }
  if (t.cause != Cause::nic) return sum / mass;
  const double dead = nics > 1 ? kOneDead : 0;  // the only one ends the run
  return dead * likelihood(1.0 / nics) + kOneHalved * likelihood(0.5 / nics) +
         (1 - dead - kOneHalved) * sum / mass;
}

double value_of(Cause cause, const models::Scenario& s) {
  if (cause == Cause::slow_node) return s.slow.front().factor;
  if (cause == Cause::nic) return s.nodes.front().state.network;
  if (cause == Cause::late_node) return s.nodes.front().state.late.value;
  return cause == Cause::spine ? s.spine : s.random.log_sd;
}

class Explainer {
 public:
  Explainer(const SlowSteps& slow, const models::Job& job, const models::Strategy& strategy,
            const models::Profile& profile)
      : slow_(slow), cluster_(job.cluster), simulator_(job, strategy, profile) {}

  std::vector<Explanation> all() {
    for (const CauseTraits& t : kTraits) {
      if (!is_possible(t.cause)) continue;
      try {
        add(t);
      } catch (const std::overflow_error&) {  // beyond the clock, or too many passes
      }
    }
    return ranked();
  }

 private:
  bool is_possible(Cause cause) const {
    if (cause == Cause::jitter) return simulator_.has_runs();
    return (cause != Cause::nic && cause != Cause::spine) ||
           (cluster_.nodes > 1 && cluster_.instance.nics > 0);
  }

  void add(const CauseTraits& t) {
    Explanation e;
    e.cause = t.cause;
    Curve curve{{{}}, std::nullopt};
    const double times = slow_.seconds / slow_.expected;
    if (t.cause == Cause::prediction) {
      e.value = times;
      e.reaches = true;
    } else {
      const int node = simulator_.node_for(t.cause, t.guess > 0 ? t.guess : times - 1);
      curve = solve(simulator_, t, node, std::log(times));
      Sample& at = curve.solved ? *curve.solved : curve.samples.back();
      e.scenario = simulator_.scenario(t.cause, at.x, node);
      if (e.scenario.is_random()) {
        e.scenario.random.runs = std::max(kLeastRuns, e.scenario.random.runs);
        at = simulator_.sample_of_runs(e.scenario);
      }
      e.value = value_of(t.cause, e.scenario);
      e.times = std::exp(at.log_times);
      e.reaches = curve.solved.has_value();
    }
    const double prior = t.cause == Cause::prediction ? kNothingWrong : 1 - kNothingWrong;
    e.probability =
        prior * evidence(slow_, t, curve, cluster_.instance.nics) * spread_likelihood(slow_, t, curve);
    found_.push_back(std::move(e));
  }

  std::vector<Explanation> ranked() {
    const double faults = static_cast<double>(found_.size()) - 1;
    double sum = 0;
    for (Explanation& e : found_) {
      if (e.cause != Cause::prediction) e.probability /= faults;
      sum += e.probability;
    }
    std::stable_sort(found_.begin(), found_.end(),
                     [](const auto& a, const auto& b) { return a.probability > b.probability; });
    double most = 0;
    for (const Explanation& e : found_) most = std::max(most, e.reaches ? e.probability : 0);
    for (Explanation& e : found_) {
      e.as_likely = e.reaches && e.probability * kDistinct >= most;
      e.probability = sum > 0 ? e.probability / sum : 0;
    }
    return std::move(found_);
  }

  const SlowSteps& slow_;
  const topology::Cluster& cluster_;
  Simulator simulator_;
  std::vector<Explanation> found_;
};

}  // namespace

std::string_view to_string(Cause cause) {
  return traits_of(cause).name;
}

std::vector<Explanation> explain(const SlowSteps& slow, const models::Job& job,
                                 const models::Strategy& strategy, const models::Profile& profile) {
  return Explainer(slow, job, strategy, profile).all();
}

}  // namespace trnplan::launch
