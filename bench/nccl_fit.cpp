// Fits what NCCL's collectives take inside a node to a table of nccl-tests and prints parameters and errors.
//   nccl_fit TABLE.csv CATALOG
// Fitted to the rows of 2 and 8 GPUs of two kinds of GPU: `collective_start` and `step_latency` of each kind, and for
// both together the share of the links, what other protocols start in and what their steps take. Predicted: the rows
// of 4 GPUs; a third kind of GPU by its data sheet, with the geometric mean of the two kinds' starts and steps; two
// nodes by constants of NCCL and its plugin. Then a fit to all rows of a node, as the profiles state it. Maximum a
// posteriori of log times with Student-like weights. Deterministic.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <Eigen/Dense>

#include "io/catalog/catalog.h"
#include "logs/table/measured_collectives.h"
#include "models/collective/collective_timing.h"
#include "models/collective/switched_parameters.h"
#include "models/device/gpu_parameters.h"
#include "models/schemas/schemas.h"
#include "topology/chip_graph.h"

namespace {

using namespace trnplan;

struct Row {
  logs::MeasuredCollective point;
  const topology::Instance* instance;
  models::CollectiveRun run;
};

/// A cluster and its links, made once.
struct Bed {
  topology::Cluster cluster;
  topology::ChipGraph graph;
  Bed(const topology::Instance& i, int nodes) : cluster{i, nodes}, graph(cluster.instance) {}
};

/// The profile before any fit; what the fit moves is overwritten.
models::Profile prior() {
  models::Profile p;
  p.name = "nccl";
  p.schema = models::schema_named("gpu");
  for (const models::Parameter parameter : p.schema->parameters()) {
    if (const auto absent = models::value_when_absent(parameter)) p.value(parameter) = *absent;
  }
  p.value(models::gpu::bandwidth_share).median = 0.8;
  // A NIC of 12.5 GB/s counts for 12 and a step of Simple for 14 us (NVIDIA/nccl@5067397c src/graph).
  p.value(models::switched::network_share).median = 12 / 12.5;
  p.value(models::switched::network_latency).median = 14e-6;
  return p;
}

const std::vector<std::pair<models::Parameter, double>>& shared() {
  static const std::vector<std::pair<models::Parameter, double>> kShared = {
      {models::switched::link_share, 0.75},
      {models::switched::ll128_start, 7e-6},
      {models::switched::simple_start, 7e-6},
      {models::switched::in_switch_start, 25e-6},
      {models::switched::chunk_step, 3}};
  return kShared;
}
constexpr double kStart = 6.6e-6, kStep = 0.6e-6;  // NCCL's of LL: the prior

class Fit {
 public:
  /// Kinds of GPU with a start and a step of their own; any other has the mean of theirs.
  Fit(std::vector<Row> rows, std::vector<std::string> kinds)
      : rows_(std::move(rows)), kinds_(std::move(kinds)) {}

  Eigen::Index size() const { return static_cast<Eigen::Index>(shared().size() + 2 * kinds_.size()); }
  models::Profile profile(const std::string& kind, const Eigen::VectorXd& x) const {
    models::Profile p = prior();
    Eigen::Index i = 0;
    for (const auto& [parameter, median] : shared()) p.value(parameter).median = median * std::exp(x[i++]);
    double start = 0, step = 0, of = 0;
    for (std::size_t k = 0; k < kinds_.size(); ++k, i += 2) {
      if (kinds_[k] != kind && std::find(kinds_.begin(), kinds_.end(), kind) != kinds_.end()) continue;
      start += x[i];
      step += x[i + 1];
      ++of;
    }
    p.value(models::switched::collective_start).median = kStart * std::exp(start / of);
    p.value(models::switched::step_latency).median = kStep * std::exp(step / of);
    return p;
  }
  /// Logarithms of predicted over measured.
  Eigen::VectorXd errors(const std::vector<Row>& rows, const Eigen::VectorXd& x,
                         std::vector<std::string>* algorithms = nullptr) const {
    Eigen::VectorXd e(static_cast<Eigen::Index>(rows.size()));
    std::map<std::string,
             std::pair<std::unique_ptr<models::Profile>, std::unique_ptr<models::CollectiveTimer>>>
        timers;
    std::map<std::string, std::unique_ptr<Bed>> beds;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const topology::Instance& i = *rows[r].instance;
      const int nodes = std::max(1, rows[r].point.nodes);
      const std::string name = i.name + "/" + std::to_string(nodes);
      auto& timer = timers[name];
      if (!timer.second) {
        auto& bed = beds[name] = std::make_unique<Bed>(i, nodes);
        timer.first = std::make_unique<models::Profile>(profile(i.family, x));
        timer.second = std::make_unique<models::CollectiveTimer>(bed->cluster, bed->graph, *timer.first);
      }
      const models::CollectiveTiming t = timer.second->time(rows[r].run);
      e[static_cast<Eigen::Index>(r)] = std::log(t.seconds.value / rows[r].point.seconds);
      if (algorithms != nullptr) algorithms->push_back(t.algorithm);
    }
    return e;
  }
  Eigen::VectorXd best() const {
    constexpr double kScale = 0.07, kFreedom = 3, kPrior = 0.7;
    Eigen::VectorXd x = Eigen::VectorXd::Zero(size());
    for (int round = 0; round < 40; ++round) {
      const Eigen::VectorXd e = errors(rows_, x);
      Eigen::MatrixXd a = Eigen::MatrixXd::Identity(size(), size()) / (kPrior * kPrior);
      Eigen::VectorXd b = -x / (kPrior * kPrior);
      Eigen::MatrixXd j(e.size(), size());
      for (Eigen::Index i = 0; i < size(); ++i) {
        Eigen::VectorXd y = x;
        y[i] += 0.02;
        j.col(i) = (errors(rows_, y) - e) / 0.02;
      }
      for (Eigen::Index r = 0; r < e.size(); ++r) {
        const double z = e[r] / kScale, w = (kFreedom + 1) / (kFreedom + z * z) / (kScale * kScale);
        a += w * j.row(r).transpose() * j.row(r);
        b -= w * e[r] * j.row(r).transpose();
      }
      Eigen::VectorXd d = a.ldlt().solve(b);
      const double most = d.cwiseAbs().maxCoeff();
      if (most > 0.5) d *= 0.5 / most;
      x += d;
      if (most < 1e-3) break;
    }
    return x;
  }
  void print(const Eigen::VectorXd& x) const {
    for (const auto& [parameter, median] : shared())
      std::printf("  %-20s %.4g\n", std::string(models::to_string(parameter)).c_str(),
                  profile(kinds_.front(), x)[parameter]);
    for (const std::string& kind : kinds_) {
      const models::Profile p = profile(kind, x);
      std::printf("  %-8s collective_start %.4g, step_latency %.4g\n", kind.c_str(),
                  p[models::switched::collective_start], p[models::switched::step_latency]);
    }
  }

 private:
  std::vector<Row> rows_;
  std::vector<std::string> kinds_;
};

void summary(const char* what, const Eigen::VectorXd& e) {
  std::vector<double> all;
  double sum = 0;
  for (const double x : e) {
    all.push_back(std::abs(std::expm1(x)));
    sum += all.back();
  }
  if (all.empty()) return;
  std::sort(all.begin(), all.end());
  std::printf("%-40s %3zu rows: median %.1f %%, mean %.1f %%, p90 %.1f %%\n", what, all.size(),
              100 * all[all.size() / 2], 100 * sum / static_cast<double>(all.size()),
              100 * all[all.size() * 9 / 10]);
}

std::vector<Row> of(const std::vector<Row>& rows, const std::function<bool(const Row&)>& is) {
  std::vector<Row> some;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(some), is);
  return some;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) return 2;
  std::ifstream in(argv[1]);
  std::ostringstream text;
  text << in.rdbuf();
  const io::Catalog catalog(argv[2]);
  std::map<std::string, topology::Instance> machines;
  std::vector<Row> rows;
  for (logs::MeasuredCollective& p : logs::parse_measured_collectives(text.str(), argv[1])) {
    if (!machines.contains(p.instance)) machines.emplace(p.instance, catalog.instance(p.instance));
    const models::CollectiveRun run{*models::collective_op(p.op), p.ranks, Bytes(p.bytes)};
    const topology::Instance* machine = &machines.at(p.instance);
    rows.push_back({std::move(p), machine, run});
  }
  const std::set<std::string> two = {"a100", "h100"};
  const auto known = [&](const Row& r) { return two.contains(r.instance->family); };
  const auto one_node = [](const Row& r) { return r.point.nodes < 2; };
  const auto fitted = of(rows, [&](const Row& r) { return known(r) && one_node(r) && r.point.ranks != 4; });
  const Fit fit(fitted, {two.begin(), two.end()});
  const Eigen::VectorXd x = fit.best();
  std::printf("fitted to 2 and 8 GPUs of two kinds:\n");
  fit.print(x);
  const auto say = [&](const Fit& by, const Eigen::VectorXd& at, const char* what,
                       const std::function<bool(const Row&)>& is) {
    summary(what, by.errors(of(rows, is), at));
  };
  summary("in sample", fit.errors(fitted, x));
  say(fit, x, "4 GPUs of these kinds, not fitted",
      [&](const Row& r) { return known(r) && one_node(r) && r.point.ranks == 4; });
  say(fit, x, "the third kind, by its data sheet", [&](const Row& r) { return !known(r) && one_node(r); });
  say(fit, x, "two nodes, by constants", [&](const Row& r) { return !one_node(r); });
  for (const char* machine : {"p4de.24xlarge", "p5.48xlarge"})
    say(fit, x, machine, [&](const Row& r) { return r.point.instance == machine; });
  const auto nodes = of(rows, one_node);
  std::set<std::string> kinds;
  for (const Row& r : nodes) kinds.insert(r.instance->family);
  const Fit whole(nodes, {kinds.begin(), kinds.end()});
  const Eigen::VectorXd y = whole.best();
  std::printf("fitted to all rows of one node:\n");
  whole.print(y);
  summary("in sample", whole.errors(nodes, y));
  for (const std::string& kind : kinds)
    say(whole, y, kind.c_str(), [&](const Row& r) { return one_node(r) && r.instance->family == kind; });
  if (argc > 3) {
    std::vector<std::string> algorithms;
    const Eigen::VectorXd e = fit.errors(rows, x, &algorithms);
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::printf("ROW %s %s %d x %s %.0f %.1f us %+.1f %% %s\n", rows[i].point.id.c_str(),
                  rows[i].point.op.c_str(), rows[i].point.ranks, rows[i].point.instance.c_str(),
                  rows[i].point.bytes, rows[i].point.seconds * 1e6,
                  100 * std::expm1(e[static_cast<Eigen::Index>(i)]), algorithms[i].c_str());
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
