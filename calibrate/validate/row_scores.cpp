#include "calibrate/validate/row_scores.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>

namespace trnplan::calibrate {

namespace {

constexpr std::size_t kSteady = 30;  ///< rows from which a median needs no interval
constexpr std::size_t kFewest = 3;   ///< fewer show no spread of their median
constexpr int kResamples = 2000;
constexpr std::size_t kLeastLayouts = 5;

double mean_of(const std::vector<double>& v) {
  return v.empty() ? 0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

double median_of(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  const std::size_t half = v.size() / 2;
  return v.size() % 2 == 1 ? v[half] : (v[half - 1] + v[half]) / 2;
}

/// SplitMix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014): the same numbers with every library.
class Draws {
 public:
  std::size_t below(std::size_t n) {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return static_cast<std::size_t>((z ^ (z >> 31U)) % n);
  }

 private:
  std::uint64_t state_ = 1;
};

std::pair<double, double> bootstrap_median(const std::vector<double>& v) {
  Draws draws;
  std::vector<double> medians, sample(v.size());
  for (int i = 0; i < kResamples; ++i) {
    for (double& s : sample) s = v[draws.below(v.size())];
    medians.push_back(median_of(sample));
  }
  std::sort(medians.begin(), medians.end());
  return {medians[kResamples / 20], medians[kResamples - 1 - kResamples / 20]};
}

/// Ranks from 0; equal values share the mean of their ranks.
std::vector<double> ranks_of(const std::vector<double>& v) {
  std::vector<std::size_t> order(v.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return v[a] < v[b]; });
  std::vector<double> ranks(v.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && v[order[end]] == v[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) ranks[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return ranks;
}

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 3) return 0;
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double mx = mean_of(x), my = mean_of(y);
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mx) * (y[i] - my);
    xx += (x[i] - mx) * (x[i] - mx);
    yy += (y[i] - my) * (y[i] - my);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

GroupRegret regret_in(const std::string& group, const std::vector<const ScoredRow*>& rows) {
  GroupRegret out;
  out.group = group;
  out.source = rows.front()->source;
  out.layouts = rows.size();
  const ScoredRow *best = rows.front(), *picked = nullptr;
  std::vector<double> measured, predicted;
  double sum = 0;
  for (const ScoredRow* r : rows) {
    sum += *r->measured;
    if (*r->measured < *best->measured) best = r;
    if (!r->predicted) continue;
    measured.push_back(*r->measured);
    predicted.push_back(r->chosen_by());
    if (picked == nullptr || r->chosen_by() < picked->chosen_by()) picked = r;
  }
  out.predicted = predicted.size();
  out.best = best->id;
  out.random = sum / static_cast<double>(rows.size()) / *best->measured - 1;
  out.picked = picked != nullptr ? picked->id : "";
  out.regret = picked != nullptr ? *picked->measured / *best->measured - 1 : out.random;
  out.rank_correlation = spearman(predicted, measured);
  return out;
}

}  // namespace

ScoreSummary score_of(const std::vector<const ScoredRow*>& rows) {
  ScoreSummary s;
  std::vector<double> errors, apes, with_skipped, widths;
  std::size_t covered = 0;
  for (const ScoredRow* r : rows) {
    if (!r->measured) continue;
    ++s.rows;
    if (!r->predicted) {
      ++s.skipped;
      with_skipped.push_back(1);
      continue;
    }
    errors.push_back(r->error());
    apes.push_back(std::abs(r->error()));
    with_skipped.push_back(apes.back());
    if (!r->has_interval()) continue;
    ++s.intervals;
    if (r->covered()) ++covered;
    widths.push_back(r->half_width());
  }
  s.mape = mean_of(apes);
  s.median_ape = median_of(apes);
  s.bias = median_of(errors);
  s.mape_with_skipped = mean_of(with_skipped);
  s.median_with_skipped = median_of(with_skipped);
  if (apes.size() >= kFewest && apes.size() < kSteady) s.median_90 = bootstrap_median(apes);
  if (s.intervals > 0) s.coverage_90 = static_cast<double>(covered) / static_cast<double>(s.intervals);
  s.half_width = median_of(widths);
  return s;
}

std::vector<IntervalBin> interval_bins(const std::vector<const ScoredRow*>& rows) {
  std::vector<IntervalBin> bins;
  for (const double end : {0.12, 0.15, 0.2, 0.3, 0.6}) bins.push_back({end});
  bins.emplace_back();
  for (const ScoredRow* r : rows) {
    if (!r->has_interval()) continue;
    IntervalBin& bin = *std::find_if(bins.begin(), bins.end(), [&](const IntervalBin& b) {
      return !b.below || r->half_width() < *b.below;
    });
    ++bin.rows;
    if (r->covered()) ++bin.covered;
  }
  std::erase_if(bins, [](const IntervalBin& b) { return b.rows == 0; });
  return bins;
}

std::vector<GroupRegret> group_regrets(const std::vector<ScoredRow>& rows, std::size_t least,
                                       const std::string& without) {
  std::map<std::string, std::vector<const ScoredRow*>> groups;
  for (const ScoredRow& r : rows) {
    if (r.measured && !r.group.empty() && (without.empty() || r.quality != without))
      groups[r.group].push_back(&r);
  }
  std::vector<GroupRegret> out;
  for (const auto& [name, members] : groups) {
    if (members.size() >= least) out.push_back(regret_in(name, members));
  }
  return out;
}

RegretSummary regret_of(const std::vector<const GroupRegret*>& groups) {
  RegretSummary s;
  std::vector<double> regrets, random, correlations;
  for (const GroupRegret* g : groups) {
    regrets.push_back(g->regret);
    random.push_back(g->random);
    if (g->predicted >= 3) correlations.push_back(g->rank_correlation);
    if (g->picked == g->best) ++s.best_found;
    s.worst = std::max(s.worst, g->regret);
  }
  s.groups = groups.size();
  s.median = median_of(regrets);
  s.mean = mean_of(regrets);
  s.random = mean_of(random);
  s.rank_correlation = median_of(correlations);
  return s;
}

FitScore fit_score_of(const std::vector<const ScoredRow*>& rows) {
  FitScore s;
  for (const ScoredRow* r : rows) {
    if (!r->out_of_memory && !r->measured) continue;
    if (!r->fit_probability) {
      ++s.unknown;
      continue;
    }
    ++s.rows;
    ++(r->out_of_memory ? s.oom : s.fitting);
    if (r->fits() != r->out_of_memory) ++s.right;
    if (r->out_of_memory && !r->fits()) ++s.oom_caught;
    if (!r->out_of_memory && !r->fits()) ++s.false_refusals;
  }
  return s;
}

MemoryErrors memory_errors_of(const std::vector<const ScoredRow*>& rows) {
  MemoryErrors s;
  std::vector<double> errors, apes;
  for (const ScoredRow* r : rows) {
    if (!r->measured_memory || !r->predicted_memory) continue;
    errors.push_back(*r->predicted_memory / *r->measured_memory - 1);
    apes.push_back(std::abs(errors.back()));
  }
  s.rows = apes.size();
  s.mape = mean_of(apes);
  s.median_ape = median_of(apes);
  s.bias = median_of(errors);
  return s;
}

std::vector<const ScoredRow*> RowScores::of(const std::string& source, const std::string& without,
                                            const std::string& only) const {
  std::vector<const ScoredRow*> out;
  for (const ScoredRow& r : rows) {
    if (!source.empty() && r.source != source) continue;
    if (!without.empty() && r.quality == without) continue;
    if (!only.empty() && r.quality != only) continue;
    out.push_back(&r);
  }
  return out;
}

std::vector<std::string> RowScores::sources() const {
  std::set<std::string> names;
  for (const ScoredRow& r : rows) names.insert(r.source);
  return {names.begin(), names.end()};
}

bool RowScores::any_predicted() const {
  const bool timed = std::any_of(rows.begin(), rows.end(), [](const ScoredRow& r) { return r.measured; });
  return std::any_of(rows.begin(), rows.end(), [&](const ScoredRow& r) {
    return timed ? r.scored() : r.predicted || r.predicted_memory;
  });
}

RowScores row_scores(std::vector<ScoredRow> rows) {
  RowScores out;
  out.rows = std::move(rows);
  for (const ScoredRow& r : out.rows) {
    if (!r.skipped.empty()) ++out.skipped[r.skipped];
  }
  out.groups = group_regrets(out.rows, kLeastLayouts, "D");
  return out;
}

}  // namespace trnplan::calibrate
