#include "logs/training/nemo_lines.h"

#include <algorithm>
#include <cmath>

#include "logs/training/fields.h"
#include "logs/training/step_times.h"

namespace trnplan::logs {

namespace {

constexpr double kMostSteps = 1e9;

}  // namespace

NemoLines::NemoLines(const std::string& name)
    : name_(name), log_({"NeMo 2 iterations", "train_step_timing as printed", true}, name) {}

bool NemoLines::read(const LogLine& line, Samples& out) {
  Scan scan(line.text);
  if (!scan.past("Training epoch ")) return false;
  const auto epoch = scan.whole();
  if (!epoch || !scan.take(",") || !scan.take("iteration")) return false;
  const auto iteration = scan.whole();
  if (!iteration || !scan.take("/")) return false;
  const auto last = scan.whole();
  if (!last) return false;
  StepRecord record;
  record.rank = line.rank;
  record.line = line.number;
  std::optional<double> global_step;
  each_field(scan.rest(), [&](std::string_view key, std::string_view text) {
    const auto value = number_of(text);
    if (std::find(std::begin(kStepTimes), std::end(kStepTimes), key) != std::end(kStepTimes)) {
      record.seconds = value;
    } else if (key == "global_batch_size") {
      record.batch = value;
    } else if (key == "global_step") {
      global_step = value;
    } else if (key == "reduced_train_loss") {
      record.loss = value.value_or(std::nan(""));
    } else if (key == "grad_norm") {
      record.gradient_norm = value.value_or(std::nan(""));
    }
  });
  const bool sound = global_step && *global_step >= 0 && *global_step < kMostSteps;
  const bool from_zero = sound && static_cast<double>(*iteration) == *global_step;
  record.step = from_zero ? *iteration + 1 : *iteration;
  record.total = from_zero && static_cast<double>(*last) < kMostSteps ? *last + 1 : *last;
  if (*epoch > 0 && sound) {
    record.step = static_cast<std::int64_t>(*global_step) + 1;
    if (record.step > record.total) record.total = 0;  // that of one epoch: the run's is not stated
  }
  if (!record.seconds) {
    out.warnings.add({name_, line.number, 1}, "train_step_timing in s", "the line lacks it and is left out",
                     "log it: NeMo's TimingCallback adds it");
    return true;
  }
  log_.add(record, out);
  return true;
}

}  // namespace trnplan::logs
