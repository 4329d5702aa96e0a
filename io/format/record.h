// Description of a JSON object, a row a key. The object in a document, the attributes of Python's record of
// that name, and the table of docs/keys.md come from its rows. Private to io/: it is not installed.
#pragma once

#include <array>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/format/json_tree.h"
#include "units/quantity.h"

namespace trnplan::io {

/// Treatment of a key without a value: null, or left out.
enum class Absent { null, left_out };

/// A record without the C++ type that it is written from.
struct Description {
  struct Key {
    std::string_view name;
    std::string type;       ///< Python's spelling: "int", "Optional[float]", "List[Plan]"
    std::string_view says;  ///< Markdown, for docs/keys.md; "" if name and type say it
    Absent absent;
  };
  std::string_view name;                         ///< of Python's class; "" if Python has a dict
  std::string_view says;                         ///< its first line of documentation
  std::vector<Key> keys;                         ///< in the order of the document
  const Description* base = nullptr;             ///< record with keys that come first
  std::vector<const Description& (*)()> inside;  ///< records that are values of its keys
};

template <class T>
class Record;

/// The one description of `T`: a specialisation next to the code that writes documents of it.
template <class T>
const Record<T>& record();

/// Named values, in their order.
template <class V>
using ByName = std::vector<std::pair<std::string, V>>;

/// JSON of a C++ value, and its type in Python. A type without a specialisation below is a record.
template <class V>
struct Shown {
  static Json json(const V& v) { return record<V>()(v); }
  static std::string type() {
    return description().name.empty() ? "Dict[str, Any]" : std::string(description().name);
  }
  static void add(Description& d) { d.inside.push_back(&description); }
  static const Description& description() { return record<V>().description(); }
};
template <class V>
struct Plain {
  static Json json(const V& v) { return v; }
  static void add(Description&) {}
};
template <>
struct Shown<bool> : Plain<bool> {
  static std::string type() { return "bool"; }
};
template <std::integral V>
struct Shown<V> : Plain<V> {
  static std::string type() { return "int"; }
};
template <>
struct Shown<double> : Plain<double> {
  static std::string type() { return "float"; }
};
template <class V>
requires std::convertible_to<V, std::string_view>
struct Shown<V> : Plain<V> {
  static std::string type() { return "str"; }
};
template <>
struct Shown<Json> : Plain<Json> {
  static std::string type() { return "Any"; }
};
template <class Unit>
struct Shown<Quantity<Unit>> : Plain<Quantity<Unit>> {
  static Json json(Quantity<Unit> v) { return v.value; }
  static std::string type() { return "float"; }
};
/// Written as the name that `to_string` returns.
template <class V>
requires std::is_enum_v<V>
struct Shown<V> : Plain<V> {
  static Json json(V v) { return to_string(v); }
  static std::string type() { return "str"; }
};
template <class V>
struct Shown<std::optional<V>> : Shown<V> {
  static Json json(const std::optional<V>& v) { return v ? Shown<V>::json(*v) : Json(); }
  static std::string type() { return "Optional[" + Shown<V>::type() + "]"; }
};
/// An optional part that another object holds.
template <class V>
requires(!std::convertible_to<const V*, std::string_view>) struct Shown<const V*> : Shown<std::optional<V>> {
  static Json json(const V* v) { return v == nullptr ? Json() : Shown<V>::json(*v); }
};
template <class V>
struct Shown<std::vector<V>> : Shown<V> {
  static Json json(const std::vector<V>& all) {
    Json list = Json::array();
    for (const auto& v : all) list.push_back(Shown<V>::json(v));
    return list;
  }
  static std::string type() { return "List[" + Shown<V>::type() + "]"; }
};
template <class V>
struct Shown<std::array<V, 2>> : Shown<V> {
  static Json json(const std::array<V, 2>& v) {
    return Json::array({Shown<V>::json(v[0]), Shown<V>::json(v[1])});
  }
  static std::string type() { return "Tuple[" + Shown<V>::type() + ", " + Shown<V>::type() + "]"; }
};
template <class V>
struct Shown<ByName<V>> : Shown<V> {
  static Json json(const ByName<V>& all) {
    Json object = Json::object();
    for (const auto& [name, v] : all) object[name] = Shown<V>::json(v);
    return object;
  }
  static std::string type() { return "Dict[str, " + Shown<V>::type() + "]"; }
};
template <class V>
struct Shown<std::map<std::string, V>> : Shown<V> {
  static Json json(const std::map<std::string, V>& all) {
    return Shown<ByName<V>>::json({all.begin(), all.end()});
  }
  static std::string type() { return Shown<ByName<V>>::type(); }
};

/// Member `inner` of the object that `outer` returns or points to: `path(&Row::step, &MeasuredStep::id)`.
template <class Outer, class Inner>
auto path(Outer outer, Inner inner) {
  return [=](const auto& t) {
    const auto& part = std::invoke(outer, t);
    if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(part)>>)
      return std::invoke(inner, *part);
    else
      return std::invoke(inner, part);
  };
}

/// The rows of a record, whatever C++ type it is written from: compiled once for all of them.
class RecordRows {
 public:
  /// A key with the writer of its value, which is given the address of the object.
  struct Row {
    Row(std::string_view name, std::string type, std::string_view says, Absent absent,
        void (*describe)(Description&), std::function<Json(const void*)> write);
    Description::Key key;
    void (*inside)(Description&);
    std::function<Json(const void*)> value;
  };

  RecordRows(std::string_view name, std::string_view says);
  void add(const Row& row);
  /// Sets the keys of `object` that the rows have for the object at `t`.
  void write(Json& object, const void* t) const;
  [[nodiscard]] Description& description() { return described_; }
  [[nodiscard]] const Description& description() const { return described_; }

 private:
  std::vector<Row> rows_;
  Description described_;
};

/// The writer of a `T`, and the description of its keys.
template <class T>
class Record {
 public:
  struct Field : RecordRows::Row {
    /// `get`, a member or a function of `T`, returns the value.
    template <class Get>
    Field(std::string_view name, Get get, std::string_view says = "", Absent absent = Absent::null)
        : Row(name, of<Get>::type(), says, absent, &of<Get>::add,
              [get](const void* t) { return of<Get>::json(std::invoke(get, *static_cast<const T*>(t))); }) {}

   private:
    template <class Get>
    using of = Shown<std::remove_cvref_t<std::invoke_result_t<Get, const T&>>>;
  };

  Record(std::string_view name, std::string_view says, std::initializer_list<Field> fields)
      : rows_(name, says) {
    for (const Field& f : fields) rows_.add(f);
  }
  Record(std::string_view name, std::string_view says, const std::vector<Field>& fields) : rows_(name, says) {
    for (const Field& f : fields) rows_.add(f);
  }
  /// All keys of a record that `T` is, or holds, come before its own; `base` returns it.
  template <class Get>
  Record(std::string_view name, std::string_view says, Get base, std::initializer_list<Field> fields)
      : Record(name, says, fields) {
    using Base = std::remove_cvref_t<std::invoke_result_t<Get, const T&>>;
    rows_.description().base = &record<Base>().description();
    base_ = [base](Json& object, const void* t) {
      object.update(record<Base>()(base(*static_cast<const T*>(t))));
    };
  }

  [[nodiscard]] Json operator()(const T& t) const {
    Json object = Json::object();
    if (base_) base_(object, &t);
    rows_.write(object, &t);
    return object;
  }
  [[nodiscard]] const Description& description() const { return rows_.description(); }

 private:
  RecordRows rows_;
  std::function<void(Json&, const void*)> base_;
};

}  // namespace trnplan::io
