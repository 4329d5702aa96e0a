// Rows of a table of layouts (logs/table/layout_runs.h) as jobs and strategies, by rules that stand in data
// (catalog/scoring.json): on which machine a source's GPUs stand, what trained, what its words for sharding, recompute
// and precision mean. Nothing here knows a source, a machine or a framework.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "logs/table/layout_runs.h"
#include "models/job/job.h"
#include "topology/instance.h"

namespace trnplan::calibrate {

/// What the text of a column means. Of the rules of a column the first that matches counts.
struct LayoutRule {
  std::string column;  ///< "source", "gpu", "sharding", "recompute", "precision", "model" or "task"
  std::string text;    ///< the whole text; of "source" and "model" how it begins
  std::string source;  ///< how the row's source begins; "": any
  /// Of the strategy grammar, "shard=zero1"; "" for none. In place of the same keys of columns before it: source, gpu,
  /// sharding, recompute, precision.
  std::string keys;
  std::string refused;                          ///< why such rows are not predicted; "" where they are
  std::string instance;                         ///< of "gpu": the type its nodes are
  std::optional<models::Architecture> network;  ///< of "model": where its rows state none
  // Of "source": what its models are that the columns do not say.
  std::optional<bool> biases, learned_positions, tied;
  std::optional<int> tied_below;  ///< embeddings are tied where the MLP's inner size is below
  std::string mlp;                ///< where the row states none
  int vocabulary = 0;             ///< as `mlp`
  bool memory_allocated = false;  ///< its memory is the peak of tensors, without what else a GPU holds
  int vocabulary_multiple = 1;    ///< the framework pads it to a multiple of this times TP
};
struct LayoutRules {
  std::vector<LayoutRule> rules;
  std::string name;  ///< of their file, for messages
};

/// A row that can be asked for, or why it cannot.
struct LayoutJob {
  models::Job job;
  std::string strategy;  ///< in the grammar of --strategy, complete but for what the rules leave open
  bool memory_allocated = false;  ///< the row's memory is the peak of tensors alone
  std::string refused;            ///< a reason that equal cases share word for word; "" where there is none
};

/// `instance_named` gives a machine of the catalogue. GPUs that are fewer than a node's make a part of one node:
/// part_of(). Throws what `instance_named` throws.
[[nodiscard]] LayoutJob layout_job(
    const logs::LayoutRun& run, const LayoutRules& rules,
    const std::function<topology::Instance(const std::string&)>& instance_named);

/// The first `chips` chips of a node whose groups may be any, with all of its switches and NICs.
/// Requires: 1 <= chips <= instance.chips.
[[nodiscard]] topology::Instance part_of(topology::Instance instance, int chips);

/// Rows of one group differ in layout alone: source, layers, hidden size (or the model, where these are not stated), GPUs,
/// sequence and global batch.
[[nodiscard]] std::string layout_group(const logs::LayoutRun& run);

/// The source without the part that differs from row to row: up to the first ':' or blank.
[[nodiscard]] std::string source_name(const logs::LayoutRun& run);

}  // namespace trnplan::calibrate
