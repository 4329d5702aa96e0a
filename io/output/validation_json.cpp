#include "io/output/validation_json.h"

#include "calibrate/validate/pair_validation.h"
#include "io/output/described.h"
#include "io/output/json_tree.h"

namespace trnplan::io {

using calibrate::LeftOutTable;
using calibrate::MeasuredStep;
using calibrate::PairValidation;
using calibrate::StepSummary;
using calibrate::StepValidation;

namespace {

using Rows = std::vector<const StepValidation::Row*>;
template <class V>
using Groups = std::map<std::string, V>;

struct ShownGroup {
  StepSummary summary;
  std::optional<PairValidation> ratios;
};
/// Rows, and the same without outliers.
struct ShownRows {
  ShownGroup all, typical;
};

Rows without_outliers(const Rows& rows) {
  Rows typical;
  for (const auto* row : rows) {
    if (!row->step->outlier) typical.push_back(row);
  }
  return typical;
}

ShownGroup group_of(const Rows& rows) {
  return {calibrate::summary_of(rows), calibrate::validate_pairs(rows)};
}

/// Keys of the summary after its kinds.
struct ShownRest {
  std::optional<Groups<ShownGroup>> without_stacks;
  calibrate::BoundsKept bounds;
  Groups<ShownGroup> by_model, by_stack, by_configuration;
  std::vector<calibrate::Regret> regret;
};

struct ShownSummaryOfSteps {
  ShownRows all;
  Groups<ShownRows> kinds;
  ShownRest rest;
};

template <class Key>
Groups<Rows> split(const Rows& rows, const Key& key) {
  Groups<Rows> groups;
  for (const auto* row : rows) groups[std::string(std::invoke(key, *row->step))].push_back(row);
  return groups;
}

template <class Key>
Groups<ShownGroup> summaries_of(const Rows& rows, const Key& key) {
  Groups<ShownGroup> all;
  for (const auto& [name, members] : split(rows, key)) all[name].summary = calibrate::summary_of(members);
  return all;
}

struct ShownSteps {
  std::string profile;
  calibrate::LeaveOut leave_out;
  const std::vector<StepValidation::Row>* rows;
  std::vector<ShownLeftOut> excluded;
  ShownSummaryOfSteps summary;
};

/// A getter for values of pairs, absent if there are none.
template <class Get>
auto of_pairs(Get get) {
  return [get](const PairValidation& v) {
    return v.pairs.empty() ? std::nullopt : std::optional(std::invoke(get, v));
  };
}

struct ShownTables {
  std::string profile;
  const std::vector<LeftOutTable>* tables;
};

std::size_t sum_of(const ShownTables& t, std::size_t LeftOutTable::*part) {
  std::size_t sum = 0;
  for (const LeftOutTable& table : *t.tables) sum += table.*part;
  return sum;
}

}  // namespace

template <>
const Record<StepValidation::Row>& record() {
  using Row = StepValidation::Row;
  const auto step = [](auto get) { return path(&Row::step, get); };
  const auto job = [](auto get) { return path(&Row::step, path(&MeasuredStep::job, get)); };
  static const Record<Row> described(
      "StepRow", "A run with its prediction.",
      {{"id", step(&MeasuredStep::id)},
       {"run_group", step(&MeasuredStep::group), "counts as one observation"},
       {"quality", step(&MeasuredStep::quality)},
       {"kind", step(&MeasuredStep::kind), "`decoder` or `bert`"},
       {"model", job([](const models::Job& j) { return j.architecture.name; })},
       {"configuration", step(&MeasuredStep::configuration)},
       {"framework", job([](const models::Job& j) { return j.software.framework; })},
       {"release", job([](const models::Job& j) { return j.software.release; })},
       {"outlier", step(&MeasuredStep::outlier), "the table calls it an outlier"},
       {"bound", step(&MeasuredStep::at_most), "the step took at most this long; no more is known"},
       {"measured_step_seconds", step(&MeasuredStep::seconds)},
       {"predicted_step_seconds", &Row::predicted},
       {"step_seconds_90",
        [](const Row& r) {
          return std::vector{r.low, r.high};
        },
        "the 90 % interval"},
       {"error", &Row::error, "predicted over measured, minus 1"},
       {"covered", &Row::covered, "measured within the interval"},
       {"constant_mfu_step_seconds", path(&Row::by_mfu, &finite),
        "by the mean MFU of the other configurations of its kind ([accuracy.md](accuracy.md#steps))"},
       {"oracle_step_seconds", path(&Row::by_oracle, &finite),
        "by the mean of its own configuration, precision and batch"}});
  return described;
}

template <>
const Record<PairValidation::Part>& record() {
  using Part = PairValidation::Part;
  static const Record<Part> described("", "Root mean squares over some pairs.",
                                      {{"pairs", &Part::pairs},
                                       {"farthest", &Part::farthest, "distance of two breakdowns"},
                                       {"rms_error", &Part::error},
                                       {"rms_stated", &Part::stated},
                                       {"rms_error_over_stated", &Part::z}});
  return described;
}

template <>
const Record<PairValidation::Bin>& record() {
  using Bin = PairValidation::Bin;
  static const Record<Bin> described("", "How often pairs with a stated probability were as predicted.",
                                     {{"low", &Bin::low},
                                      {"high", &Bin::high},
                                      {"pairs", &Bin::pairs},
                                      {"stated", &Bin::stated},
                                      {"observed", &Bin::observed}});
  return described;
}

template <>
const Record<PairValidation>& record() {
  using V = PairValidation;
  static const Record<V> described(
      "",
      "The errors of all pairs of configurations of one framework, and whether the stated spreads and "
      "probabilities hold.",
      {{"pairs", [](const V& v) { return v.pairs.size(); }},
       {"mape", &V::mape},
       {"median_ape", &V::median_ape},
       {"job_spread", of_pairs(&V::job_spread), "", Absent::left_out},
       {"all", of_pairs(&V::all), "", Absent::left_out},
       {"by_distance", of_pairs([](const V& v) { return v.parts(3); }), "thirds, the nearest first",
        Absent::left_out},
       {"intervals", of_pairs(&V::intervals), "", Absent::left_out},
       {"choices", of_pairs(&V::choices), "which of the two is the better one", Absent::left_out}});
  return described;
}

template <>
const Record<ShownGroup>& record() {
  using G = ShownGroup;
  const auto of = [](auto get) { return path(&G::summary, get); };
  static const Record<G> described("", "The scores of some rows; a run group counts as one observation.",
                                   {{"rows", of(&StepSummary::rows)},
                                    {"observations", of(&StepSummary::groups)},
                                    {"mape", of(&StepSummary::mape)},
                                    {"median_ape", of(&StepSummary::median_ape)},
                                    {"p90_ape", of(&StepSummary::p90_ape)},
                                    {"bias", of(&StepSummary::bias), "the mean error"},
                                    {"coverage_90", of(&StepSummary::coverage_90)},
                                    {"median_half_width_90", of(&StepSummary::median_half_width)},
                                    {"constant_mfu_mape", of(&StepSummary::mape_mfu)},
                                    {"oracle_mape", of(&StepSummary::mape_oracle)},
                                    {"ratios", &G::ratios, "of pairs of configurations", Absent::left_out}});
  return described;
}

namespace {

const ShownGroup& all_of(const ShownRows& r) {
  return r.all;
}

}  // namespace

template <>
const Record<ShownRows>& record() {
  static const Record<ShownRows> described("", "The scores of some rows.", &all_of,
                                           {{"without_outliers", &ShownRows::typical}});
  return described;
}

template <>
const Record<calibrate::BoundsKept>& record() {
  using B = calibrate::BoundsKept;
  static const Record<B> described("", "The scores of rows for which only a bound is known.",
                                   {{"rows", &B::rows},
                                    {"kept", &B::kept, "predicted within"},
                                    {"covered", &B::covered, "within by the 90 % interval"}});
  return described;
}

template <>
const Record<calibrate::Regret>& record() {
  using R = calibrate::Regret;
  static const Record<R> described(
      "", "A job that was measured with several strategies.",
      {{"job", &R::job},
       {"choices", &R::choices},
       {"picked", &R::picked},
       {"best", &R::best},
       {"regret", &R::regret, "measured time of the pick over that of the best, minus 1"}});
  return described;
}

template <>
const Record<ShownRest>& record() {
  using R = ShownRest;
  static const Record<R> described(
      "", "Further scores of all rows.",
      {{"without_stacks", &R::without_stacks, "by kind, for fits that know no stack", Absent::left_out},
       {"bounds", &R::bounds},
       {"by_model", &R::by_model},
       {"by_stack", &R::by_stack},
       {"by_configuration", &R::by_configuration},
       {"regret", &R::regret}});
  return described;
}

/// Adds the kinds by their names between its own keys.
template <>
struct Shown<ShownSummaryOfSteps> : Shown<ShownRows> {
  static Json json(const ShownSummaryOfSteps& s) {
    Json summary = record<ShownRows>()(s.all);
    summary.update(Shown<Groups<ShownRows>>::json(s.kinds));
    summary.update(record<ShownRest>()(s.rest));
    return summary;
  }
  static void add(Description& d) {
    Shown<ShownRows>::add(d);
    Shown<ShownRest>::add(d);
  }
};

template <>
const Record<ShownSteps>& record() {
  using S = ShownSteps;
  static const Record<S> described(
      "StepValidation", "Published runs with predictions by fits that have not seen them.",
      {{"profile", &S::profile},
       {"leave_out", &S::leave_out,
        "what the fit that predicts a row has not seen: its `configuration`, its `run_group`, or `none`, if "
        "the profile predicts as it is"},
       {"rows", [](const S& s) { return *s.rows; }},
       {"excluded", &S::excluded},
       {"summary", &S::summary,
        "of all rows, with the same for each kind under its name (`decoder`, `bert`)"}});
  return described;
}

template <>
const Record<LeftOutTable>& record() {
  using T = LeftOutTable;
  static const Record<T> described(
      "CollectiveTable",
      "A table of nccom-test, predicted by a fit that has not seen it; half-width and bias are those of "
      "logarithms.",
      {{"op", &T::op},
       {"ranks", &T::ranks},
       {"nodes", &T::nodes},
       {"build", &T::build},
       {"points", &T::points},
       {"fitted_points", &T::fitted, "of the fit that predicted it; 0: the prior did"},
       {"median_ape", &T::median_error},
       {"log_bias", &T::bias},
       {"covered", &T::covered, "points inside their 90 % interval"},
       {"median_log_half_width_90", &T::half_width}});
  return described;
}

template <>
const Record<ShownTables>& record() {
  using T = ShownTables;
  static const Record<T> described(
      "CollectiveValidation",
      "Tables of nccom-test, each predicted by a fit that has not seen it ([accuracy.md](accuracy.md)).",
      {{"profile", &T::profile},
       {"tables", [](const T& t) { return *t.tables; }},
       {"points", [](const T& t) { return sum_of(t, &LeftOutTable::points); }},
       {"covered", [](const T& t) { return sum_of(t, &LeftOutTable::covered); }}});
  return described;
}

std::string step_validation_json(const calibrate::RunValidation& run, const std::string& profile,
                                 calibrate::LeaveOut leave_out) {
  Rows all, bounds;
  for (const auto& row : run.validation.rows) (row.step->at_most ? bounds : all).push_back(&row);
  Rows without_stacks;
  for (const auto& row : run.without_stacks.rows) {
    if (!row.step->at_most && !row.step->outlier) without_stacks.push_back(&row);
  }
  const auto shown = [](const Rows& rows) {
    return ShownRows{group_of(rows), group_of(without_outliers(rows))};
  };
  Groups<ShownRows> kinds;
  for (const auto& [kind, rows] : split(all, &MeasuredStep::kind)) kinds[kind] = shown(rows);
  ShownRest rest{{},
                 calibrate::bounds_kept(bounds),
                 summaries_of(all, [](const MeasuredStep& s) { return s.job.architecture.name; }),
                 summaries_of(all, [](const MeasuredStep& s) { return s.job.software.framework; }),
                 summaries_of(all, &MeasuredStep::configuration),
                 calibrate::regrets_of(run.validation.rows)};
  if (!without_stacks.empty()) {
    rest.without_stacks.emplace();
    for (const auto& [kind, rows] : split(without_stacks, &MeasuredStep::kind))
      (*rest.without_stacks)[kind] = group_of(rows);
  }
  std::vector<ShownLeftOut> excluded;
  for (const auto& e : run.excluded) excluded.push_back({e.id, e.reason, {}});
  return document_of(ShownSteps{
      profile, leave_out, &run.validation.rows, excluded, {shown(all), std::move(kinds), std::move(rest)}});
}

std::string collective_validation_json(const std::vector<LeftOutTable>& tables, const std::string& profile) {
  return document_of(ShownTables{profile, &tables});
}

const Description& step_validation_document() {
  return record<ShownSteps>().description();
}

const Description& collective_validation_document() {
  return record<ShownTables>().description();
}

}  // namespace trnplan::io
