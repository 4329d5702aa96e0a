// Fits one set of parameters of a GPU to all published training runs on it at once, and prints them and their
// errors by source, each group (hidden size and GPUs), model, and source also predicted by a fit to all
// others.
//   gpu_fit gpu-measured.csv PROFILE.json SOURCE:QUALITIES,... PARAMETER[@SCOPE],... [--left-out] [--rows]
// SOURCE is a part of the column `source`, QUALITIES is "AB" or "A"; rows on other machines than PROFILE's
// family are left out. Without a scope a parameter is of the GPU and holds for every row; with one it is of a
// framework or of an instance type, and starts from the profile's factors for it. Maximum a posteriori of log
// step times with Student-like weights; the rows of a source weigh at most as much as kMostRows, because they
// share what its page does not say. Priors are those of PROFILE.json. In the environment ROUNDS: at most so
// many, MOST: at most so many rows of a source, and FAMILY: that of the machines. Deterministic. Rows
// whose note carries the run's own all-reduce bandwidth are predicted with it, which no plan has.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <Eigen/Dense>

#include "calibrate/data/layout_jobs.h"
#include "io/catalog/catalog.h"
#include "io/catalog/profile_reader.h"
#include "io/catalog/scoring.h"
#include "io/input/strategy_text.h"
#include "logs/table/layout_runs.h"
#include "models/collective/switched_parameters.h"
#include "models/device/gpu_parameters.h"
#include "models/framework/framework.h"
#include "models/schemas/schemas.h"
#include "models/step/step.h"
#include "text/document.h"

namespace {

using namespace trnplan;

std::string read_all(const char* path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

struct Row {
  std::string id, source, group, model, layout_group;
  models::Job job;
  models::Strategy strategy;
  double seconds = 0;
  double all_reduce = 0;  ///< GB/s that the run itself measured; 0: none
};

/// A part of the column `source` and letters of quality.
struct Source {
  std::string name, qualities;
};

/// A parameter and the rows that it holds for.
struct Free {
  models::Parameter parameter;
  std::string scope;  ///< "": all; else a framework or an instance type

  bool holds(const Row& row) const {
    return scope.empty() || scope == row.strategy.framework || scope == row.job.cluster.instance.name;
  }
};

/// Keeps at most MOST rows of each source, evenly over the table.
void thin(std::vector<Row>& rows) {
  const char* most = std::getenv("MOST");
  if (most == nullptr) return;
  std::map<std::string, std::size_t> count, seen;
  for (const Row& r : rows) ++count[r.source];
  const auto limit = static_cast<std::size_t>(std::atoi(most));
  std::erase_if(rows, [&](const Row& r) {
    const std::size_t i = seen[r.source]++, n = count[r.source];
    return n > limit && (i + 1) * limit / n == i * limit / n;
  });
}

/// As `trnplan validate --measured` reads them (calibrate/data/layout_jobs.h).
std::vector<Row> rows_of(const char* path, const std::vector<Source>& sources, const std::string& family) {
  const io::Catalog catalog = io::Catalog::standard();
  const calibrate::LayoutRules rules = io::scoring_from(read_document(catalog.file("scoring.json")));
  std::map<std::string, topology::Instance> instances;
  const auto instance = [&](const std::string& name) {
    const auto it = instances.find(name);
    return it != instances.end() ? it->second : instances.emplace(name, catalog.instance(name)).first->second;
  };
  std::vector<Row> rows;
  for (const logs::LayoutRun& run : logs::parse_layout_runs(read_all(path), path, logs::RunTable::gpu_runs)) {
    const auto from = std::find_if(sources.begin(), sources.end(), [&](const Source& s) {
      return run.source.find(s.name) != std::string::npos && !run.quality.empty() &&
             s.qualities.find(run.quality) != std::string::npos;
    });
    if (from == sources.end() || !run.step_seconds) continue;
    calibrate::LayoutJob asked = calibrate::layout_job(run, rules, instance);
    Row r;
    std::string why = asked.refused;
    if (why.empty()) {
      r.job = std::move(asked.job);
      r.strategy = io::parse_strategy(asked.strategy, r.job);
      r.job.training.precision = r.strategy.precision;
      r.job.software.framework = r.strategy.framework;
      why = models::StepModel::not_modelled(r.job, r.strategy);
    }
    if (why.empty() && r.job.cluster.instance.family != family) continue;
    if (!why.empty()) {
      std::fprintf(stderr, "%s: %s\n", run.id.c_str(), why.c_str());
      continue;
    }
    r.id = run.id;
    r.source = from->name;
    r.seconds = *run.step_seconds;
    r.all_reduce = run.all_reduce.value_or(0) * 1e-9;
    for (const int n : {run.layers, run.hidden, run.intermediate, run.heads, run.kv_heads})
      r.model += std::to_string(n) + " ";
    r.group = std::to_string(run.hidden) + "x" + std::to_string(run.gpus);
    r.layout_group = calibrate::layout_group(run);
    rows.push_back(std::move(r));
  }
  thin(rows);
  return rows;
}

/// What a cluster's fabric was like during a run, by the all-reduce that the run measured at its start.
struct NetworkState {
  double congested_rank = 0;  ///< s a layer's pass and tensor rank, between nodes that are congested
  double power = 0;           ///< the NICs' share goes as this power of the measured over the usual bandwidth
};
/// GB/s of all-reduces below which a run on 2, 4 ... 64 nodes is congested.
constexpr double kCongestedBelow[] = {0, 352, 174, 120, 80, 60, 60};
constexpr double kUsual = 180;  ///< GB/s

models::Profile in_state(models::Profile p, const Row& row, const NetworkState& state) {
  const int nodes = row.job.cluster.nodes, tensor = row.strategy.tensor_parallel;
  if (nodes < 2 || row.all_reduce == 0) return p;
  p.value(models::switched::network_share).median *= std::pow(row.all_reduce / kUsual, state.power);
  const auto size = static_cast<std::size_t>(std::min(6.0, std::ceil(std::log2(nodes))));
  if (tensor > 1 && row.all_reduce < kCongestedBelow[size])
    p.value(models::gpu::host_layer).median += state.congested_rank * tensor * (tensor > 8 ? 1.28 : 1);
  return p;
}

double predicted(const Row& row, const models::Profile& profile, const NetworkState& state,
                 const topology::ChipGraph& graph) {
  try {
    const models::Profile p = in_state(profile, row, state);
    return models::StepModel(row.job, row.strategy, p, graph).simulate().step.value;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", row.id.c_str(), e.what());
    return std::nan("");
  }
}

/// Rows of a source weigh at most as much as so many independent ones.
constexpr double kMostRows = 100;

class Fit {
 public:
  Fit(std::vector<Row> rows, models::Profile prior, std::vector<Free> free)
      : rows_(std::move(rows)), prior_(std::move(prior)), free_(std::move(free)) {
    std::map<std::string, double> count;
    for (const Row& r : rows_) ++count[r.source];
    for (const Row& r : rows_) {
      weight_.push_back(std::min(1.0, kMostRows / count[r.source]));
      own_.push_back(models::with_factors(prior_, r.job));
      network_ = network_ || r.all_reduce > 0;
      const int chips = r.job.cluster.instance.chips;
      if (!graphs_.contains(chips))
        graphs_.emplace(chips, std::make_unique<topology::ChipGraph>(r.job.cluster.instance));
    }
  }
  const std::vector<Row>& rows() const { return rows_; }

  /// A row's profile. Parameters are multiples of the values that the profile has for its framework and
  /// cluster.
  models::Profile with(const Eigen::VectorXd& x, std::size_t row) const {
    models::Profile p = own_[row];
    for (std::size_t i = 0; i < free_.size(); ++i) {
      if (free_[i].holds(rows_[row]))
        p.value(free_[i].parameter).median *= std::exp(x[static_cast<Eigen::Index>(i)]);
    }
    return p;
  }
  /// The value before the fit, of the first row that the parameter holds for.
  models::Value start(const Free& f) const {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (f.holds(rows_[i])) return own_[i].value(f.parameter);
    }
    throw std::runtime_error("no row is of " + f.scope);
  }
  NetworkState state(const Eigen::VectorXd& x) const {
    if (!network_) return {};
    const auto at = static_cast<Eigen::Index>(free_.size());
    return {1.05e-3 * std::exp(x[at]), 0.6 * std::exp(x[at + 1])};
  }
  Eigen::Index parameters() const { return static_cast<Eigen::Index>(free_.size()) + (network_ ? 2 : 0); }
  /// Logarithms of predicted over measured. Rows that parameter `of` does not hold for are those of `known`.
  Eigen::VectorXd errors(const Eigen::VectorXd& x, Eigen::Index of = -1,
                         const Eigen::VectorXd* known = nullptr) const {
    const NetworkState now = state(x);
    Eigen::VectorXd e = known != nullptr ? *known : Eigen::VectorXd(static_cast<Eigen::Index>(rows_.size()));
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < rows_.size(); i = next++) {
        if (known != nullptr && !concerns(of, rows_[i])) continue;
        const auto& graph = *graphs_.at(rows_[i].job.cluster.instance.chips);
        const double t = predicted(rows_[i], with(x, i), now, graph);
        e[static_cast<Eigen::Index>(i)] = std::log(t / rows_[i].seconds);
      }
    };
    std::thread other(work);
    work();
    other.join();
    return e;
  }
  Eigen::MatrixXd slopes(const Eigen::VectorXd& x, const Eigen::VectorXd& at) const {
    Eigen::MatrixXd j(at.size(), x.size());
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      Eigen::VectorXd y = x;
      y[i] += 0.02;
      j.col(i) = (errors(y, i, &at) - at) / 0.02;
    }
    return j;
  }
  /// Standard deviations of the logarithms of the parameters at x.
  Eigen::VectorXd spread(const Eigen::VectorXd& x) const {
    const Eigen::VectorXd e = errors(x);
    Eigen::MatrixXd a = Eigen::MatrixXd::Zero(x.size(), x.size());
    Eigen::VectorXd b = Eigen::VectorXd::Zero(x.size());
    normal_equations(x, e, slopes(x, e), std::vector<bool>(rows_.size(), true), a, b);
    return a.inverse().diagonal().cwiseSqrt();
  }
  /// One linearised step for the rows with a weight.
  Eigen::VectorXd step(const Eigen::VectorXd& x, const Eigen::VectorXd& e, const Eigen::MatrixXd& j,
                       const std::vector<bool>& used) const {
    Eigen::MatrixXd a = Eigen::MatrixXd::Zero(x.size(), x.size());
    Eigen::VectorXd b = Eigen::VectorXd::Zero(x.size());
    normal_equations(x, e, j, used, a, b);
    Eigen::VectorXd d = a.ldlt().solve(b);
    const double most = d.cwiseAbs().maxCoeff();
    if (most > 0.5) d *= 0.5 / most;
    return d;
  }
  void normal_equations(const Eigen::VectorXd& x, const Eigen::VectorXd& e, const Eigen::MatrixXd& j,
                        const std::vector<bool>& used, Eigen::MatrixXd& a, Eigen::VectorXd& b) const {
    constexpr double kScale = 0.05, kFreedom = 3;
    constexpr double kLeastSpread = 0.02;
    for (Eigen::Index r = 0; r < e.size(); ++r) {
      if (!used[static_cast<std::size_t>(r)] || !std::isfinite(e[r])) continue;
      const double z = e[r] / kScale, w = weight_[static_cast<std::size_t>(r)] * (kFreedom + 1) /
                                          (kFreedom + z * z) / (kScale * kScale);
      a += w * j.row(r).transpose() * j.row(r);
      b -= w * e[r] * j.row(r).transpose();
    }
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      const auto f = static_cast<std::size_t>(i);
      const double sd = f < free_.size() ? std::max(kLeastSpread, start(free_[f]).log_sd) : 0.5;
      a(i, i) += 1 / (sd * sd);
      b[i] -= x[i] / (sd * sd);
    }
  }
  Eigen::VectorXd best(int rounds) const {
    Eigen::VectorXd x = Eigen::VectorXd::Zero(parameters());
    const std::vector<bool> all(rows_.size(), true);
    for (int i = 0; i < rounds && x.size() > 0; ++i) {
      const Eigen::VectorXd e = errors(x);
      const Eigen::VectorXd d = step(x, e, slopes(x, e), all);
      x += d;
      if (d.cwiseAbs().maxCoeff() < 0.003) break;
    }
    return x;
  }
  /// Each group predicted by a fit to the others, linearised around x: two steps of the same slopes.
  Eigen::VectorXd left_out(const Eigen::VectorXd& x, std::string Row::*of) const {
    const Eigen::VectorXd e = errors(x);
    const Eigen::MatrixXd j = slopes(x, e);
    Eigen::VectorXd out = e;
    std::map<std::string, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < rows_.size(); ++i) groups[rows_[i].*of].push_back(i);
    for (const auto& [name, members] : groups) {
      std::vector<bool> used(rows_.size(), true);
      for (const std::size_t i : members) used[i] = false;
      Eigen::VectorXd d = Eigen::VectorXd::Zero(x.size());
      for (int k = 0; k < 4; ++k) d += step(x + d, e + j * d, j, used);
      const Eigen::VectorXd whole = errors(x + d);
      for (const std::size_t i : members)
        out[static_cast<Eigen::Index>(i)] = whole[static_cast<Eigen::Index>(i)];
    }
    return out;
  }

 private:
  /// True if parameter `of` changes the row's time; those after the last are of the network's state.
  bool concerns(Eigen::Index of, const Row& row) const {
    const auto i = static_cast<std::size_t>(of);
    return i < free_.size() ? free_[i].holds(row) : row.all_reduce > 0;
  }

  std::vector<Row> rows_;
  models::Profile prior_;
  std::vector<Free> free_;
  std::vector<models::Profile> own_;  ///< of each row: with the factors of its framework and cluster
  std::vector<double> weight_;
  bool network_ = false;  ///< rows state their network
  std::map<int, std::unique_ptr<topology::ChipGraph>> graphs_;
};

void print_errors(const char* what, const std::string& source, const Fit& fit, const Eigen::VectorXd& e) {
  std::vector<double> all;
  double sum = 0, bias = 0;
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < fit.rows().size(); ++i) {
    if (fit.rows()[i].source != source) continue;
    const double x = e[static_cast<Eigen::Index>(i)];
    all.push_back(std::isfinite(x) ? std::abs(std::expm1(x)) : 1);
    sum += all.back();
    bias += x;
    groups[fit.rows()[i].layout_group].push_back(i);
  }
  std::sort(all.begin(), all.end());
  std::vector<double> regrets;
  for (const auto& [name, members] : groups) {
    if (members.size() < 5) continue;
    double best = 1e300, least = 1e300, picked = 0;
    for (const std::size_t i : members) {
      const double measured = fit.rows()[i].seconds, t = measured * std::exp(e[static_cast<Eigen::Index>(i)]);
      best = std::min(best, measured);
      if (t < least) {
        least = t;
        picked = measured;
      }
    }
    regrets.push_back(picked / best - 1);
  }
  double regret = 0;
  for (const double r : regrets) regret += r / static_cast<double>(regrets.size());
  const auto rows = static_cast<double>(all.size());
  std::printf(
      "%-18s %-22s %4zu rows, median %5.2f %%, mean %5.2f %%, p90 %5.1f %%, bias %+5.1f %%; regret of %zu "
      "groups %.1f %%\n",
      what, source.c_str(), all.size(), 100 * all[all.size() / 2], 100 * sum / rows,
      100 * all[all.size() * 9 / 10], 100 * bias / rows, regrets.size(), 100 * regret);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 5) return 2;
  const models::Profile prior = io::profile_from(parse_document(read_all(argv[2]), argv[2]));
  std::vector<Source> sources;
  std::istringstream parts(argv[3]);
  for (std::string part; std::getline(parts, part, ',');)
    sources.push_back({part.substr(0, part.find(':')), part.substr(part.find(':') + 1)});
  std::vector<Free> free;
  std::istringstream names(argv[4]);
  for (std::string name; std::getline(names, name, ',');) {
    const std::size_t scope = std::min(name.find('@'), name.size());
    const models::Parameter p = prior.schema->find(name.substr(0, scope));
    if (!p) throw std::runtime_error("no parameter " + name);
    free.push_back({p, scope < name.size() ? name.substr(scope + 1) : ""});
  }
  const char* stated = std::getenv("FAMILY");
  const std::string family = stated != nullptr ? stated : prior.instance;
  const Fit fit(rows_of(argv[1], sources, family), prior, free);
  const Eigen::VectorXd x = fit.best(std::getenv("ROUNDS") ? std::atoi(std::getenv("ROUNDS")) : 12);
  const Eigen::VectorXd sd = fit.spread(x);
  for (std::size_t i = 0; i < free.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    const double before = fit.start(free[i]).median;
    std::printf("%s%s%s %.4g log_sd %.3f (prior %.4g)\n", std::string(to_string(free[i].parameter)).c_str(),
                free[i].scope.empty() ? "" : "@", free[i].scope.c_str(), before * std::exp(x[at]), sd[at],
                before);
  }
  std::printf("congested_rank %.4g, power %.4g\n", fit.state(x).congested_rank, fit.state(x).power);
  const auto print = [&](const char* what, const Eigen::VectorXd& e) {
    for (const Source& s : sources) print_errors(what, s.name, fit, e);
  };
  print("fitted", fit.errors(x));
  bool rows = false;
  for (int i = 5; i < argc; ++i) {
    if (std::strcmp(argv[i], "--left-out") == 0) {
      print("group left out", fit.left_out(x, &Row::group));
      print("model left out", fit.left_out(x, &Row::model));
      print("source left out", fit.left_out(x, &Row::source));
    }
    if (std::strcmp(argv[i], "--rows") == 0) rows = true;
  }
  if (rows) {
    const Eigen::VectorXd e = fit.errors(x);
    for (std::size_t i = 0; i < fit.rows().size(); ++i)
      std::printf("ROW %s %.5g %.4f\n", fit.rows()[i].id.c_str(), fit.rows()[i].seconds,
                  e[static_cast<Eigen::Index>(i)]);
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
