#include "io/catalog/recommending.h"

#include <vector>

#include "io/catalog/value_reader.h"
#include "io/format/schema_version.h"

namespace trnplan::io {

namespace {

constexpr double kLeast = 1e-6, kMost = 1e9;

/// The map under `key`; a fault if there is none.
template <class Read>
void read_map(MapReader& map, const char* key, std::vector<Diagnostic>& faults, const Read& read) {
  const Node* node = map.raw(key);
  if (node == nullptr || node->is_null())
    return map.fault(key, "this key is missing",
                     "add it; catalog/recommending.json of the release has all of them");
  MapReader fields(*node, key, faults);
  read(fields);
  fields.finish();
}

}  // namespace

planner::RecommendingParameters recommending_from(const Node& node) {
  std::vector<Diagnostic> faults;
  MapReader map(node, "", faults);
  check_schema(map);
  map.ignore({"name", "description"});
  planner::RecommendingParameters out;
  const auto median = [&](MapReader& fields, std::string_view key, std::string_view unit) {
    return value_from(fields, key, unit, {kLeast, kMost, kLogSdMost, true}, {"note"}, faults).median;
  };
  read_map(map, "parameters", faults, [&](MapReader& fields) {
    out.distance.failure = median(fields, "failure", "1");
    out.distance.typical = median(fields, "typical", "1");
    out.distance.memory = median(fields, "memory", "1");
    out.distance.alone = median(fields, "alone", "1");
    out.failed_try = Seconds(median(fields, "failed_try", "s"));
    out.mistaken = median(fields, "mistaken", "1");
    out.misleading = median(fields, "misleading", "1");
    out.alike = median(fields, "alike", "1");
    out.given_up = median(fields, "given_up", "1");
    out.unstated_run = Seconds(median(fields, "unstated_run", "s"));
  });
  read_map(map, "weights", faults, [&](MapReader& fields) {
    for (std::size_t i = 0; i < planner::kTraits; ++i)
      out.distance.weights[i] = median(fields, to_string(static_cast<planner::Trait>(i)), "1");
  });
  map.finish();
  if (!faults.empty()) throw InputError(std::move(faults));
  return out;
}

}  // namespace trnplan::io
