// Fits parameters of a GPU profile to published training runs and prints the profile and its errors, each group
// (hidden size and GPUs) and each model also predicted by a fit to all others.
//   gpu_fit gpu-measured.csv PROFILE.json SOURCE QUALITIES PARAMETER,... [--left-out] [--rows]
// SOURCE is a part of the column `source`, QUALITIES is "AB" or "A". Maximum a posteriori of log step times with
// Student-like weights; priors are those of PROFILE.json. ROUNDS in the environment: at most so many. Deterministic.
// Rows whose note carries the run's own all-reduce bandwidth are predicted with it, which no plan has.
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
  std::string id, group, model, layout_group;
  models::Job job;
  models::Strategy strategy;
  double seconds = 0;
  double all_reduce = 0;  ///< GB/s that the run itself measured; 0: none
};

/// As `trnplan validate --measured` reads them (calibrate/data/layout_jobs.h).
std::vector<Row> rows_of(const char* path, const std::string& source, const std::string& qualities) {
  const io::Catalog catalog = io::Catalog::standard();
  const calibrate::LayoutRules rules = io::scoring_from(read_document(catalog.file("scoring.json")));
  std::map<std::string, topology::Instance> instances;
  const auto instance = [&](const std::string& name) {
    const auto it = instances.find(name);
    return it != instances.end() ? it->second : instances.emplace(name, catalog.instance(name)).first->second;
  };
  std::vector<Row> rows;
  for (const logs::LayoutRun& run : logs::parse_layout_runs(read_all(path), path, logs::RunTable::gpu_runs)) {
    if (run.source.find(source) == std::string::npos || !run.step_seconds) continue;
    if (run.quality.empty() || qualities.find(run.quality) == std::string::npos) continue;
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
    if (!why.empty()) {
      std::fprintf(stderr, "%s: %s\n", run.id.c_str(), why.c_str());
      continue;
    }
    r.id = run.id;
    r.seconds = *run.step_seconds;
    r.all_reduce = run.all_reduce.value_or(0) * 1e-9;
    for (const int n : {run.layers, run.hidden, run.intermediate, run.heads, run.kv_heads})
      r.model += std::to_string(n) + " ";
    r.group = std::to_string(run.hidden) + "x" + std::to_string(run.gpus);
    r.layout_group = calibrate::layout_group(run);
    rows.push_back(std::move(r));
  }
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

class Fit {
 public:
  Fit(std::vector<Row> rows, models::Profile prior, std::vector<models::Parameter> free)
      : rows_(std::move(rows)), prior_(std::move(prior)), free_(std::move(free)) {
    for (const Row& r : rows_) {
      network_ = network_ || r.all_reduce > 0;
      const int chips = r.job.cluster.instance.chips;
      if (!graphs_.contains(chips))
        graphs_.emplace(chips, std::make_unique<topology::ChipGraph>(r.job.cluster.instance));
    }
  }
  const std::vector<Row>& rows() const { return rows_; }

  models::Profile with(const Eigen::VectorXd& x) const {
    models::Profile p = prior_;
    for (std::size_t i = 0; i < free_.size(); ++i)
      p.value(free_[i]).median = prior_[free_[i]] * std::exp(x[static_cast<Eigen::Index>(i)]);
    return p;
  }
  NetworkState state(const Eigen::VectorXd& x) const {
    if (!network_) return {};
    const auto at = static_cast<Eigen::Index>(free_.size());
    return {1.05e-3 * std::exp(x[at]), 0.6 * std::exp(x[at + 1])};
  }
  Eigen::Index parameters() const { return static_cast<Eigen::Index>(free_.size()) + (network_ ? 2 : 0); }
  /// Logarithms of predicted over measured.
  Eigen::VectorXd errors(const Eigen::VectorXd& x) const {
    const models::Profile p = with(x);
    const NetworkState now = state(x);
    Eigen::VectorXd e(static_cast<Eigen::Index>(rows_.size()));
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < rows_.size(); i = next++) {
        const double t = predicted(rows_[i], p, now, *graphs_.at(rows_[i].job.cluster.instance.chips));
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
      j.col(i) = (errors(y) - at) / 0.02;
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
    for (Eigen::Index r = 0; r < e.size(); ++r) {
      if (!used[static_cast<std::size_t>(r)] || !std::isfinite(e[r])) continue;
      const double z = e[r] / kScale, w = (kFreedom + 1) / (kFreedom + z * z) / (kScale * kScale);
      a += w * j.row(r).transpose() * j.row(r);
      b -= w * e[r] * j.row(r).transpose();
    }
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      const auto f = static_cast<std::size_t>(i);
      const double sd = f < free_.size() ? std::max(0.02, prior_.value(free_[f]).log_sd) : 0.5;
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
  std::vector<Row> rows_;
  models::Profile prior_;
  std::vector<models::Parameter> free_;
  bool network_ = false;  ///< rows state their network
  std::map<int, std::unique_ptr<topology::ChipGraph>> graphs_;
};

void print_errors(const char* what, const Fit& fit, const Eigen::VectorXd& e) {
  std::vector<double> all;
  double sum = 0;
  for (const double x : e) {
    all.push_back(std::isfinite(x) ? std::abs(std::expm1(x)) : 1);
    sum += all.back();
  }
  std::sort(all.begin(), all.end());
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < fit.rows().size(); ++i) groups[fit.rows()[i].layout_group].push_back(i);
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
  std::sort(regrets.begin(), regrets.end());
  double regret = 0;
  for (const double r : regrets) regret += r / static_cast<double>(regrets.size());
  std::printf(
      "%s: %zu rows, median %.2f %%, mean %.2f %%, p90 %.1f %%; regret of %zu groups median %.1f %%, mean "
      "%.1f %%\n",
      what, all.size(), 100 * all[all.size() / 2], 100 * sum / static_cast<double>(all.size()),
      100 * all[all.size() * 9 / 10], regrets.size(), regrets.empty() ? 0 : 100 * regrets[regrets.size() / 2],
      100 * regret);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 6) return 2;
  const models::Profile prior = io::profile_from(parse_document(read_all(argv[2]), argv[2]));
  std::vector<models::Parameter> free;
  std::istringstream names(argv[5]);
  for (std::string name; std::getline(names, name, ',');) {
    const models::Parameter p = prior.schema->find(name);
    if (!p) throw std::runtime_error("no parameter " + name);
    free.push_back(p);
  }
  const Fit fit(rows_of(argv[1], argv[3], argv[4]), prior, free);
  const Eigen::VectorXd x = fit.best(std::getenv("ROUNDS") ? std::atoi(std::getenv("ROUNDS")) : 12);
  const models::Profile p = fit.with(x);
  const Eigen::VectorXd sd = fit.spread(x);
  for (std::size_t i = 0; i < free.size(); ++i)
    std::printf("%s %.4g log_sd %.3f (prior %.4g)\n", std::string(to_string(free[i])).c_str(), p[free[i]],
                sd[static_cast<Eigen::Index>(i)], prior[free[i]]);
  std::printf("congested_rank %.4g, power %.4g\n", fit.state(x).congested_rank, fit.state(x).power);
  print_errors("in sample", fit, fit.errors(x));
  bool rows = false;
  for (int i = 6; i < argc; ++i) {
    if (std::strcmp(argv[i], "--left-out") == 0) {
      print_errors("groups left out", fit, fit.left_out(x, &Row::group));
      print_errors("models left out", fit, fit.left_out(x, &Row::model));
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
