// Page of a result (docs/report.md), for Python.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <optional>

#include "api/report_parts.h"
#include "io/output/json_value.h"
#include "python/native/arguments.h"
#include "text/diagnostic.h"

namespace trnplan::python {

/// Returns the data of a page. Called without the GIL, by any thread, more than once; owns whatever it needs.
using PageData = std::function<io::JsonValue()>;

/// File named by the arguments `report` and `force`, which have to be read last: calls finish(). Throws
/// InputError, before the work, if the file cannot be written or is one of `others`, the request's other
/// paths.
[[nodiscard]] api::ReportFile report_of(Arguments& a, const std::vector<std::string>& others);

/// (document, remarks, page, faults) from (document, remarks). `page` is a function that returns the page as
/// a text, None without `data`; a page costs a simulation, so it is made when called. If `file` is named, the
/// page is written there, and the faults of that follow those of `unwritten`. Needs the GIL.
[[nodiscard]] pybind11::tuple with_page(const pybind11::tuple& answered, PageData data,
                                        const api::ReportFile& file,
                                        const std::optional<InputError>& unwritten = std::nullopt);

}  // namespace trnplan::python
