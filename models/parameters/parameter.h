// Parameters of the physics as registered descriptions: what a device, a collective runtime or a training
// framework needs to know of a machine beyond its published numbers.
//
// A room that has parameters describes them in one table and names each (models/device/neuron_core_parameters.h
// is an example). A schema is a set of such tables: what profiles of one kind of machine state
// (models/schemas/schemas.h). There is no list of all parameters there may be.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trnplan::models {

/// What a part of the machine has in a step: its rate or, of latency and launch, its length.
enum class Resource { tensor, vector, hbm, dma, link, efa, latency, launch, count };
std::string_view to_string(Resource r);

/// The most places that a schema may have. Sums by parameter are arrays of this length, so raise it when a
/// schema needs more, not before.
inline constexpr std::size_t kMostParameters = 44;

/// How a parameter enters time.
enum class TimeSign : signed char { share = -1, none = 0, length = 1 };

/// One parameter that is not an exact published number.
struct ParameterInfo {
  std::size_t place;      ///< in arrays by parameter; no two parameters of one schema share it
  std::string_view name;  ///< the key in profile files
  std::string_view unit;  ///< "1", "s" or "bytes"
  std::string_view meaning;
  TimeSign sign = TimeSign::length;
  /// Whose rate or length it scales; count: of none alone.
  Resource resource = Resource::count;
  /// It multiplies what is multiplied already (bytes, cycles), so it stays when every time is scaled.
  bool of_work = false;
  /// What a profile means that was written before the parameter existed: median, known exactly. nullopt: every
  /// profile must state it.
  std::optional<double> when_absent;
};
using ParameterTable = std::span<const ParameterInfo>;

/// A parameter, as a handle to its description; or none. Cost: that of a pointer, and nothing where it is a
/// named constant.
class Parameter {
 public:
  constexpr Parameter() = default;
  constexpr explicit Parameter(const ParameterInfo& info) : info_(&info) {}

  constexpr explicit operator bool() const { return info_ != nullptr; }
  /// Requires: not none, as all functions below.
  constexpr std::size_t place() const { return info_->place; }
  constexpr const ParameterInfo& info() const { return *info_; }
  constexpr bool operator==(const Parameter&) const = default;
  /// By their places, for sets and maps.
  friend constexpr bool operator<(Parameter a, Parameter b) { return a.place() < b.place(); }

 private:
  const ParameterInfo* info_ = nullptr;
};

/// The parameter of a table by its name. Does not compile where there is none.
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
/// -1 for shares of a rate, +1 for lengths and multipliers, 0 where it sets no time.
constexpr int time_sign(Parameter p) {
  return static_cast<int>(p.info().sign);
}
/// The resource whose rate or length a parameter scales; count for the others.
constexpr Resource resource_of(Parameter p) {
  return p.info().resource;
}

/// The parameters that the profiles of one kind of machine state.
class ParameterSchema {
 public:
  /// Of no parameters, without a name.
  ParameterSchema() = default;
  /// Keeps references into the tables. Throws: std::logic_error when two parameters share a name or a place,
  /// or a place is beyond kMostParameters.
  ParameterSchema(std::string name, std::initializer_list<ParameterTable> tables);

  const std::string& name() const { return name_; }
  /// In the order of their places: that of files, outputs and covariances.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// One more than the last place. Rows of covariances and gradients; those of places without a parameter are
  /// zero.
  std::size_t places() const { return parameters_.empty() ? 0 : parameters_.back().place() + 1; }
  /// The parameter at a place; none where there is none.
  Parameter at(std::size_t place) const;
  /// The parameter of that name; none where there is none.
  Parameter find(std::string_view name) const;
  bool contains(Parameter p) const { return at(p.place()) == p; }

 private:
  std::string name_;
  std::vector<Parameter> parameters_;
};

/// The schema of a profile that states nothing yet.
inline const ParameterSchema kNoSchema{};

}  // namespace trnplan::models
