// Conversion of a table of layouts (logs/table/layout_runs.h) to jobs and strategies, by rules in data
// (catalog/scoring.json): the machine of a source's GPUs, the framework that trained, and the meaning of its
// words for sharding, recompute and precision. Nothing here knows a source, a machine or a framework.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "logs/table/layout_runs.h"
#include "models/job/job.h"
#include "models/memory/fit_probability.h"
#include "topology/instance.h"

namespace trnplan::calibrate {

/// Meaning of a row's memory: a quantity, of the fullest stage or of the first.
struct RowMemory {
  models::HeldMemory held = models::HeldMemory::device;
  bool first_stage = false;
  double scale = 1;  ///< the row's figure times this has its stated unit
  /// False: what a recipe keeps, or moves to the host, is not stated, so neither memory nor fit is compared.
  bool known = true;
};

/// Meaning of the text of a column. The first rule of a column that matches counts.
struct LayoutRule {
  /// "source", "gpu", "sharding", "recompute", "precision", "note", "model", "task" or "recipe", what the source's
  /// recipe of a model sets, whose text is the model's.
  std::string column;
  /// The whole text; for "source", "model" and "recipe" its beginning, for "note" a clause of it. "{n}" stands for a
  /// number and "{w}" for words, also in `keys`, where '+' joins them.
  std::string text;
  /// Instead of it one word of the text, in any case: where no rule takes the whole text, all of its words
  /// must have rules, in whatever order they are, and may not contradict each other.
  std::string word;
  std::string source;  ///< beginning of the row's source; "": any
  std::string gpu;     ///< of "recipe": beginning of the row's GPU; "": any
  /// Keys of the strategy grammar, "shard=zero1"; "" for none. They replace the same keys of columns before
  /// it: source, gpu, sharding, recompute, precision, note, recipe.
  std::string keys;
  /// Reason for not predicting such rows; "" if they are predicted.
  std::string refused;
  std::string instance;                         ///< of "gpu": type of its nodes
  std::optional<models::Architecture> network;  ///< of "model": if its rows state none
  // Of "source": properties of its models that the columns do not state.
  std::optional<bool> biases, learned_positions, tied;
  std::optional<int> tied_below;  ///< embeddings are tied if the MLP's inner size is below
  std::string mlp;                ///< if the row states none
  int vocabulary = 0;             ///< as `mlp`
  RowMemory memory;               ///< what its figures of memory are
  int vocabulary_multiple = 1;    ///< the framework pads it to a multiple of this times TP
};
struct LayoutRules {
  std::vector<LayoutRule> rules;
  std::string name;  ///< of the rules' file, for messages
};

/// A row as a job, or the reason for refusing it.
struct LayoutJob {
  models::Job job;
  /// Strategy in the grammar of --strategy, complete except for parts that the rules leave open.
  std::string strategy;
  RowMemory memory;
  std::string refused;  ///< a reason that equal cases share word for word; "" if there is none
};

/// Converts a row. `instance_named` gives a machine of the catalogue. GPUs that do not fill
/// whole nodes take an equal part of each: nodes_of(). Throws what `instance_named` throws.
[[nodiscard]] LayoutJob layout_job(
    const logs::LayoutRun& run, const LayoutRules& rules,
    const std::function<topology::Instance(const std::string&)>& instance_named);

/// The network that the columns and the source's rule state. Plain MLPs are GPT's, gated ones Llama's.
/// Requires: layers, hidden size and heads are stated, and heads divide the hidden size.
[[nodiscard]] models::Architecture network_of(const logs::LayoutRun& run, const LayoutRule& source);

/// Number of whole nodes, or 1 with a part of one; of nodes of several hosts an equal part of each: 256 GPUs take 64 of
/// four domains of 72. `instance` becomes the part. 0 if the GPUs do not divide so.
[[nodiscard]] int nodes_of(int gpus, topology::Instance& instance);

/// The first `chips` chips of a node, which may form any groups, with its switches, the hosts that they fill,
/// and NICs: all, or its own of each chip where each has one. Requires: 1 <= chips <= instance.chips.
[[nodiscard]] topology::Instance part_of(topology::Instance instance, int chips);

/// Group of a row. Rows of one group differ in layout alone: source, layers, hidden size (or the model, if
/// these are not stated), GPUs, sequence and global batch are the same.
[[nodiscard]] std::string layout_group(const logs::LayoutRun& run);

/// The source without the part that differs from row to row: up to the first ':' or blank.
[[nodiscard]] std::string source_name(const logs::LayoutRun& run);

}  // namespace trnplan::calibrate
