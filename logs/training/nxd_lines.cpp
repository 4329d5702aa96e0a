#include "logs/training/nxd_lines.h"

#include <fmt/format.h>

#include <cmath>

#include "logs/training/fields.h"

namespace trnplan::logs {

namespace {

/// The norm after `word`; nullopt if it is not stated, or "None": the optimizer does not clip.
std::optional<double> norm_after(std::string_view line, std::string_view word) {
  Scan scan(line);
  if (!scan.past(word) || scan.take("None")) return std::nullopt;
  return scan.number().value_or(std::nan(""));
}

}  // namespace

NxdLines::NxdLines(const std::string& name)
    : name_(name),
      steps_({"NxD step lines", "step_time as printed", false}, name),
      logs_({"LOG lines", "", false}, name),
      bert_({"LOG lines", "", false}, name) {}

bool NxdLines::read_step(const LogLine& line, Samples& out) {
  for (Scan scan(line.text); scan.past("step ");) {
    Scan rest = scan;
    const auto step = rest.whole();
    if (!step) continue;
    if (rest.take("loss is ") || (line.text.find(" perf ") != std::string_view::npos &&
                                  line.text.find("seq/sec") != std::string_view::npos)) {
      if (rates_++ == 0) first_rate_ = line.number;
      return true;
    }
    if (!rest.take("step_time ")) continue;
    StepRecord record;
    record.rank = line.rank;
    record.step = *step;
    record.line = line.number;
    record.seconds = rest.number();
    if (!record.seconds || !rest.rest().starts_with('s')) {
      out.warnings.add({name_, line.number, 1}, "step_time",
                       line.cut ? "the file ends within the number; the line is left out"
                                : "not a number of seconds; the line is left out",
                       "give whole lines");
      return true;
    }
    Scan loss = rest;
    if (loss.past("loss ")) record.loss = loss.number().value_or(std::nan(""));
    record.gradient_norm = norm_after(rest.rest(), "grad norm ");
    if (rest.past("throughput ")) record.sequences_per_second = rest.number();
    steps_.add(record, out);
    return true;
  }
  return false;
}

bool NxdLines::read_log(const LogLine& line, Samples& out) {
  Scan scan(line.text);
  if (!scan.past("LOG ")) return false;
  const auto clock = asctime_seconds(scan);
  if (!clock || !scan.take("-") || !scan.take("(")) return false;
  const auto epoch = scan.whole();
  if (!epoch || !scan.take(",")) return false;
  const auto step = scan.whole();
  if (!step || !scan.take(")") || !scan.past("step_loss")) return false;
  StepRecord record;
  Scan loss = scan;
  if (loss.take(":")) record.loss = loss.number().value_or(std::nan(""));
  record.rank = line.rank;
  record.step = *step;  // counts through all epochs, as the clock does
  record.clock = clock;
  record.line = line.number;
  record.gradient_norm = norm_after(scan.rest(), "grad-norm :");
  if (scan.past("throughput :")) record.sequences_per_second = scan.number();
  // NxD's script names the unit, BERT's does not.
  (scan.take("seq/s") ? logs_ : bert_).add(record, out);
  return true;
}

/// Reads the text that BERT's script adds to results.json at the end of an epoch.
bool NxdLines::read_dict(const LogLine& line, Samples& out) {
  const std::size_t open = line.text.find('{');
  if (open == std::string_view::npos) return false;
  const std::string_view title = trimmed(line.text.substr(0, open)), dict = line.text.substr(open);
  if (!title.ends_with("Current data:") && !title.ends_with("Updating with data:")) return false;
  const auto steps = dict_number(dict, "steps"), minutes = dict_number(dict, "train_time_minutes");
  // Ratios of any other size are typing errors, or another script's words.
  if (!steps || !minutes || !(*steps >= 1) || *steps > 1e9 || !(*minutes > 1e-6) || *minutes > 1e7) {
    out.warnings.add({name_, line.number, 1}, "", "no steps and train_time_minutes; the line is left out",
                     "give the line as it was printed");
    return true;
  }
  StepSample s;
  s.at = {name_, line.number, 1};
  s.last_line = line.number;
  s.format = "end of epoch";
  s.basis = "train_time_minutes over steps: warm-up included";
  s.framework = "bert";
  s.seconds = *minutes * 60 / *steps;
  s.count = static_cast<int>(*steps);
  const auto within = [](std::optional<double> value) {
    return value && *value >= 1e-6 && *value < 1e9 ? value : std::nullopt;
  };
  s.sequence = within(dict_number(dict, "max_length"));
  s.sequences_per_second = within(dict_number(dict, "throughput_average"));
  const auto workers = dict_number(dict, "num_workers"), batch = dict_number(dict, "batch_size");
  const auto microsteps = dict_number(dict, "microsteps");
  if (workers && batch && microsteps) {
    s.global_batch = within(*workers * *batch * *microsteps / *steps);
  }
  out.steps.push_back(std::move(s));
  return true;
}

bool NxdLines::read(const LogLine& line, Samples& out) {
  return read_step(line, out) || read_log(line, out) || read_dict(line, out);
}

void NxdLines::finish(Samples& out) {
  steps_.finish("nxd", std::nullopt, out);
  logs_.finish("nxd", std::nullopt, out);
  bert_.finish("bert", std::nullopt, out);
  if (rates_ > 0) {
    out.warnings.add(
        {name_, first_rate_, 1}, "throughput",
        fmt::format("{} line{} a throughput but no step time", rates_, rates_ == 1 ? " states" : "s state"),
        "give the progress bar or the event file of the run as well");
  }
}

}  // namespace trnplan::logs
