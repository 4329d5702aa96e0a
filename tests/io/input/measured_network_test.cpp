// A measured all-reduce of a job: as a number, and by tables of nccl-tests and nccom-test.
#include "io/input/measured_network.h"

#include <cmath>
#include <string>

#include "io/input/job_input.h"
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
  return io::all_reduce_of_table(text, "n.txt", {test_catalog().instance(instance), nodes}, kNetworkSpreads)
      .measured;
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
                           nccl_row(1 << 28, 5000, 5000, 4) + nccl_end();
  CHECK(measured_by(more, "p5.48xlarge", 2).nodes == 2);
  CHECK(measured_by(more, "p5.48xlarge", 16).nodes == 4);
}

TEST_CASE("tables of which nothing follows are refused", "[io][job]") {
  CHECK(
      contains(refused_table(nccl_sample("NVIDIA A100-SXM4-80GB")), "measured on \"NVIDIA A100-SXM4-80GB\""));
  CHECK(contains(refused_table(nccl_sample(), "trn1.32xlarge"), "nccl-tests, which measures GPUs"));
  CHECK(contains(refused_table(nccom_output("nccom-test -r 64 -N 2 -d bf16 allr", 9000)),
                 "a table of nccom-test"));
  CHECK(contains(refused_table(nccl_ranks(1, "NVIDIA H100") + nccl_heading() +
                               nccl_row(1 << 30, 5000, 5000, 1) + nccl_end()),
                 "no row of an all-reduce between nodes"));
  CHECK(contains(refused_table(nccl_heading() + nccl_row(1 << 30, 5000, 5000)), "does not list its ranks"));
  CHECK(contains(refused_table(replaced(nccl_sample(), "0 OK", "3 FAILED")), "wrong values"));
  // Four times apart they are of two networks, of which one was taken without a word.
  const std::string two = replaced(nccl_sample(), nccl_row(1073741824, 10737.42, 10737.42),
                                   nccl_row(1073741824, 10737.42, 42949.68));
  CHECK(contains(refused_table(two), "1 GiB are reduced at"));
  // An all-gather names no reduction.
  std::string gather = nccl_sample();
  for (std::size_t at; (at = gather.find("     sum ")) != std::string::npos;)
    gather.replace(at, 9, "    none ");
  CHECK(contains(refused_table(gather), "no row of an all-reduce"));
  CHECK(contains(refused_table("hello"), "no table of nccl-tests or nccom-test"));
  CHECK(contains(refused_table(" \n"), "the file is empty"));
  const auto neuron = [](const std::string& text) { return refused_table(text, "trn1.32xlarge"); };
  CHECK(
      contains(neuron(nccom_output("nccom-test -r 64 -N 2 -d bf16 allg", 9000)), "no row of an all-reduce"));
  CHECK(
      contains(neuron(nccom_output("nccom-test -r 32 -N 1 -d bf16 allr", 9000)), "no row of an all-reduce"));
  CHECK(contains(neuron(nccom_output("nccom-test -r 63 -N 2 -d bf16 allr", 9000)), "63 ranks on 2 nodes"));
  CHECK(contains(neuron(nccom_output("nccom-test -r 999936 -N 31248 -d bf16 allr", 9000)), "more than 1875"));
}

// Catches the faster of two tables that is taken without a word, and a note on what a network differs by anyway.
TEST_CASE("of times that lie apart the median counts, and a note says so", "[io][job]") {
  const auto with = [](double us, double us_in_place) {
    return io::all_reduce_of_table(replaced(nccl_sample(), nccl_row(1073741824, 10737.42, 10737.42),
                                            nccl_row(1073741824, us, us_in_place)),
                                   "n.txt", {test_catalog().instance("p5.48xlarge"), 2}, kNetworkSpreads);
  };
  const io::TableAllReduce twice = with(10737.42, 21474.84);
  CHECK(twice.measured.bus.value == Approx(187.5e9 / std::sqrt(2)).epsilon(1e-6));
  REQUIRE(twice.notes.size() == 1);
  CHECK(contains(twice.notes.front(), "2 times of 1024 MiB on 2 nodes lie between 93.75"));
  CHECK(contains(twice.notes.front(), "their median, 132.6 GB/s, is used"));
  CHECK(twice.at.line == 26);
  CHECK(with(10737.42, 1.4 * 10737.42).notes.empty());
  // Three tables of two times each: the middle two are those of the second.
  const std::string three = nccl_sample() + nccl_ranks(2, "NVIDIA H100 80GB HBM3") + nccl_heading() +
                            nccl_row(1073741824, 12000, 12000) + nccl_row(1073741824, 15000, 15000);
  CHECK(measured_by(three, "p5.48xlarge", 2).bus.value == Approx(0x1p30 / 12e-3 * 1.875).epsilon(1e-6));
}

namespace {

/// The sample with a row of 1 GiB whose cells are factors of right ones, in one line.
std::string with_large_row(double time, double algbw, double busbw, int wrong = 0) {
  constexpr double kUs = 10737.42, kRate = 0x1p30 / kUs / 1e3;
  const std::string cells =
      fmt::format(" {:8.2f} {:7.2f} {:7.2f} {:6}", kUs * time, kRate * algbw, 1.875 * kRate * busbw, wrong);
  return replaced(nccl_sample(), nccl_row(1073741824, kUs, kUs),
                  "  1073741824     268435456     float     sum      -1" + cells + cells + "\n");
}

}  // namespace

// Catches rows of which one column alone is believed: times in other units, bandwidths in Gbit/s, a busbw that was
// changed by hand or is of another group, and results that were wrong.
TEST_CASE("rows of a table that contradict themselves are refused at their line", "[io][job]") {
  CHECK(measured_by(with_large_row(1, 1, 1), "p5.48xlarge", 2).bus.value == Approx(187.5e9).epsilon(1e-6));
  const auto time = [](double t, double rates) {
    const std::string said = refused_table(with_large_row(t, rates, rates));
    return contains(said, "n.txt:26:") && contains(said, "time and algbw of this row disagree");
  };
  CHECK(time(1e3, 1));
  CHECK(time(1e-3, 1));
  CHECK(time(10, 1));
  CHECK(time(1, 1e3));
  CHECK(time(1, 8));
  CHECK(time(1, 1.01));
  const std::string factor = refused_table(with_large_row(1, 1, 1.2));
  CHECK(contains(factor, "n.txt:26:"));
  CHECK(
      contains(factor, "busbw is 2.25 times algbw, and for the 16 ranks of this table all_reduce has 1.875"));
  const std::string wrong = refused_table(with_large_row(1, 1, 1, 17));
  CHECK(contains(wrong, "n.txt:26:"));
  CHECK(contains(wrong, "#wrong: 17 elements of the result are wrong"));
  // All rows and tables at once.
  std::string two = with_large_row(1, 1, 1.2) + with_large_row(10, 1, 1);
  CHECK(faults_in([&] { measured_by(two, "p5.48xlarge", 2); }).size() == 4);
  // Programs whose busbw is algbw are of other operations.
  const std::string reduce =
      refused_table(nccl_ranks(2, "NVIDIA H100 80GB HBM3") + nccl_heading() +
                    "  1073741824     268435456     float     sum       0 10737.42  100.00  "
                    "100.00      0 10737.42  100.00  100.00      0\n");
  CHECK(contains(reduce, "no row of an all-reduce"));
}

// Catches a message that blames one of two tools, or the content of a file that has none.
TEST_CASE("a file without a whole table is named for what it is", "[io][job]") {
  CHECK(contains(refused_table(""), "n.txt: the file is empty"));
  CHECK(contains(refused_table(""), "all_reduce_perf (nccl-tests) or nccom-test"));
  CHECK(contains(refused_table(nccl_ranks(2, "NVIDIA H100")), "is cut before its table"));
  CHECK(contains(refused_table(nccl_ranks(2, "NVIDIA H100") + nccl_heading()), "no whole row"));
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
  CHECK(contains(refused_cluster("instance: p5.48xlarge, nodes: 4, measured: absent.txt"),
                 "relative to the job"));
  // Catches a path of the command line that is said to be relative to the job, as is one in the job.
  const TestFolder jobs;
  const std::string job_file = jobs.write("job.yaml",
                                          "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 64}\n"
                                          "cluster: {instance: p5.48xlarge, nodes: 2}\n");
  io::JobOptions options;
  options.measured = "absent.txt";
  CHECK(contains(refusal_of([&] { io::read_job_input(job_file, options, test_catalog()); }),
                 "relative to the current folder"));
  // Catches the blame on the bandwidth where the nodes are wrong.
  const std::string one = refused_cluster("instance: p5.48xlarge, nodes: 4, all_reduce_gbps: 161@1");
  CHECK(contains(one, "\"1\" is no number of nodes from 2 to 1875: on one node"));
  CHECK(contains(one, "161@32"));
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
