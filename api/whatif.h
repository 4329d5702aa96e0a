// whatif: comparison of clusters for a whole run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/resolve.h"
#include "planner/cost/reliability.h"
#include "planner/cost/whatif.h"
#include "planner/search/advisor.h"
#include "text/remarks.h"

namespace trnplan::api {

/// Confidence with which nodes are solved for, if none is stated: plans on machines of which few runs are
/// known work with 80 to 90 %, which no number of nodes changes.
inline constexpr double kSolvedFor = 0.8;

/// Limits of a stated WhatIfRequest::failure_rate.
inline constexpr double kLeastFailureRate = 1e-9, kMostFailureRate = 1e3;

/// Texts as a user writes them; empty = not stated.
struct WhatIfRequest : Asked {
  std::string nodes;                     ///< "4..128" doubles, "4,8,16" lists; empty = solved for
  std::string tokens, deadline, budget;  ///< "2T", "30d", "2.5M"
  std::string instances;                 ///< separated by commas
  std::string reliability;               ///< a file like the catalogue's
  std::string offerings;                 ///< a file of offers, for whatif_offerings()
  std::string pricing = "usual", scaling = "strong", recovery = "automatic", prefer = "fitting";
  std::optional<double> usd_per_node_hour, storage_speed;  ///< the second in GB/s
  std::optional<double> failure_rate;  ///< of a whole node, per day; the spread stays the file's
  std::string scenario;                ///< as SimulateRequest::scenario, of every cluster
  std::string price;                   ///< "TYPE=USD/h,..." or a file of them
  std::string discount;                ///< "15%", "savings-plan=28%", joined by commas
  std::string term, upfront;           ///< "1y" or "3y"; share of it that is due at its start
  double storage_gib = 0, storage_price = 0, other_price = 0;
  int checkpoint_steps = 0;
  std::string confidence;  ///< "90%" or "0.9"; empty = the median or, if nodes are solved for, kSolvedFor
  bool asynchronous = false, allow_doubtful = false;
  /// Function that is called before each cluster is judged; may be empty.
  std::function<void(const std::string& instance, int nodes)> progress;
  planner::RiskAttitude risk = planner::RiskAttitude::neutral;
};
/// Files and folders that it reads, and those that it writes except a report.
[[nodiscard]] std::vector<std::string> paths_of(const WhatIfRequest& request);

struct WhatIfAnswered {
  planner::WhatIfResult result;
  planner::WhatIfQuestion question;
  models::Job job;
  planner::Reliability reliability;
};

/// The job on the cluster of a plan with one of those types.
[[nodiscard]] models::Job on_cluster(models::Job job, const std::vector<topology::Instance>& types,
                                     const planner::Plan& plan);

/// Removes the job's limits and open clusters: the question has them.
void without_limits(models::Job& job);

/// Throws InputError with every fault of the request.
[[nodiscard]] WhatIfAnswered whatif(const WhatIfRequest& request, Remarks& remarks);

}  // namespace trnplan::api
