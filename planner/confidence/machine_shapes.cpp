#include "planner/confidence/machine_shapes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "models/collective/collective_runtime.h"
#include "models/collective/collective_timing.h"
#include "models/framework/framework.h"
#include "models/operators/operators.h"
#include "models/uncertainty/spread.h"
#include "units/normal.h"
#include "units/square.h"

namespace trnplan::planner {

namespace {

using models::Operator;
using models::Parameter;

/// Minutes of a shape, of starting the process that times them, and of a table; of compiling a shape, where
/// programs are compiled ahead (assumed: two graphs of some products).
constexpr double kShapeMinutes = 0.05, kStartMinutes = 0.5, kTableMinutes = 1, kCompileMinutes = 3;

/// Seconds of the operators that are kernels, by shape.
class Kernels {
 public:
  void add(const models::OperatorList& list, double times) {
    for (const Operator& one : list) {
      const double seconds = one.seconds.value * times;
      if (one.product.n > 0 && !one.product.fp8) {
        const models::MatmulShape& p = one.product;
        auto& of = products_[{p.n, p.k, p.width}];
        of += seconds;
        in_products += seconds;
        by_products.insert(one.parameter);
      } else if (one.attention.units > 0) {
        attention_.emplace(std::tuple(one.attention.units, one.attention.blocks), one.attention);
        by_attention.insert(one.parameter);
      }
    }
  }

  std::vector<ProductShape> products() const {
    std::vector<ProductShape> all;
    for (const auto& [key, seconds] : products_) {
      const auto& [n, k, width] = key;
      if (std::min({n, k, width}) >= 1) all.push_back({{n, k, width}, seconds / in_products});
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
    double sum = 0;
    std::size_t kept = 0;
    while (kept < std::min(all.size(), kMostShapes) && sum < kMostOfTime) sum += all[kept++].share;
    all.resize(kept);
    return all;
  }

  /// Those that a kernel can be asked for: whole squares, or causal ones.
  std::vector<models::AttentionShape> attention() const {
    std::vector<models::AttentionShape> all;
    for (const auto& [key, shape] : attention_) {
      if (shape.blocks == 1 || shape.blocks == 0.5) all.push_back(shape);
    }
    return all;
  }

  double in_products = 0;
  std::set<Parameter> by_products, by_attention;

 private:
  std::map<std::tuple<double, double, double>, double> products_;
  std::map<std::tuple<double, double>, models::AttentionShape> attention_;
};

Kernels kernels_of(const models::Job& job, const models::Strategy& strategy, const models::Profile& profile) {
  const models::LayerModel layers(job, strategy, profile);
  Kernels kernels;
  const double per_stage =
      std::max(1.0, static_cast<double>(job.architecture.layers) / strategy.pipeline_parallel);
  kernels.add(layers.layer_forward(), per_stage);
  kernels.add(layers.layer_backward(), per_stage);
  kernels.add(layers.head_forward(), 1.0 / strategy.pipeline_parallel);
  kernels.add(layers.head_backward(), 1.0 / strategy.pipeline_parallel);
  return kernels;
}

/// False if the runtime refuses such groups.
bool runs(const TableRequest& t, const models::Job& job, const models::Profile& profile) {
  const topology::Cluster cluster{job.cluster.instance, t.nodes};
  const topology::ChipGraph graph(cluster.instance);
  return models::CollectiveTimer(cluster, graph, profile)
             .time({t.op, t.ranks, Bytes(t.largest)})
             .verdict.verdict != topology::Verdict::refused;
}

}  // namespace

MachineShapes machine_shapes(const models::Job& job, const Plan& plan, const models::Profile& profile,
                             double machine) {
  const models::Job on = as_planned(job, plan);
  const models::Profile own = models::with_factors(profile, on);
  const std::vector<double> gradient = models::log_gradient(plan.report);
  const auto doubt = [&](const std::set<Parameter>& of) {
    double sum = 0;
    for (const Parameter p : of) {
      if (p && own.schema->contains(p))
        sum += square(gradient[p.place()]) * (square(own.value(p).log_sd) + square(machine));
    }
    return sum;
  };
  const Kernels kernels = kernels_of(on, plan.strategy, own);
  const models::RuntimeParameters runtime = models::runtime_of(on.cluster.instance).parameters();
  // The attention kernel of NeuronCores is no call of PyTorch's: no script times it.
  const bool gpu = on.cluster.instance.traits.accelerator == topology::Accelerator::gpu;
  const double products = doubt(kernels.by_products), attention = gpu ? doubt(kernels.by_attention) : 0,
               in_node = doubt({runtime.link, runtime.start, runtime.step}),
               between = doubt({runtime.network, runtime.between});
  const double all = std::max(1e-30, products + attention + in_node + between);
  MachineShapes out;
  out.fp32 = plan.strategy.precision == models::Precision::fp32;
  out.library = models::framework_of(plan.strategy).attention();
  if (products / all >= kWorth) out.products = kernels.products();
  if (attention / all >= kWorth) out.attention = kernels.attention();
  for (const TableRequest& table : tables_of(job, plan, plan, profile)) {
    if ((table.nodes > 1 ? between : in_node) / all >= kWorth && runs(table, on, profile))
      out.tables.push_back(table);
  }
  std::stable_sort(out.tables.begin(), out.tables.end(),
                   [](const TableRequest& a, const TableRequest& b) { return a.nodes < b.nodes; });
  const double sigma = std::log(plan.report.high / plan.report.low) / (2 * kNinetyPercent);
  out.of_step = sigma > 0 ? std::min(1.0, all / square(sigma)) : 0;
  out.of_products = products / all;
  out.of_attention = attention / all;
  out.in_node = in_node / all;
  out.between_nodes = between / all;
  const std::size_t shapes = out.products.size() + out.attention.size();
  out.minutes = (shapes > 0 ? kStartMinutes : 0) +
                (kShapeMinutes + (gpu ? 0 : kCompileMinutes)) * static_cast<double>(shapes) +
                kTableMinutes * static_cast<double>(out.tables.size());
  return out;
}

std::vector<std::string> nccl_command(const TableRequest& t) {
  return {fmt::format("{}_perf", to_string(t.op)),
          "-b",
          fmt::format("{:.0f}", t.smallest),
          "-e",
          fmt::format("{:.0f}", std::ceil(t.largest)),
          "-f",
          std::to_string(kTableFactor),
          "-d",
          "bfloat16"};
}

}  // namespace trnplan::planner
