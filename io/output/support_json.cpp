#include "io/output/support_json.h"

#include "io/output/described.h"
#include "io/output/json_tree.h"

namespace trnplan::io {

namespace {

struct ShownRules {
  const std::vector<ExplainedRule>& rules;
};
struct ShownPairs {
  const std::vector<SupportedPair>& pairs;
};

}  // namespace

template <>
const Record<ExplainedRule>& record() {
  using R = ExplainedRule;
  static const Record<R> described(
      "Rule", "The meaning of an id in one set of rules or remarks.",
      {{"id", &R::id, "the `rule` of other documents, and the word in brackets at the end of a remark"},
       {"set", &R::set,
        "`strategy`, `verdict`, `group`, `nxdt`, `megatron`, `torchtitan`, `check` or `remark`; several sets "
        "may have an id"},
       {"what", &R::what},
       {"why", &R::why},
       {"fix", &R::fix, "what would satisfy it"},
       {"sources", &R::sources}});
  return described;
}

template <>
const Record<ShownRules>& record() {
  static const Record<ShownRules> described("ExplainResult", "The rules of an id, or all.",
                                            {{"rules", [](const ShownRules& r) { return r.rules; }}});
  return described;
}

template <>
const Record<TargetOfPair>& record() {
  using T = TargetOfPair;
  static const Record<T> described(
      "SupportedTarget", "A target that trains on the machine.",
      {{"name", &T::name},
       {"why_not", &T::why_not, "what it lacks for the model; empty if it writes plans for it"},
       {"ending", &T::ending, "that it is no longer published; empty while it is"}});
  return described;
}

template <>
const Record<SupportedPair>& record() {
  using P = SupportedPair;
  static const Record<P> described(
      "Support", "What works for a model on a type of machine.",
      {{"model", &P::model},
       {"instance", &P::instance},
       {"timed", &P::timed, "a step can be timed"},
       {"planned", &P::planned, "`plan` searches"},
       {"why_not", &P::why_not, "why the first of these fails; empty if both work"},
       {"written", &P::written, "targets whose config `plan --out` writes"},
       {"launched", &P::launched, "schedulers that submit it"},
       {"targets", &P::targets}});
  return described;
}

template <>
const Record<ShownPairs>& record() {
  static const Record<ShownPairs> described("SupportResult", "Pairs of models and types.",
                                            {{"pairs", [](const ShownPairs& p) { return p.pairs; }}});
  return described;
}

std::string explain_json(const std::vector<ExplainedRule>& rules) {
  return document_of(ShownRules{rules});
}

std::string support_json(const std::vector<SupportedPair>& pairs) {
  return document_of(ShownPairs{pairs});
}

const Description& explain_document() {
  return record<ShownRules>().description();
}

const Description& support_document() {
  return record<ShownPairs>().description();
}

}  // namespace trnplan::io
