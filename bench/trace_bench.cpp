// Rank traces as Chakra files, without the disk.
#include <benchmark/benchmark.h>

#include "io/catalog/catalog.h"
#include "io/input/strategy_text.h"
#include "io/trace/chakra.h"
#include "models/step/rank_trace.h"
#include "topology/chip_graph.h"

namespace {

using namespace trnplan;

/// All ranks of a step of Llama-3 8B on a node, of the global batch that is the argument.
void chakra(benchmark::State& state) {
  const io::Catalog catalog(TRNPLAN_SOURCE_DIR "/catalog");
  models::Job job;
  job.architecture = catalog.architecture("llama3-8b");
  job.cluster = {catalog.instance("trn1.32xlarge"), 1};
  job.training = {8192, static_cast<int>(state.range(0)), 0, models::Precision::mixed_precision};
  const models::StepModel model(job, io::parse_strategy("tp=8,dp=4,recompute=CoreAttention+LlamaMLP", job),
                                catalog.profile("trn1-datasheet"), topology::ChipGraph(job.cluster.instance));
  std::uint64_t nodes = 0, bytes = 0;
  for (auto _ : state) {
    const models::RankTracer tracer(model);
    for (int rank = 0; rank < tracer.ranks(); ++rank) {
      io::ChakraWriter writer([&](std::string_view piece) { bytes += piece.size(); });
      tracer.each_node(rank, [&](const models::RankTrace::Node& node) { writer.add(node); });
      nodes += writer.nodes();
    }
  }
  state.counters["nodes/s"] = benchmark::Counter(static_cast<double>(nodes), benchmark::Counter::kIsRate);
  state.counters["bytes/node"] = static_cast<double>(bytes) / static_cast<double>(nodes);
}
BENCHMARK(chakra)->Arg(16)->Arg(64)->Unit(benchmark::kMillisecond);

}  // namespace
