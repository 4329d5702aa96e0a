#include "calibrate/session/samples.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "text/figures.h"
#include "topology/traits.h"

namespace trnplan::calibrate {

namespace {

using logs::StepSample;

bool differs(const std::optional<double>& stated, int wanted) {
  return stated && wanted > 0 && *stated != wanted;
}

/// Part by which a throughput may differ from the clock by rounding and smoothing.
constexpr double kRounding = 0.1;

/// Takes the seconds of a step by the stated throughput, if the log has no clock: the throughput is the last
/// one alone, and of an interval that the log does not say.
void take_rate(double seconds, StepSample& s, Remarks& remarks) {
  if (!s.by_clock && !s.wall_seconds) {
    s.wall_seconds = seconds;
    s.wall_by_rate = true;
    return;
  }
  const double clock = s.wall_seconds.value_or(s.seconds);
  if (std::abs(std::log(seconds / clock)) <= kRounding) return;
  remarks.add(
      Diagnostic{s.at, "throughput",
                 fmt::format("{:.4g} sequences/s are {:.4g} s a step, and the printed clock says {:.4g} s: "
                             "the clock is used",
                             *s.sequences_per_second, seconds, clock),
                 "check the log, and the global batch of the job"});
}

}  // namespace

std::optional<StepSample> completed(StepSample s, const WhatRan& ran, Remarks& remarks) {
  const models::Training& training = ran.job.training;
  for (const auto& [stated, wanted, what] :
       {std::tuple{s.global_batch, training.global_batch, "global batch"},
        std::tuple{s.sequence, training.sequence, "sequence"}}) {
    if (!differs(stated, wanted)) continue;
    remarks.add(Diagnostic{
        s.at, "", fmt::format("left out: {} {:.0f} in this log, {} in {}", what, *stated, wanted, ran.from),
        "give the job that wrote the log, or calibrate the logs separately"});
    return std::nullopt;
  }
  if (const std::string other = other_tokens(s, ran.job); !other.empty()) {
    remarks.add(Diagnostic{s.at, "", fmt::format("left out: {} in {}", other, ran.from),
                           "give the job that wrote the log: its batch, sequence and nodes"});
    return std::nullopt;
  }
  if (const std::string other = other_layout(s, ran.job, ran.strategy); !other.empty()) {
    remarks.add(Diagnostic{s.at, "", fmt::format("left out: {} in {}", other, ran.from),
                           "give the job and the strategy that wrote the log"});
    return std::nullopt;
  }
  if (const std::string other = other_flops(s, ran.job); !other.empty())
    remarks.add(Diagnostic{s.at, "throughput", other, kWhatFlopsDecides});
  if (!s.global_batch && training.global_batch > 0) s.global_batch = training.global_batch;
  if (!s.sequence && training.sequence > 0) s.sequence = training.sequence;
  // The user's statement outweighs hints in the words of a log.
  if (!ran.job.software.framework.empty()) s.framework = ran.job.software.framework;
  if (s.release.empty()) s.release = ran.job.software.release;
  if (s.sequences_per_second && s.global_batch) {
    take_rate(s.sequences_a_step ? s.seconds * *s.global_batch / *s.sequences_a_step
                                 : *s.global_batch / *s.sequences_per_second,
              s, remarks);
  }
  if (!s.tokens_per_second && s.sequences_per_second && s.sequence) {
    s.tokens_per_second = *s.sequences_per_second * *s.sequence;
  }
  return s;
}

namespace {

/// True if both logs show the same steps: stated times with a spread agree to the last digit in one run alone.
bool same_steps(const StepSample& a, const StepSample& b) {
  const auto times = [](const StepSample& s) {
    return std::tie(s.seconds, s.wall_seconds, s.count, s.spread, s.low, s.high, s.trend);
  };
  return a.at.file != b.at.file && !a.by_clock && a.count >= logs::kFewestSteps && a.spread.value_or(0) > 0 &&
         a.low < a.high && times(a) == times(b);
}

}  // namespace

std::vector<StepSample> step_samples(const std::vector<LogFile>& files, const std::optional<WhatRan>& ran,
                                     SeenSteps& seen, Remarks& remarks) {
  std::vector<StepSample> samples;
  for (const LogFile& file : files) {
    for (const StepSample& sample : file.content.steps) {
      const auto same = std::find_if(seen.begin(), seen.end(),
                                     [&](const StepSample& other) { return same_steps(other, sample); });
      if (same != seen.end()) {
        remarks.add(Diagnostic{sample.at, "",
                               fmt::format("shows the same {} steps as {}: they count once", sample.count,
                                           printable(same->at.file, 200)),
                               "nothing to do"});
        continue;
      }
      std::optional<StepSample> known = ran ? completed(sample, *ran, remarks) : sample;
      if (!known) continue;
      seen.push_back(sample);
      samples.push_back(std::move(*known));
    }
  }
  return samples;
}

std::string measured_as(bool by_rate, double printed) {
  const char* as = by_rate ? "by the throughput in the log" : "from step to step";
  if (printed > 0) return fmt::format(" {} ({:.4g} by the step time in the log)", as, printed);
  return by_rate ? fmt::format(" {}", as) : "";
}

std::string other_tokens(const StepSample& s, const models::Job& job) {
  const double devices = job.cluster.cores();
  const double planned = static_cast<double>(job.training.sequence) * job.training.global_batch;
  const double logged = s.device_tokens_per_second.value_or(0) * devices * s.seconds;
  if (!(logged > 0) || !(planned > 0) || std::abs(logged / planned - 1) <= kSameTokens) return "";
  const std::string_view word = topology::device_word(job.cluster.instance.traits.accelerator);
  return fmt::format("the log states {} tokens/s a {}: at {:.4g} s a step {} tokens on {}, but {}",
                     grouped(*s.device_tokens_per_second), word, s.seconds, grouped(logged),
                     counted(static_cast<std::int64_t>(devices), word), grouped(planned));
}

std::string other_flops(const StepSample& s, const models::Job& job) {
  const double devices = job.cluster.cores();
  const double tokens = static_cast<double>(job.training.sequence) * job.training.global_batch;
  if (!s.device_flops_per_second || !(tokens > 0)) return "";
  const double logged = *s.device_flops_per_second * devices * s.seconds / tokens;
  const models::ProductFlops planned =
      models::product_flops_per_token(job.architecture, job.training.sequence);
  const double least = planned.least(job.architecture.causal), most = planned.weights + planned.attention;
  if (logged >= least / (1 + kSameTokens) && logged <= most * (1 + kSameTokens)) return "";
  const std::string by_layers =
      least < most
          ? fmt::format("{:.4g} with half of the attention and {:.4g} with all", least / 1e9, most / 1e9)
          : fmt::format("{:.4g}", most / 1e9);
  return fmt::format(
      "the log states {:.4g} TFLOPS a {}: {:.4g} GFLOPs a token, but {} by the layers of the model",
      *s.device_flops_per_second / 1e12, topology::device_word(job.cluster.instance.traits.accelerator),
      logged / 1e9, by_layers);
}

std::string other_layout(const StepSample& s, const models::Job& job,
                         const std::optional<models::Strategy>& strategy) {
  std::string logged, planned;
  const auto compare = [&](const std::optional<std::int64_t>& stated, std::int64_t wanted,
                           const auto& words) {
    if (!stated || *stated == wanted) return;
    logged += (logged.empty() ? "" : ", ") + words(*stated);
    planned += (planned.empty() ? "" : ", ") + words(wanted);
  };
  const auto degree = [](const char* name) {
    return [name](std::int64_t value) { return fmt::format("{} {}", name, value); };
  };
  if (strategy) {
    compare(s.layout.tensor_parallel, strategy->tensor_parallel, degree("TP"));
    compare(s.layout.pipeline_parallel, strategy->pipeline_parallel, degree("PP"));
    compare(s.layout.virtual_pipeline, strategy->virtual_pipeline, degree("VPP"));
    compare(s.layout.context_parallel, strategy->context_parallel, degree("CP"));
    compare(s.layout.micro_batch, strategy->micro_batch, degree("micro-batch"));
  }
  const std::string_view device = topology::device_word(job.cluster.instance.traits.accelerator);
  compare(s.layout.devices, job.cluster.cores(),
          [&](std::int64_t value) { return "on " + counted(value, device); });
  return logged.empty() ? "" : fmt::format("{} by the log, but {}", logged, planned);
}

models::CalibrationFile LogFile::fingerprint() const {
  return {std::filesystem::path(path).filename().string(), sha256, bytes};
}

bool only_points(const logs::Detected& content) {
  return content.kinds.size() == 1 && (!content.points.empty() || !content.tables.empty());
}

}  // namespace trnplan::calibrate
