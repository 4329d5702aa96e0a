#include "launch/watch/remedies.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace trnplan::launch {

namespace {

/// Remedies by the words of a line; the first match counts.
struct Known {
  const char *words, *problem, *fix;
};

/// aws-neuron/neuronx-distributed@fbac349b examples/training/llama (its scripts import modules from the
/// folder above).
constexpr Known kImports[] = {
    {"'modeling_llama_nxd'", "the script was started without the folder above it",
     "put examples/training/llama on PYTHONPATH, as the scripts of plan --out do"},
    {"'training_utils'", "the script was started without the folder above it",
     "put examples/training/llama on PYTHONPATH, as the scripts of plan --out do"},
    {"'lr'", "the script was started without the folder above it",
     "put examples/training/llama on PYTHONPATH, as the scripts of plan --out do"},
    {"cannot import name 'AdamW' from 'transformers'",
     "transformers is newer than 4.48, the last that has AdamW",
     "pip install 'transformers<4.49' into the environment of every node"},
    {"undefined symbol", "torch and torch-xla are of different versions",
     "install torch, torch-xla and torch-neuronx of one release of the Neuron SDK on every node"},
};

constexpr Known kRendezvous[] = {
    {"RendezvousClosedError",
     "a torchrun joined a rendezvous that had ended: another run, perhaps compiling, had used its id",
     "give every torchrun its own id (--rdzv_id), or use the static rendezvous of a PyTorchJob with a "
     "Master; compile and train in jobs with different names"},
    {"RendezvousTimeoutError", "not all nodes joined within the time limit",
     "look for the node that did not start; let the security group's members reach each other; raise the "
     "limit (--rdzv_conf timeout=1800) if images take long to load"},
    {"DistStoreError", "not all nodes joined within the time limit",
     "look for the node that did not start; let the security group's members reach each other; raise the "
     "limit (--rdzv_conf timeout=1800) if images take long to load"},
    {"", "a node cannot reach the rendezvous",
     "check its address and port, that the first node runs, and that the security group admits its own "
     "members"},
};

// Numbers and words of the Neuron runtime, and what AWS says of them: aws-neuron/aws-neuron-sdk@81ce03ae
// neuron-runtime/nrt-troubleshoot.rst, aws-neuron/aws-neuron-sdk@56dcc0f:neuron-runtime/nrt-api-guide.rst.

/// Messages of the scripts of NxD, NeMo-Megatron and BERT when they start:
/// aws-neuron/neuronx-distributed@fbac349b, aws-neuron/neuronx-nemo-megatron@f4743ce,
/// aws-neuron/aws-neuron-samples torch-neuronx/training.
constexpr const char* kNeuronDriver = "the Neuron driver is missing on a node, or older than the runtime";
constexpr const char* kInstallDriver = "install aws-neuronx-dkms of the runtime's Neuron SDK on every node";
constexpr Known kConfigurations[] = {
    {"NeuronCore(s) not available", "another process holds the NeuronCores that this one asks for",
     "end the process that neuron-ls shows on them, then start again"},
    {"Neuron Driver version", kNeuronDriver, kInstallDriver},
    {"failed programming the engine", kNeuronDriver, kInstallDriver},
    {"Unsupported hardware operator code",
     "the Neuron runtime is older than the compiler that made the graph",
     "upgrade aws-neuronx-runtime-lib and aws-neuronx-collectives on every node"},
    {"error: unrecognized arguments", "the script does not know this option and does not start",
     "write the job's folder again with trnplan plan --out, or use the release it was written for"},
    {"'tuple' object has no attribute 'backward'", "run_llama_nxd.py was started with one pipeline stage",
     "use tp_zero1_llama_hf_pretrain.py for PP 1"},
    {"ZeRO-1 optimizer is not enabled, while `use_master_weights` is True", "master weights need ZeRO-1 here",
     "add --use_zero_1, or --use_gpu_compatible_precision 0"},
    {"Context parallelism is not supported with flash attention", "CP above 1 with flash attention",
     "turn flash attention off (--use_flash_attention 0)"},
    {"initial learning rate that was lower than the minimum learning rate",
     "the learning rate is below its minimum", "set the minimum to the learning rate or below"},
    {"ERROR: Data directory", "the data is missing on this node",
     "tokenise it first, and keep it on a file system that every node mounts"},
    {"no checkpoint under directory", "there is no checkpoint to load",
     "load latest_if_exists, which starts from scratch without one"},
    {"is not in struct", "the configuration that is overridden lacks this key",
     "write the override with a + in front"},
    {"Could not override", "the configuration that is overridden lacks this key",
     "write the override with a + in front"},
    {"When pipeline_model_parallel_size:",
     "NeMo-Megatron takes PP above 1 only with DP 1 or DP x TP of 32 and more",
     "choose another number of nodes, or other degrees"},
    {"Please ensure there are at least", "fewer files of data than workers",
     "use fewer workers, or the whole data set"},
    {"HFValidationError", "the tokenizer's files are not where the script looks for them",
     "run it in their folder, or state that folder"},
    {"Loading a dataset cached in a LocalFileSystem is not supported", "the package datasets is too old",
     "upgrade it on every node"},
    {"Lock error: Matplotlib", "many nodes build matplotlib's font cache at the same time",
     "build it once before (python -c 'import matplotlib.font_manager')"},
};

/// NEURON_PARALLEL_COMPILE_MAX_RETRIES: aws-neuron/aws-neuron-sdk@27461f5:frameworks/torch/torch-neuronx/
/// api-reference-guide/training/pytorch-neuron-parallel-compile.rst.
constexpr Known kHostMemory[] = {
    {"neuronx-cc was forcibly killed",
     "the host ran out of memory while neuronx-cc compiled: every graph that is compiled at the same time "
     "takes memory",
     "export NEURON_PARALLEL_COMPILE_MAX_RETRIES=1, which compiles it again when fewer graphs are left; or "
     "compile on a host with more memory, or make the graphs smaller: raise TP or PP, or use a smaller "
     "micro-batch"},
    {"killed by signal: Bus error", "a worker that loads data ran out of shared memory (/dev/shm)",
     "give the container more (docker run --shm-size, or an emptyDir with medium: Memory), or load with "
     "fewer "
     "workers"},
};

constexpr const char* kNotifications = "notifications of DMA were dropped, and the execution timed out";
constexpr const char* kNoNotifications = "export NEURON_RT_ENABLE_DGE_NOTIFICATIONS=0 on every node";
constexpr Known kTimeouts[] = {
    {"NRT_EXEC_SW_NQ_OVERFLOW", kNotifications, kNoNotifications},
    {"completed with err: 1204", kNotifications, kNoNotifications},
    {"Watchdog caught collective operation timeout",
     "a collective did not end within NCCL's time limit: a rank hangs, has died, or is far behind",
     "look for the rank that did not reach the collective, and take its node out; the job goes on from the "
     "last checkpoint"},
};

constexpr Known kNetworks[] = {
    {"NET/IB", "a peer did not answer over InfiniBand: its link went down, or its process ended",
     "look for the first error of the ranks on that peer; if there is none, check its ports (ibv_devinfo) "
     "and "
     "cables, and take the node out"},
};

constexpr const char* kReplaceNode =
    "drain the node and replace it; the job goes on from the last checkpoint";
constexpr Known kHardware[] = {
    {"fallen off the bus", "a GPU is no longer reachable over PCIe", kReplaceNode},
    {"NVRM: Xid", "a GPU or its links report an error that cannot be corrected", kReplaceNode},
    {"ECC", "the memory of a GPU reports an error that cannot be corrected", kReplaceNode},
};

constexpr const char* kOutOfBounds = "a graph reads or writes outside a tensor: an index is too large";
constexpr const char* kCheckIndices =
    "compare the tokenizer and the data with the model's vocabulary and sequence";
constexpr const char* kFirstOfRuntime =
    "look for the first error of the runtime (NRT, TDRV) above the line, on every rank; if it is always the "
    "same device, take its node out";
constexpr Known kDeviceErrors[] = {
    {"out-of-bound", kOutOfBounds, kCheckIndices},
    {"NRT_EXEC_OOB", kOutOfBounds, kCheckIndices},
    {"completed with err: 1006", kOutOfBounds, kCheckIndices},
    {"NRT_EXEC_COMPLETED_WITH_ERR", "a Neuron device ended a graph with an error", kFirstOfRuntime},
    {"completed with err: ", "a Neuron device ended a graph with an error", kFirstOfRuntime},
    {"illegal memory access", "a kernel read or wrote outside its memory: a bug, rarely a faulty GPU",
     "run it once with CUDA_LAUNCH_BLOCKING=1, which shows the operator; if it is always the same GPU, look "
     "for "
     "its Xid in dmesg, and take the node out"},
    {"device-side assert", "a check within a kernel failed, as of an index: a token beyond the vocabulary",
     "run it once with CUDA_LAUNCH_BLOCKING=1, which shows the operator; compare the tokenizer with the "
     "model's "
     "vocabulary"},
};

constexpr Known kCrashes[] = {
    {"itcode: -9)",
     "a process was killed (SIGKILL): mostly by the kernel, because the host was out of memory", ""},
    {"exitcode  : -9",
     "a process was killed (SIGKILL): mostly by the kernel, because the host was out of memory", ""},
};

/// Errors of Python, torchrun and srun that say nothing of training.
constexpr Known kErrors[] = {
    {"AssertionError", "the script refuses its options, its data or its degrees",
     "mend what the line names; the traceback above it says where it is checked"},
    {"FileNotFoundError", "a file is missing on this node",
     "correct the path, and keep the file on a file system that every node mounts"},
    {"PermissionError", "a file may not be read or written",
     "correct its owner or mode, or name another path"},
    {"KeyboardInterrupt", "somebody or something interrupted the process",
     "submit it again: it goes on from the last checkpoint"},
    {"DistBackendError", "a collective of NCCL failed",
     "the lines below it say how (Last error); look for the first error of the other ranks too"},
    {"ChildFailedError", "a rank failed, and the log does not say why",
     "torchrun lists the ranks below this line: look at the output of the first that failed"},
    {"Exited with exit code", "a task of the job failed, and the log does not say why", kLookAtRanks},
};

constexpr Known kCancelled[] = {
    {"DUE TO PREEMPTION", "a job of higher priority took the nodes",
     "submit it again: it goes on from the last checkpoint; jobs in a reservation or another partition are "
     "not preempted"},
};

constexpr Known kNodes[] = {
    {"UNCORRECTABLE MEMORY ERROR", "the memory of a node reports errors that cannot be corrected",
     "drain the node and replace it; the job goes on from the last checkpoint"},
};

template <class Table>
Remedy known(const Table& table, const std::string& text, const char* problem, std::string fix) {
  for (const Known& k : table) {
    if (text.find(k.words) != std::string::npos) return {k.problem, k.fix};
  }
  return {problem, std::move(fix)};
}

/// Against a host without memory.
std::string more_memory(const RunSetting& setting) {
  const std::string_view own = setting.advice().host_memory;
  return fmt::format(
      "{}, or use nodes with more memory",
      own.empty() ? "load data with fewer workers, let fewer ranks write a checkpoint at a time" : own);
}

Remedy crash(const logs::Failure& f, const RunSetting& setting) {
  Remedy remedy =
      known(kCrashes, f.text, "a process crashed in compiled code",
            "the stack that Python prints below the line says where; libraries or a driver that do not "
            "fit together are a usual cause");
  if (remedy.fix.empty()) remedy.fix = "dmesg of the node shows whether it was; " + more_memory(setting);
  return remedy;
}

Remedy failed_graphs(const logs::Failure& f) {
  if (f.text.find("terminated abnormally") != std::string::npos) {
    return {"neuronx-cc crashed: a bug in the compiler, not in the configuration",
            "look for the first error in the log-neuron-cc.txt that it names; another SDK release, or other "
            "graphs (another TP, PP or micro-batch), may work; report it to aws-neuron/aws-neuron-sdk"};
  }
  std::string problem = "not every graph compiled";
  if (f.number && f.of) {
    problem = fmt::format("{:.0f} of {:.0f} graphs did not compile", *f.number, *f.of);
  } else if (f.number) {
    problem = fmt::format("{:.0f} graph{} did not compile", *f.number, *f.number == 1 ? "" : "s");
  }
  return {
      problem,
      "look for the first error of neuronx-cc in the log, or in the graph's own log in the compile cache; "
      "training would compile the graph again and fail"};
}

}  // namespace

Remedy remedy_of(const logs::Failure& f, const RunSetting& setting) {
  switch (f.kind) {
    case logs::FailureKind::execution_timeout:
      return known(
          kTimeouts, f.text,
          "a graph did not end within its time limit: a node hangs or is slow, or the limit is "
          "shorter than one graph takes",
          fmt::format("look for the first rank that stopped and take its node out; if no rank stopped, {}",
                      setting.advice().time_limit.empty() ? "raise the limit of the Neuron runtime"
                                                          : setting.advice().time_limit));
    case logs::FailureKind::network:
      return known(kNetworks, f.text, "EFA does not work between nodes",
                   "check with fi_info -p efa that every node has all its EFA devices, and that the security "
                   "group admits traffic between its own members");
    case logs::FailureKind::hardware:
      return known(kHardware, f.text, "a Neuron device reports an error that cannot be corrected",
                   kReplaceNode);
    case logs::FailureKind::compile_failed:
      return failed_graphs(f);
    case logs::FailureKind::host_memory:
      return known(kHostMemory, f.text, "a host ran out of memory", more_memory(setting));
    case logs::FailureKind::import_error:
      return known(kImports, f.text, "a Python module is missing in this environment",
                   "activate the environment with the framework on every node, and install the module that "
                   "the line names");
    case logs::FailureKind::rendezvous:
      return known(kRendezvous, f.text, "", "");
    case logs::FailureKind::configuration:
      return known(kConfigurations, f.text, "the script refuses its configuration",
                   "fix what the line names");
    case logs::FailureKind::time_limit:
      return {"the job reached the scheduler's time limit",
              "submit it again with a longer limit (sbatch --time): it goes on from the last checkpoint"};
    case logs::FailureKind::node_failure:
      return known(
          kNodes, f.text, "a node went down",
          "submit it again without the node (sbatch --exclude): the job goes on from the last checkpoint; "
          "slurmctld's log says what happened to the node");
    case logs::FailureKind::cancelled:
      return known(kCancelled, f.text, "somebody or something ended the job through the scheduler",
                   "submit it again: it goes on from the last checkpoint; sacct says who ended it");
    case logs::FailureKind::device_error:
      return known(
          kDeviceErrors, f.text, "CUDA reports that a kernel failed",
          "look for an Xid in dmesg of the node: if there is one, take it out; else run it once with "
          "CUDA_LAUNCH_BLOCKING=1, which shows the operator");
    case logs::FailureKind::storage:
      return {"a file system is full",
              "free space, or keep fewer checkpoints; one that was being written is incomplete: go on from "
              "the one "
              "before"};
    case logs::FailureKind::not_finite:
      return {fmt::format("a value is not a finite number, and the run stopped: {}", kNotFiniteCause),
              fmt::format("{}; if it is always the same device, look for a fault of it", kNotFiniteFix)};
    case logs::FailureKind::crashed:
      return crash(f, setting);
    case logs::FailureKind::lost_rank:
      return {"the process of another rank ended, or the network between them failed",
              "look for the first error in the output of every rank; if there is none, for a node that went "
              "down or a "
              "link that failed"};
    case logs::FailureKind::error:
      return known(kErrors, f.text, "a process ended with this error, and no step follows",
                   "the traceback above the line says where; mend what it names");
    case logs::FailureKind::replica_group:
    case logs::FailureKind::compile_memory:
    case logs::FailureKind::device_memory:
    case logs::FailureKind::instructions:
      break;
  }
  return {};
}

}  // namespace trnplan::launch
