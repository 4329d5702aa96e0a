#include "python/native/page.h"

#include <string>
#include <utility>
#include <vector>

#include "io/output/atomic_write.h"
#include "launch/report/report_page.h"
#include "python/native/answer.h"

namespace trnplan::python {

namespace py = pybind11;

namespace {

std::string text_of(const PageData& data) {
  const py::gil_scoped_release others_may_run;
  return launch::report_page(data());
}

/// Faults that prevent writing `text`; none if it was written.
std::vector<Diagnostic> write(const api::ReportFile& file, const std::string& text) {
  const py::gil_scoped_release others_may_run;
  try {
    io::write_file(file.path, text, file.force);
  } catch (const InputError& e) {
    return e.faults();
  }
  return {};
}

}  // namespace

api::ReportFile report_of(Arguments& a, const std::vector<std::string>& others) {
  api::ReportFile file;
  a.text("report", file.path);
  a.flag("force", file.force);
  a.finish();
  api::check_report(file, others);
  return file;
}

py::tuple with_page(const py::tuple& answered, PageData data, const api::ReportFile& file,
                    const std::optional<InputError>& unwritten) {
  py::list faults;
  if (unwritten) faults = faults_of(*unwritten);
  py::object page = py::none();
  if (data && file.path.empty()) {
    page = py::cpp_function([data = std::move(data)] { return str_of(text_of(data)); });
  } else if (data) {
    const std::string text = text_of(data);
    const std::vector<Diagnostic> refused = write(file, text);
    if (!refused.empty()) faults += faults_of(InputError(refused));
    page = py::cpp_function([made = str_of(text)] { return made; });
  }
  return py::make_tuple(answered[0], answered[1], page, faults);
}

}  // namespace trnplan::python
