#include "io/catalog/reading.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/format/schema_version.h"
#include "models/job/strategy.h"

namespace trnplan::io {

namespace {

/// Largest ratio of a figure to its step, and of a step to its figure.
constexpr double kRatioMost = 10;
constexpr double kReadingSpreadMost = 1;

calibrate::QuantityReading quantity_from(MapReader& fields) {
  calibrate::QuantityReading q;
  q.quantity = fields.required_text("quantity");
  q.framework = fields.text("framework", "");
  q.from_release = fields.text("from_release", "");
  q.at_most = fields.boolean("at_most", false);
  q.ratio = fields.number("ratio", 1, 1 / kRatioMost, kRatioMost);
  q.log_sd = fields.number("log_sd", 0, 0, kReadingSpreadMost);
  return q;
}

models::Precision precision_at(MapReader& fields, const char* key) {
  const std::string text = fields.required_text(key);
  const std::optional<models::Precision> precision = models::precision_from(text);
  if (!precision && !text.empty())
    fields.fault(key, "\"" + printable(text, 40) + "\" is not a precision",
                 "write for example mixed_precision");
  return precision.value_or(models::Precision::mixed_precision);
}

calibrate::PrecisionReading precision_from(MapReader& fields) {
  calibrate::PrecisionReading p{};
  p.framework = fields.required_text("framework");
  p.before_release = fields.required_text("before_release");
  p.stated = precision_at(fields, "stated");
  p.meant = precision_at(fields, "meant");
  return p;
}

template <class Entry, class Read>
std::vector<Entry> list_from(MapReader& map, const std::string& key, const Read& read,
                             std::vector<Diagnostic>& faults) {
  std::vector<Entry> all;
  const Node* list = map.raw(key);
  if (list == nullptr || list->is_null()) return all;
  if (list->kind != Node::Kind::sequence) map.fault(key, "a list was expected", "write [...]");
  for (std::size_t i = 0; i < list->items.size() && faults.size() < 50; ++i) {
    MapReader fields(list->items[i], key + "[" + std::to_string(i) + "]", faults);
    all.push_back(read(fields));
    fields.required_text("source");
    fields.ignore({"note"});
    fields.finish();
  }
  return all;
}

}  // namespace

calibrate::RunReading reading_from(const Node& node) {
  std::vector<Diagnostic> faults;
  MapReader map(node, "", faults);
  check_schema(map);
  map.ignore({"description"});
  calibrate::RunReading reading;
  reading.quantities = list_from<calibrate::QuantityReading>(map, "quantities", quantity_from, faults);
  reading.precisions = list_from<calibrate::PrecisionReading>(map, "precisions", precision_from, faults);
  map.finish();
  if (!faults.empty()) throw InputError(std::move(faults));
  return reading;
}

}  // namespace trnplan::io
