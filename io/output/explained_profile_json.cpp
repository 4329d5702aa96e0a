#include "io/output/explained_profile_json.h"

#include "io/output/described.h"
#include "io/output/json_tree.h"

namespace trnplan::io {

using models::ExplainedParameter;
using models::ExplainedProfile;
using models::ExplainedStep;

template <>
const Record<models::Value>& record();  // fit_json.cpp
template <>
const Record<models::StackFactor>& record();

template <>
const Record<ExplainedParameter>& record() {
  using E = ExplainedParameter;
  static const Record<E> described(
      "ExplainedParameter", "A parameter of a profile.",
      {{"name", [](const E& e) { return to_string(e.parameter); }},
       {"unit", [](const E& e) { return unit_of(e.parameter); }},
       {"meaning", [](const E& e) { return e.parameter.info().meaning; }},
       {"prior", &E::prior},
       {"value", &E::value},
       {"spread_left", &E::spread_left, "`log_sd` over the prior's"},
       {"taught_by", path(&E::value, &models::Value::source)},
       {"step_share", &E::step_share, "change of the plan's step in % where the value rises by 1 %"},
       {"doubt_share", &E::doubt_share,
        "share of the variance of the step's logarithm; negative where it cancels that of others"},
       {"other", &E::other, "in the profile compared with", Absent::left_out},
       {"apart", &E::apart, "ln of other over value, in standard deviations of both", Absent::left_out}});
  return described;
}

template <>
const Record<models::CalibrationFile>& record() {
  using F = models::CalibrationFile;
  static const Record<F> described(
      "", "A file of a fit.",
      {{"name", &F::name}, {"sha256", &F::sha256}, {"bytes", &F::bytes, "0: not stated"}});
  return described;
}

template <>
const Record<models::FittedRange>& record() {
  using F = models::FittedRange;
  static const Record<F> described("", "The range of a trait in the runs of a fit.",
                                   {{"of", &F::of}, {"low", &F::low}, {"high", &F::high}});
  return described;
}

template <>
const Record<ExplainedStep>& record() {
  using S = ExplainedStep;
  static const Record<S> described(
      "", "The plan at hand.",
      {{"of", &S::of},
       {"step_seconds", &S::step},
       {"step_seconds_90",
        [](const S& s) {
          return std::array{s.low, s.high};
        }},
       {"other_step_seconds", &S::other, "by the profile compared with", Absent::left_out},
       {"other_doubt_share", &S::other_doubt, "share of the variance that no parameter has"}});
  return described;
}

template <>
const Record<ExplainedProfile>& record() {
  using P = ExplainedProfile;
  static const Record<P> described(
      "ProfileExplanation",
      "A profile: for what it holds, its parameters, and what of a plan depends on them.",
      {{"profile", &P::name},
       {"schema", &P::schema},
       {"instance", &P::instance, "type or family of the machines that it holds for"},
       {"prior", &P::prior},
       {"tool", &P::tool, "that fitted it to whole steps; empty: it was not"},
       {"files", &P::files, "of the fit"},
       {"stacks", &P::stacks, "software that it was fitted to"},
       {"ranges", &P::ranges, "of the runs of the fit"},
       {"own_values", &P::own_values, "frameworks and clusters whose parameters differ"},
       {"parameters", &P::parameters},
       {"plan", &P::plan},
       {"compared", &P::compared, "the other profile; empty: none"}});
  return described;
}

std::string explained_profile_json(const ExplainedProfile& profile) {
  return document_of(profile);
}

const Description& explained_profile_document() {
  return record<ExplainedProfile>().description();
}

}  // namespace trnplan::io
