#include "calibrate/fit/machine_fit.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "calibrate/fit/fit.h"
#include "calibrate/fit/kernel_bench.h"
#include "calibrate/fit/log_update.h"
#include "models/collective/collective_runtime.h"
#include "models/framework/framework.h"
#include "models/parameters/common_parameters.h"
#include "models/uncertainty/posterior.h"
#include "models/uncertainty/spread.h"
#include "units/square.h"

namespace trnplan::calibrate {

namespace {

using logs::MeasuredCollective;
using logs::MeasuredKernel;
using models::Parameter;
using models::Profile;

constexpr int kMostIterations = 30;
constexpr double kDifference = 1e-3;  // of logarithms, for derivatives
constexpr double kFollows = 0.1;      // least derivative of a row that teaches a parameter
constexpr double kSlower = 2;  // prior standard deviations of a start where a hidden rate is the narrowest
constexpr double kShortest = 1e-3;   // share of a step below which none lowers the cost
constexpr double kLeastGain = 1e-6;  // of the cost, below the visible noise: along a kink steps gain little

constexpr std::string_view kProduct = "product", kAttention = "attention", kOther = "kernel",
                           kInNode = "collective in a node", kBetween = "collective between nodes";

/// A value that is not the profile's own: of the loops that run a library of attention.
struct OfLibrary {
  std::string library;
  Parameter parameter;
  models::Value value;
};

/// Values of the loops that run the library; none if the profile does not distinguish it.
std::vector<OfLibrary> values_of(const std::string& library, const Profile& profile) {
  std::vector<OfLibrary> all;
  if (library.empty() || profile.factors == nullptr) return all;
  const auto loops = models::frameworks_with_attention(library);
  if (loops.empty()) return all;
  // A library's factors stand before those of single loops and clusters, and are equal for all its loops.
  for (const models::Factors& f : *profile.factors) {
    if (f.framework != loops.front() || !f.cluster.empty()) continue;
    for (const auto& [p, value] : f.values) all.push_back({library, p, value});
    break;
  }
  return all;
}

/// Rows of one shape, and what is needed to predict them.
struct Shape {
  MachineRow row;
  std::optional<logs::Kernel> kernel;
  std::string library;
  std::size_t point = 0;  ///< of a collective, its index
  double log_seconds = 0, noise = 0;
  std::string_view alone;  ///< rows that share an unknown: the kind
};

std::string_view kind_of(logs::KernelOp op) {
  if (op == logs::KernelOp::matmul) return kProduct;
  const bool flash = op == logs::KernelOp::flash_forward || op == logs::KernelOp::flash_backward;
  return flash ? kAttention : kOther;
}

/// One shape for each distinct kernel and collective, kernels in the order of their texts, collectives by
/// operation, nodes, ranks and bytes.
class Shapes {
 public:
  Shapes(const std::vector<MeasuredKernel>& kernels, const std::vector<MeasuredCollective>& points,
         const topology::Instance& instance, const MachineSpreads& spreads) {
    using Order = std::tuple<std::string, int, int, double>;
    std::map<std::tuple<Order, std::string, std::string>, std::pair<Shape, std::vector<double>>> known;
    const auto add = [&](const Order& order, Shape shape, double seconds) {
      auto& [first, times] =
          known.try_emplace({order, shape.row.kernel, shape.library}, shape, std::vector<double>{})
              .first->second;
      times.push_back(std::log(seconds));
    };
    for (const MeasuredKernel& k : kernels) {
      Shape shape{.row = {.kernel = to_string(k.kernel), .kind = kind_of(k.kernel.op), .at = k.at},
                  .kernel = k.kernel,
                  .library = k.library};
      if (!k.library.empty()) shape.row.kernel += ",library=" + printable(k.library, 40);
      shape.noise = square(spreads.kernel);
      add({}, shape, k.seconds);
    }
    for (std::size_t i = 0; i < points.size(); ++i) {
      const MeasuredCollective& p = points[i];
      const int nodes = p.nodes > 0 ? p.nodes : (p.ranks + instance.cores() - 1) / instance.cores();
      Shape shape{.row = {.kernel = fmt::format("{} of {:.0f} bytes, {} ranks on {} node{}", p.op, p.bytes,
                                                p.ranks, nodes, nodes == 1 ? "" : "s"),
                          .kind = nodes > 1 ? kBetween : kInNode,
                          .at = p.at},
                  .point = i};
      shape.noise = square(spreads.collective);
      add({p.op, nodes, p.ranks, p.bytes}, shape, p.seconds);
    }
    for (auto& [key, value] : known) {
      auto& [shape, times] = value;
      std::sort(times.begin(), times.end());  // so that sums do not depend on the order
      const auto count = static_cast<double>(times.size());
      shape.log_seconds = std::accumulate(times.begin(), times.end(), 0.0) / count;
      shape.noise += square(spreads.repeat) / count;
      shape.row.count = times.size();
      shape.row.measured = std::exp(shape.log_seconds);
      shape.alone = shape.row.kind;
      all.push_back(std::move(shape));
    }
  }

  std::vector<Shape> all;
};

/// The unknowns: the profile's, then those of libraries, then what rows of a kind share.
class Machine {
 public:
  Machine(const std::vector<MeasuredKernel>& kernels, const std::vector<MeasuredCollective>& points,
          const topology::Instance& instance, const Profile& prior, const MachineSpreads& spreads)
      : shapes(Shapes(kernels, points, instance, spreads).all), instance_(instance), prior_(prior) {
    if (!points.empty()) points_.emplace(points, instance);
    own_ = models::covariance_of(prior).size();
    std::set<std::string> libraries;
    for (const Shape& s : shapes) {
      if (libraries.insert(s.library).second) {
        for (OfLibrary& v : values_of(s.library, prior)) of_library.push_back(std::move(v));
      }
    }
    for (const Shape& s : shapes) kinds_.emplace(s.alone, 0);
    std::size_t next = own_ + of_library.size();
    for (auto& [kind, index] : kinds_) index = next++;
    size = next;
    offsets_.assign(size, 0);
    set_covariance(spreads);
    set_precision();
  }

  /// Half the squares of the changes from the prior, in its standard deviations.
  double prior_cost(const std::vector<double>& delta) const {
    Eigen::VectorXd open(static_cast<Eigen::Index>(open_.size()));
    for (std::size_t k = 0; k < open_.size(); ++k) open[static_cast<Eigen::Index>(k)] = delta[open_[k]];
    return open_.empty() ? 0 : 0.5 * open.dot(prior_root_.solve(open));
  }

  /// log seconds of all shapes, as the benchmark would print them.
  std::vector<double> predict(const std::vector<double>& delta) const {
    const Profile now = moved(delta);
    std::vector<double> collectives;
    if (points_) collectives = points_->seconds(now);
    std::map<std::string, Profile> with;
    std::vector<double> all;
    for (const Shape& s : shapes) {
      double seconds = 0;
      if (s.kernel) {
        const auto found = with.try_emplace(s.library, now);
        if (found.second) set_library(found.first->second, s.library, delta);
        seconds = work_of(*s.kernel, instance_.core, found.first->second).seconds.value;
      } else {
        seconds = collectives[s.point];
      }
      const std::size_t shared = kinds_.at(s.alone);
      all.push_back(std::log(seconds) + offsets_[shared] + delta[shared]);
    }
    return all;
  }

  /// Derivatives by each unknown, [unknown][shape], at `delta`.
  std::vector<std::vector<double>> slopes(const std::vector<double>& delta) const {
    std::vector<std::vector<double>> all(size, std::vector<double>(shapes.size(), 0));
    for (std::size_t i = 0; i < size; ++i) {
      if (!learns(i)) continue;
      std::vector<double> more = delta, less = delta;
      more[i] += kDifference;
      less[i] -= kDifference;
      const std::vector<double> high = predict(more), low = predict(less);
      for (std::size_t k = 0; k < shapes.size(); ++k) all[i][k] = (high[k] - low[k]) / (2 * kDifference);
    }
    return all;
  }

  Parameter parameter_at(std::size_t i) const {
    if (i < prior_.schema->places()) return prior_.schema->at(i);
    return i >= own_ && i < own_ + of_library.size() ? of_library[i - own_].parameter : Parameter();
  }
  std::string library_at(std::size_t i) const {
    return i >= own_ && i < own_ + of_library.size() ? of_library[i - own_].library : "";
  }
  const models::Value& value_at(std::size_t i) const {
    return i < own_ ? prior_.values[i] : of_library[i - own_].value;
  }

  /// The prior profile with the posterior's values and spreads.
  Profile profile_of(std::vector<double> delta, std::vector<std::vector<double>> posterior) const {
    const std::size_t host = models::common::host_launch.place();
    delta[host] = 0;
    for (std::size_t i = 0; i < size; ++i) posterior[i][host] = posterior[host][i] = 0;
    posterior[host][host] = square(prior_.values[host].log_sd);
    Profile profile = moved(delta);
    auto c = std::make_shared<models::Calibration>();
    if (profile.calibration != nullptr) {
      *c = *profile.calibration;
    } else {
      c->prior = prior_.base.empty() ? prior_.name : prior_.base;
    }
    c->covariance.assign(own_, std::vector<double>(own_, 0));
    const auto in_steps = [&](std::size_t i) {  // others have no place in a covariance of times
      const Parameter p = parameter_at(i);
      return i >= prior_.schema->places() || (p && models::time_sign(p) != 0);
    };
    for (std::size_t i = 0; i < own_; ++i) {
      for (std::size_t j = 0; j < own_; ++j) {
        if (in_steps(i) && in_steps(j)) c->covariance[i][j] = posterior[i][j];
      }
      const double sd = std::sqrt(std::max(0.0, posterior[i][i]));
      if (i >= prior_.schema->places()) {
        c->stacks[i - prior_.schema->places()].log_sd = sd;
      } else if (in_steps(i) || learns(i)) {
        profile.values[i].log_sd = sd;
      }
    }
    profile.calibration = std::move(c);
    set_factors(profile, delta, posterior);
    return profile;
  }

  /// Adds to the share of the network, if rows taught it, its doubt for a plan's number of nodes.
  void widen(std::vector<std::vector<double>>& posterior, const MachineSpreads& spreads) const {
    if (!kinds_.contains(kBetween)) return;
    const std::size_t share = models::runtime_of(instance_).parameters().network.place();
    posterior[share][share] =
        std::min(covariance[share][share], posterior[share][share] + square(spreads.between_nodes));
  }

  std::vector<Shape> shapes;
  std::vector<OfLibrary> of_library;
  std::size_t size = 0;
  std::vector<std::vector<double>> covariance;  ///< of the prior
  /// Changes from which the fit starts: none, and one for each hidden rate, with which that is the narrowest. A
  /// time follows the narrowest of several rates and tells nothing of the others until they are.
  std::vector<std::vector<double>> starts;

 private:
  bool learns(std::size_t i) const {
    if (i >= prior_.schema->places()) return i >= own_;
    const Parameter p = parameter_at(i);
    return p && !p.info().of_work && prior_.values[i].log_sd > 0;
  }

  void set_covariance(const MachineSpreads& spreads) {
    covariance.assign(size, std::vector<double>(size, 0));
    const auto of_profile = models::covariance_of(prior_);
    for (std::size_t i = 0; i < own_; ++i) {
      std::copy(of_profile[i].begin(), of_profile[i].end(), covariance[i].begin());
      if (learns(i) && covariance[i][i] == 0) covariance[i][i] = square(prior_.values[i].log_sd);
    }
    for (std::size_t i = 0; i < of_library.size(); ++i)
      covariance[own_ + i][own_ + i] = square(of_library[i].value.log_sd);
    for (const auto& [kind, index] : kinds_) {
      double& variance = covariance[index][index];
      if (kind == kInNode || kind == kBetween) {
        variance = square(spreads.table);
      } else {
        const models::Value& alone = spreads.alone.find(prior_.schema->name())->second;
        offsets_[index] = std::log(alone.median);
        variance = square(alone.log_sd);
      }
    }
    const std::vector<double> none(size, 0), usual = predict(none);
    const auto first = slopes(none);
    starts.push_back(none);
    for (std::size_t i = 0; i < own_ + of_library.size(); ++i) {
      bool taught = std::any_of(first[i].begin(), first[i].end(),
                                [](double slope) { return std::abs(slope) >= kFollows; });
      const Parameter p = parameter_at(i);
      if (learns(i) && p && models::time_sign(p) != 0) {
        const double slower = kSlower * std::sqrt(covariance[i][i]);
        std::vector<double> start = none;
        start[i] = models::time_sign(p) * slower;
        const std::vector<double> then = predict(start);
        bool hidden = false;
        for (std::size_t k = 0; k < shapes.size(); ++k)
          hidden |= std::abs(first[i][k]) < kFollows && then[k] - usual[k] >= kFollows * slower;
        taught |= hidden;
        if (hidden) starts.push_back(std::move(start));
      }
      if (taught) covariance[i][i] += square(spreads.machine);
    }
  }

  void set_precision() {
    for (std::size_t i = 0; i < size; ++i) {
      if (covariance[i][i] > 0) open_.push_back(i);
    }
    const auto n = static_cast<Eigen::Index>(open_.size());
    Eigen::MatrixXd of_open(n, n);
    for (Eigen::Index a = 0; a < n; ++a) {
      for (Eigen::Index b = 0; b < n; ++b)
        of_open(a, b) = covariance[open_[static_cast<std::size_t>(a)]][open_[static_cast<std::size_t>(b)]];
    }
    if (n > 0) prior_root_.compute(of_open);
  }

  Profile moved(const std::vector<double>& delta) const {
    Profile profile = prior_;
    const std::size_t places = prior_.schema->places();
    for (std::size_t i = 0; i < places; ++i) profile.values[i].median *= std::exp(delta[i]);
    if (own_ == places) return profile;
    auto c = std::make_shared<models::Calibration>(*profile.calibration);
    for (std::size_t i = places; i < own_; ++i) c->stacks[i - places].median *= std::exp(delta[i]);
    profile.calibration = std::move(c);
    return profile;
  }

  void set_library(Profile& profile, const std::string& library, const std::vector<double>& delta) const {
    for (std::size_t i = 0; i < of_library.size(); ++i) {
      const OfLibrary& v = of_library[i];
      if (v.library == library)
        profile.value(v.parameter).median = v.value.median * std::exp(delta[own_ + i]);
    }
  }

  /// Sets the values of the libraries in the factors of their loops.
  void set_factors(Profile& profile, const std::vector<double>& delta,
                   const std::vector<std::vector<double>>& posterior) const {
    if (of_library.empty()) return;
    auto factors = std::make_shared<std::vector<models::Factors>>(*profile.factors);
    for (std::size_t i = 0; i < of_library.size(); ++i) {
      const OfLibrary& v = of_library[i];
      const auto loops = models::frameworks_with_attention(v.library);
      for (models::Factors& f : *factors) {
        if (!f.cluster.empty() || std::find(loops.begin(), loops.end(), f.framework) == loops.end()) continue;
        for (auto& [p, value] : f.values) {
          if (p != v.parameter || value.median != v.value.median || value.source != v.value.source) continue;
          value.median *= std::exp(delta[own_ + i]);
          value.log_sd = std::sqrt(std::max(0.0, posterior[own_ + i][own_ + i]));
        }
      }
    }
    profile.factors = std::move(factors);
  }

  const topology::Instance& instance_;
  const Profile& prior_;
  std::optional<CollectivePoints> points_;
  std::size_t own_ = 0;  ///< unknowns of the profile
  std::map<std::string_view, std::size_t> kinds_;
  std::vector<double> offsets_;
  std::vector<std::size_t> open_;  ///< unknowns that may move
  Eigen::LDLT<Eigen::MatrixXd> prior_root_;
};

std::vector<double> row_of(const std::vector<std::vector<double>>& slopes, std::size_t k) {
  std::vector<double> row;
  for (const std::vector<double>& of : slopes) row.push_back(of[k]);
  return row;
}

/// What a row's variance is multiplied by: 1 within two standard deviations.
double excess(double misses) {
  return std::max(1.0, std::abs(misses) / kContradicts);
}

/// Huber's loss, of which excess() is the weight.
double loss_of(double misses) {
  const double far = std::abs(misses);
  return far <= kContradicts ? far * far / 2 : kContradicts * (far - kContradicts / 2);
}

/// The result of the iteration from one start.
struct Optimum {
  std::vector<double> delta, misses;
  models::Posterior posterior;
  double cost = std::numeric_limits<double>::infinity();
  int iterations = 0;
  bool converged = false;
};

/// Moves an optimum to other changes.
void move_to(std::vector<double> delta, const Machine& machine, Optimum& at) {
  const std::vector<double> then = machine.predict(delta);
  at.cost = machine.prior_cost(delta);
  for (std::size_t k = 0; k < then.size(); ++k) {
    const Shape& shape = machine.shapes[k];
    at.misses[k] = (shape.log_seconds - then[k]) / std::sqrt(shape.noise);
    at.cost += loss_of(at.misses[k]);
  }
  at.delta = std::move(delta);
}

/// Gauss-Newton steps from a start, each shortened until the cost falls.
Optimum optimum_from(const std::vector<double>& start, const Machine& machine) {
  Optimum at;
  at.misses.assign(machine.shapes.size(), 0);
  move_to(start, machine, at);
  for (; at.iterations < kMostIterations && !at.converged; ++at.iterations) {
    const std::vector<double> now = machine.predict(at.delta);
    const auto slopes = machine.slopes(at.delta);
    at.posterior = models::Posterior(machine.covariance);
    std::vector<LogResidual> observed;
    for (std::size_t k = 0; k < now.size(); ++k)
      observed.push_back({machine.shapes[k].log_seconds - now[k], row_of(slopes, k),
                          machine.shapes[k].noise * excess(at.misses[k])});
    const std::vector<double> mean = updated(at.posterior, at.delta, observed);
    const double move = largest_move(mean, at.delta);
    Optimum next = at;
    double share = 1;
    for (; share > kShortest; share /= 2) {
      std::vector<double> trial = at.delta;
      for (std::size_t i = 0; i < trial.size(); ++i) trial[i] += share * (mean[i] - trial[i]);
      move_to(std::move(trial), machine, next);
      if (next.cost <= at.cost) break;
    }
    const double gain = at.cost - next.cost;
    at.converged = move < kConverged || (share < 1 && gain <= kLeastGain * at.cost);
    next.converged = at.converged;
    if (gain >= 0 || move < kConverged) at = std::move(next);
  }
  return at;
}

void add_estimates(MachineFit& out, const Machine& machine, const std::vector<double>& delta,
                   const std::vector<std::vector<double>>& posterior) {
  const auto last = machine.slopes(delta);
  for (std::size_t i = 0; i < machine.size; ++i) {
    const Parameter p = machine.parameter_at(i);
    if (!p || p == models::common::host_launch) continue;
    MachineEstimate e{.parameter = p, .library = machine.library_at(i)};
    double most = 0;
    for (std::size_t k = 0; k < machine.shapes.size(); ++k) {
      const double slope = std::abs(last[i][k]);
      if (slope < kFollows) continue;
      ++e.rows;
      const double informs = slope * slope / (machine.shapes[k].noise * excess(out.rows[k].misses));
      if (informs > most) e.teacher = k;
      most = std::max(most, informs);
    }
    if (e.rows == 0) continue;
    const models::Value& was = machine.value_at(i);
    e.prior = {was.median, std::sqrt(machine.covariance[i][i]), was.source};
    e.posterior = {was.median * std::exp(delta[i]), std::sqrt(std::max(0.0, posterior[i][i])), ""};
    e.prior_share = e.posterior.log_sd / e.prior.log_sd;
    e.verdict = verdict(e.prior_share, delta[i] / e.prior.log_sd);
    out.estimates.push_back(std::move(e));
  }
}

}  // namespace

double MachineEstimate::deviations() const {
  return std::log(posterior.median / prior.median) / prior.log_sd;
}

std::vector<MachineEstimate> MachineFit::far_off() const {
  std::vector<MachineEstimate> far;
  std::copy_if(estimates.begin(), estimates.end(), std::back_inserter(far),
               [](const MachineEstimate& e) { return std::abs(e.deviations()) > kFarOff; });
  return far;
}

bool MachineFit::explains() const {
  const auto wrong =
      std::count_if(rows.begin(), rows.end(), [](const MachineRow& r) { return r.contradicts(); });
  return 2 * static_cast<std::size_t>(wrong) <= rows.size();
}

MachineFit fit_machine(const std::vector<MeasuredKernel>& kernels,
                       const std::vector<MeasuredCollective>& points, const topology::Instance& instance,
                       const Profile& prior, const MachineSpreads& spreads) {
  MachineFit out;
  const Machine machine(kernels, points, instance, prior, spreads);
  const std::vector<double> before = machine.predict(std::vector<double>(machine.size, 0));
  Optimum best;
  for (const std::vector<double>& start : machine.starts) {
    Optimum found = optimum_from(start, machine);
    if (found.cost < best.cost) best = std::move(found);
  }
  out.iterations = best.iterations;
  out.converged = best.converged;
  const std::vector<double>& delta = best.delta;
  const std::vector<double> after = machine.predict(delta);
  for (std::size_t k = 0; k < machine.shapes.size(); ++k) {
    MachineRow row = machine.shapes[k].row;
    row.before = std::exp(before[k]);
    row.after = std::exp(after[k]);
    row.misses = best.misses[k];
    out.rows.push_back(std::move(row));
  }
  auto covariance = best.posterior.covariance();
  machine.widen(covariance, spreads);
  out.profile = machine.profile_of(delta, covariance);
  add_estimates(out, machine, delta, covariance);
  return out;
}

}  // namespace trnplan::calibrate
