#include "models/memory/fit_probability.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "models/parameters/allocator_parameters.h"
#include "units/normal.h"

namespace trnplan::models {

namespace {

/// Number of standard deviations beyond which a double cannot tell a probability from 0 or 1.
constexpr double kSurely = 8;

/// The factors: one for each of three terms, then the two that terms share.
enum Factor { kActivations, kTransient, kRuntime, kFragmentation, kDistance, kFactors };

/// Position of the states among the terms, after those with a factor of their own.
constexpr std::size_t kStates = kRuntime + 1;

/// Fragmentation of a stage's pool.
const Value& fragmentation_of(const StageMemory& m, const Profile& profile) {
  return profile.value(m.mixed ? allocator::mixed_fragmentation : common::fragmentation);
}

/// The factors of one stage, from the profile.
struct Doubt {
  double activations, transient, states;  ///< medians times that of fragmentation
  std::array<double, kFactors> log_sd;
};

Doubt doubt_of(const StageMemory& m, const Profile& profile, double extra_log_sd) {
  const Value& kept = profile.value(m.one_graph ? common::fused_activations : common::kept_activations);
  const Value& transient = profile.value(common::transient_memory);
  const Value& fragmentation = fragmentation_of(m, profile);
  return {kept.median * fragmentation.median,
          transient.median * fragmentation.median,
          fragmentation.median,
          {kept.log_sd, transient.log_sd, profile.value(common::runtime_reserve).log_sd, fragmentation.log_sd,
           extra_log_sd}};
}

/// The medians of the uncertain terms at one instant. The last are the states of a pool, else 0.
using Terms = std::array<double, kStates + 1>;

Bytes states_of(const StageMemory& m) {
  return m.parameters + m.gradients + m.optimizer;
}

/// States that no factor changes.
Bytes sure_of(const StageMemory& m) {
  return m.pooled ? Bytes{} : states_of(m);
}

Terms terms_of(const StageMemory& m, const MemoryMoment& at, const Doubt& doubt) {
  return {doubt.activations * at.activations.value, doubt.transient * (at.logits + at.staging).value,
          m.runtime.value, m.pooled ? doubt.states * states_of(m).value : 0.0};
}

double sum_of(const Terms& terms) {
  return terms[0] + terms[1] + terms[2] + terms[kStates];
}

/// Logarithm of the terms' sum at a point of the standard normal space, and its gradient there.
struct LogSum {
  double value;
  std::array<double, kFactors> gradient;
};

LogSum log_sum(const Terms& terms, const Doubt& doubt, const std::array<double, kFactors>& u) {
  const auto& sd = doubt.log_sd;
  const double shared = std::exp(sd[kFragmentation] * u[kFragmentation]);
  const Terms now = {terms[0] * std::exp(sd[kActivations] * u[kActivations]) * shared,
                     terms[1] * std::exp(sd[kTransient] * u[kTransient]) * shared,
                     terms[2] * std::exp(sd[kRuntime] * u[kRuntime]), terms[kStates] * shared};
  const double temporary = now[0] + now[1], far = sd[kDistance] * u[kDistance];
  if (now[kStates] <= 0) {  // the distance multiplies everything
    const double sum = sum_of(now);
    return {std::log(sum) + far,
            {now[0] / sum * sd[kActivations], now[1] / sum * sd[kTransient], now[2] / sum * sd[kRuntime],
             temporary / sum * sd[kFragmentation], sd[kDistance]}};
  }
  const double factor = std::exp(far), distant = (temporary + now[2]) * factor, sum = distant + now[kStates];
  const double share = factor / sum;
  return {std::log(sum),
          {now[0] * share * sd[kActivations], now[1] * share * sd[kTransient], now[2] * share * sd[kRuntime],
           (temporary * factor + now[kStates]) / sum * sd[kFragmentation], distant / sum * sd[kDistance]}};
}

double product(const std::array<double, kFactors>& a, const std::array<double, kFactors>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Factor by which the median of the terms' sum exceeds the sum of their medians, `at` which their logarithms are.
double convexity(const Terms& terms, const Doubt& doubt, const LogSum& at) {
  const auto& sd = doubt.log_sd;
  const double sum = sum_of(terms);
  const double square = product(at.gradient, at.gradient);
  if (square <= 0) return 1;
  double shift = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    std::array<double, kFactors> own{};
    if (i != kStates) own[i] = sd[i];
    if (i != kRuntime) own[kFragmentation] = sd[kFragmentation];
    if (i != kStates) own[kDistance] = sd[kDistance];
    const double along = product(own, at.gradient);
    shift += terms[i] / sum * (product(own, own) - along * along / square) / 2;
  }
  return std::exp(shift);
}

/// Standard deviations from the medians to the room: the distance of the nearest point at which the terms
/// need all of it. Where it is below `enough`, perhaps another value below that, which takes less time. `toward`, if
/// not null, becomes the direction of that point, of length 1; it stays as it is where no point is.
double reliability(Terms terms, const Doubt& doubt, double room, double enough = -kSurely,
                   std::array<double, kFactors>* toward = nullptr) {
  const auto& sd = doubt.log_sd;
  // Exact terms take their share of the room; the others may not be able to keep all of the rest.
  if (sd[kFragmentation] <= 0 && sd[kDistance] <= 0) {
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (i != kStates && sd[i] > 0) continue;
      room -= terms[i];
      terms[i] = 0;
    }
  }
  const double sum = sum_of(terms);
  if (room <= 0) return -kSurely;
  if (sum <= 0) return room >= 0 ? kSurely : -kSurely;
  const LogSum at_medians = log_sum(terms, doubt, {});
  const auto point = [&](const LogSum& at) {
    const double length = std::sqrt(product(at.gradient, at.gradient));
    for (std::size_t i = 0; i < kFactors && toward != nullptr && length > 0; ++i)
      (*toward)[i] = at.gradient[i] / length;
  };
  point(at_medians);
  const double wanted = std::log(room / convexity(terms, doubt, at_medians));
  // No point within kSurely standard deviations changes the sum by more than this.
  const double most = kSurely * (std::max({sd[kActivations], sd[kTransient], sd[kRuntime]}) +
                                 sd[kFragmentation] + sd[kDistance]);
  const double above = wanted - std::log(sum);
  if (std::abs(above) >= most) return above >= 0 ? kSurely : -kSurely;
  constexpr int kMostRounds = 60, kUndamped = 8;
  constexpr double kConverged = 1e-9, kMargin = 1e-6;
  std::array<double, kFactors> u{};
  double beta = 0;
  for (int round = 0; round < kMostRounds; ++round) {
    const LogSum at = round == 0 ? at_medians : log_sum(terms, doubt, u);
    const double length = std::sqrt(product(at.gradient, at.gradient));
    const double next = (wanted - at.value + product(at.gradient, u)) / length;
    // The logarithm of the sum is convex, above its tangents: no nearest point is farther than where a tangent has it.
    if (next < enough - kMargin) return std::max(next, -kSurely);
    point(at);
    const double step = round < kUndamped ? 1 : 0.5;
    for (std::size_t i = 0; i < u.size(); ++i) u[i] += step * (next * at.gradient[i] / length - u[i]);
    const bool converged = round > 0 && std::abs(next - beta) < kConverged;
    beta = next;
    if (converged) break;
  }
  return std::clamp(beta, -kSurely, kSurely);
}

/// Student's t with three degrees of freedom, which has a closed form.
double student_probability(double t) {
  const double x = t / std::numbers::sqrt3;
  return 0.5 + (x / (1 + x * x) + std::atan(x)) / std::numbers::pi;
}

/// Inverse of student_probability() between -kSurely and kSurely.
double student_quantile(double p) {
  double low = -kSurely, high = kSurely;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (student_probability(middle) < p ? low : high) = middle;
  }
  return high;
}

double probability_of(const StageMemory& m, double beta) {
  if (std::abs(beta) >= kSurely) return beta > 0 ? 1 : 0;
  return m.pooled ? student_probability(beta) : normal_probability(beta);
}

/// The instant that decides, and its reliability.
struct Decisive {
  const MemoryMoment* moment;
  double reliability;
};

Decisive decisive_of(const StageMemory& m, const Doubt& doubt, Bytes limit) {
  const double room = (limit - sure_of(m)).value;
  Decisive worst{&m.moments.front(), kSurely};
  Terms before{};
  for (const MemoryMoment& moment : m.moments) {
    const Terms terms = terms_of(m, moment, doubt);
    // An instant with less of everything than an earlier one cannot decide.
    if (&moment != &m.moments.front() && terms[0] <= before[0] && terms[1] <= before[1]) continue;
    const double beta = reliability(terms, doubt, room);
    if (beta < worst.reliability || &moment == &m.moments.front()) {
      worst = {&moment, beta};
      before = terms;
    }
  }
  return worst;
}

}  // namespace

FitDistribution fit_distribution(const StageMemory& m, Bytes limit, const Profile& profile,
                                 double extra_log_sd) {
  const Doubt doubt = doubt_of(m, profile, extra_log_sd);
  const Decisive decisive = decisive_of(m, doubt, limit);
  const Terms terms = terms_of(m, *decisive.moment, doubt);
  FitDistribution d;
  d.sure = sure_of(m);
  d.median = d.sure;
  if (sum_of(terms) > 0) {
    const LogSum at = log_sum(terms, doubt, {});
    d.median += Bytes(sum_of(terms) * convexity(terms, doubt, at));
    d.log_sd = std::sqrt(product(at.gradient, at.gradient));
  }
  d.probability = probability_of(m, decisive.reliability);
  d.instant = decisive.moment->instant;
  return d;
}

FitDistribution fit_distribution(const Memory& memory, const Profile& profile, double extra_log_sd) {
  FitDistribution worst;
  for (const StageMemory& m : memory.stages) {
    const FitDistribution d = fit_distribution(m, memory.limit, profile, extra_log_sd);
    const bool first = &m == &memory.stages.front();
    if (first || d.probability < worst.probability ||
        (d.probability == worst.probability && worst.median < d.median))
      worst = d;
  }
  return worst;
}

FitPoint fit_point(const Memory& memory, Bytes limit, const Profile& profile, double extra_log_sd) {
  FitPoint worst;
  for (const StageMemory& m : memory.stages) {
    const Doubt doubt = doubt_of(m, profile, extra_log_sd);
    const Decisive decisive = decisive_of(m, doubt, limit);
    const double probability = probability_of(m, decisive.reliability);
    if (&m != &memory.stages.front() && probability >= worst.probability) continue;
    std::array<double, kFactors> toward{};
    (void)reliability(terms_of(m, *decisive.moment, doubt), doubt, (limit - sure_of(m)).value, -kSurely,
                      &toward);
    worst = {probability, {}};
    const auto add = [&](FitFactor to, Factor from) {
      worst.direction[static_cast<std::size_t>(to)] = toward[from];
    };
    add(m.one_graph ? FitFactor::fused_activations : FitFactor::kept_activations, kActivations);
    add(FitFactor::transient, kTransient);
    add(FitFactor::runtime, kRuntime);
    add(m.mixed ? FitFactor::mixed_fragmentation : FitFactor::fragmentation, kFragmentation);
    add(FitFactor::distance, kDistance);
  }
  return worst;
}

double probability_of_fitting(const StageMemory& m, Bytes limit, const Profile& profile,
                              double extra_log_sd) {
  return probability_of(m, decisive_of(m, doubt_of(m, profile, extra_log_sd), limit).reliability);
}

Bytes held_by(const StageMemory& m, const Profile& profile, HeldMemory what, Bytes limit) {
  const Bytes tensors = m.peak() - m.runtime;
  if (what == HeldMemory::allocated) return tensors;
  Bytes pool = tensors;
  if (m.pooled && m.queued) {
    const Bytes whole = profile[common::fragmentation] * tensors;
    pool = std::max(whole, std::min(whole + *m.queued, limit - m.runtime));
  } else if (m.pooled) {
    pool = fragmentation_of(m, profile).median * tensors;
  }
  return what == HeldMemory::reserved ? pool : pool + m.runtime;
}

// Within z standard deviations of the medians no factor exceeds exp(z log_sd), so bytes that fit with all
// factors at that value fit with a probability of at least that of z.
FitTest::FitTest(double p, const Profile& profile)
    : profile_(profile), probability_(std::max(p, kLeastFitProbability)) {
  deviations_ = {normal_quantile(probability_), student_quantile(probability_)};
  for (std::size_t i = 0; i < safe_.size(); ++i) {
    StageMemory m;
    m.one_graph = (i & 1U) != 0;
    m.pooled = (i & 2U) != 0;
    m.mixed = (i & 4U) != 0;
    if (m.mixed && !m.pooled) continue;  // never asked for
    const double z = deviations_[m.pooled ? 1 : 0];
    const Doubt doubt = doubt_of(m, profile, 0);
    const auto& sd = doubt.log_sd;
    // An upper bound of convexity().
    const double most = std::max({sd[kActivations], sd[kTransient], sd[kRuntime]});
    const double bent = std::exp((most * most + sd[kFragmentation] * sd[kFragmentation]) / 2);
    const double shared = bent * std::exp(z * sd[kFragmentation]);
    safe_[i] = {doubt.activations * shared * std::exp(z * sd[kActivations]),
                doubt.transient * shared * std::exp(z * sd[kTransient]), bent * std::exp(z * sd[kRuntime]),
                m.pooled ? doubt.states * shared : 1};
  }
}

bool FitTest::fits(const StageMemory& m, Bytes limit) const {
  const Safe& safe = safe_[(m.one_graph ? 1U : 0U) + (m.pooled ? 2U : 0U) + (m.mixed ? 4U : 0U)];
  if (states_of(m) >= limit || m.peak() > limit) return false;
  const double room = (limit - safe.states * states_of(m)).value;
  const auto is_safe = [&](const MemoryMoment& at) {
    return safe.activations * at.activations.value + safe.transient * (at.logits + at.staging).value +
               safe.runtime * m.runtime.value <=
           room;
  };
  if (std::all_of(m.moments.begin(), m.moments.end(), is_safe)) return true;
  const Doubt doubt = doubt_of(m, profile_, 0);
  const double left = (limit - sure_of(m)).value, enough = std::min(deviations_[m.pooled ? 1 : 0], kSurely);
  return std::all_of(m.moments.begin(), m.moments.end(), [&](const MemoryMoment& at) {
    return is_safe(at) ||
           probability_of(m, reliability(terms_of(m, at, doubt), doubt, left, enough)) >= probability_;
  });
}

}  // namespace trnplan::models
