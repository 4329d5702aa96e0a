#include "targets/flags/rotary_scaling.h"

#include "text/json_reader.h"

namespace trnplan::targets {

std::optional<double> llama31_rope_factor(const std::string& rope_scaling) {
  if (rope_scaling.empty()) return std::nullopt;
  std::optional<double> factor, low, high, before;
  std::string type;
  JsonReader json(rope_scaling);
  json.object([&](std::string_view key) {
    if (key == "factor") factor = json.number();
    if (key == "low_freq_factor") low = json.number();
    if (key == "high_freq_factor") high = json.number();
    if (key == "original_max_position_embeddings") before = json.number();
    if (key == "rope_type" || key == "type") type = json.text();
  });
  const bool llama = type == "llama3" && low == 1.0 && high == 4.0 && before == 8192.0;
  return !json.failed() && llama ? factor : std::nullopt;
}

}  // namespace trnplan::targets
