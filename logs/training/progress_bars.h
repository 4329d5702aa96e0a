// Progress bars of training: tqdm as PyTorch Lightning, NxDT and NeMo-Megatron on Neuron print it.
//
//   Epoch 0:   4%|##  | 4/91 [21:20<7:44:18, 320.22s/it, loss=3.35, global_step=3.000,
//   consumed_samples=4096.0]
//
// Grammar: tqdm/tqdm:tqdm/std.py (format_meter). The rate is a mean since the start, so it is not used: times
// are differences of the elapsed time, or iteration_time and train_step_timing if they are printed.
#pragma once

#include <set>
#include <string>

#include "logs/training/step_log.h"
#include "text/log_lines.h"

namespace trnplan::logs {

class ProgressBars {
 public:
  static constexpr const char* kKind = "progress-bar line";
  explicit ProgressBars(std::string name);
  /// Reads all bars in the line; false if there is none. The bar itself may be any bytes without '|'.
  bool read(const LogLine& line, Samples& out);
  void finish(Samples& out);

 private:
  void read_fields(std::string_view fields, StepRecord& record, const LogLine& line, Samples& out);

  std::string name_;
  StepLog log_;
  std::set<std::string, std::less<>> keys_;  ///< those seen, of the keys that show the framework
  int other_bars_ = 0, first_other_ = 0;     ///< not of training
  std::string other_title_;
  bool loss_lost_ = false;
};

}  // namespace trnplan::logs
