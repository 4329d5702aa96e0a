// Tables of kernels that a user timed: products and attention, a row each, columns by name.
//
//   m,n,k,dtype,us[,b]             (m x k) times (k x n), b of them in one call
//   batch,heads,seq,head_dim,dtype,causal,pass,us[,library]     flash attention; pass: forward or backward
// us: microseconds of one call. dtype: bf16, fp16, fp32, or torch's names of them. library: as "attention" of a
// profile's factors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "logs/table/kernel_points.h"

namespace trnplan::logs {

/// Columns of the two tables, for programs that write them.
inline constexpr std::string_view kProductColumns = "m,n,k,dtype,us";
inline constexpr std::string_view kAttentionColumns = "batch,heads,seq,head_dim,dtype,causal,pass,us,library";

/// True for the heading of such a table, also of one that lacks a column.
[[nodiscard]] bool is_kernel_times(std::string_view heading);

/// The rows. Throws InputError with every fault: missing columns, sizes and times that no kernel has, words that
/// are not known, no row.
[[nodiscard]] std::vector<MeasuredKernel> parse_kernel_times(std::string_view text, const std::string& name);

}  // namespace trnplan::logs
