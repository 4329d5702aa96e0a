// The page of a result (docs/report.md), as Python gets it.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <optional>

#include "api/report_parts.h"
#include "io/output/json_value.h"
#include "python/native/arguments.h"
#include "text/diagnostic.h"

namespace trnplan::python {

/// Gives the data of a page. Called without the GIL, by any thread, more than once; keeps what it needs.
using PageData = std::function<io::JsonValue()>;

/// File named by the arguments `report` and `force`, the last ones to be read: calls finish(). Throws InputError, before
/// the work, where the file could not be written or is one of `others`, the request's other paths.
[[nodiscard]] api::ReportFile report_of(Arguments& a, const std::vector<std::string>& others);

/// (document, remarks, page, faults) of (document, remarks). `page` is a function that gives the page as a text, None without
/// `data`; since a page costs a simulation, it is made when it is called. Where `file` is named the page is written there;
/// the faults of that come after those of `unwritten`. Needs the GIL.
[[nodiscard]] pybind11::tuple with_page(const pybind11::tuple& answered, PageData data,
                                        const api::ReportFile& file,
                                        const std::optional<InputError>& unwritten = std::nullopt);

}  // namespace trnplan::python
