#include "python/native/answer.h"

#include <exception>
#include <new>
#include <system_error>
#include <variant>

namespace trnplan::python {

namespace py = pybind11;

py::str str_of(const std::string& text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

namespace {

/// Text of a user's file as the program shows it: without characters that control a terminal.
py::str shown(const std::string& text) {
  return str_of(printable(text, 4000));
}

py::tuple fault_of(const Diagnostic& d) {
  return py::make_tuple(shown(d.at.file), d.at.line, d.at.column, shown(d.key), shown(d.problem),
                        shown(d.fix));
}

void raise(const InputError& e) {
  const py::object error = py::module_::import("trnplan.errors").attr("input_error")(faults_of(e));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

void raise_internal(const char* what) {
  const std::string text =
      std::string("internal error: ") + what + "; please report it with the call and its input";
  PyErr_SetString(PyExc_RuntimeError, text.c_str());
}

void raise_system(const std::error_code& code, const std::string& what) {
  const py::object error = py::reinterpret_borrow<py::object>(PyExc_OSError)(code.value(), str_of(what));
  PyErr_SetObject(PyExc_OSError, error.ptr());
}

}  // namespace

py::list faults_of(const InputError& e) {
  py::list all;
  for (const Diagnostic& d : e.faults()) all.append(fault_of(d));
  return all;
}

py::tuple answer(const std::string& document, const Remarks& remarks) {
  py::list said;
  for (const Remark& r : remarks.all()) {
    const auto* fault = std::get_if<Diagnostic>(&r);
    said.append(fault != nullptr ? str_of(to_string(*fault)) : shown(std::get<std::string>(r)));
  }
  return py::make_tuple(str_of(document), said);
}

void translate_exceptions() {
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    if (!thrown) return;
    try {
      std::rethrow_exception(thrown);
    } catch (const InputError& e) {
      raise(e);
    } catch (const py::error_already_set&) {
      throw;
    } catch (const py::builtin_exception&) {
      throw;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::system_error& e) {  // std::filesystem's errors too
      raise_system(e.code(), e.what());
    } catch (const std::exception& e) {
      raise_internal(e.what());
    }
  });
}

}  // namespace trnplan::python
