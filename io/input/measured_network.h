// A measured all-reduce of the job's cluster: a number, or a table of nccl-tests or nccom-test.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/catalog/measuring.h"
#include "logs/nccl/nccl_tests.h"
#include "logs/table/measured_collectives.h"
#include "models/job/job.h"
#include "text/diagnostic.h"

namespace trnplan::io {

/// Bus bandwidth, and the nodes that it was measured on.
struct StatedAllReduce {
  BytesPerSecond bus{};
  std::optional<int> nodes;
};
/// "161" or "161@32": GB/s of 10^9 bytes, and nodes. nullopt unless the bandwidth is from 1e-3 to 1e5 GB/s and the
/// nodes are from 2 to topology::kMostNodes.
[[nodiscard]] std::optional<StatedAllReduce> parse_all_reduce(std::string_view text);

/// An all-reduce of 1 GiB over all ranks of the nodes, as benchmarks print bandwidths of large messages.
[[nodiscard]] models::MeasuredAllReduce large_all_reduce(const topology::Cluster& cluster, BytesPerSecond bus,
                                                         const NetworkSpreads& spreads);

/// Words on a machine that the all-reduce was not measured on.
[[nodiscard]] std::string network_is_assumed(std::string_view measured_on, std::string_view instance);

/// An all-reduce by a table.
struct TableAllReduce {
  models::MeasuredAllReduce measured;
  SourcePos at;                    ///< of its row; of several the one in the middle, of which the slower
  std::vector<std::string> notes;  ///< for the user
};
/// The all-reduce of a text of nccl-tests or nccom-test: of tables between nodes that with the nodes nearest to the
/// cluster's, of its rows those with the largest size; their median, with their spread if that is larger, and a note
/// where they lie far apart. Throws InputError: no such table, none of an all-reduce between nodes, ranks or device of
/// another machine, wrong values found, a row or times of one all-reduce that contradict each other. Cost: linear in
/// the text.
[[nodiscard]] TableAllReduce all_reduce_of_table(const std::string& text, const std::string& name,
                                                 const topology::Cluster& cluster,
                                                 const NetworkSpreads& spreads);

/// The rows of the tables on that machine as points: all-reduces, reduce-scatters, and all-gathers whose program is
/// named. Throws InputError: a table of another machine, without its ranks, with wrong values, or with a row that
/// contradicts itself.
[[nodiscard]] std::vector<logs::MeasuredCollective> points_of_nccl(const std::vector<logs::NcclTable>& tables,
                                                                   const topology::Instance& on);

}  // namespace trnplan::io
