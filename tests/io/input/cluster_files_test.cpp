#include "io/input/cluster_files.h"

#include <unistd.h>

#include <fstream>

#include "io/input/readers.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"

using namespace trnplan;
namespace fs = std::filesystem;

namespace {

fs::path fixture(const char* name) {
  return fs::path(TRNPLAN_SOURCE_DIR) / "tests/io/fixtures/cluster" / name;
}
fs::path bad_cluster(const char* name) {
  return fs::path(TRNPLAN_SOURCE_DIR) / "tests/regress/cluster" / name;
}

/// One file, in memory.
class OneFile : public Files {
 public:
  explicit OneFile(std::string text) : text_(std::move(text)) {}
  bool has(const fs::path&) const override { return true; }
  std::string text(const fs::path&) const override { return text_; }

 private:
  std::string text_;
};

/// A job with a table of sinfo in its folder for its cluster.
class WithTable : public Files {
 public:
  WithTable(std::string table, const std::string& keys)
      : table_(std::move(table)),
        job_("model: llama3-8b\ntraining: {sequence: 8192, global_batch: 1024}\ncluster: {sinfo: table.txt" +
             keys + "}\n") {}
  bool has(const fs::path& path) const override {
    return path.filename() == "table.txt" || path.filename() == "job.yaml";
  }
  std::string text(const fs::path& path) const override {
    return path.filename() == "table.txt" ? table_ : job_;
  }

 private:
  std::string table_, job_;
};

/// A job in the folder of the fixtures, read from memory so that nothing is written there.
class WithJob : public Files {
 public:
  explicit WithJob(const std::string& cluster)
      : job_("model: llama3-8b\ntraining: {sequence: 8192, global_batch: 1024}\ncluster: " + cluster + "\n") {
  }
  bool has(const fs::path& path) const override { return path == this->path() || disk().has(path); }
  std::string text(const fs::path& path) const override {
    return path == this->path() ? job_ : disk().text(path);
  }
  fs::path path() const { return fixture("job.yaml"); }

 private:
  std::string job_;
};

io::JobReading job_with(const std::string& cluster) {
  const WithJob files(cluster);
  return io::read_job(files.path(), test_catalog(), files);
}

std::vector<Diagnostic> job_faults(const std::string& cluster) {
  return faults_in([&] { job_with(cluster); });
}

}  // namespace

TEST_CASE("a HyperPod cluster: the Trainium group, without the controller", "[io][cluster]") {
  const io::ClusterReading c = io::read_hyperpod(fixture("hyperpod.json"), test_catalog());
  CHECK(c.instance == "trn1.32xlarge");
  CHECK(c.nodes == 16);
  CHECK(c.group == "worker-group-1");
  CHECK(c.notes.empty());
}

TEST_CASE("a ParallelCluster queue counts MaxCount and says so", "[io][cluster]") {
  const io::ClusterReading c = io::read_parallelcluster(fixture("parallelcluster.yaml"), test_catalog());
  CHECK(c.instance == "trn1.32xlarge");
  CHECK(c.nodes == 16);
  REQUIRE(c.notes.size() == 1);
  CHECK(contains(c.notes[0], "MaxCount 16 is counted; MinCount is 0"));
}

TEST_CASE("several queues need a name; a queue adds its resources up", "[io][cluster]") {
  const auto read = [](const char* group) {
    return io::read_parallelcluster(fixture("two-queues.yaml"), test_catalog(), group);
  };
  const auto faults = faults_in([&] { read(""); });
  REQUIRE(faults.size() == 1);
  CHECK(contains(faults[0].problem, "small (2 x trn1.32xlarge), large (32 x trn1n.32xlarge)"));
  CHECK(contains(faults[0].fix, "group: small"));
  CHECK(read("small").nodes == 2);
  CHECK(read("small").notes.empty());
  CHECK(read("s1").nodes == 2);
  CHECK(read("large").nodes == 32);  // 8 + 24
  CHECK(read("large").instance == "trn1n.32xlarge");
  CHECK(read("large").notes.size() == 3);  // two MaxCounts, and l2 without EFA
  CHECK(read("l1").nodes == 8);
  CHECK(read("large/l2").nodes == 24);
  CHECK(contains(faults_in([&] { read("larg"); }).at(0).fix, "did you mean \"large\"?"));
  CHECK(contains(faults_in([&] { read("cpu"); }).at(0).problem, "is called \"cpu\""));
}

TEST_CASE("a queue of two types is two groups", "[io][cluster]") {
  const auto read = [](const char* group) {
    return io::read_parallelcluster(bad_cluster("mixed-queue.yaml"), test_catalog(), group);
  };
  CHECK(read("q/r").instance == "trn1.32xlarge");
  CHECK(read("s").instance == "trn1n.32xlarge");
  CHECK(contains(faults_in([&] { read("q"); }).at(0).problem, "names 2 groups"));
}

TEST_CASE("sinfo by node: features name the type, drained nodes are left out", "[io][cluster]") {
  const io::ClusterReading c = io::read_sinfo(fixture("sinfo-nodes.txt"), test_catalog());
  CHECK(c.instance == "trn1.32xlarge");
  CHECK(c.nodes == 3);  // of 5: one drained, one that does not answer; powered down (idle~) will start
  CHECK(c.group == "compute1");
  REQUIRE(c.notes.size() == 1);
  CHECK(contains(c.notes[0], "3 of 5 nodes usable; left out: compute1-dy-queue1-i1-3 (drain)"));
  CHECK(contains(c.notes[0], "compute1-dy-queue1-i1-4 (down*)"));
}

TEST_CASE("sinfo with lists of nodes, columns in another order", "[io][cluster]") {
  const io::ClusterReading c = io::read_sinfo(fixture("sinfo-lists.txt"), test_catalog());
  CHECK(c.instance.empty());
  CHECK(c.nodes == 7);  // 4 + 3, without the failed one
  REQUIRE(c.notes.size() == 1);
  CHECK(contains(c.notes[0], "7 of 8 nodes usable; left out: ip-10-1-16-50 (fail)"));
}

TEST_CASE("states of nodes", "[io][cluster]") {
  const auto nodes = [](const std::string& state) {
    std::string pattern = (fs::temp_directory_path() / "trnplan-sinfo-XXXXXX").string();
    const int file = mkstemp(pattern.data());
    REQUIRE(file >= 0);
    close(file);
    std::ofstream(pattern) << "STATE NODELIST\nidle other\n" << state << " node\n";
    int count = -1;
    try {
      count = io::read_sinfo(pattern, test_catalog()).nodes - 1;
    } catch (const InputError&) {
    }
    fs::remove(pattern);
    return count;
  };
  for (const char* usable :
       {"idle", "ALLOCATED", "mixed", "comp", "resv", "plnd", "idle#", "idle~", "mixed-"})
    CHECK(nodes(usable) == 1);
  for (const char* lost : {"down", "drain", "drng", "drained*", "fail", "failg", "maint", "idle*", "unk",
                           "alloc$", "IDLE+DRAIN"})
    CHECK(nodes(lost) == 0);
  CHECK(nodes("asleep") == -1);
}

TEST_CASE("all faults of a cluster file at once, with their places", "[io][cluster]") {
  const auto faults = faults_in([] { io::read_hyperpod(bad_cluster("faults.json"), test_catalog()); });
  REQUIRE(faults.size() == 4);
  CHECK(faults[0].key == "InstanceGroups[0].InstanceType");  // missing
  CHECK(contains(faults[1].fix, "remove the quotes"));
  CHECK(contains(faults[2].problem, "two groups"));
  CHECK(contains(faults[3].fix, "trn1.32xlarge"));
  CHECK(faults[3].at.column == 132);  // where "ml.trn1.33xlarge" begins in the one line
  const auto yaml = faults_in([] { io::read_parallelcluster(bad_cluster("faults.yaml"), test_catalog()); });
  CHECK(yaml.size() == 5);  // MinCount above MaxCount, Efa no map, two queues q, both types, 1.5
  const auto rows = faults_in([] { io::read_sinfo(bad_cluster("state.txt"), test_catalog()); });
  REQUIRE(rows.size() == 2);
  CHECK((rows[0].at.line == 2 && rows[0].at.column == 3));
  CHECK((rows[1].at.line == 3 && contains(rows[1].problem, "2 words")));
  CHECK(faults_in([] { io::read_sinfo(bad_cluster("brackets.txt"), test_catalog()); }).size() == 3);
}

TEST_CASE("a job takes type and nodes from a cluster file", "[io][cluster][job]") {
  const io::JobReading pods = job_with("{hyperpod: hyperpod.json}");
  CHECK(pods.job.cluster.instance.name == "trn1.32xlarge");
  CHECK(pods.job.cluster.nodes == 16);
  CHECK(job_with("{hyperpod: hyperpod.json, nodes: 4}").job.cluster.nodes == 4);
  const io::JobReading queue = job_with("{parallelcluster: two-queues.yaml, group: large}");
  CHECK(queue.job.cluster.nodes == 32);
  CHECK(queue.notes.size() == 3);
  CHECK(job_with("{sinfo: sinfo-lists.txt, instance: trn1n.32xlarge}").job.cluster.nodes == 7);
}

TEST_CASE("a cluster file and other keys must agree", "[io][cluster][job]") {
  CHECK(contains(job_faults("{hyperpod: hyperpod.json, nodes: 17}").at(0).problem, "has 16"));
  CHECK(contains(job_faults("{hyperpod: hyperpod.json, instance: trn1n.32xlarge}").at(0).problem,
                 "the file says trn1.32xlarge"));
  CHECK(contains(job_faults("{hyperpod: hyperpod.json, sinfo: sinfo-lists.txt}").at(0).problem,
                 "hyperpod is stated as well"));
  CHECK(contains(job_faults("{sinfo: sinfo-lists.txt}").at(0).fix, "instance: trn1.32xlarge"));
  CHECK(contains(job_faults("{instance: trn1.32xlarge, group: a}").at(0).problem, "no file"));
  CHECK(job_faults("{parallelcluster: gone.yaml}").at(0).key == "cluster.parallelcluster");
}

TEST_CASE("instances are counted, of which a node may be several", "[io][cluster]") {
  const auto read = [](int count) {
    return io::read_hyperpod("c.json", test_catalog(), "",
                             OneFile(R"({"InstanceGroups": [{"InstanceGroupName": "w", "InstanceType":
                               "ml.trn2u.48xlarge", "InstanceCount": )" +
                                     std::to_string(count) + "}]}"));
  };
  // 4 hosts are a node.
  CHECK(read(8).instance == "trn2u-ultraserver");
  CHECK(read(8).nodes == 2);
  CHECK(read(8).hosts == 8);
  CHECK(read(8).notes.empty());
  CHECK(read(11).nodes == 2);
  CHECK(contains(read(11).notes.at(0), "11 hosts, and a trn2u-ultraserver is 4: 2 counted, 3 left over"));
  CHECK(contains(faults_in([&] { read(3); }).at(0).problem, "w has 3 hosts, and a trn2u-ultraserver is 4"));
  const std::string eight = "NODELIST STATE AVAIL_FEATURES PARTITION\nn[1-8] idle trn2u.48xlarge,q-1 q*\n";
  const auto sinfo = io::read_sinfo("t", test_catalog(), "", OneFile(eight));
  CHECK(sinfo.instance == "trn2u-ultraserver");
  CHECK(sinfo.nodes == 2);
  // A table without a type counts hosts; the job says what they are.
  const WithTable untyped("NODELIST STATE\nn[1-8] idle\n", ", instance: trn2u-ultraserver");
  CHECK(io::read_job("job.yaml", test_catalog(), untyped).job.cluster.nodes == 2);
}

TEST_CASE("sinfo that names GPUs which the catalogue has not is answered with those that it has",
          "[io][cluster]") {
  const auto fault = [](const std::string& table) {
    const WithTable files(table, "");
    const auto faults = faults_in([&] { io::read_job("job.yaml", test_catalog(), files); });
    REQUIRE_FALSE(faults.empty());
    return faults.front();
  };
  struct Row {
    const char *table, *named;
  };
  for (const Row& row :
       {Row{"NODELIST STATE AVAIL_FEATURES\nn1 idle gpu,ml.g6e.48xlarge,q1\n", "\"ml.g6e.48xlarge\""},
        Row{"NODELIST STATE AVAIL_FEATURES\nn1 idle g5.48xlarge\n", "\"g5.48xlarge\""},
        Row{"NODELIST STATE AVAIL_FEATURES\nn1 idle rack7,h100\n", "\"h100\""},
        Row{"NODELIST STATE GRES\nn1 idle gpu:h100:8(S:0-1)\n", "\"gpu:h100:8\""}}) {
    INFO(row.table);
    const Diagnostic d = fault(row.table);
    CHECK(contains(d.problem,
                   std::string("its nodes are ") + row.named + ", which is not a machine of the catalogue"));
    CHECK(contains(d.fix, "p5.48xlarge"));
    CHECK(contains(d.fix, "hgx-h100-80gb"));
    CHECK_FALSE(contains(d.fix, "trn"));
  }
  const Diagnostic neuron = fault("NODELIST STATE AVAIL_FEATURES\nn1 idle trn9.48xlarge\n");
  CHECK(contains(neuron.fix, "trn2.48xlarge"));
  CHECK_FALSE(contains(neuron.fix, "p5"));
  const Diagnostic nothing = fault("NODELIST STATE AVAIL_FEATURES\nn1 idle a12,rack100\n");
  CHECK(contains(nothing.problem, "does not state the type of"));
  CHECK(contains(nothing.fix, "add instance: trn1.32xlarge next to it"));
}
