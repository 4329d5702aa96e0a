#include "launch/sweep/sweep_files.h"

#include <algorithm>

#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

class Memory : public Files {
 public:
  explicit Memory(std::string grid) : grid_(std::move(grid)) {}
  bool has(const std::filesystem::path& path) const override { return path.extension() == ".yaml"; }
  std::string text(const std::filesystem::path& path) const override {
    if (path == "grid.yaml") return grid_;
    return "model: llama3-8b\ntraining: {sequence: 4096, global_batch: 512}\ncluster: {instance: "
           "trn1.32xlarge, "
           "nodes: 2}\n";
  }

 private:
  std::string grid_;
};

io::SweepGrid grid_of(const std::string& text) {
  return io::read_sweep("grid.yaml", test_catalog(), Memory(text));
}

std::size_t faults_of(const std::string& text) {
  return faults_in([&] { grid_of(text); }).size();
}

}  // namespace

TEST_CASE("a grid, the last list fastest, absent ones from the job", "[io]") {
  const io::SweepGrid grid = grid_of("job: job.yaml\ntokens: 1T\nnodes: [4, 8]\nglobal_batch: [256, 512]\n");
  REQUIRE(grid.points.size() == 4);
  CHECK(grid.points[0].nodes == 4);
  CHECK(grid.points[1].nodes == 4);
  CHECK(grid.points[1].global_batch == 512);
  CHECK(grid.points[2].nodes == 8);
  CHECK(grid.points[3].sequence == 4096);
  CHECK(grid.points[3].instance == "trn1.32xlarge");
  CHECK(grid.tokens == 1e12);
  CHECK(grid.text != grid_of("job: job.yaml\ntokens: 1T\nnodes: [4, 8]\nglobal_batch: [256]\n").text);
}

TEST_CASE("a grid of a model alone", "[io]") {
  const io::SweepGrid grid = grid_of("job: llama2-7b\ntokens: 1T\nnodes: [4, 8]\n");
  REQUIRE(grid.points.size() == 2);
  CHECK(grid.points[1].sequence == 4096);
  CHECK(grid.points[1].global_batch == 1024);
  CHECK(grid_of("job: gpt-neox-20b\ntokens: 1T\nsequence: [2048]\nglobal_batch: [256]\n").points.size() == 1);
  CHECK(faults_of("job: gpt-neox-20b\ntokens: 1T\n") == 2);
  CHECK(faults_of("job: lama3-8b\ntokens: 1T\n") == 1);
}

TEST_CASE("faults of a grid, all at once", "[io]") {
  CHECK(faults_of("job: job.yaml\ntokens: 1T\n") == 0);
  CHECK(faults_of("job: job.yaml\n") == 1);  // no tokens anywhere
  CHECK(faults_of("job: job.yaml\ntokens: 1T\nnodes: [0]\nsequence: [1, 1]\ninstances: [x]\nmore: 1\n") == 4);
  CHECK(faults_of("job: job.yaml\ntokens: 1T\nnodes: []\ninstances: []\n") == 2);
  CHECK(faults_of("tokens: 1T\n") == 1);
}

TEST_CASE("a table as CSV and as a database", "[io]") {
  io::SweepRow row;
  row.point = {"trn1.32xlarge", 2, 4096, 512};
  row.strategy = "TP 8, SP";
  row.step_seconds = 0.1;
  row.why = "a \"why\"";
  const std::string line = io::sweep_csv_row(row);
  CHECK(line == "0,trn1.32xlarge,2,4096,512,,\"TP 8, SP\",,0.1,,,,,,,,,,,,,,\"a \"\"why\"\"\"\n");
  const std::string header = io::sweep_csv_header();
  CHECK(std::count(header.begin(), header.end(), ',') == std::count(line.begin(), line.end(), ',') - 1);
  const std::string database = io::sweep_sqlite(header + line, "t.csv");
  CHECK(database.starts_with("SQLite format 3"));
  CHECK(database.find("a \"why\"") != std::string::npos);
  CHECK(database == io::sweep_sqlite(header + line, "t.csv"));
  CHECK(database != io::sweep_sqlite(header, "t.csv"));
  CHECK_THROWS_AS(io::sweep_sqlite(header + "1,2\n", "t.csv"), InputError);
}
