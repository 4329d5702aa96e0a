// The metrics that Hugging Face's Trainer prints at the end of a run.
//
//   ***** train metrics *****
//     train_runtime            = 0:04:14.32
//     train_samples_per_second =     94.369
//     train_steps_per_second   =      5.898
//
// or as {'train_runtime': 254.32, 'train_samples_per_second': 94.369, 'train_steps_per_second': 5.898, ...}.
//
// Source: huggingface/transformers:src/transformers/trainer_pt_utils.py (log_metrics), trainer_callback.py. A mean over
// the whole run, warm-up included; numbers are rounded to three decimals.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "logs/training/samples.h"
#include "text/log_lines.h"

namespace trnplan::logs {

/// The sample of these metrics, all of train_*; nullopt without steps per second above 0.
std::optional<StepSample> hf_sample(const std::map<std::string, double, std::less<>>& metrics,
                                    const SourcePos& at, int last_line);

class HfMetrics {
 public:
  static constexpr const char* kKind = "Trainer metrics line";
  explicit HfMetrics(std::string name) : name_(std::move(name)) {}
  bool read(const LogLine& line, Samples& out);
  /// Reads the metrics as a dict, which counts if the log states no step otherwise.
  bool read_dict(const LogLine& line);
  void finish(Samples& out);

 private:
  void finish_block(Samples& out);

  std::string name_;
  int start_ = 0, last_ = 0;  ///< lines; 0: not within a block
  int blocks_ = 0;            ///< with a sample
  std::string rank_;
  std::optional<StepSample> dict_;
  std::map<std::string, double, std::less<>> metrics_;
};

}  // namespace trnplan::logs
