// Progress bars of training: tqdm as PyTorch Lightning, NxDT and NeMo-Megatron on Neuron print it.
//
//   Epoch 0:   4%|##  | 4/91 [21:20<7:44:18, 320.22s/it, loss=3.35, global_step=3.000,
//   consumed_samples=4096.0]
//
// Grammar: tqdm/tqdm:tqdm/std.py (format_meter). The rate is a mean since the start, so it is not used: times
// are differences of the elapsed time, or iteration_time and train_step_timing if they are printed.
//
// The bar of Hugging Face's Trainer has no title, as bars of other things. It is of training in a log with the
// Trainer's {'loss': 2.99, ..., 'epoch': 0.01}, which it prints below the bar
// (huggingface/transformers:src/transformers/trainer_callback.py, ProgressCallback): the bar with the total of the
// one above the first of these, else below it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "logs/training/step_log.h"
#include "text/log_lines.h"

namespace trnplan::logs {

class ProgressBars {
 public:
  static constexpr const char* kKind = "progress-bar line";
  explicit ProgressBars(std::string name);
  /// Reads all bars in the line; false if there is none. The bar itself may be any bytes without '|'.
  bool read(const LogLine& line, Samples& out);
  /// Reads the Trainer's dict of a step, anywhere in the line; false if there is none.
  bool read_metrics(const LogLine& line, Samples& out);
  void finish(Samples& out);

 private:
  /// A bar that may be of training, or the last one that is.
  struct Held {
    std::int64_t epoch = 0, step = 0, total = 0;
    double clock = 0;
    int line = 0;
    std::string rank;
  };
  static StepRecord record_of(const Held& bar);
  bool is_of_trainer(const Held& bar);
  void count_other(std::string_view title, int line, int count);
  void read_fields(std::string_view fields, StepRecord& record);

  std::string name_;
  StepLog log_;
  std::set<std::string, std::less<>> keys_;  ///< those seen, of the keys that show the framework
  int other_bars_ = 0, first_other_ = 0;     ///< not of training
  std::string other_title_;
  std::vector<Held> held_;                     ///< bars without a title, while nothing shows what they are of
  std::optional<Held> last_;                   ///< bar of training
  std::optional<std::int64_t> trainer_total_;  ///< of the Trainer's bar
  bool trainer_ = false;                       ///< its dict was seen
};

}  // namespace trnplan::logs
