// Failures in the log of a Neuron job, found by the words of compiler, runtime and libfabric.
//
// Words: aws-neuron/aws-neuron-sdk@81ce03ae neuron-runtime/nrt-troubleshoot.rst, compiler/error-codes,
// neuron-runtime/explore/device-memory.rst, aws-neuron/aws-neuron-sdk@56dcc0f:neuron-runtime/nrt-api-guide.rst
// (numbers of NRT_*); issues aws-neuron-sdk/884, /1014, huggingface/optimum-neuron/424,
// /619, /761; aws-neuron-sdk/1030 (enc_parse_replica_groups); instructions: compiler/error-codes (EBVF030,
// EXTP004), issues aws-neuron-sdk/819, /987; rendezvous: pytorch/pytorch
// torch/distributed/elastic/rendezvous/api.py, torch/distributed (DistStoreError), pytorch/pytorch#82160;
// neuronx-cc's F134, F137 and F139: aws-neuron-sdk#1000, aws-neuron/nki-samples#24, and neuronx-cc's own
// messages; Slurm: SchedMD/slurm@002f280:src/slurmd/slurmstepd/req.c,
// SchedMD/slurm@0037a08:src/plugins/task/cgroup/task_cgroup_memory.c (its older "oom-kill event(s)"); GPUs:
// pytorch/pytorch@001074d:c10/cuda/CUDACachingAllocator.cpp,
// pytorch/pytorch@cf1380d:torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp; NaN:
// NVIDIA/Megatron-LM@00caa53:megatron/core/rerun_state_machine.py (validate_result). Well-known words without a source
// of ours: Xid lines of NVIDIA's kernel driver, CUDA's and NCCL's texts of errors, ChildFailedError and "Signal N" of
// torchrun, "Fatal Python error" and "[Errno 28]" of Python, the bus error of PyTorch's DataLoader, "Exited with exit
// code" and "Out Of Memory" of srun, "(core dumped)" of shells and srun, "Missed infer_status notification" of the
// Neuron runtime.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/diagnostic.h"
#include "text/log_lines.h"

namespace trnplan::logs {

enum class FailureKind {
  replica_group,      ///< enc_init_comm and the like: the runtime knows no path that connects a group
  compile_memory,     ///< XCG815, NCC_EOOM: one graph needs more than a core has
  device_memory,      ///< dmem_alloc, log_dev_mem, nrt_tensor_allocate: a core's memory is full
  execution_timeout,  ///< execution timeout, NRT_TIMEOUT, suspected hang in collectives
  network,            ///< EFA, libfabric, network proxy
  hardware,           ///< uncorrectable errors of memory, engines or DMA
  compile_failed,     ///< Total failed compilations above 0
  host_memory,        ///< the kernel or Slurm killed a process that used too much
  /// NCC_EBVF030, NCC_EXTP004, XTP002: a graph with more instructions than the compiler takes.
  instructions,
  import_error,   ///< a module, or a name in one, is missing, or was built for another version
  rendezvous,     ///< torchrun's processes do not find each other
  configuration,  ///< a training script refuses its options, its data or its degrees
  time_limit,     ///< the scheduler's time for the job was over
  node_failure,   ///< a node went down
  cancelled,      ///< ended through the scheduler by a person, or for a job of higher priority
  device_error,   ///< CUDA or Neuron refuses what a kernel did: an illegal access, a failed assertion
  storage,        ///< a file system is full
  not_finite,     ///< the framework stops because a value is NaN or infinite
  crashed,        ///< a signal ended a process
  lost_rank,      ///< a rank finds that another one has gone
  error,          ///< a process ended with an error that no other kind names
};
/// "replica-group", "compile-memory", ...
std::string_view to_string(FailureKind k);

/// All lines of one kind, as one failure.
struct Failure {
  FailureKind kind{};
  SourcePos at;      ///< the first line
  std::string text;  ///< of it, printable, shortened
  int count = 0;     ///< lines
  int last_line = 0;
  std::optional<double> gib;  ///< a graph's peak, or the memory in use when an allocation failed
  std::optional<double> tried_gib,
      limit_gib;                     ///< what was to be allocated, and what the device has, if stated
  std::optional<double> unused_gib;  ///< reserved by the allocator, in pieces that no tensor has
  bool cuda = false;                 ///< the memory is that of a CUDA device
  /// Instructions of the graph, or graphs that failed, and the most or the total of these; nullopt if not
  /// stated.
  std::optional<double> number, of;
  std::vector<int> devices;  ///< cores (nec_dev) that name themselves, ascending
  std::vector<int> group;    ///< ranks of the refused group if a line lists them, ascending
  int group_ranks = 0;       ///< the highest rank of a refused group that names itself, plus one; 0: none
};

/// Finds failures line by line, and holds no line. Processes that write over each other, as the runtime's do,
/// leave broken lines, so words are sought anywhere in a line. What other ranks report after a failure (a timeout, a
/// rank that has gone) follows from it, and is left out.
class FailureFinder {
 public:
  explicit FailureFinder(std::string name) : name_(std::move(name)) {}
  void read(const LogLine& line);
  /// A step was done on this line: what failed before is over.
  void step(int line);
  /// Failures in the order of their first lines; `cancelled` only if nothing else failed, `crashed` and `error` only
  /// if nothing says more about the end of the log, and `error` only if no two steps follow.
  std::vector<Failure> found() const;

 private:
  struct Collected {
    Failure failure;
    std::set<int> devices;
    bool follows = true;  ///< each of its lines follows from a failure before
    bool ended = false;   ///< the job was cancelled after it, before another step
  };
  static void collect(std::string_view line, Collected& c);
  std::optional<FailureKind> kind_at(const LogLine& line);
  bool ends_trace(const LogLine& line);
  bool is_explained(const Collected& one) const;

  std::string name_;
  std::map<std::string, std::size_t, std::less<>> traced_;  ///< ranks within a traceback, and its indentation
  int last_step_ = 0, step_before_ = 0;                     ///< their lines
  bool failed_ = false;                                     ///< a failure was seen since the last step
  std::optional<std::int64_t> graphs_;                      ///< number that neuron_parallel_compile counts
  std::map<FailureKind, Collected> kinds_;
};

/// Failures of a whole text.
std::vector<Failure> find_failures(std::string_view text, const std::string& name);

}  // namespace trnplan::logs
