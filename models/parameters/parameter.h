// Parameters of the physics as registered descriptions: the numbers of a machine, besides its published ones,
// that a device, a collective runtime or a training framework needs.
//
// A room with parameters describes them in one table and names each (models/device/neuron_core_parameters.h
// is an example). A schema is a set of such tables: the parameters that profiles of one kind of machine state
// (models/schemas/schemas.h). There is no list of all possible parameters.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trnplan::models {

/// The part of the machine that determines a time in a step: by its rate or, for latency and launch, by its
/// length.
enum class Resource { tensor, vector, hbm, dma, link, efa, latency, launch, count };
std::string_view to_string(Resource r);

/// The most places that a schema may have. Sums by parameter are arrays of this length, so raise it only when
/// a schema needs more.
inline constexpr std::size_t kMostParameters = 50;

/// The effect of a parameter on time.
enum class TimeSign : signed char { share = -1, none = 0, length = 1 };

/// One parameter that is not an exact published number.
struct ParameterInfo {
  std::size_t place;      ///< index in arrays by parameter; unique within a schema
  std::string_view name;  ///< the key in profile files
  std::string_view unit;  ///< "1", "s" or "bytes"
  std::string_view meaning;
  TimeSign sign = TimeSign::length;
  /// The resource whose rate or length it scales; count: none of them.
  Resource resource = Resource::count;
  /// True if it multiplies an amount that is scaled already (bytes, cycles), so that it stays the same when
  /// every time is scaled.
  bool of_work = false;
  /// The value in profiles from before the parameter existed: the median, known exactly. nullopt: every
  /// profile must state it.
  std::optional<double> when_absent;
};
using ParameterTable = std::span<const ParameterInfo>;

/// A parameter, as a handle to its description; or none. Cost: that of a pointer, and nothing for a named
/// constant.
class Parameter {
 public:
  constexpr Parameter() = default;
  constexpr explicit Parameter(const ParameterInfo& info) : info_(&info) {}

  constexpr explicit operator bool() const { return info_ != nullptr; }
  /// Index in arrays by parameter. Requires: not none, as all functions below.
  constexpr std::size_t place() const { return info_->place; }
  constexpr const ParameterInfo& info() const { return *info_; }
  constexpr bool operator==(const Parameter&) const = default;
  /// Orders by place, for sets and maps.
  friend constexpr bool operator<(Parameter a, Parameter b) { return a.place() < b.place(); }

 private:
  const ParameterInfo* info_ = nullptr;
};

/// The parameter of that name in a table. Does not compile where there is none.
consteval Parameter parameter_of(ParameterTable table, std::string_view name) {
  for (const ParameterInfo& info : table) {
    if (info.name == name) return Parameter(info);
  }
  throw "no parameter of that name";
}

constexpr std::string_view to_string(Parameter p) {
  return p.info().name;
}
/// Unit of the value: "1", "s" or "bytes".
constexpr std::string_view unit_of(Parameter p) {
  return p.info().unit;
}
/// -1 for shares of a rate, +1 for lengths and multipliers, 0 for parameters that affect no time.
constexpr int time_sign(Parameter p) {
  return static_cast<int>(p.info().sign);
}
/// The resource whose rate or length a parameter scales; count for the others.
constexpr Resource resource_of(Parameter p) {
  return p.info().resource;
}

/// The parameters that profiles of one kind of machine state.
class ParameterSchema {
 public:
  /// A schema without parameters and without a name.
  ParameterSchema() = default;
  /// Keeps references into the tables. Throws: std::logic_error when two parameters share a name or a place,
  /// or a place is beyond kMostParameters.
  ParameterSchema(std::string name, std::initializer_list<ParameterTable> tables);

  const std::string& name() const { return name_; }
  /// Parameters in the order of their places, which is that of files, outputs and covariances.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// One more than the last place: the number of rows of covariances and gradients. Rows of places without a
  /// parameter are zero.
  std::size_t places() const { return parameters_.empty() ? 0 : parameters_.back().place() + 1; }
  /// The parameter at a place, or none.
  Parameter at(std::size_t place) const;
  /// The parameter of that name, or none.
  Parameter find(std::string_view name) const;
  bool contains(Parameter p) const { return at(p.place()) == p; }

 private:
  std::string name_;
  std::vector<Parameter> parameters_;
};

/// The schema of a profile that states nothing yet.
inline const ParameterSchema kNoSchema{};

}  // namespace trnplan::models
