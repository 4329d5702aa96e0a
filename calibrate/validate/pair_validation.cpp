#include "calibrate/validate/pair_validation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "models/uncertainty/compare.h"
#include "models/uncertainty/spread.h"
#include "units/normal.h"
#include "units/square.h"

namespace trnplan::calibrate {

namespace {

using Row = StepValidation::Row;

/// Rows of one configuration on one framework, each with the weight of its run group.
struct Configuration {
  std::string name, framework, kind;
  const Row* row = nullptr;  ///< the row with the fit and simulation that count
  double error = 0, measured = 0, predicted = 0, weight = 0;

  void add(const Row& r) {
    if (row == nullptr) row = &r;
    error += r.weight * std::log(r.predicted / r.step->seconds);
    measured += r.weight * log_slowness(*r.step, r.step->seconds);
    predicted += r.weight * log_slowness(*r.step, r.predicted);
    weight += r.weight;
  }
  void finish() {
    error /= weight;
    measured /= weight;
    predicted /= weight;
  }
};

std::vector<Configuration> configurations_of(const std::vector<const Row*>& rows) {
  std::map<std::tuple<std::string, std::string, std::string>, Configuration> all;
  for (const Row* r : rows) {
    const MeasuredStep& s = *r->step;
    const std::string& framework = s.job.software.framework;
    Configuration& c = all[{s.kind, framework, s.configuration}];
    c.name = s.configuration;
    c.framework = framework;
    c.kind = s.kind;
    c.add(*r);
  }
  std::vector<Configuration> list;
  for (auto& [key, c] : all) {
    c.finish();
    list.push_back(std::move(c));
  }
  return list;
}

/// Variance of the ratio from parameters: the mean over the two fits.
double parameter_variance(const Row& a, const Row& b) {
  std::vector<double> difference = models::log_gradient(*a.report);
  const std::vector<double> other = models::log_gradient(*b.report);
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= other[i];
  return (models::log_variance(*a.fit, difference) + models::log_variance(*b.fit, difference)) / 2;
}

PairValidation::Part part_of(std::vector<ConfigurationPair>::const_iterator from,
                             std::vector<ConfigurationPair>::const_iterator to) {
  PairValidation::Part part;
  for (auto p = from; p != to; ++p) {
    ++part.pairs;
    part.farthest = p->distance;
    part.error += square(p->error);
    part.stated += square(p->sd);
    part.z += square(p->error / p->sd);
  }
  const double count = std::max<double>(1, static_cast<double>(part.pairs));
  for (double* sum : {&part.error, &part.stated, &part.z}) *sum = std::sqrt(*sum / count);
  return part;
}

}  // namespace

PairValidation validate_pairs(const std::vector<const Row*>& rows) {
  const std::vector<Configuration> all = configurations_of(rows);
  PairValidation out;
  std::vector<double> variance;  // without the further difference of jobs
  std::vector<std::pair<const Configuration*, const Configuration*>> members;
  double configuration = 0, of_operators = 0;
  for (auto a = all.begin(); a != all.end(); ++a) {
    for (auto b = std::next(a); b != all.end(); ++b) {
      if (a->kind != b->kind || a->framework != b->framework) continue;
      const models::Profile& fit = *a->row->fit;
      const double own = models::own_variance(*a->row->report, *b->row->report, fit);
      members.emplace_back(&*a, &*b);
      variance.push_back(parameter_variance(*a->row, *b->row) + own +
                         square(fit[models::common::repeat_spread]) * (1 / a->weight + 1 / b->weight));
      of_operators += own;
      configuration += 2 * square(fit[models::common::configuration_spread]);
    }
  }
  if (members.empty()) return out;
  const double pairs = static_cast<double>(members.size());
  out.job_spread = std::sqrt(std::max(0.0, (configuration - of_operators) / (2 * pairs)));
  std::vector<double> errors;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto& [a, b] = members[i];
    ConfigurationPair p{a->name, b->name, a->framework};
    p.error = a->error - b->error;
    p.sd = std::sqrt(variance[i] + 2 * square(out.job_spread));
    p.distance = models::breakdown_distance(*a->row->report, *b->row->report);
    p.better = normal_probability((b->predicted - a->predicted) / p.sd);
    p.was_better = a->measured < b->measured;
    errors.push_back(std::abs(std::exp(p.error) - 1));
    out.mape += errors.back() / pairs;
    out.pairs.push_back(std::move(p));
  }
  std::stable_sort(out.pairs.begin(), out.pairs.end(),
                   [](const auto& x, const auto& y) { return x.distance < y.distance; });
  std::sort(errors.begin(), errors.end());
  out.median_ape = errors[(errors.size() - 1) / 2];
  return out;
}

PairValidation::Part PairValidation::all() const {
  return part_of(pairs.begin(), pairs.end());
}

std::vector<PairValidation::Part> PairValidation::parts(std::size_t of) const {
  std::vector<Part> list;
  for (std::size_t i = 0; i < of; ++i) {
    const auto at = [&](std::size_t k) {
      return pairs.begin() + static_cast<std::ptrdiff_t>(pairs.size() * k / of);
    };
    list.push_back(part_of(at(i), at(i + 1)));
  }
  return list;
}

std::vector<PairValidation::Bin> PairValidation::intervals() const {
  std::vector<Bin> bins;
  for (const int percent : {10, 20, 30, 40, 50, 60, 70, 80, 90, 95}) {
    Bin bin;
    bin.low = bin.high = bin.stated = percent / 100.0;
    bin.pairs = pairs.size();
    const double most = normal_quantile((1 + bin.stated) / 2);
    const auto inside = std::count_if(pairs.begin(), pairs.end(), [&](const ConfigurationPair& p) {
      return std::abs(p.error) <= most * p.sd;
    });
    bin.observed = static_cast<double>(inside) / std::max<double>(1, static_cast<double>(pairs.size()));
    bins.push_back(bin);
  }
  return bins;
}

std::vector<PairValidation::Bin> PairValidation::choices() const {
  std::vector<Bin> bins;
  for (const auto& [low, high] : {std::pair(0.5, 0.6), {0.6, 0.7}, {0.7, 0.8}, {0.8, 0.9}, {0.9, 1.0}}) {
    Bin bin{low, high};
    for (const ConfigurationPair& p : pairs) {
      const bool first = p.better >= 0.5;
      const double stated = first ? p.better : 1 - p.better;
      if (stated < low || (stated >= high && high < 1)) continue;
      ++bin.pairs;
      bin.stated += stated;
      bin.observed += first == p.was_better ? 1 : 0;
    }
    if (bin.pairs == 0) continue;
    bin.stated /= static_cast<double>(bin.pairs);
    bin.observed /= static_cast<double>(bin.pairs);
    bins.push_back(bin);
  }
  return bins;
}

}  // namespace trnplan::calibrate
