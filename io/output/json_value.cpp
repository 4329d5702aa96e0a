#include "io/output/json_value.h"

#include "io/format/json_tree.h"

namespace trnplan::io {

/// Converts to the library's tree, which writes numbers and text.
struct JsonWriter {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(const JsonValue::List& list) const {
    Json out = Json::array();
    for (const JsonValue& v : list) out.push_back(tree(v));
    return out;
  }
  Json operator()(const JsonValue::Object& object) const {
    Json out = Json::object();
    for (const auto& [key, v] : object) out[key] = tree(v);
    return out;
  }
  template <class T>
  Json operator()(const T& plain) const {
    return plain;
  }
  [[nodiscard]] Json tree(const JsonValue& v) const { return std::visit(*this, v.value_); }
};

std::string json_in_html(const JsonValue& value) {
  // Outside of texts JSON has none of the three.
  const std::string plain = JsonWriter().tree(value).dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string out;
  out.reserve(plain.size());
  for (const char c : plain) {
    if (c == '<')
      out += "\\u003c";
    else if (c == '>')
      out += "\\u003e";
    else if (c == '&')
      out += "\\u0026";
    else
      out += c;
  }
  return out;
}

}  // namespace trnplan::io
