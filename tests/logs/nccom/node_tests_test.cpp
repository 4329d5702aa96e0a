#include "logs/nccom/node_tests.h"

#include <string>

#include "tests/catch.h"
#include "tests/faults.h"
#include "text/diagnostic.h"

using namespace trnplan;

namespace {

std::string fault_of(const std::string& text) {
  try {
    logs::read_node_tests(text, "health.out");
  } catch (const InputError& e) {
    return e.faults().front().at.file + ":" + std::to_string(e.faults().front().at.line) + ": " +
           e.faults().front().problem;
  }
  return "";
}

constexpr const char* kTable =
    "nccom-test -r 32 -N 1 -b 67108864 -e 67108864 -d bf16 --non-interactive allr\n"
    "    size(B)    count(elems)    type    time:avg(us)    algbw(GB/s)    busbw(GB/s)\n"
    "   67108864        33554432    bf16          1358.82          49.39          95.69\n"
    "Avg bus bandwidth: 95.69GB/s\n";

}  // namespace

TEST_CASE("runs of named nodes", "[logs]") {
  const auto tests = logs::read_node_tests(std::string("noise\n[trnplan] nodes n1\n") + kTable +
                                               "\r\n0: [trnplan] nodes n2 ip-10-1-65-134.ec2\r\n"
                                               "nccom-test -r 64 -N 2 allr --hosts n2 ip-10-1-65-134.ec2\r\n"
                                               "[trnplan] nccom-test ended with 124\r\n",
                                           "health.out");
  REQUIRE(tests.size() == 2);
  CHECK(tests[0].nodes == std::vector<std::string>{"n1"});
  CHECK(tests[0].at.line == 2);
  REQUIRE(tests[0].table);
  CHECK(tests[0].table->op == "all_reduce");
  CHECK(*tests[0].table->ranks == 32);
  CHECK(tests[0].table->rows.at(0).seconds == Approx(1358.82e-6));
  CHECK(tests[0].table->rows.at(0).at.line == 5);
  CHECK(tests[1].nodes == std::vector<std::string>{"n2", "ip-10-1-65-134.ec2"});
  CHECK_FALSE(tests[1].table);
  CHECK(tests[1].failure == "it took too long");
}

TEST_CASE("runs that failed, in nccom-test's words", "[logs]") {
  const auto failure = [](const std::string& said) {
    return logs::read_node_tests("[trnplan] nodes n1\nnccom-test -r 2 allr\n" + said, "f").at(0).failure;
  };
  // aws-neuron/aws-neuron-sdk@81ce03ae tools/neuron-sys-tools/nccom-test.rst
  CHECK(failure("     size(B)    count(elems)    type    time(us)    algbw(GB/s)    busbw(GB/s)\n"
                "    33554432    Failure running neuron-bench - log file /tmp/nccom_test_log_7pqpdfjf.log\n"
                "1 errors found - test failed\n[trnplan] nccom-test ended with 1\n") ==
        "33554432    Failure running neuron-bench - log file /tmp/nccom_test_log_7pqpdfjf.log");
  CHECK(failure("Neuron DKMS Driver is not running!\n") == "Neuron DKMS Driver is not running!");
  CHECK(failure("[trnplan] nccom-test ended with 2\n") == "nccom-test ended with 2");
  CHECK(failure("[trnplan] nccom-test ended with 137\n") == "it took too long");
  CHECK(failure("ssh: Could not resolve hostname\n") == "it printed no time");
  CHECK(failure("") == "it printed no time");
  CHECK(failure("size(B) count(elems) type time:avg(us) algbw(GB/s) busbw(GB/s)\n"
                "67108864 33554432 bf16 1358.82 400.00 95.69\n") == "its numbers contradict each other");
}

// Catches a table of another program that counts as a run that failed, and drains sound nodes.
TEST_CASE("a table that is none of nccom-test says nothing of its nodes", "[logs]") {
  const auto read = [](const std::string& said) {
    return logs::read_node_tests("[trnplan] nodes n1 n2\n" + said, "f").at(0);
  };
  // NVIDIA/nccl-tests@01d67614:src/common.cu
  const logs::NodeTest other = read(
      "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "     1048576        262144     float     sum      -1     34.2   30.69   53.70      0\n");
  CHECK(other.unread);
  CHECK_FALSE(other.table);
  CHECK_FALSE(read("ssh: Could not resolve hostname\n").unread);
  CHECK_FALSE(read("").unread);
}

TEST_CASE("files that name no nodes", "[logs]") {
  CHECK(fault_of("") == "health.out:0: no line states which nodes were tested");
  CHECK(fault_of(kTable) == "health.out:0: no line states which nodes were tested");
  CHECK(fault_of("\n[trnplan] nodes\n") == "health.out:2: no node is named");
  CHECK(contains(fault_of("[trnplan] nodes $(reboot)\n"),
                 "health.out:1: \"$(reboot)\" is not the name of a node"));
  CHECK(contains(fault_of("[trnplan] nodes a a\n"), "is named twice"));
  CHECK(contains(fault_of("[trnplan] nodes " + std::string(300, 'a') + "\n"), "is not the name"));
  std::string many = "[trnplan] nodes";
  for (int i = 0; i < 65; ++i) many += " n" + std::to_string(i);
  CHECK(contains(fault_of(many), "more than 64 nodes"));
  std::string runs;
  for (int i = 0; i < 10'001; ++i) runs += "[trnplan] nodes n\n";
  CHECK(contains(fault_of(runs), "more than 10000 runs"));
  CHECK(contains(fault_of("[trnplan] nodes a\x1b[31mb\x01\n"), "is not the name"));
}
