// Kernels that a fit takes from profiles of single kernels (--kernel) and from tables.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/fit/kernel_bench.h"
#include "calibrate/session/samples.h"
#include "models/parameters/profile.h"
#include "text/diagnostic.h"
#include "text/remarks.h"
#include "topology/instance.h"

namespace trnplan::calibrate {

/// The instance of that name; nullopt if there is none.
using KnownInstance = std::function<std::optional<topology::Instance>(const std::string&)>;

/// All kernels that a fit can use: of the files that `said` ("FILE=matmul,m=...") names, measured on
/// `instance`, and of tables. Remarks on excluded rows. Throws InputError with every fault: a text that is no
/// kernel, a file that is not among `files` or does not have exactly one device time, a time that no core
/// reaches, and tables without a useful row if all files are tables.
[[nodiscard]] std::vector<logs::MeasuredKernel> take_kernels(const std::vector<LogFile>& files,
                                                             const std::vector<std::string>& said,
                                                             const topology::Instance& instance,
                                                             const KnownInstance& known, Remarks& remarks);

/// The fault of a time that no core reaches.
[[nodiscard]] std::optional<Diagnostic> too_fast(const logs::MeasuredKernel& point,
                                                 const topology::Core& core);

/// Doubts about kernels that are farther from the profile than one in 1,000 would be.
[[nodiscard]] std::vector<Diagnostic> doubts_of_kernels(const std::vector<logs::MeasuredKernel>& kernels,
                                                        const topology::Core& core,
                                                        const models::Profile& profile);
/// Remarks on kernels so short that latencies may count that no kernel of the model has.
void remark_short(const std::vector<logs::MeasuredKernel>& kernels, const models::Profile& profile,
                  Remarks& remarks);

}  // namespace trnplan::calibrate
