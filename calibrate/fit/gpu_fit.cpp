#include "calibrate/fit/gpu_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "models/collective/measured_network.h"
#include "models/step/step.h"
#include "topology/chip_graph.h"
#include "units/median.h"
#include "units/parallel.h"

namespace trnplan::calibrate {

namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

constexpr double kMostRows = 100;              ///< that the rows of a source count as
constexpr double kScale = 0.05, kFreedom = 3;  ///< of Student's t
constexpr double kLeastSpread = 0.02;          ///< of a prior
constexpr double kNetworkSpread = 0.5;         ///< of the priors of a network's law
constexpr double kDifference = 0.02;           ///< of a logarithm, for slopes
constexpr double kMostStep = 0.5;              ///< of a logarithm, an iteration
constexpr double kConverged = 0.003;           ///< of a logarithm

std::size_t at(Eigen::Index i) {
  return static_cast<std::size_t>(i);
}
Eigen::Index index(std::size_t i) {
  return static_cast<Eigen::Index>(i);
}

/// Logarithms of the parameters over their priors; the last two, if there are any, of the network's law.
class Problem {
 public:
  Problem(std::vector<GpuRun> runs, const GpuFitPlan& plan, const models::Profile& prior, int threads)
      : runs_(std::move(runs)), plan_(plan), threads_(threads) {
    drop_impossible(prior);
    std::map<std::string, double> count;
    for (const GpuRun& r : runs_) ++count[r.source];
    for (const GpuRun& r : runs_) {
      weight_.push_back(std::min(1.0, kMostRows / count[r.source]));
      own_.push_back(models::with_factors(prior, r.job));
      network_ = network_ || (r.all_reduce && plan_.network.usual.value > 0);
    }
  }

  const std::vector<GpuRun>& runs() const { return runs_; }
  bool has_network() const { return network_; }
  Eigen::Index size() const { return index(plan_.parameters.size()) + (network_ ? 2 : 0); }

  /// The prior of the first run that the parameter holds for.
  models::Value prior(const GpuParameter& p) const {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (p.holds(runs_[i])) return own_[i].value(p.parameter);
    }
    throw std::invalid_argument("no run is of " + p.scope);
  }
  double prior_spread(Eigen::Index i) const {
    return at(i) < plan_.parameters.size() ? std::max(kLeastSpread, prior(plan_.parameters[at(i)]).log_sd)
                                           : kNetworkSpread;
  }

  /// Logarithms of predicted over measured. Runs that parameter `of` does not concern are those of `known`.
  Vector errors(const Vector& x, Eigen::Index of = -1, const Vector* known = nullptr) const {
    Vector e = known != nullptr ? *known : Vector(index(runs_.size()));
    parallel_for(static_cast<int>(runs_.size()), threads_, [&](int r) {
      const auto i = static_cast<std::size_t>(r);
      if (known == nullptr || concerns(of, runs_[i])) e[r] = std::log(predicted(i, x) / runs_[i].seconds);
    });
    return e;
  }

  Matrix slopes(const Vector& x, const Vector& e) const {
    Matrix j(e.size(), x.size());
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      Vector y = x;
      y[i] += kDifference;
      j.col(i) = (errors(y, i, &e) - e) / kDifference;
    }
    return j;
  }

  /// Normal equations a d = b of an iteration at x, without the runs marked in `without` (empty: with all).
  std::pair<Matrix, Vector> equations(const Vector& x, const Vector& e, const Matrix& j,
                                      const std::vector<bool>& without = {}) const {
    Matrix a = Matrix::Zero(x.size(), x.size());
    Vector b = Vector::Zero(x.size());
    for (Eigen::Index r = 0; r < e.size(); ++r) {
      const bool out = !without.empty() && without[at(r)];
      if (out || !std::isfinite(e[r]) || !j.row(r).allFinite()) continue;
      const double z = e[r] / kScale,
                   w = weight_[at(r)] * (kFreedom + 1) / (kFreedom + z * z) / (kScale * kScale);
      a += w * j.row(r).transpose() * j.row(r);
      b -= w * e[r] * j.row(r).transpose();
    }
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      const double sd = prior_spread(i);
      a(i, i) += 1 / (sd * sd);
      b[i] -= x[i] / (sd * sd);
    }
    return {std::move(a), std::move(b)};
  }

 private:
  void drop_impossible(const models::Profile& prior) {
    std::vector<GpuRun> possible;
    for (GpuRun& r : runs_) {
      const int chips = r.job.cluster.instance.chips;
      if (!graphs_.contains(chips))
        graphs_.emplace(chips, std::make_unique<topology::ChipGraph>(r.job.cluster.instance));
      try {
        const models::StepModel model(r.job, r.strategy, models::with_factors(prior, r.job),
                                      *graphs_.at(chips));
        possible.push_back(std::move(r));
      } catch (const std::exception&) {  // what no rule lets run
      }
    }
    runs_ = std::move(possible);
  }

  bool concerns(Eigen::Index of, const GpuRun& run) const {
    return at(of) < plan_.parameters.size() ? plan_.parameters[at(of)].holds(run)
                                            : run.all_reduce.has_value();
  }

  models::Profile with(const Vector& x, std::size_t i) const {
    models::Profile p = own_[i];
    for (std::size_t k = 0; k < plan_.parameters.size(); ++k) {
      if (plan_.parameters[k].holds(runs_[i]))
        p.value(plan_.parameters[k].parameter).median *= std::exp(x[index(k)]);
    }
    return p;
  }

  /// The profile in the state of the run's network.
  models::Profile in_state(models::Profile p, const GpuRun& run, const Vector& x) const {
    if (!network_ || run.job.cluster.nodes < 2 || !run.all_reduce) return p;
    const Eigen::Index last = x.size() - 1;
    models::NetworkState law = plan_.network;
    law.power *= std::exp(x[last]);
    law.call_per_rank = law.call_per_rank * std::exp(x[last - 1]);
    models::MeasuredAllReduce measured;
    measured.nodes = run.job.cluster.nodes;
    measured.bus = *run.all_reduce;
    return models::in_network_state(std::move(p), law, run.job, measured);
  }

  double predicted(std::size_t i, const Vector& x) const {
    const GpuRun& run = runs_[i];
    const models::Profile p = in_state(with(x, i), run, x);
    try {
      return models::StepModel(run.job, run.strategy, p, *graphs_.at(run.job.cluster.instance.chips))
          .simulate()
          .step.value;
    } catch (const std::exception&) {  // beyond the clock with these values
      return std::numeric_limits<double>::quiet_NaN();
    }
  }

  std::vector<GpuRun> runs_;
  const GpuFitPlan& plan_;
  int threads_;
  std::vector<models::Profile> own_;  ///< of each run: with the factors of its framework and cluster
  std::vector<double> weight_;
  bool network_ = false;
  std::map<int, std::unique_ptr<topology::ChipGraph>> graphs_;
};

Vector solved(const std::pair<Matrix, Vector>& equations) {
  Vector d = equations.first.ldlt().solve(equations.second);
  const double most = d.size() > 0 ? d.cwiseAbs().maxCoeff() : 0;
  return most > kMostStep ? Vector(d * (kMostStep / most)) : d;
}

std::string source_of(const GpuRun& run) {
  return run.source;
}

std::string network_of(const GpuRun& run) {
  return fmt::format("{} layers of {}", run.job.architecture.layers, run.job.architecture.hidden);
}

/// Errors with the runs of each group, those of one name, predicted by a fit to all others, linearised around x.
Vector left_out(const Problem& problem, const Vector& x, const Vector& e, const Matrix& j,
                std::string (*name_of)(const GpuRun&)) {
  constexpr int kIterations = 4;
  std::map<std::string, std::vector<bool>> groups;
  for (std::size_t i = 0; i < problem.runs().size(); ++i) {
    std::vector<bool>& group = groups[name_of(problem.runs()[i])];
    group.resize(problem.runs().size());
    group[i] = true;
  }
  Vector out = e;
  for (const auto& [name, group] : groups) {
    Vector d = Vector::Zero(x.size());
    for (int k = 0; k < kIterations; ++k) d += solved(problem.equations(x + d, e + j * d, j, group));
    const Vector whole = e + j * d;
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (group[i]) out[index(i)] = whole[index(i)];
    }
  }
  return out;
}

/// Errors of the runs of a source; `e`: of all, as logarithms.
GpuFitErrors::Errors errors_of(const std::vector<std::size_t>& runs, const Vector& e) {
  if (runs.empty()) return {};
  std::vector<double> all;
  for (const std::size_t i : runs) all.push_back(std::abs(std::expm1(e[index(i)])));
  return {median(all), std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size())};
}

/// Places of the runs of a source whose errors are known.
std::vector<std::size_t> runs_of(const std::string& source, const Problem& problem, const Vector& e) {
  std::vector<std::size_t> runs;
  for (std::size_t i = 0; i < problem.runs().size(); ++i) {
    if (problem.runs()[i].source == source && std::isfinite(e[index(i)])) runs.push_back(i);
  }
  return runs;
}

/// The value of a parameter in a profile for the first run that it holds for.
models::Value value_in(const models::Profile& profile, const GpuParameter& p, const Problem& problem) {
  for (const GpuRun& r : problem.runs()) {
    if (p.holds(r)) return models::with_factors(profile, r.job).value(p.parameter);
  }
  throw std::invalid_argument("no run is of " + p.scope);
}

/// The network's law in a profile.
models::NetworkState law_in(const models::Profile& profile) {
  if (!profile.factors) return {};
  for (const models::Factors& f : *profile.factors) {
    if (f.network.usual.value > 0) return f.network;
  }
  return {};
}

}  // namespace

bool GpuParameter::holds(const GpuRun& run) const {
  const std::string_view loop = run.strategy.framework;
  return scope.empty() || scope == loop || scope == models::stack_named(loop).loop ||
         scope == run.job.cluster.instance.name;
}

GpuFit fit_gpu(std::vector<GpuRun> runs, const GpuFitPlan& plan, models::Profile prior,
               const models::Profile& shipped, bool from_shipped, int iterations, int threads) {
  for (const auto& [parameter, value] : plan.priors) prior.value(parameter) = value;
  const Problem problem(std::move(runs), plan, prior, threads);
  GpuFit fit{plan.profile, plan.prior, problem.runs().size(), 0, {}, {}};
  std::vector<FittedGpuParameter>& all = fit.parameters;
  for (const GpuParameter& p : plan.parameters) {
    const models::Value before = problem.prior(p);
    all.push_back({std::string(to_string(p.parameter)), p.scope, before, before,
                   value_in(shipped, p, problem).median, 0});
  }
  if (problem.has_network()) {
    const models::NetworkState law = law_in(shipped);
    const models::Value ranks{plan.network.call_per_rank.value, kNetworkSpread, ""},
        power{plan.network.power, kNetworkSpread, ""};
    all.push_back({"call_per_rank", "network_state", ranks, ranks, law.call_per_rank.value, 0});
    all.push_back({"power", "network_state", power, power, law.power, 0});
  }
  Vector x = Vector::Zero(problem.size()), d = x, e, sd = x;
  Matrix j;
  for (Eigen::Index i = 0; from_shipped && i < x.size(); ++i)
    x[i] = std::log(all[at(i)].shipped / all[at(i)].prior.median);
  const int most = from_shipped ? 1 : iterations;
  while (fit.iterations < most && x.size() > 0) {
    ++fit.iterations;
    e = problem.errors(x);
    j = problem.slopes(x, e);
    const auto equations = problem.equations(x, e, j);
    d = solved(equations);
    sd = equations.first.inverse().diagonal().cwiseSqrt();
    x += d;
    if (d.cwiseAbs().maxCoeff() < kConverged) break;
  }
  e = problem.errors(x);
  const Vector no_source = left_out(problem, x, e, j, source_of),
               no_network = left_out(problem, x, e, j, network_of);
  for (const GpuFitPlan::Source& s : plan.sources) {
    const std::vector<std::size_t> runs = runs_of(s.name, problem, e);
    fit.errors.push_back({.source = s.name,
                          .rows = runs.size(),
                          .fitted = errors_of(runs, e),
                          .without_source = errors_of(runs, no_source),
                          .without_network = errors_of(runs, no_network)});
  }
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    FittedGpuParameter& p = all[at(i)];
    p.value = {p.prior.median * std::exp(x[i]), sd[i], ""};
    p.moved = d[i] / sd[i];
  }
  return fit;
}

}  // namespace trnplan::calibrate
