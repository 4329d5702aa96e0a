// The job that a user asks for.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/architecture/architecture.h"
#include "models/job/learning.h"
#include "models/job/neuron_release.h"
#include "models/job/strategy.h"
#include "topology/instance.h"
#include "units/quantity.h"

namespace trnplan::models {

/// The settings that affect learning: the user's, never free variables of the search.
struct Training {
  int sequence = 0;      ///< tokens per sequence
  int global_batch = 0;  ///< sequences per optimizer step
  double tokens = 0;     ///< tokens of the whole run; 0 = not stated
  Precision precision = Precision::mixed_precision;
};

/// Software stack; "" = unknown, which makes the interval wider.
struct Software {
  std::string framework;  ///< nxdt, nxd, nemo-megatron
  std::string release;    ///< Neuron SDK release, "2.24"
  /// Requests that the runtime holds at a time (NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS); 0 = not stated.
  /// With two or more the host launches the next graph while one runs; further ones change no time.
  int in_flight = 0;
  // Settings that no prediction depends on.
  std::string version;  ///< of the framework, "1.4"
  /// True if queries, keys and values have one weight and one product, which is the case that is timed;
  /// checkpoints have that layout.
  bool fuse_qkv = true;
  /// Processes of a node that create weights on the host and move them to the device at the same time; 0 =
  /// not stated.
  int sequential_move = 0;
};

/// Behaviour of a software stack that models and checks need. The table is in models/job/stack.cpp.
struct StackTraits {
  std::string_view name;  ///< as Software::framework; "" = unknown: treated as NxDT
  /// True if softmax of plain attention is one kernel because the stack sets NEURON_FUSE_SOFTMAX=1.
  bool fuses_softmax = false;
  bool trains_encoders = false;  ///< and nothing else
  /// True if its published runs have dropout on attention probabilities that their tables do not state.
  bool drops_in_runs = false;
  /// Stack that has the same training loop, if profiles have factors for that loop under another name.
  std::string_view loop;
};
/// Traits of a stack. For a stack that is not in the table all are false.
const StackTraits& stack_named(std::string_view name);
inline const StackTraits& stack_of(const Software& s) {
  return stack_named(s.framework);
}

enum class Objective { step_time, cost, deadline };

/// Parts of the strategy that are fixed, by the job or by --strategy. Members are named as in
/// models/framework/strategy_keys.cpp.
struct Pin {
  std::optional<int> tensor_parallel, pipeline_parallel, virtual_pipeline, context_parallel, expert_parallel,
      expert_tensor_parallel, data_parallel, micro_batch, kv_replicator, shard_degree, bucket_mb;
  std::optional<bool> sequence_parallel, zero1, flash_attention;
  std::optional<Recompute> recompute;
  std::optional<Schedule> schedule;
  std::optional<Sharding> sharding;
  std::optional<Precision> precision;
  std::optional<std::vector<int>> pipeline_cuts;
  std::optional<std::string_view> framework;  ///< as Strategy::framework
};

/// An all-reduce that was measured alone on a cluster's nodes, as nccl-tests and nccom-test do.
struct MeasuredAllReduce {
  std::string instance;  ///< type of the nodes; it says nothing of another
  int nodes = 0;         ///< at least 2
  int ranks = 0;         ///< on all nodes together, equally many on each
  Bytes bytes{};         ///< of each rank
  /// Bus bandwidth, as both tools print it: bytes / time * 2 (ranks - 1) / ranks.
  BytesPerSecond bus{};
  double log_sd = 0;        ///< of this measurement against another in the same state of the network
  double per_doubling = 0;  ///< log-sd for each doubling from its nodes to those of a job
};

/// Choices besides the strategy that the user leaves to the planner ("any", a range or a list in the job).
struct SearchSpace {
  bool precision = false;                     ///< mixed_precision, autocast, bf16SR or fp32
  bool zero1 = false;                         ///< on or off
  int smallest_batch = 0, largest_batch = 0;  ///< global batch; 0 = as in Training
  int batch_per_node = 0;                     ///< global batch per node of a cluster; 0 = none
  std::vector<int> nodes;                     ///< empty = as in Cluster
  std::vector<topology::Instance> instances;  ///< empty = as in Cluster
};

struct Job {
  Architecture architecture;
  Training training;
  topology::Cluster cluster;
  std::optional<MeasuredAllReduce> all_reduce;  ///< on the cluster; absent: its network was not measured
  Software software;
  Objective objective = Objective::step_time;
  Seconds deadline{};  ///< of the whole run, for Objective::deadline
  double budget = 0;   ///< USD for the whole run; 0 = none
  Pin pin;
  SearchSpace space;
  Learning learning;
  RunFiles run;
  /// Releases in the catalogue, for folders that pin packages; nullptr: none.
  std::shared_ptr<const NeuronReleases> neuron_releases;
};

/// Micro-batches per data-parallel rank and step: GBS / (MBS * DP), truncated as NxDT does.
inline int micro_batches(const Training& t, const Strategy& s) {
  return static_cast<int>(t.global_batch / (static_cast<long long>(s.micro_batch) * s.data_parallel));
}

}  // namespace trnplan::models
