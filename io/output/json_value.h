// A value of JSON for layers above io/, which build documents of their own without a library's headers.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace trnplan::io {

/// null, true or false, a number, text, a list, or an object with keys in their order.
class JsonValue {
 public:
  using List = std::vector<JsonValue>;
  using Object = std::vector<std::pair<std::string, JsonValue>>;

  JsonValue() = default;  ///< null
  JsonValue(bool value) : value_(value) {}
  template <std::integral T>
  JsonValue(T value) : value_(static_cast<std::int64_t>(value)) {}
  JsonValue(double value) : value_(value) {}  ///< NaN and infinite are written as null
  JsonValue(std::string value) : value_(std::move(value)) {}
  JsonValue(std::string_view value) : value_(std::string(value)) {}
  JsonValue(const char* value) : value_(std::string(value)) {}
  JsonValue(List value) : value_(std::move(value)) {}
  template <class T>
  JsonValue(const std::optional<T>& value) {
    if (value) *this = JsonValue(*value);
  }
  template <class T>
  JsonValue(const std::vector<T>& values) {
    List list(values.begin(), values.end());
    value_ = std::move(list);
  }
  template <class T>
  JsonValue(const T*) = delete;  ///< a pointer is not a truth value

  [[nodiscard]] static JsonValue object(
      std::initializer_list<std::pair<std::string, JsonValue>> members = {}) {
    JsonValue value;
    value.value_ = Object(members);
    return value;
  }
  /// Adds a member to an object, or a value to a list.
  void add(std::string key, JsonValue value) {
    std::get<Object>(value_).emplace_back(std::move(key), std::move(value));
  }
  void add(JsonValue value) { std::get<List>(value_).push_back(std::move(value)); }

 private:
  friend struct JsonWriter;
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Object> value_;
};

/// The value on one line, in ASCII, invalid UTF-8 replaced, and `<`, `>` and `&` as escapes: no text in it
/// ends the element of an HTML page that holds it, and none begins another.
[[nodiscard]] std::string json_in_html(const JsonValue& value);

}  // namespace trnplan::io
