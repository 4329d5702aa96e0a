#include <filesystem>
#include <functional>

#include <fmt/format.h>

#include "api/rehearsal.h"
#include "api/simulate.h"
#include "io/catalog/catalog.h"
#include "io/input/strategy_text.h"
#include "io/output/atomic_write.h"
#include "io/trace/chakra.h"
#include "models/step/rank_trace.h"
#include "models/step/trace_size.h"
#include "targets/registry.h"
#include "text/diagnostic.h"
#include "topology/chip_graph.h"

namespace trnplan::api {

namespace {

/// Limit of a trace's nodes: a message's tag has 31 bits, and up to half of the tasks of a step may be no
/// nodes.
constexpr double kMostNodes = 1e9;

/// Prints what will be written, and refuses an output that has no room.
void announce(const ExportRequest& o, const models::Job& job, const models::Strategy& s,
              const models::StepModel& model, Remarks& remarks) {
  const models::TraceSize size = models::rank_trace_size(model);
  const std::int64_t m = models::micro_batches(job.training, s);
  const double nodes =
      static_cast<double>(size.fixed) + static_cast<double>(size.per_micro_batch) * static_cast<double>(m);
  const double bytes = nodes * io::kChakraBytesPerNode;
  const std::string what =
      fmt::format("{} micro-batches are {:.2f} million nodes on {} ranks, about {:.1f} GB", m, nodes / 1e6,
                  job.cluster.cores(), bytes / 1e9);
  const std::string fix = "export fewer micro-batches, with a smaller training.global_batch";
  if (nodes > kMostNodes)
    throw InputError({{o.job.job, 0, 0}, "training.global_batch", what + ": more than tags tell apart", fix});
  try {
    io::check_space(o.chakra, static_cast<std::uint64_t>(bytes));
  } catch (const InputError& e) {
    throw InputError({{o.job.job, 0, 0},
                      "training.global_batch",
                      what + "; " + e.faults().front().problem,
                      e.faults().front().fix + ", or " + fix});
  }
  constexpr double kWorthSaying = 1e8;  // bytes
  if (bytes >= kWorthSaying) remarks.add(what + "; writing to " + o.chakra);
}

std::string trace_name(int rank) {
  return fmt::format("trnplan.{}.et", rank);
}

/// Checks the output before any work.
void check_output(const ExportRequest& o, const models::Job& job) {
  std::vector<std::string> names{"comm_groups.json"};
  for (int rank = 0; rank < job.cluster.cores(); ++rank) names.push_back(trace_name(rank));
  rehearse_files(o.chakra, names, o.force);
}

void write_chakra(const ExportRequest& o, const models::StepModel& model, Remarks& remarks) {
  const models::RankTracer tracer(model);
  std::vector<io::OutputFile> files;
  std::uint64_t nodes = 0, bytes = 0;
  for (int rank = 0; rank < tracer.ranks(); ++rank) {
    files.push_back({.name = trace_name(rank), .text = {}});
    files.back().pieces = [&, rank](const std::function<void(std::string_view)>& write) {
      io::ChakraWriter writer([&](std::string_view piece) {
        bytes += piece.size();
        write(piece);
      });
      tracer.each_node(rank, [&](const models::RankTrace::Node& node) { writer.add(node); });
      nodes += writer.nodes();
    };
  }
  files.push_back({"comm_groups.json", io::comm_groups_json(tracer.groups())});
  io::write_files(o.chakra, files, o.force);
  const std::filesystem::path folder = o.chakra;
  remarks.add(fmt::format(
      "wrote {} to {}: {} nodes, {:.1f} MB, {} groups",
      tracer.ranks() == 1 ? "trnplan.0.et" : fmt::format("trnplan.0.et to trnplan.{}.et", tracer.ranks() - 1),
      o.chakra, nodes, static_cast<double>(bytes) / 1e6, tracer.groups().size()));
  remarks.add(fmt::format(
      "run ASTRA-sim with --workload-configuration={} --comm-group-configuration={} "
      "--system-configuration=SYSTEM.json --network-configuration=NETWORK.yml "
      "--remote-memory-configuration=MEMORY.json; {} NPUs, roofline-enabled 0, as durations are given",
      (folder / "trnplan").string(), (folder / "comm_groups.json").string(), tracer.ranks()));
}

}  // namespace

bool export_traces(const ExportRequest& r, Remarks& remarks) {
  const ResolvedJob resolved = resolve(r, {.one_strategy = true}, remarks);
  const models::Strategy strategy = io::strategy_there(r.strategy, resolved.job());
  const Prediction p = Predictor(resolved).predict(resolved.job(), strategy);
  const models::Job& job = p.job;
  const models::Profile& profile = *p.stack->profile;
  const planner::Judgement& judgement = p.judgement;
  check_output(r, job);
  remark_broken(judgement, remarks);
  if (judgement.plan) {
    const models::StepModel model(job, strategy, profile, topology::ChipGraph(job.cluster.instance));
    announce(r, job, strategy, model, remarks);
    write_chakra(r, model, remarks);
  } else {
    remarks.add("nothing was written: the strategy cannot be simulated");
  }
  return judgement.refused();
}

}  // namespace trnplan::api
