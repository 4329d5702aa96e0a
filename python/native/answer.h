// Results of Python calls, and the translation of exceptions.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <utility>

#include "text/diagnostic.h"
#include "text/remarks.h"

namespace trnplan::python {

/// Python text; bytes that are not UTF-8 are replaced.
[[nodiscard]] pybind11::str str_of(const std::string& text);

/// (file, line, column, key, problem, fix) of each fault.
[[nodiscard]] pybind11::list faults_of(const InputError& e);

/// (document, remarks), with each remark as a text.
[[nodiscard]] pybind11::tuple answer(const std::string& document, const Remarks& remarks);

/// Runs `work(remarks)`, which returns a document, without the GIL.
template <class Work>
pybind11::tuple answer_of(const Work& work) {
  Remarks remarks;
  std::string document;
  {
    const pybind11::gil_scoped_release others_may_run;
    document = work(remarks);
  }
  return answer(document, remarks);
}

/// InputError becomes trnplan.InputError, an error of the system an OSError, and a bug of ours a RuntimeError
/// that says so.
void translate_exceptions();

}  // namespace trnplan::python
