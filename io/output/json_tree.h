// The records that several documents hold. Private to io/: it is not installed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/format/json_tree.h"
#include "io/format/record.h"
#include "io/format/schema_version.h"
#include "models/job/job.h"
#include "planner/cost/run_forecast.h"
#include "planner/plan/plan.h"
#include "targets/nxdt/baseline.h"

namespace trnplan::io {

/// A document with nothing but its schema_version.
[[nodiscard]] Json document();
/// A whole document: its schema_version before its record.
template <class T>
[[nodiscard]] std::string document_of(const T& result, int indent = 2) {
  Json all = document();
  all.update(record<T>()(result));
  return dumped(all, indent);
}

/// A strategy and its cluster.
struct PlacedStrategy {
  models::Strategy strategy;
  int micro_batches = 0, nodes = 0;
  std::string instance;
  std::vector<std::string> changed_hardware;
};
/// A strategy on the job's cluster, with its batch.
[[nodiscard]] PlacedStrategy placed(const models::Strategy& s, const models::Job& job);
[[nodiscard]] PlacedStrategy placed(const planner::Plan& p);

/// Memory of a core that a stage needs.
struct ShownMemory {
  const models::StageMemory* of = nullptr;
  Bytes limit{};
  std::optional<double> fit_probability;  ///< of the whole; absent for a single stage
};
/// The memory of the worst stage, and the probability that it fits.
[[nodiscard]] ShownMemory worst_of(const models::Memory& memory);

/// A price of a node and hour.
struct ShownPrice {
  const topology::Price* of;
  bool sourced = false;  ///< with terms and source
};

/// A run, a point or a row that is not compared.
struct ShownLeftOut {
  std::string id, reason;
  std::optional<std::string> fix;
};

template <>
const Record<PlacedStrategy>& record();
template <>
const Record<ShownMemory>& record();
template <>
const Record<planner::Violation>& record();
template <>
const Record<targets::Change>& record();
template <>
const Record<models::CategorySeconds>& record();
template <>
const Record<planner::Plan>& record();
template <>
const Record<planner::ForecastRun>& record();
template <>
const Record<models::Value>& record();
template <>
const Record<ShownPrice>& record();
template <>
const Record<ShownLeftOut>& record();

[[nodiscard]] std::int64_t whole_bytes(Bytes b);
/// The number, if JSON has it; nullopt for infinite and NaN.
[[nodiscard]] std::optional<double> finite(double x);

}  // namespace trnplan::io
