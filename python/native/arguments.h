// Arguments of a Python call, converted to the request of a command.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/inputs.h"
#include "api/plan.h"
#include "text/diagnostic.h"

namespace trnplan::python {

/// Arguments that the Python side passes on, by name. A wrong value is kept as a fault; finish() throws them
/// all. Members of the request without an argument stay unchanged. Needs the GIL.
class Arguments {
 public:
  explicit Arguments(pybind11::dict given) : given_(std::move(given)) {}

  /// True if the argument was given.
  bool text(const char* name, std::string& into);
  void texts(const char* name, std::vector<std::string>& into);
  /// Reads a dict of names and texts.
  void mapping(const char* name, std::map<std::string, std::string, std::less<>>& into);
  /// Reads one of `known`.
  void word(const char* name, std::string& into, const std::vector<std::string>& known);
  void flag(const char* name, bool& into);
  void whole(const char* name, int& into, int least, int most);
  void number(const char* name, double& into, double least, double most);
  void number(const char* name, std::optional<double>& into, double least, double most);
  /// Reads `texts`: inputs in memory, by the names that the other arguments use for them.
  void stated(api::StatedFiles& into);
  /// Reads `job`, the texts, and the keys of the job that arguments override.
  void job(api::JobInput& into);
  void risk(planner::RiskAttitude& into);

  void fault(const char* name, std::string problem, std::string fix);
  /// Throws InputError.
  void finish() const;

 private:
  [[nodiscard]] pybind11::object find(const char* name) const;
  pybind11::dict given_;
  std::vector<Diagnostic> faults_;
};

/// The job as options of the program, for scripts that plan again.
[[nodiscard]] api::JobWords words_of(const api::JobInput& job);

}  // namespace trnplan::python
