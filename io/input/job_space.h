// The parts of a job that may be left to the planner: "any", ranges and lists; and the limits of the run.
//
// All functions record faults in the reader or in `faults`, and mark the keys that they read as known.
#pragma once

#include <vector>

#include "io/catalog/catalog.h"
#include "models/job/job.h"
#include "text/document.h"

namespace trnplan::io {

/// Reads training.global_batch as a range "512..2048" or {per_node: 32}; false if it is neither. The largest
/// of a range becomes the training's batch; that of {per_node} waits for settle_batch().
bool read_free_batch(MapReader& training, models::Job& job, std::vector<Diagnostic>& faults);

/// Sets the batch of {per_node: N} on the job's cluster, once the nodes are known.
void settle_batch(MapReader& training, models::Job& job);

/// Reads cluster.nodes as a range "4..16" (4, 8, 16) or a list; false if it is neither. The job's cluster
/// becomes the largest.
bool read_free_nodes(MapReader& cluster, models::Job& job, std::vector<Diagnostic>& faults);

/// Reads cluster.instance as "any" (all trn1 types of the catalogue) or a list of types; false if it is
/// neither. The job's cluster becomes the first.
bool read_free_instances(MapReader& cluster, const Catalog& catalog, models::Job& job,
                         std::vector<Diagnostic>& faults);

/// Reads objective, deadline and budget, after training and cluster.
void read_goal(MapReader& root, models::Job& job);

}  // namespace trnplan::io
