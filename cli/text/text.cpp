#include "cli/text/text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/framework/framework.h"
#include "models/job/sharding_words.h"
#include "models/uncertainty/mixture.h"
#include "models/uncertainty/spread.h"
#include "text/diagnostic.h"

namespace trnplan::cli {

std::string seconds_text(Seconds s) {
  const double v = s.value;
  return v >= 1000  ? fmt::format("{:.0f}", v)
         : v >= 100 ? fmt::format("{:.1f}", v)
                    : fmt::format("{:.2f}", v);
}

namespace {

std::string batch_text(const models::Job& job) {
  const models::SearchSpace& f = job.space;
  if (f.largest_batch > 0) return fmt::format("{} to {}", f.smallest_batch, f.largest_batch);
  if (f.batch_per_node > 0 && f.nodes.size() > 1) return fmt::format("{} per node", f.batch_per_node);
  return std::to_string(job.training.global_batch);
}

/// "4, 8 or 16", "a or b", "a".
std::string choice(const std::vector<std::string>& of) {
  std::string text;
  for (std::size_t i = 0; i < of.size(); ++i)
    text += (i == 0 ? "" : i + 1 == of.size() ? " or " : ", ") + of[i];
  return text;
}

std::string cluster_text(const models::Job& job) {
  const models::SearchSpace& f = job.space;
  std::vector<std::string> nodes, types;
  for (const int n : f.nodes) nodes.push_back(std::to_string(n));
  for (const topology::Instance& i : f.instances) types.push_back(printable(i.shown_name()));
  if (nodes.empty()) nodes.push_back(std::to_string(job.cluster.nodes));
  if (types.empty()) types.push_back(printable(job.cluster.instance.shown_name()));
  const bool one = nodes.size() == 1 && types.size() == 1;
  return fmt::format("{} x {}{}", choice(nodes), choice(types),
                     one ? fmt::format(" ({} {}s)", job.cluster.cores(),
                                       topology::device_word(job.cluster.instance.traits.accelerator))
                         : std::string());
}

}  // namespace

std::string job_line(const models::Job& job) {
  const bool usual = job.training.precision == models::Precision::mixed_precision;
  const std::string precision = job.space.precision ? ", any precision"
                                : usual             ? ""
                                                    : fmt::format(", {}", to_string(job.training.precision));
  return fmt::format("{}, sequence {}, batch {}{}, on {}\n", printable(job.architecture.name),
                     job.training.sequence, batch_text(job), precision, cluster_text(job));
}

std::string network_words(const planner::Plan& p) {
  if (p.network) {
    return fmt::format("as measured: {:.4g} GB/s on {} nodes (bus bandwidth of an all-reduce)",
                       p.network->bus.value / 1e9, p.network->nodes);
  }
  constexpr double kNoticed = 0.1;  // of the step
  const double share = std::abs(p.report.elasticity(models::Resource::efa));
  if (p.nodes < 2 || share < kNoticed) return "";
  const std::string states = p.report.slow
                                 ? fmt::format("; plans are compared by the mean over its states, {:.4g} s",
                                               models::mean_step(p.report).value)
                                 : std::string();
  return fmt::format("{:.0f} % of the step, not measured: --all-reduce-gbps states it{}", 100 * share,
                     states);
}

const char* resource_words(models::Resource r, topology::Accelerator of) {
  const bool gpu = of == topology::Accelerator::gpu;
  switch (r) {
    case models::Resource::tensor:
      return gpu ? "matrix products (tensor cores)" : "tensor engine";
    case models::Resource::vector:
      return gpu ? "element-wise kernels" : "vector engines";
    case models::Resource::hbm:
      return "memory bandwidth (HBM)";
    case models::Resource::dma:
      return gpu ? "copy engines" : "DMA engines";
    case models::Resource::link:
      return gpu ? "links between GPUs" : "links between chips";
    case models::Resource::efa:
      return "network between nodes";
    case models::Resource::latency:
      return "latency of collectives";
    case models::Resource::launch:
      return gpu ? "launches of kernels" : "launches of graphs";
    case models::Resource::count:
      break;
  }
  return "nothing in particular";
}

std::string gib(Bytes b) {
  return fmt::format("{:.2f}", in_gibibytes(b));
}

bool is_duration(models::Resource r) {
  return r == models::Resource::latency || r == models::Resource::launch;
}

const char* cause_words(models::Category c) {
  switch (c) {
    case models::Category::compute:
      return "compute";
    case models::Category::tensor_parallel:
      return "tensor parallel";
    case models::Category::context_parallel:
      return "context parallel";
    case models::Category::expert_parallel:
      return "expert parallel";
    case models::Category::pipeline:
      return "pipeline sends";
    case models::Category::bubble:
      return "pipeline bubble";
    case models::Category::data_parallel:
      return "data parallel";
    case models::Category::optimizer:
      return "optimizer";
    case models::Category::overhead:
      return "overhead";
    case models::Category::count:
      break;
  }
  return "other";
}

std::string probability_text(double p) {
  if (p > 0.999) return "> 99.9 %";
  if (p < 0.001) return "< 0.1 %";
  return fmt::format("{:.1f} %", 100 * p);
}

std::string short_probability(double p) {
  if (p > 0.99) return "> 99 %";
  if (p < 0.01) return "< 1 %";
  return fmt::format("{:.0f} %", 100 * p);
}

std::string findings_text(const std::vector<targets::Finding>& findings, bool sources) {
  std::string text;
  for (const targets::Finding& f : findings) {
    std::string place = printable(f.at.file, 400);
    if (f.at.line > 0) place += fmt::format(":{}:{}", f.at.line, f.at.column);
    text += fmt::format("{}{}{}: {}: {}{}\n", place, place.empty() ? "" : ": ", to_string(f.severity), f.rule,
                        f.key.empty() ? "" : printable(f.key) + ": ", printable(f.message, 2000));
    if (!f.fix.empty()) text += fmt::format("  fix: {}\n", printable(f.fix, 2000));
    if (sources && !f.source.empty()) text += fmt::format("  source: {}\n", printable(f.source, 400));
  }
  return text;
}

}  // namespace trnplan::cli
