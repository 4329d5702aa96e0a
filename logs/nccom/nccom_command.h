// Command lines of nccom-test, the collective benchmark of the Neuron SDK.
//
// Options: aws-neuron/aws-neuron-sdk@81ce03ae:tools/neuron-sys-tools/nccom-test.rst.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace trnplan::logs {

inline constexpr std::string_view kNccomTest = "nccom-test";
inline constexpr std::size_t kNccomCommandBytes = 16384;  ///< most bytes that are read of a command

/// Canonical name of an operation: all_reduce, all_gather, all_gather_v, reduce_scatter, all_to_all,
/// all_to_all_v, permute or send_recv, for one of these or for nccom-test's name (allr, allg, allgv, redsct,
/// alltoall, sendrecv, ...); "" for other words.
std::string_view canonical_op(std::string_view name);

/// A command line such as "nccom-test -r 64 -N 2 -d fp32 allr".
struct NccomCommand {
  std::string text;             ///< from the word nccom-test on, as printed
  std::optional<int> ranks;     ///< -r, --nworkers
  std::optional<int> nodes;     ///< -N, --nnodes; 1 if neither it nor hosts are given
  std::string op;               ///< canonical
  bool several_groups = false;  ///< replica groups are given: ranks is not the size of a group
  std::string partners;         ///< the option that says who talks to whom: --custom-src-target-pairs,
      ///< --custom-replica-groups, --data-parallel-dimension; empty: all ranks, one group
};

/// The last command in `line`; nullopt unless it names an operation and has an option. Reads at most
/// kNccomCommandBytes from there on.
std::optional<NccomCommand> parse_nccom_command(std::string_view line);

}  // namespace trnplan::logs
