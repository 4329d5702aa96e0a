// Output of nccom-test, the collective benchmark of the Neuron SDK.
//
// Formats: aws-neuron/aws-neuron-sdk@81ce03ae:tools/neuron-sys-tools/nccom-test.rst. What a table does not
// say (operation, ranks, nodes) stands in the command line above it, if at all. The bandwidths are headed
// GB/s, but builds before about 2025 divide by 2^30 and later ones by 10^9: which of the two is found from
// size and time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "units/diagnostic.h"

namespace trnplan::calibrate {

/// all_reduce, all_gather, all_gather_v, reduce_scatter, all_to_all, all_to_all_v, permute or send_recv for
/// one of these or nccom-test's name of it (allr, allg, allgv, redsct, alltoall, sendrecv, ...); "" for other
/// words.
std::string_view canonical_op(std::string_view name);

/// What a command line such as "nccom-test -r 64 -N 2 -d fp32 allr" asks for.
struct NccomCommand {
  std::string text;             ///< from the word nccom-test on, as printed
  std::optional<int> ranks;     ///< -r, --nworkers
  std::optional<int> nodes;     ///< -N, --nnodes; 1 when neither it nor hosts are given
  std::string op;               ///< canonical
  bool several_groups = false;  ///< replica groups are given: ranks is not the size of a group
  std::string partners;         ///< the option that says who talks to whom: --custom-src-target-pairs,
                         ///< --custom-replica-groups, --data-parallel-dimension; empty: all ranks, one group
};

/// The last command in `line`; nullopt unless it names an operation and has an option. Reads at most 16 KiB
/// from there on.
std::optional<NccomCommand> parse_nccom_command(std::string_view line);

/// One message size.
struct NccomRow {
  double bytes = 0;        ///< all-gather: gathered; reduce-scatter: before it; others: per rank
  std::int64_t count = 0;  ///< elements, 0 when not printed
  std::string type;        ///< fp32, bf16, uint8, ...; empty when not printed
  double seconds = 0;      ///< per operation: the average, else the median
  std::map<std::string, double> statistics;  ///< seconds by name as printed: avg, p50, p99, ...
  double algbw = 0, busbw = 0;  ///< byte/s as printed, rounded there (small sizes print 0.00): prefer
                                ///< bytes / seconds
  std::string algorithm;        ///< mesh, rdh, kangaring, ...; empty when not printed
  bool contradicts = false;     ///< its numbers do not fit each other; a warning says why
  SourcePos at;
};

struct NccomTable {
  std::string command;  ///< as printed, may be empty
  std::optional<int> ranks, nodes;
  std::string op;            ///< canonical, empty when unknown
  std::string partners;      ///< as in NccomCommand
  std::string time_heading;  ///< of the first time: "time(us)" before 2024, later "time:avg(us)" ...
  std::optional<double> printed_giga;  ///< bytes of a printed GB: 10^9 or 2^30; nullopt when no row tells,
                                       ///< then 10^9 is taken
  std::vector<NccomRow> rows;
  std::vector<Diagnostic> warnings;  ///< in the order of lines; where many, some are only counted
  SourcePos at;                      ///< of its header
};

/// A row before it is understood: text by column heading.
struct NccomRecord {
  struct Cell {
    std::string_view heading;
    std::string text;
    int line = 0, column = 0;
  };
  std::vector<Cell> cells;
  int line = 0, column = 0;
};

/// Understands rows, whatever form they were printed in. Rows without size or time, with numbers that are not
/// finite, negative or beyond reason become warnings; rows that contradict themselves (count and type against
/// size, algbw against size and time, busbw against algbw and operation) are kept, marked and warned of.
NccomTable nccom_table(const NccomCommand& command, const std::vector<NccomRecord>& records,
                       const std::string& name);

/// All tables in a text: with old or new headings, among prompts, log lines and Slurm output (also labelled
/// by srun --label), with tabs, CRLF, CR, terminal colours. `name` stands in messages. Lines end at \n, \r\n
/// or \r. A table without a command of its own takes that of the table before it, with a warning; `fallback`
/// stands above the first one, and says what a command does not. Time and memory are linear in the text.
/// Throws InputError when there is no table or there are more than 1000 (or 20,000 rows).
std::vector<NccomTable> parse_nccom_test(std::string_view text, const std::string& name,
                                         const NccomCommand& fallback = {});

}  // namespace trnplan::calibrate
