#include "io/catalog/value_reader.h"

#include <string>

namespace trnplan::io {

ValueLimits limits_of(models::Parameter p, bool fitted) {
  if (fitted) return {1e-30, 1e30, 100, false};
  const bool is_share = models::time_sign(p) < 0, is_time = models::unit_of(p) == "s";
  return {1e-30, is_share ? 2 : is_time ? 3600 : 1e30, 100, false};
}

models::Value value_from(MapReader& map, std::string_view key, std::string_view unit,
                         const ValueLimits& limits, std::initializer_list<std::string_view> remarks,
                         std::vector<Diagnostic>& faults) {
  const std::string wanted(unit);
  const Node* node = map.raw(key);
  if (node == nullptr || node->is_null()) {
    map.fault(key, "this parameter is missing",
              "add it with median, log_sd, unit \"" + wanted + "\" and source");
    return {};
  }
  MapReader fields(*node, "parameters." + std::string(key), faults);
  models::Value value;
  value.median = fields.required_number("median", limits.least, limits.most);
  value.log_sd = fields.required_number("log_sd", 0, limits.spread);
  value.source = limits.needs_source ? fields.required_text("source") : fields.text("source", "");
  const std::string stated = fields.required_text("unit");
  if (!stated.empty() && stated != wanted) {
    fields.fault("unit", "\"" + printable(stated, 40) + "\" is not the unit of this parameter",
                 "write the value in \"" + wanted + "\"");
  }
  fields.ignore(remarks);
  fields.finish();
  return value;
}

}  // namespace trnplan::io
