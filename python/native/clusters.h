// Functions of the native module that compare clusters and plans. Each takes the arguments of its Python function, and
// returns its document with the remarks (python/native/answer.h); whatif with its page.
#pragma once

#include <pybind11/pybind11.h>

namespace trnplan::python {

[[nodiscard]] pybind11::tuple whatif(const pybind11::dict& given);
[[nodiscard]] pybind11::tuple offerings(const pybind11::dict& given);
[[nodiscard]] pybind11::tuple compare(const pybind11::dict& given);

}  // namespace trnplan::python
