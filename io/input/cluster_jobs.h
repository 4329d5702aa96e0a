// The file of `trnplan cluster`: a cluster over time, with its scheduler and its jobs (docs/cluster.md).
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/catalog/catalog.h"
#include "planner/cluster/requeue.h"
#include "text/document.h"
#include "topology/instance.h"
#include "units/quantity.h"

namespace trnplan::io {

/// A job of the file; "" and 0: not stated.
struct StatedClusterJob {
  std::string name;
  std::string job;       ///< job.yaml or a model; a path is already relative to the file's folder
  std::string strategy;  ///< as for `simulate --strategy`
  std::string tokens, sequence, global_batch;
  int nodes = 1, priority = 0;
  Seconds start{};
  int checkpoint_steps = 0;  ///< 0: the best number
  bool asynchronous = false;
  SourcePos at;
  std::map<std::string, SourcePos> places;  ///< of the values that are stated, by their keys
};

struct StatedCluster {
  topology::Instance instance;
  int nodes = 1, spares = 0;
  std::optional<Seconds> repair;
  int repair_slots = 0;         ///< 0: all
  double oversubscription = 1;  ///< of its spine
  std::optional<double> usd_per_node_hour;
  std::optional<double> storage_speed;  ///< GB/s
  std::string reliability;  ///< a file, its path relative to the file's folder; "": the catalogue's
  SourcePos reliability_at;
  std::string scheduler;  ///< name of the rule
  std::shared_ptr<const planner::RequeueRule> rule;
  std::vector<StatedClusterJob> jobs;
};

inline constexpr int kMostClusterJobs = 32;

/// Throws InputError with every fault of the file.
[[nodiscard]] StatedCluster read_cluster_jobs(const std::filesystem::path& path, const Catalog& catalog,
                                              const Files& files = disk());

}  // namespace trnplan::io
