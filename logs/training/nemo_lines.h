// Step lines of NeMo 2.
//
//   Training epoch 0, iteration 0/999 | lr: 1.5e-06 | global_batch_size: 128 | global_step: 0 |
//   reduced_train_loss: 11.00 | train_step_timing in s: 9.012 | consumed_samples: 128
//
// Source: NVIDIA/NeMo@8e2ee3d:nemo/lightning/pytorch/callbacks/progress_printer.py. Values are means since the previous
// line, except global_step. It counts from 0, and so do the iteration and the last one; NVIDIA/NeMo@01f7dbc counts
// these two from 1.
#pragma once

#include <string>

#include "logs/training/step_log.h"
#include "text/log_lines.h"

namespace trnplan::logs {

class NemoLines {
 public:
  static constexpr const char* kKind = "NeMo 2 iteration";
  explicit NemoLines(const std::string& name);
  bool read(const LogLine& line, Samples& out);
  void finish(Samples& out) { log_.finish("", std::nullopt, out); }

 private:
  std::string name_;
  StepLog log_;
};

}  // namespace trnplan::logs
