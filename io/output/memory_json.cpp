#include "io/output/memory_json.h"

#include <cmath>

#include "io/format/json_tree.h"
#include "io/output/plan_json.h"

namespace trnplan::io {

namespace {

using calibrate::MemoryValidation;
using logs::MemoryCase;

Json case_object(const MemoryCase& c) {
  return {{"id", c.id},       {"kind", c.kind},         {"source", c.source},
          {"model", c.model}, {"instance", c.instance}, {"known", to_string(c.fact)}};
}

Json row_object(const MemoryValidation::Row& row) {
  const MemoryCase& c = row.published;
  const models::Strategy& s = c.strategy;
  Json object = case_object(c);
  object["rows"] = c.rows;
  object["layers"] = row.job.architecture.layers;
  object["nodes"] = c.nodes;
  object["sequence"] = c.sequence;
  object["tensor_parallel"] = s.tensor_parallel;
  object["pipeline_parallel"] = s.pipeline_parallel;
  object["context_parallel"] = s.context_parallel;
  object["data_parallel"] = s.data_parallel;
  object["recompute"] = to_string(s.recompute);
  object["precision"] = to_string(s.precision);
  object["zero1"] = s.zero1;
  const auto peak = std::llround(row.peak().value), limit = std::llround(row.limit.value);
  object["peak"] = peak;
  object["limit"] = limit;
  object["margin"] = limit - peak;
  object["fit_probability"] = row.fit_probability;
  object["right"] = row.right;
  object["note"] = c.note;
  return object;
}

}  // namespace

std::string memory_validation_json(const MemoryValidation& v, const calibrate::MemoryScore& score,
                                   const std::string& profile) {
  Json j = {{"schema_version", kSchemaVersion}, {"profile", profile}};
  j["cases"] = Json::array();
  for (const auto& row : v.rows) j["cases"].push_back(row_object(row));
  j["left_out"] = Json::array();
  for (const MemoryCase& c : v.left_out) {
    Json object = case_object(c);
    object["reason"] = c.left_out;
    j["left_out"].push_back(std::move(object));
  }
  const auto all = v.count("");
  j["rows"] = all.rows;
  j["wrong"] = all.wrong;
  j["log_score"] = score.mean;
  j["log_score_left_out"] = score.left_out;
  j["mean_fit_probability"] = score.mean_fit;
  j["least_fit_probability"] = score.least_fit;
  j["sources"] = Json::array();
  for (const auto& s : score.sources)
    j["sources"].push_back({{"source", s.name},
                            {"layouts", s.layouts},
                            {"log_score", s.mean},
                            {"log_score_left_out", s.left_out}});
  j["learned"] = {
      {"fused_activations", {{"median", score.learned.median}, {"log_sd", score.learned.log_sd}}}};
  return j.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace trnplan::io
