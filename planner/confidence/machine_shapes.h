// Shapes that are worth timing on a plan's machine: the products, the attention and the collectives of the plan whose
// parameters carry most of the doubt about its step.
//
// The doubt of a parameter p is (d log step / d log p)^2 (log_sd_p^2 + machine^2): what a table could take away
// (calibrate/fit/machine_fit.h). A kind of table is worth it with kWorth of the doubt of all of them. Of the
// shapes those with the most time are taken, up to kMostOfTime of it.
#pragma once

#include <string>
#include <vector>

#include "models/device/device.h"
#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/confidence/tables.h"
#include "planner/plan/plan.h"

namespace trnplan::planner {

inline constexpr double kWorth = 0.03, kMostOfTime = 0.9;
inline constexpr std::size_t kMostShapes = 6;

/// A shape, and its part of the time of all of its kind.
struct ProductShape {
  models::MatmulShape shape;
  double share = 0;
};

struct MachineShapes {
  bool fp32 = false;                   ///< dtype of products and attention; else bf16
  std::vector<ProductShape> products;  ///< the longest first; none in FP8, which no table has
  std::vector<models::AttentionShape> attention;
  std::string library;               ///< of the plan's attention; "": unknown
  std::vector<TableRequest> tables;  ///< a node's first, then between nodes
  /// Part of the variance of the step's logarithm that tables could take away, and shares of that.
  double of_step = 0;
  double of_products = 0, of_attention = 0, in_node = 0, between_nodes = 0;
  double minutes = 0;

  [[nodiscard]] bool empty() const { return products.empty() && attention.empty() && tables.empty(); }
};

/// `profile`: of the plan's predictions; `machine`: log-sd of a parameter between machines. Cost: a StepModel.
[[nodiscard]] MachineShapes machine_shapes(const models::Job& job, const Plan& plan,
                                           const models::Profile& profile, double machine);

/// Words of nccl-tests for a table, without those that start its processes: all_reduce_perf -b BYTES ...
/// Flags: NVIDIA/nccl-tests@a0b82b22 README.md.
[[nodiscard]] std::vector<std::string> nccl_command(const TableRequest& table);

}  // namespace trnplan::planner
