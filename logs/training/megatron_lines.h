// Iteration lines of Megatron-LM and its derivatives.
//
//   iteration 64/ 143051 | consumed samples: 65536 | elapsed time per iteration (ms): 7313.1 | global batch
//   size: 1024 | lm loss: 7.281250E+00 | throughput: 140.022 |
//
// Sources: aws-neuron/aws-neuron-parallelcluster-samples@54075e9f:examples/jobs (GPT-3 on trn1);
// bigscience-workshop/bigscience@9e64edec. The time is a mean over the iterations since the previous line;
// its unit, ms or s, is in the key. NVIDIA/Megatron-LM@86df799:megatron/training/training.py
// (training_log) puts the time of the line in front, leaves a loss that is not above 0 out, and counts the iterations
// since the previous line that had a NaN or were skipped. Its first line after a start is followed by the memory of
// each rank of DP 0, in MiB: NVIDIA/Megatron-LM@00caa53a:megatron/training/utils.py (report_memory). Before the first
// iteration it lists its arguments, "  micro_batch_size ....... 4", and the sizes of its groups, "using world size: 64,
// ...": NVIDIA/Megatron-LM@000c4ac2:megatron/training/arguments.py (_print_args, validate_args).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "logs/training/reserved_memory.h"
#include "logs/training/step_log.h"
#include "text/log_lines.h"

namespace trnplan::logs {

class MegatronLines {
 public:
  static constexpr const char* kKind = "Megatron iteration";
  explicit MegatronLines(const std::string& name);
  bool read(const LogLine& line, Samples& out);
  void finish(Samples& out);

 private:
  void note_memory(const LogLine& line);
  void note_arguments(const LogLine& line);

  std::string name_;
  /// Arguments of one start of the program.
  struct Arguments {
    int line = 0;
    StatedLayout layout;
    std::optional<std::int64_t> sequence, batch;
  };
  std::vector<Arguments> starts_;
  bool iterates_ = false;  ///< since the last start
  StepLog log_;
  ReservedMemory memory_;
};

}  // namespace trnplan::logs
