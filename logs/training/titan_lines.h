// Step lines of TorchTitan.
//
//   [rank0]:[titan] 2026-08-21 10:15:30,123 - root - INFO - step: 20  loss:  7.1234  grad_norm:  1.2345
//   memory: 45.10GiB(56.42%)  tps: 7,530  tflops: 436.05  mfu: 44.09%
//
// Sources: pytorch/torchtitan@b5bcd76 torchtitan/components/metrics.py and tools/logging.py; tag v0.2.2
// prints the same, and aws-neuron/torchtitan-neuron is derived from it. A line covers all steps since the
// previous line. `tps` are tokens a second of one device, and no line says how many tokens a step has, so the
// time of a step is that of the clock. Only the last stage of a pipeline knows the loss; the others print -1.
#pragma once

#include <string>

#include "logs/training/reserved_memory.h"
#include "logs/training/step_log.h"
#include "text/log_lines.h"

namespace trnplan::logs {

class TitanLines {
 public:
  static constexpr const char* kKind = "TorchTitan step";
  explicit TitanLines(const std::string& name);
  bool read(const LogLine& line, Samples& out);
  void finish(Samples& out);

 private:
  std::string name_;
  StepLog log_;
  ReservedMemory memory_;
};

}  // namespace trnplan::logs
