#include "models/parameters/parameter.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace trnplan::models {

std::string_view to_string(Resource r) {
  constexpr std::string_view kNames[] = {"tensor", "vector", "hbm",     "dma",
                                         "link",   "efa",    "latency", "launch"};
  return kNames[static_cast<std::size_t>(r)];
}

ParameterSchema::ParameterSchema(std::string name, std::initializer_list<ParameterTable> tables)
    : name_(std::move(name)) {
  for (const ParameterTable table : tables) {
    for (const ParameterInfo& info : table) {
      if (info.place >= kMostParameters || at(info.place) || find(info.name)) {
        throw std::logic_error("schema " + name_ + ": the place or name of " + std::string(info.name) +
                               " is taken or out of range");
      }
      const auto before = std::upper_bound(parameters_.begin(), parameters_.end(), info.place,
                                           [](std::size_t place, Parameter p) { return place < p.place(); });
      parameters_.insert(before, Parameter(info));
    }
  }
}

Parameter ParameterSchema::at(std::size_t place) const {
  const auto found = std::lower_bound(parameters_.begin(), parameters_.end(), place,
                                      [](Parameter p, std::size_t at) { return p.place() < at; });
  return found == parameters_.end() || found->place() != place ? Parameter() : *found;
}

Parameter ParameterSchema::find(std::string_view name) const {
  const auto found = std::find_if(parameters_.begin(), parameters_.end(),
                                  [&](Parameter p) { return p.info().name == name; });
  return found == parameters_.end() ? Parameter() : *found;
}

}  // namespace trnplan::models
