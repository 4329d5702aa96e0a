// Lines that the training scripts of NxD print, and those of BERT's script.
//
//   step 2 step_time 243.861s throughput 3.98 seq/s loss 13.41 grad norm 1.97
//   LOG Thu Sep 29 22:30:10 2022 - (0, 78) step_loss : 9.1875  learning_rate : 1.56e-05  throughput : 2873.14
//   LOG ... throughput : 10.9 seq/s grad-norm : 1.42
//   Current data: {'num_workers': 32, 'steps': 5, 'train_time_minutes': 0.7424, ...}
//
// Sources: aws-samples/awsome-distributed-training@7217859f:
// 3.test_cases/pytorch/neuronx-distributed/llama3/slurm/README.md; aws-neuron/aws-neuron-sdk@81ce03ae:
// archive/nxd-training/bert.rst. step_time is that step alone; the throughput is a mean of 10 steps with the
// time between them.
#pragma once

#include <string>

#include "logs/training/step_log.h"
#include "text/log_lines.h"

namespace trnplan::logs {

class NxdLines {
 public:
  static constexpr const char* kKind = "NxD line";
  explicit NxdLines(const std::string& name);
  /// Reads a line; false if it is none of these. Lines with a throughput but no time are counted.
  bool read(const LogLine& line, Samples& out);
  void finish(Samples& out);

 private:
  bool read_step(const LogLine& line, Samples& out);
  bool read_log(const LogLine& line, Samples& out);
  bool read_dict(const LogLine& line, Samples& out);

  std::string name_;
  StepLog steps_, logs_, bert_;
  int rates_ = 0, first_rate_ = 0;  ///< lines with a throughput only
};

}  // namespace trnplan::logs
