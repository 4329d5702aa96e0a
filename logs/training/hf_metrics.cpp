#include "logs/training/hf_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "logs/training/fields.h"

namespace trnplan::logs {

namespace {

constexpr std::size_t kMetrics = 100;
constexpr double kWhole = 0.01;  ///< a ratio this near to a whole number is one, printed to three digits

}  // namespace

std::optional<StepSample> hf_sample(const std::map<std::string, double, std::less<>>& metrics,
                                    const SourcePos& at, int last_line) {
  const auto value = [&](std::string_view key) -> std::optional<double> {
    const auto found = metrics.find(key);
    if (found == metrics.end() || !(found->second > 0) || found->second > 1e12) return std::nullopt;
    return found->second;
  };
  const auto rate = value("train_steps_per_second"), samples = value("train_samples_per_second");
  const auto runtime = value("train_runtime");
  if (!rate || *rate > 1e6 || *rate < 1e-6) return std::nullopt;
  StepSample s;
  s.at = at;
  s.last_line = last_line;
  s.format = "Trainer metrics";
  s.basis = "train_steps_per_second: a mean, warm-up included";
  s.framework = "huggingface";
  s.seconds = 1 / *rate;
  if (runtime) s.count = static_cast<int>(std::min(std::round(*runtime * *rate), 1e9));
  s.sequences_per_second = samples;
  if (samples) {
    const double batch = *samples / *rate;
    if (batch >= 1 && std::abs(batch - std::round(batch)) <= kWhole * batch)
      s.global_batch = std::round(batch);
  }
  s.tokens_per_second = value("train_tokens_per_second");
  return s;
}

bool HfMetrics::read(const LogLine& line, Samples& out) {
  if (line.text.find("***** train metrics *****") != std::string_view::npos) {
    finish_block(out);
    start_ = last_ = line.number;
    rank_ = line.rank;
    return true;
  }
  if (start_ == 0 || line.rank != rank_) return false;
  const std::size_t equals = line.text.find(" = ");
  if (equals == std::string_view::npos || metrics_.size() == kMetrics) {
    finish_block(out);
    return false;
  }
  const std::string_view key = trimmed(line.text.substr(0, equals)),
                         text = trimmed(line.text.substr(equals + 3));
  const auto value = key == "train_runtime" && text.find(':') != std::string_view::npos ? clock_seconds(text)
                                                                                        : number_of(text);
  if (value && key.size() <= 64) metrics_.insert_or_assign(std::string(key), *value);
  last_ = line.number;
  return true;
}

bool HfMetrics::read_dict(const LogLine& line) {
  if (!line.text.starts_with("{'train_runtime':")) return false;
  std::map<std::string, double, std::less<>> metrics;
  for (const char* key :
       {"train_runtime", "train_samples_per_second", "train_steps_per_second", "train_tokens_per_second"}) {
    if (const auto value = dict_number(line.text, key)) metrics.emplace(key, *value);
  }
  dict_ = hf_sample(metrics, {name_, line.number, 1}, line.number);
  return true;
}

void HfMetrics::finish(Samples& out) {
  finish_block(out);
  if (dict_ && out.steps.empty()) out.steps.push_back(*dict_);
}

void HfMetrics::finish_block(Samples& out) {
  if (start_ == 0) return;
  const auto sample = hf_sample(metrics_, {name_, start_, 1}, last_);
  if (sample && blocks_++ < kMostRuns) {
    out.steps.push_back(*sample);
  } else if (sample) {
    if (blocks_ == kMostRuns + 1)
      out.warnings.add({name_, start_, 1}, "",
                       fmt::format("more than {} runs; the rest is left out", kMostRuns), "split the file");
  } else {
    out.warnings.add({name_, start_, 1}, "train_steps_per_second", "these metrics lack it",
                     "give the whole block");
  }
  metrics_.clear();
  start_ = 0;
}

}  // namespace trnplan::logs
