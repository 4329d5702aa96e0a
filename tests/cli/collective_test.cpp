// collective: sizes, groups, algorithms, tables.
#include <cmath>
#include <regex>
#include <sstream>
#include <string>

#include "tests/catch.h"
#include "tests/cli/run_cli.h"

using namespace trnplan;
using cli::Session;

namespace {

std::ptrdiff_t count(const std::string& text, const char* regex) {
  const std::regex pattern(regex);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator());
}

/// The table's GB/s are 10^9 bytes over its time, busbw that times the factor of the operation, the last line
/// their mean.
void check_table(Session& cli, double factor, const std::string& arguments) {
  cli.run("collective " + arguments + " -b 1KB -e 1GB -f 4");
  cli.says(R"(10\^9)");
  const auto near = [](double shown, double exact) {
    return std::abs(shown - exact) <= 0.0051 + exact * 2e-4;
  };
  std::istringstream lines(cli.last.out);
  std::string line;
  int rows = 0;
  double sum = 0;
  bool ended = false;
  while (std::getline(lines, line)) {
    INFO(arguments << ": " << line);
    std::istringstream words(line);
    double bytes = 0, elements = 0, us = 0, algbw = 0, busbw = 0;
    std::string type;
    if (words >> bytes >> elements >> type >> us >> algbw >> busbw && type == "fp32") {
      ++rows;
      sum += bytes / (us * 1e-6) / 1e9 * factor;
      CHECK(elements * 4 == bytes);
      CHECK(near(algbw, bytes / (us * 1e-6) / 1e9));
      CHECK(near(busbw, bytes / (us * 1e-6) / 1e9 * factor));
    } else if (line.starts_with("Avg bus bandwidth:\t")) {
      ended = true;
      CHECK(near(std::stod(line.substr(line.find('\t'))), sum / rows));
    }
  }
  CHECK(rows == 11);
  CHECK(ended);
}

}  // namespace

TEST_CASE("collectives that are refused, all faults at once", "[cli]") {
  Session cli;
  // ---- collective ----

  cli.refuse(R"(op: "all_redue" is not a collective)", "collective all_redue --bytes 1M");
  cli.refuse(R"(did you mean all_reduce\?)", "collective all_redue --bytes 1M");
  cli.refuse(R"(did you mean redsct\?)", "collective redsc --bytes 1M");
  cli.refuse(R"(op: "" is not a collective)", "collective '' --bytes 1M");
  cli.refuse_usage("op", "collective --bytes 1M");
  cli.refuse_usage("--ranks.* 0", "collective all_reduce --bytes 1M --ranks 0");
  cli.refuse_usage("--ranks.*-2", "collective all_reduce --bytes 1M --ranks -2");
  cli.refuse("--ranks: 33 ranks on 32 cores", "collective all_reduce --bytes 1M --ranks 33");
  cli.refuse("--ranks: 63 ranks do not divide by 2 nodes",
             "collective all_reduce --bytes 1M --ranks 63 --nodes 2");
  cli.refuse("fix: 62 or 64 ranks", "collective all_reduce --bytes 1M --ranks 63 --nodes 2");
  cli.refuse("fix: 2 ranks or a multiple", "collective all_reduce --bytes 1M --ranks 1 --nodes 2");
  cli.refuse_usage("--nodes.* 0", "collective all_reduce --bytes 1M --nodes 0");
  cli.refuse(R"(--instance: .*trn1\.33xlarge)", "collective all_reduce --bytes 1M --instance trn1.33xlarge");
  cli.refuse("--profile: .*no-such", "collective all_reduce --bytes 1M --profile no-such");
  cli.refuse(R"(--algorithm: "rign" is not an algorithm)",
             "collective all_reduce --bytes 1M --algorithm rign");
  cli.refuse(
      R"(did you mean ring\? Known: auto, ring, kangaring, mesh, rdh, torus, .*one-step, tree, nvls, nvls-tree, pat)",
      "collective all_reduce --bytes 1M --algorithm rign");
  for (const std::string ratio : {"0.99", "0", "-1", "nan", "inf"}) {
    cli.refuse_usage("--oversubscription: .*not a number from 1 to",
                     "collective all_reduce --bytes 1M --nodes 2 --oversubscription " + ratio);
  }
  cli.refuse_usage("--oversubscription: .*to 1000000",
                   "collective all_reduce --bytes 1M --nodes 2 --oversubscription 1000001");
  for (const std::string size :
       {"", "-1", "-1K", "1.5", "nan", "inf", "1e400", "4194305T", "1KK", "0x10", "1 K", "12cats"}) {
    cli.set("size", size);
    cli.refuse(R"(--bytes: .*not a size up to 2\^62 bytes)", "collective all_reduce --bytes \"$size\"");
  }
  cli.refuse(R"(--maxbytes: "1Q" is not a size)", "collective all_reduce -b 1K -e 1Q");
  cli.refuse_usage("--maxbytes: is empty", "collective all_reduce -b 1K -e ''");
  cli.refuse("--maxbytes: 1024 is below --minbytes 2048", "collective all_reduce -b 2K -e 1K");
  for (const std::string factor : {"1", "0.5", "0", "-2", "nan", "inf"}) {
    cli.refuse_usage("--stepfactor: .*not a number", "collective all_reduce -b 1K -e 1M -f " + factor);
  }
  cli.refuse("--stepfactor: .*more than 200 rows", "collective all_reduce -b 1K -e 1G -f 1.01");
  cli.refuse("--stepfactor: .*more than 200 rows", "collective all_reduce -b 1K -e 1G -f 1.0000000000000002");
  cli.refuse("--minbytes: no factor leads from 0", "collective all_reduce -b 0 -e 1K");
  cli.refuse_usage("--stepfactor", "collective all_reduce -b 1K -f 2");
  cli.refuse_usage("--datatype.*fp31", "collective all_reduce -b 1K -d fp31");
  cli.refuse("op: .*not a collective", "collective allreduc --bytes x --ranks 33");  // all faults at once
  CHECK(count(cli.last.err, "\n  fix: ") == 3);
}

TEST_CASE("collectives", "[cli]") {
  Session cli;
  for (const std::string op : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute",
                               "send_recv", "allr", "allg", "redsct", "alltoall", "sendrecv"}) {
    cli.expect(0, "^  group +supported", "collective " + op + " --ranks 8 --bytes 1M");
  }
  cli.expect(0, "^all_reduce of 1048576 bytes .*, 32 ranks on 16 chips of 1 x trn1",
             "collective allr --bytes 1mb");
  cli.expect(0, "^all_reduce of 1048576 bytes .*, 96 ranks on 48 chips of 3 x trn1",
             "collective allr --bytes 1024KiB --nodes 3");
  cli.expect(0, "spine", "collective allr --bytes 1G --nodes 2 --oversubscription 8");
  cli.expect(0, "^  algorithm +flat-ring$", "collective allr --bytes 1M --nodes 2 --algorithm flat-ring");
  cli.expect(0, "--algorithm torus does not apply", "collective allr --bytes 1M --algorithm torus");
  cli.expect(0, "1001 bytes are not a whole .*1000", "collective allr --bytes 1001");
  cli.expect(0, R"(^  group +doubtful \(two-chips: )", "collective allr --bytes 1M --ranks 4");
  cli.expect(3, R"(^  group +refused \(no-ring: )", "collective allr --bytes 1M --ranks 10");
  cli.expect(3, "^trnplan: refused: no-ring: ", "collective allr -b 1K -e 1M --ranks 10");
  cli.prints("^Avg bus bandwidth:");
  cli.expect(3, R"("verdict": "refused")", "collective allr --bytes 1M --ranks 10 --format json");
  cli.expect(3, R"(group +refused \(no-efa: )",
             "collective allr --bytes 1M --nodes 2 --instance trn1.2xlarge");
  cli.prints("no time     there is no path for its bytes");
  cli.prints("fix: use one node, or an instance with EFA");
  cli.expect(3, "source: collectives between nodes go through EFA",
             "topology --instance trn1.2xlarge --nodes 2 --dp 4");
  cli.prints("^fix: use one node, or an instance with EFA");
  for (const std::string key : {"seconds", "nccom_seconds", "busbw_gbps", "algbw_gbps"}) {
    cli.expect(3, "\"" + key + "\": null",
               "collective allr -b 1K -e 1M --nodes 2 --instance trn1.2xlarge --format json");
  }
  cli.expect(3, R"("seconds": null)",
             "collective allr --bytes 1M --nodes 2 --instance trn1.2xlarge --format json");
  cli.expect(0, "^  algorithm +none$", "collective allr --bytes 1M --ranks 1");
  cli.prints_no("bandwidth");
  cli.expect(0, "^all_reduce of 0 bytes", "collective allr --bytes 0");
  cli.prints_no("bandwidth");
  cli.expect(0, "^all_reduce of 1 byte, ", "collective allr --bytes 1 -d uint8");
  cli.expect(0, "^  profile +trn1$", "collective allr --bytes 1M");
  cli.expect(0, "in a graph .* us, 90 % between [0-9.]+ and [0-9.]+ us", "collective allr --bytes 1M");
  cli.expect(0, R"("seconds_90": \[)", "collective allr --bytes 1M --format json");
  cli.expect(0, "^all_reduce of 33554432 bytes", "collective allr -n 20 -w 5 --check -s host-a host-b");
  cli.says("iters.*does not depend on them");
  cli.expect(0, "^all_reduce of 33554432 bytes",
             "collective -n 20 --check=random --hosts host-a host-b -- allr");
  cli.expect(0, "^all_reduce of 33554432 bytes", "collective -r 8 -c allr");
  cli.says("iters.*does not depend on them");
  cli.expect(0, "GiB is more than the 16 GiB", "collective allr --bytes 32G");
  cli.expect(0, "timed with the parameters of trn2: trn1 is of another generation",
             "collective allr --instance trn2.48xlarge --profile trn1");
  cli.run("collective allr --instance trn2.48xlarge");
  cli.says_no("timed with the parameters of");
  cli.expect(0, "does not apply here, it needs exactly one rank on every chip",
             "collective allr --bytes 1M --algorithm torus");
  cli.expect(0, "does not apply here, it is for all_reduce only",
             "collective allg --bytes 1M --algorithm one-step");
  cli.expect(0, "does not apply here, permute has one algorithm",
             "collective permute --bytes 1M --algorithm ring");
  cli.expect(0, R"(algorithm +hierarchical \(rdh, rdh\))",
             "collective allr --bytes 1M --nodes 3 --algorithm rdh");
  cli.expect(3, "fix: use 8 or 12 ranks", "collective allr --bytes 1M --ranks 10");
  cli.expect(3, "refused: no-ring: .*; fix: use 8 or 12 ranks", "collective allr -b 1K -e 1M --ranks 10");
  cli.expect(0, "fix: use 2 or 8 ranks", "collective allr --bytes 1M --ranks 4");
  cli.expect(0, "one-rank: one rank on each of 2 nodes", "collective allr --bytes 1M --ranks 2 --nodes 2");
  cli.expect(0, "ring: chips 0 to 15 form a ring", "collective allr --bytes 1M");
  cli.expect(3, "partial-chips: only some cores of chip 2 take part", "collective allr --bytes 1M --ranks 5");
  for (const std::string extreme :
       {"--ranks 1 --bytes 0", "--bytes 0", "--bytes 1", "--bytes 1125899906842624",
        "--bytes 4194304T --nodes 1875", "-b 0 -e 0", "-b 1 -e 4194304T -f 4 --ranks 1 --in-graph"}) {
    for (const std::string format : {"text", "json"}) {
      cli.expect(0, "all_reduce|Avg bus bandwidth",
                 "collective all_reduce " + extreme + " --format " + format);
      cli.prints_no("(^|[ :,])-?([nN][aA][nN]|[iI][nN][fF]|[nN][uU][lL][lL])");
    }
  }
  cli.expect(0, "^# time inside a compiled graph", "collective allr -b 1K -e 1M --in-graph");
  cli.expect(0, " algorithm$", "collective allr -b 1K -e 1M --show-algorithm");
  cli.expect(0, "^ +1000 +500 +bf16 ", "collective allr -b 1001 -e 1M -d bf16");
}

TEST_CASE("the bandwidths of a table follow from sizes and times", "[cli]") {
  Session cli;
  check_table(cli, 1, "all_reduce --ranks 2");
  check_table(cli, 1.96875, "all_reduce --ranks 64 --nodes 2");
  check_table(cli, 1.96875, "all_reduce --ranks 64 --nodes 2 --in-graph");
  check_table(cli, 0.96875, "all_gather");
  check_table(cli, 0.96875, "reduce_scatter");
  check_table(cli, 0.96875, "all_to_all");
  check_table(cli, 1, "permute");
  check_table(cli, 1, "send_recv --ranks 2");
}

// Every machine with GPUs, without a profile named: its own, which is said. Its NICs are drawn under its switch.
TEST_CASE("collectives and topology of machines with GPUs", "[cli]") {
  Session cli;
  for (const char* name : {"p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge", "p5e.48xlarge", "p5en.48xlarge",
                           "p6-b200.48xlarge", "p6-b300.48xlarge", "dgx-a100-80gb", "hgx-a100-40gb",
                           "jean-zay-a100", "hgx-h100-80gb", "hgx-h100-96gb", "hgx-h200", "hgx-b200"}) {
    CAPTURE(name);
    const std::string instance = std::string(" --instance ") + name;
    for (const char* op : {"allr", "allg", "redsct", "alltoall", "sendrecv"}) {
      cli.expect(0, R"("seconds": [0-9])",
                 std::string("collective ") + op + " --nodes 4 --bytes 64M --format json" + instance);
      cli.says_no("timed with the parameters of");
    }
    cli.expect(0, "= switch =", "topology --nodes 4 --tp 8 --dp 4" + instance);
    cli.expect(0, "NIC  ", "topology --nodes 4 --tp 8 --dp 4" + instance);
    cli.expect(2, "ranks", "collective allr --ranks 9" + instance);
  }
  cli.expect(0, "algorithm +nvls$", "collective allr --bytes 64M --instance p5.48xlarge");
  cli.expect(0, "algorithm +tree", "collective allr --nodes 2 --bytes 64M --instance p4d.24xlarge");
  cli.expect(0, "algorithm +ring", "collective allg --algorithm nvls --bytes 64M --instance p5.48xlarge");
  CHECK(cli.last.err.find("--algorithm nvls does not apply here, it reduces inside a switch") !=
        std::string::npos);
}

// Output of another program is not a slow node, and the machine's own profile says how long a run should take.
TEST_CASE("nodes whose output is not understood are not drained", "[cli]") {
  Session cli;
  const std::string table =
      "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "     1048576        262144     float     sum      -1     34.2   30.69   53.70      0\n";
  cli.write("nccl.txt", "[trnplan] nodes n1 n2\n" + table);
  cli.refuse("the output of n1, n2 was not understood: its table is none of nccom-test",
             "collective all_reduce --measured $work/nccl.txt --instance p5.48xlarge");
  CHECK(cli.last.err.find("trn1") == std::string::npos);
  CHECK((cli.last.out + cli.last.err).find("drain") == std::string::npos);
}
