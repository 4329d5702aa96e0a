#include <cctype>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "io/input/job_keys.h"
#include "io/input/job_sections.h"
#include "io/input/job_space.h"
#include "models/job/limits.h"
#include "planner/cost/run_forecast.h"

namespace trnplan::io {

namespace {

constexpr std::string_view kSequence = "sequence";

/// A whole number, also written 1K; required unless an NxDT file gave `fallback`.
int whole_count(JobDraft& d, MapReader& fields, std::string_view key, int fallback, int most) {
  if (!fields.has(key)) {
    if (fallback < 1)
      fields.fault(key, "this key is missing",
                   "add it, with a whole number from 1 to " + std::to_string(most));
    return fallback;
  }
  const Node* node = fields.raw(key);
  const bool suffix = node->kind == Node::Kind::scalar && !node->scalar.empty() &&
                      std::isalpha(static_cast<unsigned char>(node->scalar.back())) != 0;
  if (!suffix) return fields.whole(key, fallback, 1, most);
  const std::size_t before = d.faults.size();
  const double value = fields.count(key, 1);
  if (d.faults.size() != before) return fallback;
  if (value >= 1 && value <= most && std::floor(value) == value) return static_cast<int>(value);
  fields.fault(key, in_quotes(node->scalar) + " is not a whole number from 1 to " + std::to_string(most),
               "write a whole number, for example 1024");
  return fallback;
}

void read_global_batch(JobDraft& d, MapReader& fields) {
  if (read_free_batch(fields, d.job(), d.faults)) return;
  int& value = d.job().training.global_batch;
  value = whole_count(d, fields, "global_batch", value, models::run_limits.global_batch);
}

/// Tokens of a sequence, without a unit: people who write 8K may mean 8,000 or 8,192.
int sequence_of(JobDraft& d, MapReader& fields, int fallback) {
  const Node* node = fields.has(kSequence) ? fields.raw(kSequence) : nullptr;
  const bool thousands =
      node != nullptr && !node->scalar.empty() && (node->scalar.back() == 'K' || node->scalar.back() == 'k');
  const auto count =
      thousands
          ? number_of({.kind = Node::Kind::scalar, .scalar = node->scalar.substr(0, node->scalar.size() - 1)})
          : std::nullopt;
  if (!count) return whole_count(d, fields, kSequence, fallback, models::run_limits.sequence);
  fields.fault(kSequence,
               in_quotes(printable(node->scalar, 20)) + " has a unit, which may be 1000 or 1024 tokens",
               fmt::format("write the tokens without unit, for example {:.0f}",
                           *count >= 1 ? 1024 * std::floor(*count) : 8192.0));
  return fallback;
}

void read_precision(JobDraft& d, MapReader& fields) {
  if (!fields.has("precision")) return;
  const std::string text = fields.text("precision", "");
  if (text == "any") {
    d.job().space.precision = true;
    return;
  }
  if (const auto precision = models::precision_from(text)) {
    d.job().training.precision = *precision;
  } else if (!text.empty()) {
    const std::vector<std::string> known(models::kPrecisionNames.begin(), models::kPrecisionNames.end());
    // Other programs' words for products in 16 bits, weights and states in FP32.
    static constexpr std::string_view kMixed[] = {"bf16",       "fp16",     "bfloat16", "float16",
                                                  "bf16-mixed", "16-mixed", "amp"};
    const bool mixed = std::find(std::begin(kMixed), std::end(kMixed), text) != std::end(kMixed);
    const std::string near =
        mixed ? std::string(to_string(models::Precision::mixed_precision)) : nearest(text, known);
    fields.fault("precision", "unknown precision " + in_quotes(text),
                 near.empty() ? "use one of: " + joined(known) + ", any" : "did you mean \"" + near + "\"?");
  }
}

}  // namespace

void read_job_training(JobDraft& d, MapReader& map) {
  const Node* node = map.raw("training");
  if (node == nullptr || node->is_null()) {
    if (!d.from_nxdt) {
      map.fault("training", "this key is missing", "add training: {sequence: 8192, global_batch: 1024}");
    }
    return;
  }
  MapReader fields = job_section(*node, "training", d.faults);
  models::Training& t = d.job().training;
  t.sequence = sequence_of(d, fields, t.sequence);
  read_global_batch(d, fields);
  fields.ignore({"per_node"});
  if (fields.has("per_node"))
    fields.fault("per_node", "this key belongs in global_batch", "write global_batch: {per_node: 32}");
  if (fields.has("tokens")) {
    const std::size_t before = d.faults.size();
    t.tokens = fields.count("tokens", 0);
    const std::string few = planner::why_too_few_tokens(t.tokens, t);
    if (d.faults.size() == before && !few.empty())
      fields.fault("tokens", few, "write for example 15T, or leave the key out");
  }
  read_precision(d, fields);
  refuse_not_modelled(fields);
  fields.finish();
}

}  // namespace trnplan::io
