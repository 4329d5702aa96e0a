#include "logs/nccl/nccl_tests.h"

#include <string>

#include "logs/detect/detect.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/logs/nccl/nccl_sample.h"

using namespace trnplan;

namespace {

/// The lines as mpirun --tag-output prints them.
std::string tagged(const std::string& text) {
  std::string all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    all += "[1,0]<stdout>:" + text.substr(at, end - at);
    at = end;
  }
  return all;
}

}  // namespace

TEST_CASE("a table of nccl-tests: its ranks, hosts, device and times", "[logs]") {
  const std::string text = nccl_sample();
  CHECK(logs::looks_like_nccl_tests(text));
  for (const std::string& printed :
       {text, tagged(text), replaced(text, "#       size", "\033[1m#       size")}) {
    const auto tables = logs::parse_nccl_tests(printed, "n.txt");
    REQUIRE(tables.size() == 1);
    const logs::NcclTable& t = tables.front();
    CHECK(t.ranks == 16);
    CHECK(t.hosts == 2);
    CHECK(t.device == "NVIDIA H100 80GB HBM3");
    CHECK(t.reduces);
    CHECK_FALSE(t.failed);
    REQUIRE(t.times.size() == 4);  // 8 bytes take no bandwidth that is printed
    CHECK(t.times.back().bytes == 1073741824);
    CHECK(t.times.back().seconds == Approx(10737.42e-6));
    CHECK(t.times.back().bus_factor == Approx(1.875).epsilon(1e-3));
  }
}

TEST_CASE("several runs in one file are tables of their own, and damaged rows are left out", "[logs]") {
  const std::string two =
      nccl_sample() + nccl_ranks(4, "NVIDIA H100 80GB HBM3") + nccl_heading() + nccl_row(1 << 20, 200, 199) +
      "     2097152        524288     float     sum      -1      nan    0.00    0.00    N/A\n" +
      nccl_end(true);
  const auto tables = logs::parse_nccl_tests(two, "n.txt");
  REQUIRE(tables.size() == 2);
  CHECK(tables[1].ranks == 32);
  CHECK(tables[1].hosts == 4);
  CHECK(tables[1].times.size() == 2);
  CHECK(tables[1].failed);
  CHECK_FALSE(tables[0].failed);
  CHECK_FALSE(logs::looks_like_nccl_tests("size(B) count(elems) type time(us) algbw(GB/s) busbw(GB/s)\n"));
  CHECK(logs::parse_nccl_tests("", "n.txt").empty());
}

// Catches wrong results in place alone, of a row whose rates print as 0, or those that nobody looked for.
TEST_CASE("rows with wrong results are named, whatever the footer says", "[logs]") {
  const auto wrong = [](const std::string& cell) {
    const std::string row = nccl_row(8, 60, 60);
    return logs::parse_nccl_tests(
               replaced(nccl_sample(), row, row.substr(0, row.find_last_of('0')) + cell + "\n"), "n.txt")
        .front()
        .wrong_rows;
  };
  CHECK(wrong("0").empty());
  CHECK(wrong("N/A").empty());
  REQUIRE(wrong("2e+06").size() == 1);
  CHECK(wrong("2e+06").front().at.line == 24);
  CHECK(contains(wrong("3").front().problem, "3 elements of the result are wrong"));
}

TEST_CASE("tables of nccl-tests between lines of NCCL_DEBUG are streamed", "[logs]") {
  // Catches a reader that holds the text, or that lines of another program end.
  std::string text = nccl_ranks(2, "NVIDIA H100 80GB HBM3") + nccl_heading() + nccl_row(8, 60, 60);
  text += "node-1:17 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n" +
          nccl_row(1048576, 120, 118) + nccl_end();
  const logs::Detected found = logs::detect(text, "n.txt");
  REQUIRE(found.nccl.size() == 1);
  CHECK(found.nccl.front().ranks == 16);
  CHECK(found.nccl.front().times.size() == 2);  // algbw of 8 bytes is printed as 0
}
