#include "python/native/arguments.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace trnplan::python {

namespace py = pybind11;

namespace {

struct JobKey {
  const char* name;  ///< of the argument; with dashes, that of the program's option
  std::string io::JobOptions::*text;
};
constexpr JobKey kJobKeys[] = {
    {"nodes", &io::JobOptions::nodes},         {"instance", &io::JobOptions::instance},
    {"sequence", &io::JobOptions::sequence},   {"global_batch", &io::JobOptions::global_batch},
    {"precision", &io::JobOptions::precision}, {"release", &io::JobOptions::release},
    {"tokens", &io::JobOptions::tokens},       {"objective", &io::JobOptions::objective},
    {"deadline", &io::JobOptions::deadline},   {"budget", &io::JobOptions::budget},
    {"scheduler", &io::JobOptions::scheduler}, {"all_reduce_gbps", &io::JobOptions::all_reduce},
    {"measured", &io::JobOptions::measured},
};

/// Text as a file's name: Python's stand-ins for bytes that are not UTF-8 become these bytes again. nullopt
/// if it is not a text.
std::optional<std::string> bytes_of(const py::handle& text) {
  if (!py::isinstance<py::str>(text)) return std::nullopt;
  const auto bytes = py::reinterpret_steal<py::bytes>(PyUnicode_EncodeFSDefault(text.ptr()));
  if (!bytes) {
    PyErr_Clear();
    return std::nullopt;
  }
  return std::string(bytes);
}

/// Value as shown in faults; its type if it cannot be converted to text.
std::string shown(const py::handle& value) {
  std::string text;
  if (const auto words = py::reinterpret_steal<py::object>(PyObject_Str(value.ptr())))
    text = bytes_of(words).value_or("");
  PyErr_Clear();
  return in_quotes(text.empty() ? Py_TYPE(value.ptr())->tp_name : text);
}

}  // namespace

py::object Arguments::find(const char* name) const {
  return given_.contains(name) ? py::object(given_[name]) : py::object(py::none());
}

void Arguments::fault(const char* name, std::string problem, std::string fix) {
  faults_.push_back({{io::kCommandLine, 0, 0}, name, std::move(problem), std::move(fix)});
}

bool Arguments::text(const char* name, std::string& into) {
  const py::object value = find(name);
  if (value.is_none()) return false;
  const std::optional<std::string> text = bytes_of(value);
  if (!text) {
    fault(name, "is not a text", "give a str");
    return true;
  }
  into = *text;
  if (into.empty()) fault(name, "is empty", "leave it out, or give a text");
  if (into.find('\0') != std::string::npos) fault(name, "contains a zero byte", "leave it out");
  return true;
}

void Arguments::texts(const char* name, std::vector<std::string>& into) {
  const py::object value = find(name);
  if (value.is_none()) return;
  if (!py::isinstance<py::list>(value)) return fault(name, "is not a list of texts", "give a list of str");
  for (const py::handle item : py::reinterpret_borrow<py::list>(value)) {
    const std::optional<std::string> text = bytes_of(item);
    if (!text) return fault(name, "is not a list of texts", "give a list of str");
    into.push_back(*text);
  }
}

void Arguments::mapping(const char* name, std::map<std::string, std::string, std::less<>>& into) {
  const py::object value = find(name);
  if (value.is_none()) return;
  const auto wrong = [&] { fault(name, "is not a dict of texts", "give a dict of str to str"); };
  if (!py::isinstance<py::dict>(value)) return wrong();
  for (const auto& [key, item] : py::reinterpret_borrow<py::dict>(value)) {
    const std::optional<std::string> variable = bytes_of(key), text = bytes_of(item);
    if (!variable || variable->empty() || !text) return wrong();
    into[*variable] = *text;
  }
}

void Arguments::word(const char* name, std::string& into, const std::vector<std::string>& known) {
  std::string stated;
  text(name, stated);
  if (stated.empty()) return;
  if (std::find(known.begin(), known.end(), stated) == known.end()) {
    const std::string near = nearest(stated, known);
    return fault(
        name, in_quotes(stated) + " is not known",
        near.empty() ? fmt::format("give one of {}", fmt::join(known, ", ")) : "did you mean " + near + "?");
  }
  into = stated;
}

void Arguments::flag(const char* name, bool& into) {
  const py::object value = find(name);
  if (value.is_none()) return;
  if (!py::isinstance<py::bool_>(value)) return fault(name, "is neither True nor False", "give a bool");
  into = value.cast<bool>();
}

void Arguments::whole(const char* name, int& into, int least, int most) {
  const py::object value = find(name);
  if (value.is_none()) return;
  // Includes NumPy's whole numbers.
  const bool countable = PyIndex_Check(value.ptr()) && !py::isinstance<py::bool_>(value);
  const auto index = py::reinterpret_steal<py::object>(countable ? PyNumber_Index(value.ptr()) : nullptr);
  if (!index) PyErr_Clear();
  int overflow = 0;
  const long long number = index ? PyLong_AsLongLongAndOverflow(index.ptr(), &overflow) : 0;
  if (!index || overflow != 0 || number < least || number > most) {
    return fault(name, fmt::format("{} is not a whole number from {} to {}", shown(value), least, most),
                 fmt::format("give an int from {} to {}", least, most));
  }
  into = static_cast<int>(number);
}

void Arguments::number(const char* name, std::optional<double>& into, double least, double most) {
  const py::object value = find(name);
  if (value.is_none()) return;
  const bool number = PyNumber_Check(value.ptr()) && !py::isinstance<py::bool_>(value);
  double read = number ? PyFloat_AsDouble(value.ptr()) : 0;
  if (PyErr_Occurred() != nullptr) {  // an int beyond every double, a complex number
    PyErr_Clear();
    read = std::nan("");
  }
  if (!number || !(read >= least && read <= most)) {
    return fault(name, fmt::format("{} is not a number from {:.15g} to {:.15g}", shown(value), least, most),
                 fmt::format("give a number from {:.15g} to {:.15g}", least, most));
  }
  into = read;
}

void Arguments::number(const char* name, double& into, double least, double most) {
  std::optional<double> read;
  number(name, read, least, most);
  if (read) into = *read;
}

void Arguments::stated(api::StatedFiles& into) {
  const py::object texts = find("texts");
  if (texts.is_none()) return;
  for (const auto& [name, value] : py::dict(texts)) {
    const std::string stated = name.cast<std::string>();
    const std::optional<std::string> text = bytes_of(value);
    if (text)
      into.state(stated, *text);
    else
      fault(stated.c_str(), "is not a text of Unicode", "leave lone surrogates out");
  }
}

void Arguments::job(api::JobInput& into) {
  text("job", into.job);
  stated(into.texts);
  for (const JobKey& key : kJobKeys) text(key.name, into.options.*key.text);
}

api::JobWords words_of(const api::JobInput& job) {
  api::JobWords words;
  std::error_code error;
  const bool here = std::filesystem::exists(job.job, error);
  words.job = here ? std::filesystem::absolute(job.job).string() : job.job;
  for (const JobKey& key : kJobKeys) {
    std::string text = job.options.*key.text;
    if (!text.empty() && key.text == &io::JobOptions::measured)
      text = std::filesystem::absolute(text).string();  // the words may run in another folder
    std::string option = std::string("--") + key.name;
    std::replace(option.begin(), option.end(), '_', '-');
    if (!text.empty()) words.options.insert(words.options.end(), {option, text});
  }
  return words;
}

void Arguments::risk(planner::RiskAttitude& into) {
  std::string name;
  word("risk", name, {"neutral", "averse", "fastest"});
  if (!name.empty()) into = *planner::risk_attitude_from(name);
}

void Arguments::finish() const {
  if (!faults_.empty()) throw InputError(faults_);
}

}  // namespace trnplan::python
