// Dumps of PyTorch's flight recorder: the last collectives of one rank, to a file for each rank
// (TORCH_NCCL_DEBUG_INFO_TEMP_FILE with the rank at the end of its name), as JSON or a pickle.
//
// Format: pytorch/pytorch@1189309e:torch/csrc/distributed/c10d/FlightRecorderDetail.hpp (dump_json, dump_dict),
// names of operations: pytorch/pytorch@0001182b:tools/flight_recorder/components/types.py. Durations are there
// only with TORCH_NCCL_ENABLE_TIMING=1; the times of discovery are those of a thread that looks now and then.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "logs/nccl/nccl_tests.h"
#include "logs/training/samples.h"
#include "text/diagnostic.h"
#include "text/json_reader.h"

namespace trnplan::logs {

/// A process group as one rank knows it.
struct FlightGroup {
  std::string description;
  std::vector<int> ranks;    ///< its members, ascending; empty: not stated
  std::int64_t called = -1;  ///< number of the last collective that the rank called; -1: none
  /// The first collective that had not completed.
  struct Pending {
    std::int64_t number = 0;
    std::string op;  ///< operation_name()
    double bytes = 0;
    bool started = false;
  };
  std::optional<Pending> pending;
};

struct FlightDump {
  SourcePos at;
  int rank = -1;                              ///< by the digits that end the file's name; -1: none
  bool starts = false;                        ///< it says what the GPU started: TORCH_NCCL_ENABLE_TIMING=1
  std::map<std::string, FlightGroup> groups;  ///< by name
};

struct FlightReading {
  FlightDump dump;
  /// Collectives with durations, as nccl-tests prints them, a table for each operation and group. Each time is
  /// the least of its size: the others include waiting for the last rank.
  std::vector<NcclTable> tables;
};

/// Reads a dump, and adds its collectives to `out`. At most 10,000 groups and 100,000 sizes are kept.
[[nodiscard]] FlightReading read_flight_dump(JsonReader& json, const std::string& name, Samples& out);

/// The collectives at which the ranks of these dumps hang, one for each group: its number, the ranks that did not
/// call it, those that call another one, and those without a dump. Names dumps that are given twice first.
[[nodiscard]] std::vector<Diagnostic> hung_collectives(const std::vector<FlightDump>& dumps);

}  // namespace trnplan::logs
