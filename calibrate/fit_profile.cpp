// Widths where the posterior is no Gaussian: FitOptions::profile_widths.
//
// Times follow the narrowest of several rates, so the cost has kinks. At an optimum where one of them is the
// narrowest its curvature is large; a little further another one is, and the cost stays flat. And there may
// be an optimum of its own for each.
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "calibrate/fit.h"
#include "calibrate/fit_problem.h"

namespace trnplan::calibrate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

/// Parameters wider than this, in prior standard deviations, are the prior's, which is Gaussian.
constexpr double kAtPrior = 0.9;
/// Where rivals are looked for: so many prior standard deviations faster.
constexpr double kFaster = 2;
/// First look along a profile, in posterior standard deviations: a Gaussian's cost rises by 2 there.
constexpr double kFirstLook = 2;
/// A rise of that much at the first look leaves that side as the curvature has it.
constexpr double kSteep = 1.5;
/// Where the profile ends: e^-5 of the density is left, or no prior goes further.
constexpr double kEndRise = 5, kEndPrior = 5;
constexpr int kSettling = 3;  ///< Gauss-Newton steps of the other parameters at each look
constexpr int kSlices = 50;   ///< of the density between two looks
/// Optima closer than that, in squared posterior standard deviations, are one.
constexpr double kSameOptimum = 1;

/// Of a density over the distance from the optimum, on one side.
struct Moments {
  double mass = 0, second = 0;
};

/// A Gaussian side of unit height.
Moments gaussian_side(double sd) {
  const double mass = sd * std::sqrt(std::numbers::pi / 2);
  return {mass, mass * sd * sd};
}

struct Look {
  double distance, rise;
};

/// exp(-rise) with sqrt(rise) linear between the looks, which is exact for a Gaussian.
Moments side_of(const std::vector<Look>& looks) {
  Moments out;
  for (std::size_t k = 1; k < looks.size(); ++k) {
    const double length = looks[k].distance - looks[k - 1].distance;
    const double from = std::sqrt(looks[k - 1].rise), to = std::sqrt(looks[k].rise);
    for (int slice = 0; slice < kSlices; ++slice) {
      const double t = (slice + 0.5) / kSlices;
      const double x = looks[k - 1].distance + t * length;
      const double mass = std::exp(-std::pow(from + t * (to - from), 2)) * length / kSlices;
      out.mass += mass;
      out.second += mass * x * x;
    }
  }
  return out;
}

/// The lowest cost that a few steps of all parameters but j find from `at`, which is moved there.
double settle(const FitProblem& problem, Index j, VectorXd& at) {
  double lowest = std::numeric_limits<double>::infinity();
  VectorXd trial = at;
  for (int k = 0; k <= kSettling; ++k) {
    const auto logs = problem.logs(trial, true);
    if (!logs) return lowest;
    const VectorXd r = problem.scaled(*logs);
    const double cost = problem.cost(trial, r);
    if (cost >= lowest) return lowest;
    lowest = cost;
    at = trial;
    if (k == kSettling) return lowest;
    auto [hessian, gradient] = problem.normal(trial, r);
    hessian.row(j).setZero();
    hessian.col(j).setZero();
    hessian(j, j) = 1;
    gradient[j] = 0;
    VectorXd step = hessian.llt().solve(-gradient);
    double longest = 0;
    for (Index i = 0; i < step.size(); ++i) {
      longest = std::max(longest, std::abs(step[i]) * problem.log_sd(i));
    }
    if (longest > kLongestStep) step *= kLongestStep / longest;
    trial += step;
  }
  return lowest;
}

/// One side of the profile of parameter j: the others as they suit each value of it best.
Moments profile_side(const FitProblem& problem, const Optimum& best, Index j, int sign) {
  const double sd = std::sqrt(best.covariance(j, j));
  const VectorXd along = best.covariance.col(j) / best.covariance(j, j);
  std::vector<Look> looks{{0, 0}};
  VectorXd at = best.z;
  // Two standard deviations on, then each time half as far again.
  for (double far = kFirstLook; far * sd < kEndPrior; far *= far < 2 * kFirstLook ? 2 : 1.5) {
    at += (best.z[j] + sign * far * sd - at[j]) * along;
    const double rise = std::max(0.0, settle(problem, j, at) - best.cost);
    if (looks.size() == 1 && rise > kSteep) return gaussian_side(sd);
    looks.push_back({far * sd, rise});
    if (rise > kEndRise) break;
  }
  return looks.size() > 1 ? side_of(looks) : gaussian_side(sd);
}

/// Of the covariance in z, without the constant all of them share.
double log_evidence(const Optimum& optimum) {
  const MatrixXd root = optimum.covariance.llt().matrixL();
  return root.diagonal().array().log().sum() - optimum.cost;
}

bool same(const Optimum& a, const Optimum& b) {
  const VectorXd apart = a.z - b.z;
  return apart.dot(b.covariance.llt().solve(apart)) < kSameOptimum;
}

/// The optimum that `best` is, and those in which another rate is the narrowest.
std::vector<Optimum> rivals_of(const FitProblem& problem, const Optimum& best) {
  std::vector<Optimum> all{best};
  for (Index j = 0; j < problem.size(); ++j) {
    if (problem.parameter(j).rival == Rival::no || best.covariance(j, j) > kAtPrior * kAtPrior) continue;
    VectorXd start = best.z;
    start[j] += problem.parameter(j).rival == Rival::faster_above ? kFaster : -kFaster;
    Optimum found = optimum_from(problem, start);
    const bool known = std::any_of(all.begin(), all.end(), [&](const Optimum& o) { return same(found, o); });
    if (!known) all.push_back(std::move(found));
  }
  return all;
}

}  // namespace

void take_profile_widths(const FitProblem& problem, Optimum& best) {
  std::vector<Optimum> optima = rivals_of(problem, best);
  std::iter_swap(optima.begin(),
                 std::min_element(optima.begin(), optima.end(),
                                  [](const Optimum& a, const Optimum& b) { return a.cost < b.cost; }));
  const int iterations = best.iterations;
  best = optima.front();
  best.iterations = iterations;
  std::vector<double> weights;
  for (const Optimum& o : optima) weights.push_back(std::exp(log_evidence(o) - log_evidence(optima.front())));
  double sum = 0;
  for (const double w : weights) sum += w;

  VectorXd wider = VectorXd::Ones(problem.size());
  for (Index j = 0; j < problem.size(); ++j) {
    const double variance = best.covariance(j, j);
    if (!problem.parameter(j).bends || variance > kAtPrior * kAtPrior) continue;
    const Moments below = profile_side(problem, best, j, -1), above = profile_side(problem, best, j, +1);
    const double found = (below.second + above.second) / (below.mass + above.mass);
    wider[j] = std::max(1.0, std::sqrt(found / variance));
  }
  MatrixXd covariance = weights[0] / sum * (wider.asDiagonal() * best.covariance * wider.asDiagonal());
  for (std::size_t k = 1; k < optima.size(); ++k) {
    const VectorXd apart = optima[k].z - best.z;
    covariance += weights[k] / sum * (optima[k].covariance + apart * apart.transpose());
  }
  best.covariance = std::move(covariance);
}

}  // namespace trnplan::calibrate
