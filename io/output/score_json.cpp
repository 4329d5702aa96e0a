#include "io/output/score_json.h"

#include "io/output/described.h"
#include "io/output/json_tree.h"

namespace trnplan::io {

using calibrate::FitScore;
using calibrate::GroupRegret;
using calibrate::MemoryErrors;
using calibrate::RegretSummary;
using calibrate::RowScores;
using calibrate::ScoredRow;
using calibrate::ScoreSummary;

namespace {

struct SlowSummary {
  ScoreSummary of;
};

/// Scores of some rows and groups; quality D is separate.
struct ShownScore {
  ScoreSummary timed;
  std::vector<calibrate::IntervalBin> bins;
  MemoryErrors memory;
  SlowSummary quality_d;
  RegretSummary regret;
  FitScore fit;
};

/// Scores of all sources ("") or one.
ShownScore score_of_source(const RowScores& scores, const std::string& source) {
  std::vector<const GroupRegret*> groups;
  for (const GroupRegret& g : scores.groups) {
    if (source.empty() || g.source == source) groups.push_back(&g);
  }
  const auto every = scores.of(source);
  return {calibrate::score_of(scores.of(source, "D")),
          calibrate::interval_bins(scores.of(source, "D")),
          calibrate::memory_errors_of(every),
          {calibrate::score_of(scores.of(source, "", "D"))},
          calibrate::regret_of(groups),
          calibrate::fit_score_of(every)};
}

struct ShownScores {
  const RowScores* of;
  const std::vector<std::string>* profiles;
};

ShownScore whole_score(const RowScores& scores) {
  return score_of_source(scores, "");
}

ByName<ShownScore> scores_by_source(const RowScores& scores) {
  ByName<ShownScore> all;
  for (const std::string& source : scores.sources())
    all.emplace_back(source, score_of_source(scores, source));
  return all;
}

std::vector<double> interval_of_median(const ScoreSummary& s) {
  return s.median_90 ? std::vector{s.median_90->first, s.median_90->second} : std::vector<double>();
}

/// A number over rows or groups, absent where there are none.
template <class Count, class Get>
auto where_any(Count count, Get get) {
  return [=](const auto& of) {
    return std::invoke(count, of) > 0 ? std::optional<double>(std::invoke(get, of)) : std::nullopt;
  };
}

}  // namespace

template <>
const Record<ScoredRow>& record() {
  using R = ScoredRow;
  static const Record<R> described(
      "ScoredRow",
      "A row as it would be simulated, without a fit. It is predicted or skipped, never dropped.",
      {{"id", &R::id},
       {"group", &R::group},
       {"source", &R::source},
       {"quality", &R::quality},
       {"out_of_memory", &R::out_of_memory, "it was tried and did not fit"},
       {"measured_step_seconds", &R::measured,
        "`null` if the run did not fit (`out_of_memory`) or no time is stated"},
       {"predicted_step_seconds", &R::predicted},
       {"step_seconds_90",
        [](const R& r) {
          return r.low && r.high ? std::vector{*r.low, *r.high} : std::vector<double>();
        },
        "the 90 % interval; empty where there is none"},
       {"error", [](const R& r) { return r.scored() ? std::optional(r.error()) : std::nullopt; },
        "predicted over measured, minus 1"},
       {"measured_memory_bytes", &R::measured_memory},
       {"predicted_memory_bytes", &R::predicted_memory},
       {"fits", [](const R& r) { return r.fit_probability ? std::optional(r.fits()) : std::nullopt; },
        "at least as probable as not; `null` if memory is not predicted"},
       {"fit_probability", &R::fit_probability},
       {"skipped", [](const R& r) { return r.skipped.empty() ? std::nullopt : std::optional(r.skipped); },
        "why nothing is predicted", Absent::left_out}});
  return described;
}

template <>
const Record<GroupRegret>& record() {
  using G = GroupRegret;
  static const Record<G> described(
      "ScoredGroup",
      "Rows of one source, layers, hidden size, GPUs, sequence and batch, five or more without quality D.",
      {{"group", &G::group},
       {"source", &G::source},
       {"layouts", &G::layouts},
       {"predicted", &G::predicted},
       {"picked", &G::picked},
       {"best", &G::best},
       {"regret", path(&G::regret, &finite),
        "measured time of the predicted best over that of the measured best, minus 1"},
       {"random", path(&G::random, &finite),
        "the same for a layout chosen blindly; it is also given if nothing was predicted"},
       {"rank_correlation", path(&G::rank_correlation, &finite), "Spearman's"}});
  return described;
}

template <>
const Record<MemoryErrors>& record() {
  using M = MemoryErrors;
  static const Record<M> described(
      "", "The scores of peak memory, over rows for which it is stated and predicted.",
      {{"rows", &M::rows},
       {"mape", where_any(&M::rows, &M::mape)},
       {"median_ape", where_any(&M::rows, &M::median_ape)},
       {"bias", where_any(&M::rows, &M::bias)}});
  return described;
}

template <>
const Record<SlowSummary>& record() {
  using S = ScoreSummary;
  const auto of = [](auto get) { return path(&SlowSummary::of, get); };
  static const Record<SlowSummary> described("", "The scores of rows of quality D.",
                                             {{"rows", of(&S::rows)},
                                              {"skipped", of(&S::skipped)},
                                              {"mape", of(where_any(&S::predicted, &S::mape))},
                                              {"median_ape", of(where_any(&S::predicted, &S::median_ape))}});
  return described;
}

template <>
const Record<RegretSummary>& record() {
  using R = RegretSummary;
  static const Record<R> described(
      "", "The scores of `groups`.",
      {{"groups", &R::groups},
       {"median", where_any(&R::groups, &R::median)},
       {"mean", where_any(&R::groups, &R::mean)},
       {"worst", where_any(&R::groups, &R::worst)},
       {"best_found", &R::best_found},
       {"random_mean", where_any(&R::groups, &R::random)},
       {"median_rank_correlation", where_any(&R::groups, &R::rank_correlation)}});
  return described;
}

template <>
const Record<calibrate::IntervalBin>& record() {
  using B = calibrate::IntervalBin;
  static const Record<B> described("IntervalBin",
                                   "Rows of a range of half-widths of the 90 % interval over the prediction.",
                                   {{"half_width_below", &B::below, "`null`: the rest"},
                                    {"rows", &B::rows},
                                    {"coverage_90", &B::coverage_90}});
  return described;
}

template <>
const Record<FitScore>& record() {
  using F = FitScore;
  static const Record<F> described(
      "", "Whether runs fitted.",
      {{"rows", &F::rows, "predicted"},
       {"right", &F::right},
       {"unknown", &F::unknown, "not predicted, counted in no other of these"},
       {"oom_caught", &F::oom_caught, "did not fit and were predicted not to"},
       {"oom", &F::oom, "did not fit"},
       {"missed", [](const F& f) { return f.oom - f.oom_caught; }, "did not fit and were predicted to"},
       {"fitting", &F::fitting},
       {"false_refusals", &F::false_refusals, "fitted and were refused"}});
  return described;
}

template <>
const Record<ShownScore>& record() {
  using S = ScoreSummary;
  const auto timed = [](auto get) { return path(&ShownScore::timed, get); };
  static const Record<ShownScore> described(
      "",
      "The scores of rows with a measured and a predicted time, without quality D; numbers over no row are "
      "null.",
      {{"rows", timed(&S::rows)},
       {"skipped", timed(&S::skipped)},
       {"mape", timed(where_any(&S::predicted, &S::mape))},
       {"median_ape", timed(where_any(&S::predicted, &S::median_ape))},
       {"median_ape_90", timed(&interval_of_median),
        "90 % of medians of 2,000 resamples (always the same ones); empty from 30 rows on"},
       {"bias", timed(where_any(&S::predicted, &S::bias)), "median of the error"},
       {"mape_with_skipped", timed(where_any(&S::rows, &S::mape_with_skipped)),
        "counts a skipped row as an error of 100 %"},
       {"median_ape_with_skipped", timed(where_any(&S::rows, &S::median_with_skipped)), "likewise"},
       {"intervals", timed(&S::intervals), "rows that have one"},
       {"coverage_90", timed(where_any(&S::intervals, &S::coverage_90)),
        "share of `intervals` rows within their 90 % interval"},
       {"median_half_width_90", timed(where_any(&S::intervals, &S::half_width)),
        "half of it over the prediction"},
       {"reliability_90", &ShownScore::bins, "a reliability diagram: coverage by half-width"},
       {"memory", &ShownScore::memory},
       {"quality_d", &ShownScore::quality_d},
       {"regret", &ShownScore::regret},
       {"fit", &ShownScore::fit}});
  return described;
}

template <>
const Record<RowScores>& record() {
  static const Record<RowScores> described("", "The scores of all rows.", &whole_score,
                                           {{"by_source", &scores_by_source, "the same for each source"}});
  return described;
}

template <>
const Record<ShownScores>& record() {
  using S = ShownScores;
  static const Record<S> described("ScoreResult",
                                   "Every row of a table as it would be simulated, without a fit.",
                                   {{"profiles", [](const S& s) { return *s.profiles; }},
                                    {"rows", path(&S::of, &RowScores::rows)},
                                    {"skipped", path(&S::of, &RowScores::skipped), "rows by reason"},
                                    {"groups", path(&S::of, &RowScores::groups)},
                                    {"summary", path(&S::of, std::identity())}});
  return described;
}

std::string row_scores_json(const RowScores& scores, const std::vector<std::string>& profiles) {
  return document_of(ShownScores{&scores, &profiles});
}

const Description& scores_document() {
  return record<ShownScores>().description();
}

}  // namespace trnplan::io
