// Parts of lines that several readers of logs take apart in the same way.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "text/log_lines.h"

namespace trnplan::logs {

/// Calls each(key, value) for the fields of "KEY: VALUE | KEY: VALUE |", without blanks around them.
template <class Each>
void each_field(std::string_view fields, Each&& each) {
  while (!fields.empty()) {
    const std::size_t bar = fields.find('|');
    const std::string_view field = fields.substr(0, bar);
    fields = bar == std::string_view::npos ? std::string_view() : fields.substr(bar + 1);
    const std::size_t colon = field.find(':');
    if (colon != std::string_view::npos)
      each(trimmed(field.substr(0, colon)), trimmed(field.substr(colon + 1)));
  }
}

/// The text after 'KEY': in a Python dict, without the quotes of a text; nullopt if it is not there.
inline std::optional<Scan> dict_entry(std::string_view dict, std::string_view key) {
  Scan scan(dict);
  if (!scan.past("'" + std::string(key) + "':")) return std::nullopt;
  scan.take("'");
  return scan;
}

/// The number of 'KEY': in a Python dict.
inline std::optional<double> dict_number(std::string_view dict, std::string_view key) {
  auto entry = dict_entry(dict, key);
  return entry ? entry->number() : std::nullopt;
}

}  // namespace trnplan::logs
