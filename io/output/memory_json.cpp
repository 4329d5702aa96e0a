#include "io/output/memory_json.h"

#include <cmath>

#include "io/output/described.h"
#include "io/output/json_tree.h"

namespace trnplan::io {

using calibrate::MemoryScore;
using calibrate::MemoryValidation;
using logs::MemoryCase;
using models::Strategy;

namespace {

struct LeftOutCase {
  const MemoryCase* of;
};

struct ShownMemoryValidation {
  const MemoryValidation* rows;
  const MemoryScore* score;
  std::string profile;
};

const MemoryCase& case_of_row(const MemoryValidation::Row& row) {
  return row.published;
}
const MemoryCase& case_left_out(const LeftOutCase& c) {
  return *c.of;
}

std::int64_t nearest_byte(Bytes b) {
  return std::llround(b.value);
}

}  // namespace

template <>
const Record<MemoryCase>& record() {
  static const Record<MemoryCase> described(
      "PublishedCase", "A published job for which it is known whether it fits.",
      {{"id", &MemoryCase::id},
       {"kind", &MemoryCase::kind, "that of measured-runs.csv, or `case` for memory-cases.csv"},
       {"source", &MemoryCase::source},
       {"model", &MemoryCase::model},
       {"instance", &MemoryCase::instance},
       {"known", &MemoryCase::fact,
        "`fits`, `too_large` or `at_most`, a limit that the mean over all cores kept"}});
  return described;
}

template <>
const Record<MemoryValidation::Row>& record() {
  using Row = MemoryValidation::Row;
  const auto published = [](auto get) { return path(&Row::published, get); };
  const auto strategy = [&](auto get) { return published(path(&MemoryCase::strategy, get)); };
  static const Record<Row> described(
      "MemoryCase", "A published job and whether it is predicted to fit; bytes are those of a core.",
      &case_of_row,
      {{"rows", published(&MemoryCase::rows), "published: training runs of one layout are one case"},
       {"layers", [](const Row& r) { return r.job.architecture.layers; }},
       {"nodes", published(&MemoryCase::nodes)},
       {"sequence", published(&MemoryCase::sequence)},
       {"tensor_parallel", strategy(&Strategy::tensor_parallel)},
       {"pipeline_parallel", strategy(&Strategy::pipeline_parallel)},
       {"context_parallel", strategy(&Strategy::context_parallel)},
       {"data_parallel", strategy(&Strategy::data_parallel)},
       {"recompute", strategy([](const Strategy& s) { return to_string(s.recompute); })},
       {"precision", strategy(&Strategy::precision)},
       {"zero1", strategy(&Strategy::zero1)},
       {"peak", path(&Row::peak, &nearest_byte)},
       {"limit", path(&Row::limit, &nearest_byte)},
       {"margin", [](const Row& r) { return nearest_byte(r.limit) - nearest_byte(r.peak()); }},
       {"fit_probability", &Row::fit_probability},
       {"right", &Row::right,
        "what fits is predicted to fit and what is too large is not; at `at_most`, the peak is between half "
        "of the limit and the limit"},
       {"note", published(&MemoryCase::note)}});
  return described;
}

template <>
const Record<LeftOutCase>& record() {
  static const Record<LeftOutCase> described("LeftOutCase", "A published job that is not predicted.",
                                             &case_left_out,
                                             {{"reason", path(&LeftOutCase::of, &MemoryCase::left_out)}});
  return described;
}

template <>
const Record<MemoryScore::Source>& record() {
  using S = MemoryScore::Source;
  static const Record<S> described("SourceScore", "The score of a source.",
                                   {{"source", &S::name},
                                    {"layouts", &S::layouts},
                                    {"log_score", &S::mean},
                                    {"log_score_left_out", &S::left_out}});
  return described;
}

template <>
const Record<ShownMemoryValidation>& record() {
  using V = ShownMemoryValidation;
  const auto score = [](auto get) { return path(&V::score, get); };
  static const Record<V> described(
      "MemoryValidation", "Published jobs and whether they are predicted to fit.",
      {{"profile", &V::profile},
       {"cases", path(&V::rows, &MemoryValidation::rows)},
       {"left_out",
        [](const V& v) {
          std::vector<LeftOutCase> all;
          for (const MemoryCase& c : v.rows->left_out) all.push_back({&c});
          return all;
        }},
       {"rows", [](const V& v) { return v.rows->count("").rows; }, "published"},
       {"wrong", [](const V& v) { return v.rows->count("").wrong; },
        "of them; the exit code is 0 all the same"},
       {"log_score", score(&MemoryScore::mean),
        "the mean over layouts of ln P(what happened): 0 is always certain and right, -0.69 knows nothing"},
       {"log_score_left_out", score(&MemoryScore::left_out),
        "the same, with each source predicted from the others and the profile's prior"},
       {"mean_fit_probability", score(&MemoryScore::mean_fit), "of what ran"},
       {"least_fit_probability", score(&MemoryScore::least_fit), "likewise"},
       {"sources", score(&MemoryScore::sources), "the worst first"},
       {"learned", score([](const MemoryScore& s) {
          return ByName<models::Value>{{"fused_activations", s.learned}};
        }),
        "by all of them"}});
  return described;
}

std::string memory_validation_json(const MemoryValidation& v, const MemoryScore& score,
                                   const std::string& profile) {
  return document_of(ShownMemoryValidation{&v, &score, profile});
}

const Description& memory_validation_document() {
  return record<ShownMemoryValidation>().description();
}

}  // namespace trnplan::io
