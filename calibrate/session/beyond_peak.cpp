#include "calibrate/session/beyond_peak.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "models/step/step.h"
#include "text/figures.h"

namespace trnplan::calibrate {

namespace {

/// Share of the peak FLOPS that no step sustains: a core's products alone are slower (the shares in the catalogue's
/// profiles), and a step waits as well. Our own value.
constexpr double kMostOfPeak = 0.9;

}  // namespace

std::optional<Diagnostic> beyond_peak(double seconds, const models::Job& job,
                                      const models::Strategy& strategy, SourcePos at) {
  const models::Training& training = job.training;
  const topology::Cluster& cluster = job.cluster;
  const topology::Core& core = cluster.instance.core;
  const FlopsPerSecond peak = models::is_fp8(strategy.precision) ? core.fp8 : core.bf16;
  if (!(seconds > 0) || !(peak.value > 0)) return std::nullopt;
  const double tokens = static_cast<double>(training.sequence) * training.global_batch;
  const models::Architecture& a = job.architecture;
  const models::ProductFlops flops = models::product_flops_per_token(a, training.sequence);
  const auto share = [&](double per_token) {
    return per_token * tokens / (seconds * peak.value * cluster.cores());
  };
  const double all = share(flops.least(a.causal));
  if (all <= kMostOfPeak) return std::nullopt;
  // The products of frozen weights have no gradients of weights, a third of them.
  const double frozen = share(flops.least(a.causal) - flops.weights / 3);
  std::string fix = kOfThisLog;
  if (frozen <= kMostOfPeak)
    fix += fmt::format(
        ", and that it trains all weights: with frozen ones (LoRA), which are not modelled, it would be "
        "{:.0f} %",
        100 * frozen);
  return Diagnostic{
      std::move(at), "step",
      fmt::format("{:.4g} s would be {:.0f} % of the peak FLOPS of {}", seconds, 100 * all,
                  counted(cluster.cores(), topology::device_word(cluster.instance.traits.accelerator))),
      std::move(fix)};
}

}  // namespace trnplan::calibrate
