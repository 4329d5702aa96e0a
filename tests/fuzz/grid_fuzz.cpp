// The grid of a sweep, next to the jobs that it may name.
#include "launch/sweep/sweep_files.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

namespace {

fuzz::InMemory files_of_grid() {
  const std::string job =
      "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 1024, tokens: 1T}\n"
      "cluster: {instance: trn1.32xlarge, nodes: 4}\n";
  return fuzz::InMemory({{"job.yaml", job}, {"j", job}, {"broken.yaml", "model: [\n"}});
}

}  // namespace

void fuzz::grid_target(const std::uint8_t* data, std::size_t size) {
  static fuzz::InMemory files = files_of_grid();
  files.put("grid.yaml", fuzz::text_of(data, size));
  fuzz::refusable([&] {
    const io::SweepGrid grid = io::read_sweep("grid.yaml", fuzz::catalog(), files);
    fuzz::ensure(!grid.points.empty() && grid.points.size() <= io::kMostSweepPoints, "a grid has points");
    fuzz::ensure(grid.tokens > 0, "a run has tokens");
    for (const io::SweepPoint& p : grid.points) {
      fuzz::ensure(p.nodes >= 1 && p.nodes <= topology::kMostNodes, "a point has nodes");
      fuzz::ensure(p.sequence >= 1 && p.global_batch >= 1, "a point has a sequence and a batch");
    }
  });
}
