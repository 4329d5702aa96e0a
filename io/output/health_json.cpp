#include "io/output/health_json.h"

#include <array>

#include "io/output/described.h"
#include "io/output/json_tree.h"

namespace trnplan::io {

template <>
const Record<HealthRow>& record() {
  using R = HealthRow;
  static const Record<R> described(
      "HealthSize", "A size of a run.",
      {{"bytes", &R::bytes},
       {"seconds", &R::seconds},
       {"predicted_seconds", &R::predicted},
       {"predicted_seconds_90",
        [](const R& r) {
          return std::array{r.predicted_90.first, r.predicted_90.second};
        }},
       {"peer_seconds", &R::peers,
        "of the fastest quarter of runs with as many nodes and ranks and the same size, `null` for a single "
        "one"},
       {"ratio", &R::ratio,
        "`seconds` over the smaller of `peer_seconds` and the upper end of `predicted_seconds_90`"}});
  return described;
}

template <>
const Record<HealthTest>& record() {
  using T = HealthTest;
  static const Record<T> described(
      "HealthTest", "A run of nccom-test.",
      {{"nodes", &T::nodes},
       {"slow", &T::slow, "or failed"},
       {"ratio", &T::ratio,
        "the median of its sizes, slow above `slow_factor` (`--slow-factor`, 1.25: ours)"},
       {"failure", [](const T& t) { return t.failure.empty() ? std::nullopt : std::optional(t.failure); },
        "`null`: none; it also makes a run slow"},
       {"file", &T::file},
       {"line", &T::line},
       {"sizes", &T::rows}});
  return described;
}

template <>
const Record<SlowNode>& record() {
  using N = SlowNode;
  static const Record<N> described("SlowNode",
                                   "A node that is slow alone, or in all of its runs with others. If two "
                                   "nodes ran only with each other, both are listed.",
                                   {{"node", &N::name},
                                    {"alone", &N::alone},
                                    {"in_pairs", &N::in_pairs},
                                    {"problem", &N::problem},
                                    {"fix", &N::fix},
                                    {"command", &N::command, "of the fix"}});
  return described;
}

template <>
const Record<HealthReport>& record() {
  using R = HealthReport;
  static const Record<R> described(
      "HealthResult", "Nodes, as nccom-test measured them.",
      {{"verdict", [](const R& r) { return r.slow.empty() ? "ok" : "slow"; }, "`ok` or `slow` (exit code 3)"},
       {"instance", &R::instance},
       {"profile", &R::profile},
       {"slow_factor", &R::factor},
       {"nodes", &R::nodes, "that were tested"},
       {"alone", &R::alone, "runs of one node"},
       {"pairs", &R::pairs, "runs of several"},
       {"slow_nodes", &R::slow},
       {"tests", &R::tests, "in the order of the files"}});
  return described;
}

std::string health_json(const HealthReport& r) {
  return document_of(r);
}

const Description& health_document() {
  return record<HealthReport>().description();
}

}  // namespace trnplan::io
