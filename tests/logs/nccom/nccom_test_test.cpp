#include "logs/nccom/nccom_test.h"

#include <algorithm>

#include "calibrate/fit/collective_fit.h"
#include "tests/catch.h"
#include "text/document.h"

using namespace trnplan;
using logs::NccomTable;
using logs::parse_nccom_command;
using logs::parse_nccom_test;

namespace {

NccomTable fixture(const std::string& file) {
  const auto tables =
      parse_nccom_test(read_text(TRNPLAN_SOURCE_DIR "/tests/calibrate/fixtures/nccom/" + file), file);
  REQUIRE(tables.size() == 1);
  return tables[0];
}

NccomTable table(const std::string& text) {
  const auto tables = parse_nccom_test(text, "t.txt");
  REQUIRE(tables.size() == 1);
  return tables[0];
}

std::vector<int> lines(const NccomTable& t) {
  std::vector<int> lines;
  for (const Diagnostic& d : t.warnings) lines.push_back(d.at.line);
  return lines;
}

bool says(const NccomTable& t, const std::string& what) {
  return std::any_of(t.warnings.begin(), t.warnings.end(),
                     [&](const Diagnostic& d) { return to_string(d).find(what) != std::string::npos; });
}

const std::string kCommand = "nccom-test -r 2 allr\n";
const std::string kNccomHeader = "size(B) count(elems) type time:avg(us) algbw(GB/s) busbw(GB/s)\n";
// 1 MiB in 100 us: 10.48576 GB/s, 9.765625 GiB/s.
const std::string kRow = "1048576 262144 fp32 100.00 10.49 10.49\n";

}  // namespace

TEST_CASE("old headings", "[calibrate]") {
  const NccomTable t = fixture("allr-r2-sweep.txt");
  CHECK(t.command == "nccom-test -r 2 --minbytes 1kb --maxbytes 1gb --stepfactor 4 --datatype fp32 allr");
  CHECK(t.op == "all_reduce");
  CHECK(t.ranks == 2);
  CHECK(t.nodes == 1);
  CHECK(t.warnings.empty());
  REQUIRE(t.rows.size() == 11);
  CHECK(t.rows[10].bytes == 1073741824);
  CHECK(t.rows[10].count == 268435456);
  CHECK(t.rows[10].type == "fp32");
  CHECK(t.rows[10].seconds == Approx(18930e-6));
  CHECK(t.rows[10].statistics.at("avg") == t.rows[10].seconds);
  CHECK(t.rows[10].at.line == 13);
  // Printed 52.83 of 2^30 byte/s: size over time is 56.72e9.
  CHECK(t.printed_giga == 0x1p30);
  CHECK(t.rows[10].algbw == Approx(56.72e9).epsilon(1e-3));
}

TEST_CASE("two nodes", "[calibrate]") {
  const NccomTable t = fixture("allr-r64.txt");
  CHECK(t.ranks == 64);
  CHECK(t.nodes == 2);
  CHECK(t.printed_giga == 0x1p30);
  CHECK(t.warnings.empty());
  REQUIRE(t.rows.size() == 12);
  CHECK(t.rows[11].seconds == Approx(41806e-6));
  CHECK(t.rows[11].busbw == Approx(2 * 63.0 / 64 * 1073741824 / 41806e-6).epsilon(1e-3));
}

TEST_CASE("percentiles, algorithms, sizes, other operations", "[calibrate]") {
  const NccomTable p = fixture("allg-r8-percentiles.txt");
  CHECK(p.op == "all_gather");
  CHECK(p.ranks == 8);
  CHECK(p.warnings.empty());
  REQUIRE(p.rows.size() == 4);
  CHECK(p.printed_giga == 1e9);
  CHECK(p.rows[3].seconds == Approx(14.83e-6));
  CHECK(p.rows[3].statistics.size() == 5);
  CHECK(p.rows[3].statistics.at("p99") == Approx(17e-6));

  const NccomTable a = fixture("allr-r16-algorithm.txt");
  CHECK(a.warnings.empty());
  REQUIRE(a.rows.size() == 8);
  CHECK(a.rows[4].algorithm == "mesh");
  CHECK(a.rows[5].algorithm == "rdh");
  CHECK(a.rows[7].algorithm == "kangaring");

  const NccomTable s = fixture("allg-r32-sizes.txt");
  CHECK(s.warnings.empty());
  REQUIRE(s.rows.size() == 4);
  CHECK(s.rows[3].bytes == 524288);
  CHECK(s.rows[3].seconds == Approx(23.16e-6));
  CHECK(s.rows[3].type == "fp32");

  const NccomTable v = fixture("allgv-r4.txt");
  CHECK(v.op == "all_gather_v");
  CHECK(v.rows.size() == 1);
  CHECK(v.warnings.empty());
  const NccomTable m = fixture("permute-r8.txt");
  CHECK(m.op == "permute");
  CHECK(m.rows.size() == 1);
  CHECK(m.warnings.empty());
}

TEST_CASE("tables inside longer output", "[calibrate]") {
  const NccomTable profiled = fixture("allg-r32-profiled.txt");
  CHECK(profiled.command == "nccom-test allg -b 512kb -e 512kb -r 32 -n 10 -d fp32 -w 1 -f 512");
  CHECK(profiled.ranks == 32);
  CHECK(profiled.rows.size() == 1);
  CHECK(profiled.warnings.empty());
  CHECK(fixture("allg-r32-with-json.txt").rows.size() == 4);

  // No command: nothing is assumed, and the unit follows from one row.
  const NccomTable slurm = fixture("allr-r64-slurm.txt");
  CHECK(slurm.command.empty());
  CHECK(slurm.op.empty());
  CHECK_FALSE(slurm.ranks);
  CHECK_FALSE(slurm.nodes);
  CHECK(slurm.rows.size() == 17);
  CHECK(slurm.printed_giga == 0x1p30);
  CHECK(slurm.warnings.empty());

  // Terminal colours, tabs, srun --label, log lines between rows, every kind of line end.
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    const NccomTable t = table(
        "\x1b[32mubuntu@host\x1b[0m:~$ srun --label /opt/aws/neuron/bin/nccom-test -r64 --nnodes=2 redsct" +
        end + "2023-Jan-01 12:00:00.1 WARN x" + end + end +
        "0: \x1b[1msize(B)\x1b[0m\tcount(elems)\ttype\ttime(us)\t" + "algbw(GB/s)\tbusbw(GB/s)" + end +
        "0:   1048576\t262144 fp32\t100   10.49 10.32" + end + "2024-01-01 log" + end + end +
        "0: \x1b[31m2097152 524288 fp32 200 10.49 10.32\x1b[0m" + end + "Avg bus bandwidth: 10 GB/s" + end +
        "3 1 trailing" + end);
    CHECK(t.op == "reduce_scatter");
    CHECK(t.ranks == 64);
    CHECK(t.nodes == 2);
    REQUIRE(t.rows.size() == 2);
    CHECK(t.rows[1].at.line == 8);
    CHECK(t.warnings.empty());
  }
}

TEST_CASE("several tables", "[calibrate]") {
  const auto tables =
      parse_nccom_test(kCommand + kNccomHeader + kRow + "Avg bus bandwidth: 1GB/s\n" + kNccomHeader + kRow +
                           "$ nccom-test -r 8 -N 1 \\\n  -d fp32 \\\n  alltoall\n" + kNccomHeader +
                           "1048576 262144 fp32 100.00 10.49 9.18\n",
                       "t.txt");
  REQUIRE(tables.size() == 3);
  CHECK(tables[0].warnings.empty());
  CHECK(tables[1].ranks == 2);
  REQUIRE(tables[1].warnings.size() == 1);
  CHECK(tables[1].warnings[0].problem == "no command above this table; that of line 1 is used");
  CHECK(tables[1].at.line == 5);
  CHECK(tables[2].op == "all_to_all");
  CHECK(tables[2].ranks == 8);
  CHECK(tables[2].warnings.empty());
}

TEST_CASE("a failure is not a row", "[calibrate]") {
  const NccomTable t = fixture("allr-r2-failure.txt");
  CHECK(t.rows.empty());
  REQUIRE(t.warnings.size() == 1);
  CHECK(t.warnings[0].at.line == 3);
  CHECK(t.warnings[0].problem ==
        "size 33554432: Failure running neuron-bench - log file /tmp/nccom_test_log_7pqpdfjf.log");
  CHECK(lines(table(kCommand + kNccomHeader + kRow + "1 errors found - test failed\n")) ==
        std::vector<int>{4});
}

TEST_CASE("a table in which nccom-test found errors is not used", "[calibrate]") {
  // The result was wrong, so the time is of something else; the trailer does not say of which size.
  const NccomTable wrong = table(kCommand + kNccomHeader + kRow + "1 errors found - test failed\n");
  REQUIRE(wrong.rows.size() == 1);
  CHECK(wrong.rows[0].contradicts);
  CHECK(says(wrong, "1 errors found - test failed; no row of this table is used"));
  CHECK(calibrate::points_of(wrong, "t").empty());
  // A size that failed is that error: the other sizes are sound.
  const std::string failure = "     33554432    Failure running neuron-bench - log file /tmp/x.log\n";
  const NccomTable one = table(kCommand + kNccomHeader + kRow + failure + "1 errors found - test failed\n");
  REQUIRE(one.rows.size() == 1);
  CHECK_FALSE(one.rows[0].contradicts);
  CHECK(calibrate::points_of(one, "t").size() == 1);
  CHECK(calibrate::points_of(
            table(kCommand + kNccomHeader + kRow + failure + "2 errors found - test failed\n"), "t")
            .empty());
  CHECK(calibrate::points_of(table(kCommand + kNccomHeader + kRow), "t").size() == 1);
}

TEST_CASE("rows that contradict themselves are marked", "[calibrate]") {
  const NccomTable t = fixture("contradictory.txt");
  CHECK(t.op == "all_reduce");
  CHECK(t.ranks == 32);
  CHECK(t.rows.size() == 6);
  CHECK(lines(t) == std::vector<int>{4, 5, 6, 7, 8, 9});
  for (const auto& row : t.rows) CHECK(row.contradicts);
  CHECK(says(t, "15.11 is printed, but algbw 0.49 is a bus bandwidth of 0.9494 for all_reduce of 32 ranks"));

  // algbw against size and time; count against size. The other rows settle the unit.
  const NccomTable u =
      table(kCommand + kNccomHeader + kRow + kRow + "1048576 262144 fp32 100.00 12.00 12.00\n" +
            "1048576 262144 bf16 100.00 10.49 10.49\n");
  CHECK(u.printed_giga == 1e9);
  CHECK(lines(u) == std::vector<int>{5, 6});
  CHECK_FALSE(u.rows[1].contradicts);
  CHECK(u.rows[2].contradicts);
  CHECK(u.rows[3].contradicts);

  // A table in both units is in neither.
  const NccomTable both = table(kCommand + kNccomHeader + kRow + "1048576 262144 fp32 100.00 9.77 9.77\n");
  CHECK_FALSE(both.printed_giga);
  CHECK(both.warnings.empty());

  // Within groups the rank count is no group size.
  CHECK(
      table("nccom-test -r 32 --custom-replica-groups g.json allr\n" + kNccomHeader + kRow).warnings.empty());
}

TEST_CASE("cut off output", "[calibrate]") {
  const NccomTable t = table(kCommand + kNccomHeader + kRow + "1048576 262144 fp32 1");
  CHECK(t.rows.size() == 1);
  CHECK(lines(t) == std::vector<int>{4});
  CHECK(says(t, "4 columns where the header has 6, and the output ends"));
  const NccomTable u = table(kCommand + kNccomHeader + kRow + "1048576 262144 fp32 100.00 10.49 10.4");
  CHECK(u.rows.size() == 2);
  CHECK(says(u, "its last word may be cut"));
  const NccomTable v = table("size(B) count(elems) ty");
  CHECK(v.rows.empty());
  CHECK(says(v, "no time in us"));
  CHECK(table("size(B) time:p25(us) time:p50(us)\n8 1 2\n").rows[0].seconds == Approx(2e-6));
  // Bandwidths follow the average, so without it they say nothing.
  const NccomTable x = table("size(B) time:p50(us) algbw(GB/s)\n1048576 200.00 10.49\n");
  CHECK(x.rows[0].seconds == Approx(200e-6));
  CHECK(x.warnings.empty());
  const NccomTable w = table("size(B) time:p99(us)\n8 1\n");
  CHECK(w.rows[0].seconds == Approx(1e-6));
  CHECK(says(w, "neither an average nor a median"));
}

TEST_CASE("hostile output", "[calibrate]") {
  for (const std::string row :
       {"1e300 262144 fp32 100 1 1", "-8 2 fp32 100 1 1", "nan 2 fp32 100 1 1", "0 0 fp32 100 1 1",
        "8 2 fp32 nan 1 1", "8 2 fp32 inf 1 1", "8 2 fp32 -1 1 1", "8 2 fp32 0 1 1", "8 2 fp32 1e300 1 1",
        "8 2 fp32 1e999 1 1", "8 2 fp32 100 1e300 1", "8 2 fp32 100 1 -1", "8 1.5 fp32 100 1 1",
        "8 99999999999999999999 fp32 100 1 1", "8 2 fp32 100us 1 1", "8 2 fp32 100 1 1 1 1 1", "1e999 2",
        "8 2 fp32 0x10 1 1"}) {
    const NccomTable t = table(kCommand + kNccomHeader + row + "\n" + kRow);
    CHECK(t.rows.size() == 1);
    CHECK(lines(t) == std::vector<int>{3});
  }
  CHECK_THROWS_AS(parse_nccom_test("", "t"), InputError);
  CHECK_THROWS_AS(parse_nccom_test("hello", "t"), InputError);
  CHECK_THROWS_AS(parse_nccom_test(std::string("\0\xff\x1b[\x1b", 5), "t"), InputError);

  // Binary noise after a header, without a random number generator of the library.
  std::string noise = kCommand + kNccomHeader;
  unsigned state = 1;
  for (int i = 0; i < 200'000; ++i) {
    state = state * 1664525u + 1013904223u;
    noise += static_cast<char>(state >> 24);
  }
  CHECK(table(noise).rows.empty());

  // Any quadratic work would show here.
  const std::string many(4u << 20, '1');
  CHECK(table(kNccomHeader + many + "\n" + kRow).rows.size() == 1);
  std::string spaced, wide = "size(B) time(us)", commands, failing;
  for (int i = 0; i < 1'000'000; ++i) spaced += "1 ";
  CHECK(table(kNccomHeader + spaced + "\n" + kRow).rows.size() == 1);
  for (int i = 0; i < 300'000; ++i) wide += " time(us)";
  CHECK(table(wide + "\n" + spaced + "\n").rows.size() <= 1);
  for (int i = 0; i < 100'000; ++i) commands += "nccom-test \\\n";
  CHECK(table(commands + "\n" + kNccomHeader + kRow).rows.size() == 1);
  for (int i = 0; i < 100'000; ++i) failing += "1 2\n";
  const NccomTable bounded = table(kNccomHeader + failing + kRow);
  CHECK(bounded.rows.size() == 1);
  CHECK(bounded.warnings.size() == 51);
  CHECK(says(bounded, "99950 more warnings after this"));
  std::string rows = kNccomHeader, headers;
  for (int i = 0; i < 20'001; ++i) rows += kRow;
  CHECK_THROWS_AS(parse_nccom_test(rows, "t"), InputError);
  for (int i = 0; i < 1'001; ++i) headers += kNccomHeader;
  CHECK_THROWS_AS(parse_nccom_test(headers, "t"), InputError);
}
