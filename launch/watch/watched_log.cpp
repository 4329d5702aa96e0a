#include "launch/watch/watched_log.h"

#include "logs/nccl/torch_pickle.h"
#include "logs/profile/sqlite_tables.h"

namespace trnplan::launch {

namespace {

constexpr std::size_t kHead = 64;  ///< bytes that distinguish event files from logs

}  // namespace

void WatchedLog::feed(std::string_view bytes) {
  if (decided_) return read(bytes);
  head_.append(bytes);
  if (head_.size() >= logs::kRefusalHead) return decide();
  if (head_.size() >= kHead) logs::refuse_unread(head_, name_);
}

void WatchedLog::decide() {
  logs::refuse_unread(head_, name_);
  if (logs::is_sqlite(head_))
    throw InputError(
        {{name_, 0, 0}, "", "an SQLite database: a trace, not a log", "give it to trnplan calibrate"});
  if (logs::is_torch_pickle(head_))
    throw InputError(
        {{name_, 0, 0}, "", "a pickle of PyTorch: a dump, not a log", "give it to trnplan calibrate"});
  event_file_ = logs::is_event_file(head_);
  decided_ = true;
  const std::string head = std::move(head_);
  head_.clear();
  read(head);
}

void WatchedLog::read(std::string_view bytes) {
  if (event_file_) return events_.feed(bytes);
  lines_.feed(bytes, [&](const RawLine& line) { read_line(line); });
}

void WatchedLog::read_line(const RawLine& raw) {
  const LogLine& line = log_.read(raw, &run_);
  run_.read(line);
  failures_.step(run_.last_line());
  failures_.read(line);
}

LogReading WatchedLog::now() const {
  if (!decided_ && !head_.empty()) {
    WatchedLog whole = *this;
    whole.decide();
    return whole.now();
  }
  LogReading reading;
  if (event_file_) {
    RunLogReader run(name_);
    logs::Samples samples;
    samples.sink = &run;
    events_.finish(samples);
    logs::take_samples(std::move(samples), reading.content);
    reading.run = run.now(reading.content.steps);
    return reading;
  }
  WatchedLog whole = *this;
  whole.lines_.finish([&](const RawLine& line) { whole.read_line(line); });
  try {
    reading.content = whole.log_.finish();
  } catch (const InputError&) {
    reading.content = {};  // so far nothing but words of nccom-test
  }
  reading.run = whole.run_.now(reading.content.steps);
  reading.failures = whole.failures_.found();
  return reading;
}

LogReading read_whole(ByteStream& bytes, const std::string& name) {
  LogReading reading;
  RunLogReader run(name);
  reading.content = logs::detect(bytes, name, {}, &run);
  reading.run = run.now(reading.content.steps);
  return reading;
}

}  // namespace trnplan::launch
