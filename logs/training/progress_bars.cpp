#include "logs/training/progress_bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "logs/training/fields.h"
#include "logs/training/step_times.h"

namespace trnplan::logs {

namespace {

/// Keys that distinguish frameworks; "thoughput_peak" is NeMo's spelling.
constexpr std::string_view kTelling[] = {"iteration_time", "thoughput_peak", "throughput_peak", "lr",
                                         "parameter_norm"};

constexpr std::size_t kMostHeld = 100'000;

/// A bar cut out of a line: TITLE: 4%|BAR| 4/91 [FIELDS].
struct Bar {
  std::string_view title;
  std::int64_t step = 0;
  std::int64_t total = 0;   ///< 0: "?"
  std::string_view fields;  ///< within the brackets
  bool closed = false;
  std::size_t end = 0;  ///< in the line
};

std::size_t digits_before(std::string_view text, std::size_t end) {
  std::size_t start = end;
  while (start > 0 && text[start - 1] >= '0' && text[start - 1] <= '9') --start;
  return start;
}

/// The bar with the bracket that opens at `open`; `from` is the end of the bar before it.
bool bar_at(std::string_view line, std::size_t from, std::size_t open, Bar& bar) {
  std::size_t end = open;
  while (end > from && line[end - 1] == ' ') --end;
  std::size_t total = end > from && line[end - 1] == '?' ? end - 1 : digits_before(line, end);
  if (total == end || total <= from || line[total - 1] != '/') return false;
  bar.total = whole_number_of(line.substr(total, end - total)).value_or(0);
  const std::size_t step = digits_before(line, total - 1);
  const auto done = whole_number_of(line.substr(step, total - 1 - step));
  if (!done) return false;
  bar.step = *done;
  std::size_t right = step;
  while (right > from && line[right - 1] == ' ') --right;
  if (right <= from + 1 || line[right - 1] != '|') return false;
  const std::size_t left = line.rfind('|', right - 2);
  if (left == std::string_view::npos || left < from) return false;
  // Without "4%" and the colon.
  std::string_view title = trimmed(line.substr(from, left - from));
  if (title.ends_with('%')) title = trimmed(title.substr(0, digits_before(title, title.size() - 1)));
  if (title.ends_with(':')) title.remove_suffix(1);
  bar.title = title;
  const std::size_t close = line.find(']', open);
  bar.closed = close != std::string_view::npos;
  bar.end = bar.closed ? close + 1 : line.size();
  bar.fields = line.substr(open + 1, (bar.closed ? close : line.size()) - open - 1);
  return true;
}

/// The epoch that a title names; 0 for "Training"; nullopt if it is no bar of training.
std::optional<std::int64_t> epoch_of(std::string_view title) {
  constexpr std::string_view kEpoch = "Epoch ";
  if (const auto at = title.rfind(kEpoch); at != std::string_view::npos) {
    return Scan(title.substr(at + kEpoch.size())).whole();
  }
  if (title.find("Training") != std::string_view::npos) return 0;
  return std::nullopt;
}

}  // namespace

ProgressBars::ProgressBars(std::string name)
    : name_(name), log_({"progress bar", "iteration time as printed", false}, std::move(name)) {}

void ProgressBars::read_fields(std::string_view fields, StepRecord& record) {
  for (std::size_t start = 0; start < fields.size();) {
    const std::size_t end = std::min(fields.find(',', start), fields.size());
    const std::string_view field = trimmed(fields.substr(start, end - start));
    start = end + 1;
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = field.substr(0, equals), value = field.substr(equals + 1);
    if (std::find(std::begin(kTelling), std::end(kTelling), key) != std::end(kTelling) &&
        !keys_.contains(key))
      keys_.emplace(key);
    if (std::find(std::begin(kStepTimes), std::end(kStepTimes), key) != std::end(kStepTimes)) {
      record.seconds = number_of(value);
    } else if (key == "v_num") {
      record.run = value;
    } else if (key == "global_step") {
      record.global_step = number_of(value);
    } else if (key == "consumed_samples" && value.find('e') == std::string_view::npos) {
      record.consumed = number_of(value);  // with an exponent its last digits are lost
    } else if (key == "throughput") {
      record.sequences_per_second = number_of(value);
    } else if (key == "gradient_norm") {
      record.gradient_norm = number_of(value).value_or(std::nan(""));
    } else if (key == "loss" || key == "reduced_train_loss") {
      record.loss = number_of(value).value_or(std::nan(""));
    }
  }
}

bool ProgressBars::read(const LogLine& line, Samples& out) {
  bool any = false;
  std::size_t from = 0;
  for (std::size_t open = line.text.find('['); open != std::string_view::npos;
       open = line.text.find('[', std::max(open + 1, from))) {
    Bar bar;
    if (!bar_at(line.text, from, open, bar)) continue;
    from = bar.end;
    any = true;
    const auto clock = clock_seconds(bar.fields.substr(0, bar.fields.find('<')));
    auto epoch = epoch_of(bar.title);
    const Held held{epoch.value_or(0), bar.step,    bar.total,
                    clock.value_or(0), line.number, std::string(line.rank)};
    if (!epoch && bar.title.empty() && is_of_trainer(held)) epoch = 0;
    if (!epoch) {
      if (!bar.title.empty()) count_other(bar.title, line.number, 1);
      continue;
    }
    if (!clock || bar.fields.find('<') == std::string_view::npos || (bar.total > 0 && bar.step > bar.total)) {
      out.warnings.add(
          {name_, line.number, static_cast<int>(open) + 1}, "",
          fmt::format("\"{}\": {}; the bar is left out", printable(bar.fields, 40),
                      clock && bar.step > bar.total ? "its step is beyond the last one" : "no elapsed time"),
          "give the bar as it was printed");
      continue;
    }
    StepRecord record = record_of(held);
    std::string_view fields = bar.fields;
    if (!bar.closed) {
      fields = fields.substr(0, std::min(fields.rfind(','), fields.size()));
      out.warnings.add({name_, line.number, static_cast<int>(open) + 1}, "",
                       "the bar ends within its brackets; its last value is left out", "give whole lines");
    }
    read_fields(fields, record);
    log_.add(record, out);
    last_ = held;
  }
  return read_metrics(line, out) || any;
}

StepRecord ProgressBars::record_of(const Held& bar) {
  StepRecord record;
  record.rank = bar.rank;
  record.epoch = bar.epoch;
  record.step = bar.step;
  record.clock = bar.clock;
  record.line = bar.line;
  record.total = bar.total;
  record.since_epoch = true;
  return record;
}

/// True for a bar without a title that is the Trainer's; what is not known yet is held.
bool ProgressBars::is_of_trainer(const Held& bar) {
  if (trainer_ && !trainer_total_) trainer_total_ = bar.total;
  if (trainer_total_) return bar.total == *trainer_total_;
  if (held_.size() < kMostHeld)
    held_.push_back(bar);
  else
    held_.back() = bar;  // the newest shows which are the Trainer's
  return false;
}

bool ProgressBars::read_metrics(const LogLine& line, Samples& out) {
  if (line.text.find("{'train_runtime': ") != std::string_view::npos)
    trainer_total_.reset();  // another run may follow
  const std::size_t at = line.text.find("{'loss': ");
  if (at == std::string_view::npos) return false;
  const std::string_view dict = line.text.substr(at);
  if (!dict_entry(dict, "epoch")) return false;
  trainer_ = true;
  if (!trainer_total_ && !held_.empty()) {
    trainer_total_ = held_.back().total;
    for (const Held& bar : held_) {
      if (bar.total != *trainer_total_) continue;
      log_.add(record_of(bar), out);
      last_ = bar;
    }
    held_.clear();
  }
  if (!last_) return true;
  StepRecord record = record_of(*last_);  // again, with what the dict says of it
  record.line = line.number;
  record.loss = dict_number(dict, "loss").value_or(std::nan(""));
  if (dict_entry(dict, "grad_norm"))
    record.gradient_norm = dict_number(dict, "grad_norm").value_or(std::nan(""));
  log_.add(record, out);
  return true;
}

void ProgressBars::count_other(std::string_view title, int line, int count) {
  if (other_bars_ == 0) {
    first_other_ = line;
    other_title_ = printable(title, 60);
  }
  other_bars_ += count;
}

void ProgressBars::finish(Samples& out) {
  if (!held_.empty()) count_other("", held_.front().line, static_cast<int>(held_.size()));
  const bool nemo = keys_.contains("iteration_time") || keys_.contains("thoughput_peak");
  const bool nxdt =
      keys_.contains("throughput_peak") || (keys_.contains("lr") && keys_.contains("parameter_norm"));
  log_.finish(nemo ? "nemo-megatron" : nxdt ? "nxdt" : trainer_ ? "huggingface" : "", std::nullopt, out);
  if (other_bars_ > 0) {
    out.warnings.add({name_, first_other_, 1}, "",
                     fmt::format("{} progress bar{} not known to be of training ({}{})", other_bars_,
                                 other_bars_ == 1 ? " is" : "s are",
                                 other_title_.empty() ? "without a title" : "\"" + other_title_ + "\"",
                                 other_bars_ == 1 ? "" : " first"),
                     other_title_.empty()
                         ? "nothing to do unless it was training; then give its bar a title, as tqdm(..., "
                           "desc=\"Training\"), or "
                           "the whole log of the Trainer, with its lines {'loss': ..., 'epoch': ...}"
                         : "nothing to do unless it was training");
  }
}

}  // namespace trnplan::logs
