#include "models/memory/host_memory.h"

#include <algorithm>

#include "models/memory/memory.h"

namespace trnplan::models {

namespace {

/// Weights and both moments are fp32 on the host, where XLA_DOWNCAST_BF16 has no effect.
constexpr double kWeightBytes = 4, kMomentBytes = 8;

double most_parameters(const Job& job, const Strategy& s) {
  double most = 0;
  for (int stage = 0; stage < s.pipeline_parallel; ++stage) {
    most = std::max(most, local_parameters(job.architecture, s, stage));
  }
  return most;
}

}  // namespace

Bytes checkpoint_bytes(const Job& job, const Strategy& s) {
  // Expert-parallel ranks hold experts of their own, and all else alike.
  Strategy together = s;
  together.expert_parallel = 1;
  together.expert_tensor_parallel = together.tensor_parallel;
  double parameters = 0;
  for (int stage = 0; stage < s.pipeline_parallel; ++stage) {
    parameters += local_parameters(job.architecture, together, stage);
  }
  return Bytes((kWeightBytes + kMomentBytes) * parameters * s.tensor_parallel);
}

HostMemory host_memory_of(const Job& job, const Strategy& s, CheckpointMode mode,
                          const HostFigures& figures) {
  const double ranks = job.cluster.instance.cores();
  const double replicas = static_cast<double>(s.data_parallel) * s.context_parallel;
  double staged = 0;
  if (!mode.xser) {  // every rank copies all its own data
    staged = most_parameters(job, s) * (kWeightBytes + kMomentBytes / (s.zero1 ? replicas : 1));
  } else {
    staged = kWeightBytes * largest_weight(job.architecture, s);
  }
  double processes = ranks;
  if (mode.asynchronous) {
    processes = 2 * ranks;
    staged = std::max(staged, checkpoint_bytes(job, s).value / job.cluster.cores());
  }
  HostMemory m;
  m.server = figures.server;
  m.processes = processes * figures.process;
  m.staged = Bytes(processes * staged);
  m.limit = job.cluster.instance.host_memory;
  return m;
}

}  // namespace trnplan::models
