// A measured all-reduce of a job: as a number, and by tables of nccl-tests and nccom-test.
#include "io/input/measured_network.h"

#include <cmath>
#include <string>

#include "io/input/readers.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/folder.h"
#include "tests/logs/nccl/nccl_sample.h"
#include "tests/models/setup.h"
#include "text/document.h"

using namespace trnplan;

namespace {

constexpr io::NetworkSpreads kNetworkSpreads{0.06, 0.2};

models::MeasuredAllReduce measured_by(const std::string& text, const std::string& instance, int nodes) {
  return io::all_reduce_of_table(text, "n.txt", {test_catalog().instance(instance), nodes}, kNetworkSpreads);
}
std::string refused_table(const std::string& text, const std::string& instance = "p5.48xlarge") {
  return refusal_of([&] { measured_by(text, instance, 2); });
}

std::string nccom_output(const std::string& command, double us) {
  return command + "\nsize(B) count(elems) type time:avg(us)\n1048576 524288 bf16 400\n" +
         fmt::format("1073741824 536870912 bf16 {}\n", us);
}

models::Job networked_job(const std::string& cluster) {
  return io::job_from(
             parse_document("model: llama3-8b\ntraining: {sequence: 8192, global_batch: 64}\ncluster: {" +
                                cluster + "}\n",
                            "job.yaml"),
             "job.yaml", test_catalog())
      .job;
}
std::string refused_cluster(const std::string& cluster) {
  return refusal_of([&] { networked_job(cluster); });
}

}  // namespace

TEST_CASE("a bandwidth, alone and with nodes", "[io][job]") {
  CHECK(io::parse_all_reduce("161")->bus == gigabytes_per_second(161));
  CHECK_FALSE(io::parse_all_reduce("161")->nodes);
  CHECK(io::parse_all_reduce("0.5@32")->nodes == 32);
  for (const char* bad : {"", "0", "-1", "nan", "inf", "1e300", "1e-9", "0x10", "161 ", "161GB/s", "@32",
                          "161@", "161@1", "161@0", "161@-2", "161@1e9", "161@2@3", "161@99999999999"}) {
    CAPTURE(bad);
    CHECK_FALSE(io::parse_all_reduce(bad));
  }
}

TEST_CASE("of a table of nccl-tests the largest size between the most alike nodes counts", "[io][job]") {
  const models::MeasuredAllReduce m = measured_by(nccl_sample(), "p5.48xlarge", 4);
  CHECK(m.instance == "p5.48xlarge");
  CHECK(m.nodes == 2);
  CHECK(m.ranks == 16);
  CHECK(m.bytes == Bytes(0x1p30));
  CHECK(m.bus.value == Approx(187.5e9).epsilon(1e-6));
  CHECK(m.log_sd == 0.06);
  // Repeats that differ by a factor of two: log-sd = log 2 / sqrt 2.
  const std::string apart = replaced(nccl_sample(), nccl_row(1073741824, 10737.42, 10737.42),
                                     nccl_row(1073741824, 10737.42, 21474.84));
  CHECK(measured_by(apart, "p5.48xlarge", 4).log_sd == Approx(std::log(2) / std::sqrt(2)).epsilon(1e-3));
  const std::string more = nccl_sample() + nccl_ranks(4, "NVIDIA H100 80GB HBM3") + nccl_heading() +
                           nccl_row(1 << 28, 5000, 5000) + nccl_end();
  CHECK(measured_by(more, "p5.48xlarge", 2).nodes == 2);
  CHECK(measured_by(more, "p5.48xlarge", 16).nodes == 4);
}

TEST_CASE("tables of which nothing follows are refused", "[io][job]") {
  CHECK(
      contains(refused_table(nccl_sample("NVIDIA A100-SXM4-80GB")), "measured on \"NVIDIA A100-SXM4-80GB\""));
  CHECK(contains(refused_table(nccl_sample(), "trn1.32xlarge"), "nccl-tests, which measures GPUs"));
  CHECK(contains(refused_table(nccom_output("nccom-test -r 64 -N 2 -d bf16 allr", 9000)),
                 "a table of nccom-test"));
  CHECK(contains(refused_table(nccl_ranks(1, "NVIDIA H100") + nccl_heading() + nccl_row(1 << 30, 5000, 5000) +
                               nccl_end()),
                 "no row of an all-reduce between nodes"));
  CHECK(contains(refused_table(nccl_heading() + nccl_row(1 << 30, 5000, 5000)), "does not list its ranks"));
  CHECK(contains(refused_table(replaced(nccl_sample(), "0 OK", "3 FAILED")), "wrong values"));
  // Four times apart they are of two networks, of which one was taken without a word.
  const std::string two = replaced(nccl_sample(), nccl_row(1073741824, 10737.42, 10737.42),
                                   nccl_row(1073741824, 10737.42, 42949.68));
  CHECK(contains(refused_table(two), "1 GiB are reduced at"));
  // An all-gather has half the factor.
  std::string gather = nccl_sample();
  for (std::size_t at; (at = gather.find("     sum ")) != std::string::npos;)
    gather.replace(at, 9, "    none ");
  CHECK(contains(refused_table(gather), "no row of an all-reduce"));
  CHECK(contains(refused_table("hello"), "no nccom-test table"));
  CHECK(contains(refused_table(""), "no nccom-test table"));
  const auto neuron = [](const std::string& text) { return refused_table(text, "trn1.32xlarge"); };
  CHECK(
      contains(neuron(nccom_output("nccom-test -r 64 -N 2 -d bf16 allg", 9000)), "no row of an all-reduce"));
  CHECK(
      contains(neuron(nccom_output("nccom-test -r 32 -N 1 -d bf16 allr", 9000)), "no row of an all-reduce"));
  CHECK(contains(neuron(nccom_output("nccom-test -r 63 -N 2 -d bf16 allr", 9000)), "63 ranks on 2 nodes"));
  CHECK(contains(neuron(nccom_output("nccom-test -r 999936 -N 31248 -d bf16 allr", 9000)), "more than 1875"));
}

TEST_CASE("a table of nccom-test: bandwidth by size and time, whatever its GB are", "[io][job]") {
  const auto m = measured_by(nccom_output("nccom-test -r 64 -N 2 -d bf16 allr", 20000), "trn1.32xlarge", 2);
  CHECK(m.nodes == 2);
  CHECK(m.ranks == 64);
  CHECK(m.bus.value == Approx(0x1p30 / 20e-3 * 2 * 63 / 64));
}

TEST_CASE("keys of the cluster state it, relative to the job", "[io][job]") {
  const models::Job job = networked_job("instance: p5.48xlarge, nodes: 4, all_reduce_gbps: 161");
  REQUIRE(job.all_reduce);
  CHECK(job.all_reduce->nodes == 4);
  CHECK(job.all_reduce->ranks == 32);
  CHECK(job.all_reduce->bus == gigabytes_per_second(161));
  CHECK(networked_job("instance: p5.48xlarge, nodes: 4, all_reduce_gbps: 161@32").all_reduce->ranks == 256);
  CHECK(networked_job("instance: p5.48xlarge, nodes: 4..16, all_reduce_gbps: 161@8").all_reduce->nodes == 8);
  CHECK_FALSE(networked_job("instance: p5.48xlarge, nodes: 4").all_reduce);
  const auto key = [](const std::string& text) { return "cluster." + text; };
  CHECK(contains(refused_cluster("instance: p5.48xlarge, nodes: 4, all_reduce_gbps: -1"),
                 key("all_reduce_gbps")));
  CHECK(contains(refused_cluster("instance: p5.48xlarge, nodes: 4..16, all_reduce_gbps: 161"), "nodes open"));
  CHECK(contains(refused_cluster("instance: p5.48xlarge, all_reduce_gbps: 161"), "on one node"));
  CHECK(contains(refused_cluster("instance: p5.48xlarge, nodes: 4, measured: absent.txt"), "is not a file"));
  CHECK(contains(refused_cluster("instance: p5.48xlarge, nodes: 4, all_reduce_gbps: 1, measured: x"),
                 "as well"));
  CHECK(contains(refused_cluster("instance: [p5.48xlarge, p5en.48xlarge], nodes: 4, all_reduce_gbps: 1"),
                 "several types"));
  const TestFolder folder;
  folder.write("n.txt", nccl_sample());
  const std::string file = folder.write("job.yaml",
                                        "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 64}\n"
                                        "cluster: {instance: p5.48xlarge, nodes: 2, measured: n.txt}\n");
  const io::JobReading read = io::read_job(file, test_catalog());
  CHECK(read.job.all_reduce->bus.value == Approx(187.5e9).epsilon(1e-6));
  CHECK(read.places.contains("cluster.measured"));
}
