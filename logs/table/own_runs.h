// Tables of a user's own runs, in as few columns as say what ran.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "logs/table/layout_runs.h"

namespace trnplan::logs {

/// Statements besides the table, for all of its rows.
struct StatedBeside {
  bool job = false;       ///< of network, training, machine and software
  bool instance = false;  ///< the type of the nodes
};

/// All rows of an own_runs table in their order. Columns, with other names for them in brackets:
///   id, step_s                           always; an empty step_s: not known
///   strategy                             in the grammar of --strategy; or
///   tp, pp, vpp, cp, ep, dp              1 where there is no column; dp may follow from the next
///   nodes or gpus (accelerators)         with one of them, or dp
///   micro_batch (mbs)
///   sharding, recompute, precision       as in gpu_runs, or as in the grammar
///   framework, instance, release         of the software and its machine; gpu instead of instance
///   model, or layers, hidden, ffn, heads, kv_heads, vocab, mlp
///   seq (seq_len, sequence), global_batch (gbs)
///   mem_gib
/// Rows that cannot be read carry their faults. Throws InputError with one fault for each column that is
/// missing and not stated besides. Columns that are not read are named in `unread`, once. Cost: linear; each record
/// is held once.
[[nodiscard]] std::vector<LayoutRun> parse_own_runs(std::string_view text, const std::string& name,
                                                    const StatedBeside& stated,
                                                    std::optional<Diagnostic>* unread = nullptr);

}  // namespace trnplan::logs
