#include "calibrate/validate/memory_score.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "calibrate/validate/memory_validation.h"
#include "models/memory/fit_probability.h"

namespace trnplan::calibrate {

namespace {

using MemoryRow = MemoryValidation::Row;

/// Floor of probabilities, which limits the cost of being sure and wrong.
constexpr double kLeastProbability = 1e-6;

double probability_of_known(const MemoryRow& row, const models::Profile& profile) {
  const double p = models::fit_distribution(row.memory, profile).probability;
  const bool too_large = row.published.fact == logs::MemoryFact::too_large;
  return std::max(kLeastProbability, too_large ? 1 - p : p);
}

using Rows = std::vector<const MemoryRow*>;

/// The rows without repeats of the same outcome.
Rows without_repeats(const Rows& rows) {
  std::set<std::tuple<std::string, std::string, int, int, int, models::Strategy, double>> known;
  Rows some;
  for (const MemoryRow* row : rows) {
    const logs::MemoryCase& c = row->published;
    if (known.emplace(c.source, c.model, c.layers, c.nodes, c.sequence, c.strategy, c.at_most.value).second)
      some.push_back(row);
  }
  return some;
}

/// Rounds as profiles do: more digits mean nothing.
double in_thousandths(double x) {
  return std::round(x * 1000) / 1000;
}

}  // namespace

double log_score(const MemoryRow& row, const models::Profile& profile) {
  return std::log(probability_of_known(row, profile));
}

models::Value learned_activations(const Rows& rows, const models::Profile& prior) {
  constexpr int kNodes = 81;
  constexpr double kWidth = 4;  // standard deviations on either side
  const models::Value& before = prior.value(models::common::fused_activations);
  models::Value after = before;
  const Rows some = without_repeats(rows);
  if (before.log_sd <= 0 || some.empty()) return after;
  models::Profile at = prior;
  models::Value& value = at.value(models::common::fused_activations);
  value.log_sd = 0;
  double weights = 0, mean = 0, square = 0;
  for (int i = 0; i < kNodes; ++i) {
    const double z = kWidth * (2.0 * i / (kNodes - 1) - 1);
    value.median = before.median * std::exp(before.log_sd * z);
    double log_weight = -z * z / 2;
    for (const MemoryRow* row : some) log_weight += log_score(*row, at);
    const double weight = std::exp(log_weight);
    weights += weight;
    mean += weight * z;
    square += weight * z * z;
  }
  mean /= weights;
  after.median = in_thousandths(before.median * std::exp(before.log_sd * mean));
  after.log_sd = in_thousandths(before.log_sd * std::sqrt(std::max(0.0, square / weights - mean * mean)));
  after.source = fmt::format(
      "fitted to {} published cases for which it is known whether they fit; prior {:.4g}, log-sd {:.2f}",
      some.size(), before.median, before.log_sd);
  return after;
}

MemoryScore memory_score(const MemoryValidation& v, const models::Profile& profile,
                         const models::Profile& prior) {
  MemoryScore score;
  std::map<std::string, Rows> by_source;
  Rows all;
  int fitting = 0;
  for (const MemoryRow& row : v.rows) {
    by_source[row.published.source].push_back(&row);
    all.push_back(&row);
    if (row.published.fact != logs::MemoryFact::fits) continue;
    ++fitting;
    score.mean_fit += row.fit_probability;
    score.least_fit = std::min(score.least_fit, row.fit_probability);
  }
  if (fitting > 0) score.mean_fit /= fitting;
  for (const auto& [name, rows] : by_source) {
    Rows others;
    for (const MemoryRow* row : all) {
      if (row->published.source != name) others.push_back(row);
    }
    models::Profile without = profile;
    without.value(models::common::fused_activations) = learned_activations(others, prior);
    MemoryScore::Source source{name, static_cast<int>(rows.size()), 0, 0};
    for (const MemoryRow* row : rows) {
      source.mean += log_score(*row, profile) / source.layouts;
      source.left_out += log_score(*row, without) / source.layouts;
    }
    score.layouts += source.layouts;
    score.mean += source.mean * source.layouts;
    score.left_out += source.left_out * source.layouts;
    score.sources.push_back(std::move(source));
  }
  if (score.layouts > 0) {
    score.mean /= score.layouts;
    score.left_out /= score.layouts;
  }
  std::stable_sort(score.sources.begin(), score.sources.end(), [](const auto& a, const auto& b) {
    return a.left_out * a.layouts < b.left_out * b.layouts;
  });
  score.learned = learned_activations(all, prior);
  return score;
}

}  // namespace trnplan::calibrate
