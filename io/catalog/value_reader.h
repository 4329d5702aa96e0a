// An estimated number of a file, with its spread: {"median": 0.8, "log_sd": 0.1, "unit": "1", "source": ...}.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "models/parameters/profile.h"
#include "text/document.h"

namespace trnplan::io {

inline constexpr double kLogSdMost = 10;  ///< of a value

/// Bounds of a value in a file; medians and log_sd are in the unit of the parameter.
struct ValueLimits {
  double least, most;  ///< medians
  double spread;       ///< the largest log_sd
  bool needs_source;   ///< false: the source may be left out
};

/// Bounds of a machine's parameter. A share of a published rate is at most 2: parts measured up to 1.07 of theirs, and
/// 77 is meant as percent. A time is at most an hour, since all of them are parts of a step.
/// A fit may leave a rate that limited none of its rows far away: what is `fitted` is taken as it is.
ValueLimits limits_of(models::Parameter p, bool fitted);

/// The parameter under `key` of `map`, which is the file's "parameters". `remarks`: further keys, for human
/// readers. Faults are added to the list.
models::Value value_from(MapReader& map, std::string_view key, std::string_view unit,
                         const ValueLimits& limits, std::initializer_list<std::string_view> remarks,
                         std::vector<Diagnostic>& faults);

}  // namespace trnplan::io
