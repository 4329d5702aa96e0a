// Measured kernels: one operator on one core, by its shapes, and the seconds the device took for it.
//
// A kernel is written OP,key=value,...:
//   matmul,m=4096,k=4096,n=4096,dtype=bf16                    (m x k) times (k x n); batch=1
//   flash_forward,heads=4,sequence=8192,head_dim=128,causal=yes,dtype=bf16    and flash_backward; batch=1
//   norm,rows=4096,width=4096                                 as in a layer: with the residual's addition
//   vector,elements=16777216,passes=3                         the vector engine over each element
//   stream,bytes=268435456                                    read from and written to HBM, in all
// dtype: bf16 or fp16 (2 bytes, the full rate), fp32. Keys may be in any order; only batch may be left out. A
// device time runs from the first to the last instruction on the core, as neuron-profile's total_time does:
// loads and stores of HBM are part of it, the host's launch and the framework's dispatch are not.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "logs/training/samples.h"
#include "text/csv.h"
#include "text/diagnostic.h"

namespace trnplan::logs {

enum class KernelOp : std::size_t { matmul, flash_forward, flash_backward, norm, vector, stream, count };
std::string_view to_string(KernelOp op);

/// A kernel that ran. Sizes that the operator does not have are 0.
struct Kernel {
  KernelOp op = KernelOp::matmul;
  double m = 0, k = 0, n = 0;                    ///< matmul
  double heads = 0, sequence = 0, head_dim = 0;  ///< flash
  double batch = 1;                              ///< flash; of matmul the products in one call
  double rows = 0, width = 0;                    ///< norm
  double elements = 0, passes = 0;               ///< vector
  double bytes = 0;                              ///< stream
  bool fp32 = false, causal = false;

  auto operator<=>(const Kernel&) const = default;
};

/// Text of a kernel, as above, with the keys in that order: equal kernels have equal texts.
std::string to_string(const Kernel& kernel);

/// A kernel, or all faults of its text (problem and fix).
struct KernelText {
  struct Fault {
    std::string problem, fix;
  };
  std::optional<Kernel> kernel;  ///< present exactly if there are no faults
  std::vector<Fault> faults;
};
KernelText parse_kernel(std::string_view text);

struct MeasuredKernel {
  std::string id;
  Kernel kernel;
  double seconds = 0;    ///< device time of one call
  std::string instance;  ///< machine that measured it; empty: not stated
  SourcePos at;
  std::string library = {};  ///< of attention; empty: not stated
};

/// A table of kernels.
struct KernelTable {
  std::vector<MeasuredKernel> points;  ///< of quality A or B
  std::vector<Diagnostic> left_out;    ///< each other row: its id, its quality and what is missing
  std::size_t rows = 0;
};

/// Seconds of a kernel from a column of microseconds; 0 with a fault for a time that no kernel takes.
double kernel_seconds(CsvReader& csv, std::string_view column);

/// Parses a measured-kernels CSV (catalog/measured-kernels.md). Throws InputError listing every fault:
/// missing columns, a kernel that cannot be read, a time that is not a positive number, a row without id,
/// quality or source. The kernel of a row of quality C or D is not read, since its parts are missing.
KernelTable parse_measured_kernels(std::string_view text, const std::string& name);

/// The one device time of a profile as a measurement of that kernel. Appends to `faults` and returns nullopt
/// if the file holds none, several, or collectives: no kernel of one core has these.
std::optional<MeasuredKernel> measured_kernel(const std::vector<DeviceSample>& devices, const Kernel& kernel,
                                              const std::string& file, std::vector<Diagnostic>& faults);

}  // namespace trnplan::logs
