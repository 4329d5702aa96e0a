// A strategy in files that this program writes: the object of plans (docs/json.md), and the prose of
// observations by older versions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/job/strategy.h"
#include "text/document.h"

namespace trnplan::io {

/// The known part of a strategy.
enum class Known {
  whole,
  layout,  ///< all but precision, flash_attention, kv_replicator and bucket_mb: these keys are absent
};

/// The object without the job's keys (micro_batches, nodes, instance), as one line of JSON.
std::string strategy_json(const models::Strategy& s, Known known = Known::whole);

/// Reads the keys of strategy_json(); faults are recorded in `map`, which the caller finishes.
models::Strategy strategy_from(MapReader& map, Known known = Known::whole);

/// Known::layout if the map has none of the keys that it leaves out.
Known known_of(const MapReader& map);

/// The strategy that this text describes: "TP 8 x PP 4 x DP 32, micro-batch 1, SP, recompute full, cuts
/// 9/19/29", with " x CP 2", " x EP 2", ", VPP 2", ", no SP" and ", no ZeRO-1" where they apply. Precision,
/// flash attention, KV replicas and bucket, which it never stated (Known::layout), are a Strategy's defaults.
/// Written until strategies were stored as objects, and fixed: describe() may change. nullopt for any other
/// text.
std::optional<models::Strategy> strategy_of_prose(std::string_view text);

}  // namespace trnplan::io
