// What a Python call gets back, and what becomes of exceptions.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <utility>

#include "text/diagnostic.h"
#include "text/remarks.h"

namespace trnplan::python {

/// What is no UTF-8 in it is replaced.
[[nodiscard]] pybind11::str str_of(const std::string& text);

/// (file, line, column, key, problem, fix) of each.
[[nodiscard]] pybind11::list faults_of(const InputError& e);

/// (document, remarks): a remark is a text.
[[nodiscard]] pybind11::tuple answer(const std::string& document, const Remarks& remarks);

/// Runs `work(remarks)`, which gives a document, without the GIL.
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

/// InputError becomes trnplan.InputError, what the system refuses an OSError, a bug of ours a RuntimeError that says so.
void translate_exceptions();

}  // namespace trnplan::python
