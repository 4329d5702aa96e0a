// Tables of nccom-test that would help decide between two plans, and predictions for their rows.
#pragma once

#include <string>
#include <vector>

#include "models/collective/collective_algorithm.h"
#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/plan/plan.h"
#include "topology/chip_graph.h"
#include "topology/instance.h"

namespace trnplan::planner {

/// Noise of rows of nccom-test as a fit reads them, log-sd each.
struct TableNoise {
  std::vector<models::Parameter> parameters;  ///< those on which rows depend; empty: no table is considered
  double row = 0;                             ///< error of the model of the algorithms
  double rates = 0;      ///< bandwidths under this build, compared with those under the training stack
  double launch = 0;     ///< host_launch and barrier of this build
  std::string instance;  ///< type whose tables a fit of steps understands
};

/// `nccom-test -r RANKS -N NODES -b SMALLEST -e LARGEST -f FACTOR -d bf16 OP`.
struct TableRequest {
  models::CollectiveOp op = models::CollectiveOp::all_reduce;
  int ranks = 2, nodes = 1;
  double smallest = 0, largest = 0;  ///< bytes, as nccom-test counts them
};
inline constexpr int kTableFactor = 4;
/// Words of the command; without hosts. Syntax: aws-neuron/aws-neuron-sdk@81ce03ae
/// tools/neuron-sys-tools/nccom-test.rst.
std::vector<std::string> nccom_command(const TableRequest& table);

/// Tables that cover the collectives of both steps. A group over more than two nodes is measured on two.
std::vector<TableRequest> tables_of(const models::Job& job, const Plan& a, const Plan& b,
                                    const models::Profile& profile);

/// Derivatives of a row's logarithm by parameter.
struct TableRow {
  std::vector<double> gradient;  ///< [index in TableNoise::parameters]
};

/// Rows of tables on clusters of one instance, with profiles that differ slightly from `profile`. Keeps
/// references to its arguments.
class Tables {
 public:
  Tables(const topology::Instance& instance, const models::Profile& profile, const TableNoise& noise)
      : instance_(instance), graph_(instance), profile_(profile), noise_(noise) {}

  /// Rows of a table; empty if the runtime refuses the group or there is no path for its bytes.
  std::vector<TableRow> rows(const TableRequest& t) const;

 private:
  std::vector<double> seconds(const topology::Cluster& cluster, const TableRequest& t, models::Parameter p,
                              double change) const;

  const topology::Instance& instance_;
  topology::ChipGraph graph_;
  const models::Profile& profile_;
  const TableNoise& noise_;
};

}  // namespace trnplan::planner
