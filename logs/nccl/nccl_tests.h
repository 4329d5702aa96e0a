// Output of nccl-tests, NVIDIA's benchmark of collectives.
//
// Format: NVIDIA/nccl-tests@01d67614:src/common.cu: a line "#  Rank R Group G Pid P on HOST device D [BUS]
// NAME" for each rank, then a table with time, algbw and busbw out of place and in place; GB/s are 10^9.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "logs/nccom/printed_number.h"
#include "text/diagnostic.h"

namespace trnplan::logs {

/// A time of a table: each row has one out of place and one in place.
struct NcclTime {
  double bytes = 0;  ///< size as printed
  double seconds = 0;
  double bus_factor = 0;  ///< busbw / algbw as printed
  SourcePos at;
  /// Cells as printed; absent where no table was, as in a flight recorder's dump.
  struct Cells {
    Printed us, algbw, busbw;
  };
  std::optional<Cells> cells = {};
};

struct NcclTable {
  int ranks = 0, hosts = 0;
  std::string device;    ///< name of the first rank's GPU; "": not printed
  bool reduces = false;  ///< its header or rows name a reduction, or its program
  std::string program;   ///< named last before it, as "all_gather_perf"; "": none
  bool failed = false;   ///< it found wrong values
  /// Rows whose `#wrong` counts wrong results; if many, some are only counted.
  std::vector<Diagnostic> wrong_rows;
  std::vector<NcclTime> times;
  SourcePos at;  ///< of its header
  /// Ranks of the job that it is of; empty: all of a program of its own. Each rank of a job has such a table, and
  /// the times of the others include waiting.
  std::vector<int> members;
};

/// Reads output line by line, holding the tables alone; further text, as of NCCL_DEBUG, may be between its lines.
class NcclReader {
 public:
  explicit NcclReader(const std::string& name);  ///< kept by reference
  ~NcclReader();
  /// Throws InputError if there are more than 20,000 rows.
  void read(std::string_view line, int number);
  [[nodiscard]] std::vector<NcclTable> finish();

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// True for the output of nccl-tests.
[[nodiscard]] bool looks_like_nccl_tests(std::string_view text);

/// All tables of a text, also with labels of ranks or colours. Rows that are damaged are left out. Throws
/// InputError if there are more than 20,000 rows. Cost: linear in the text.
[[nodiscard]] std::vector<NcclTable> parse_nccl_tests(std::string_view text, const std::string& name);

}  // namespace trnplan::logs
