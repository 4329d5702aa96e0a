// Host memory of a node that trains and writes checkpoints.
//
//   bytes = runtime server + processes * (process + staged), with one process per core
//   staged  save_xser: one weight at a time in fp32. Otherwise the whole state of the rank: fp32 weights and
//           Adam moments
//   async   a forked saver per process: twice the processes, and each holds the rank's share of the
//   checkpoint
// Source: aws-neuron/neuronx-distributed-training docs/general/known_issues.rst, Llama-2 70B at TP 32 on 32
// nodes: 32 x 5 GB + about 110 GB = 270 GB; asynchronous 64 x 5.8 GB + 110 GB = 482 GB. This model reads the
// difference of 0.8 GB as the checkpoint divided by all cores: 12 x 69e9 / 1024 bytes.
// Not modelled: the data loader (the local batch of a step waits on the host), caches of the file system, the
// compiler, initialisation on the CPU.
#pragma once

#include "models/job/job.h"
#include "units/quantity.h"

namespace trnplan::models {

struct CheckpointMode {
  bool xser = true;           ///< exp_manager.save_xser: one tensor at a time per rank
  bool asynchronous = false;  ///< exp_manager.async_checkpointing
};

/// Published numbers of one job, the one above; for other models and process counts they are extrapolated.
struct HostFigures {
  Bytes process{5e9};
  Bytes server{110e9};
};

struct HostMemory {
  Bytes server{}, processes{}, staged{};
  Bytes limit{};  ///< of a node; 0 = unknown

  Bytes peak() const { return server + processes + staged; }
  bool fits() const { return limit.value <= 0 || peak() <= limit; }
};

/// Bytes that a node needs on the host while a checkpoint is written. The mean over nodes, as published: only
/// ranks with data-parallel index 0 write weights. Requires: a strategy that passes the divisibility rules.
HostMemory host_memory_of(const Job& job, const Strategy& s, CheckpointMode mode = {},
                          const HostFigures& figures = {});

/// Bytes of a checkpoint: fp32 weights and Adam moments of every stage, without master weights, which NxDT
/// leaves out unless use_master_weights_in_ckpt is set.
Bytes checkpoint_bytes(const Job& job, const Strategy& s);

}  // namespace trnplan::models
