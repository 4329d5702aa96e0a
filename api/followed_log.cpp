#include "api/followed_log.h"

#include <filesystem>
#include <vector>

#include <sys/stat.h>

#include "io/input/plan_file.h"
#include "launch/process/process.h"
#include "launch/watch/job_states.h"
#include "text/diagnostic.h"
#include "text/shell_words.h"

namespace trnplan::api {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kGzipHead = 3;  ///< bytes that is_gzip() looks at
constexpr std::size_t kStart = 4096;  ///< bytes at the start of a log that identify it

bool is_job_id(const std::string& target) {
  std::error_code none;
  return !target.empty() && target.find_first_not_of("0123456789_") == std::string::npos &&
         !fs::exists(target, none);
}

std::string field_of(const std::string& text, const std::string& key) {
  for (std::size_t at = text.find(key + "="); at != std::string::npos; at = text.find(key + "=", at + 1)) {
    if (at > 0 && text[at - 1] != ' ' && text[at - 1] != '\n') continue;
    const std::size_t from = at + key.size() + 1;
    // A path may contain blanks; it ends at the end of its line.
    const std::size_t end = text.find_first_of(key == "StdOut" ? "\n" : " \n", from);
    return text.substr(from, end - from);
  }
  return "";
}

}  // namespace

JobState ask_slurm(const std::string& id) {
  const auto ran = launch::run_program({"scontrol", "show", "job", id}, launch::kQuery);
  if (!ran.started) {
    throw InputError({{"command line", 0, 0},
                      id,
                      "there is no scontrol here that could look up this job",
                      "run this on the head node, or name the log file"});
  }
  if (ran.code != 0) {
    const bool unknown = ran.error.find("Invalid job id") != std::string::npos;
    throw InputError({{"command line", 0, 0},
                      id,
                      (unknown ? "Slurm does not know this job: " : "Slurm does not answer: ") +
                          printable(ran.error, launch::kSaid),
                      unknown ? "it may have ended long ago: name its log file"
                              : "check slurmctld, or name the log file"});
  }
  return {field_of(ran.output, "JobState"), field_of(ran.output, "StdOut")};
}

bool over(const std::string& state) {
  return launch::job_state(state).over;
}

/// A folder that plan --out wrote contains no log, only references for a log.
void refuse_folder(const std::string& target) {
  std::error_code none;
  if (!fs::is_directory(target, none)) return;
  const fs::path plan = fs::path(target) / io::kPlanFile;
  throw InputError({{target, 0, 0},
                    "",
                    "this is a folder, but a log was expected",
                    fs::exists(plan, none) ? "trnplan watch LOG --plan " + command_line({plan.string()}) +
                                                 ", where LOG is the output of the run"
                                           : std::string("name a file in it")});
}

Source source_of(const std::string& target) {
  refuse_folder(target);
  if (!is_job_id(target)) return {target, ""};
  return {ask_slurm(target).log, target};
}

/// A controller that restarts, or is busy, is no reason to stop watching. One that has forgotten the job is:
/// the job ended.
std::string state_after(const std::string& before, const std::string& job, Remarks& remarks) {
  try {
    return ask_slurm(job).state;
  } catch (const InputError& e) {
    if (before.empty()) throw;
    remarks.add(e.faults().front());
    return e.faults().front().problem.starts_with("Slurm does not know") ? std::string(launch::kForgotten)
                                                                         : before;
  }
}

// ---- a log that grows

FollowedLog::FollowedLog(Source source, Remarks& remarks, Reading reading)
    : source_(std::move(source)),
      remarks_(remarks),
      name_(source_.path == io::kStandardInput ? io::kStandardInputName : source_.path),
      reading_(reading) {
  begin();
}

void FollowedLog::begin() {
  unpacked_.reset();
  headed_.reset();
  stream_.reset();
  start_.clear();
  log_ = std::make_unique<launch::WatchedLog>(name_);
}

void FollowedLog::open() {
  stream_ = std::make_unique<io::LogStream>(source_.path);
  if (reading_ != Reading::once) return;
  if (stream_->rewindable()) {
    if (is_gzip(stream_->at_start(kStart))) unpacked_ = std::make_unique<GzipStream>(*stream_, name_);
    return;
  }
  std::string head;
  while (head.size() < kGzipHead && append_from(*stream_, head)) {
  }
  headed_ = std::make_unique<HeadedStream>(std::move(head), *stream_);
  if (is_gzip(headed_->head())) unpacked_ = std::make_unique<GzipStream>(*headed_, name_);
}

/// True if another file has the name now, or the file was truncated or rewritten.
bool FollowedLog::replaced() {
  struct stat now {
  }, open{};
  if (!stream_->rewindable() || ::fstat(stream_->descriptor(), &open) != 0) return false;
  if (::stat(source_.path.c_str(), &now) == 0 && (now.st_ino != open.st_ino || now.st_dev != open.st_dev))
    return true;
  if (static_cast<std::uint64_t>(open.st_size) < stream_->offset()) return true;
  return stream_->at_start(start_.size()) != start_;
}

bool FollowedLog::look() {
  std::error_code error;
  // A pending job has no log yet.
  if (!stream_ && !source_.job.empty() && !fs::exists(source_.path, error)) return false;
  bool changed = false;
  if (stream_ && source_.path != io::kStandardInput && replaced()) {
    remarks_.add(printable(name_) + " was cut or replaced; it is read again from its start");
    begin();
    changed = true;
  }
  if (!stream_) open();
  while (look_once()) changed = true;
  return changed;
}

bool FollowedLog::look_once() {
  if (!stream_) open();
  chunk_.clear();
  ByteStream& bytes = unpacked_ ? static_cast<ByteStream&>(*unpacked_)
                      : headed_ ? static_cast<ByteStream&>(*headed_)
                                : *stream_;
  if (!append_from(bytes, chunk_)) {
    if (unpacked_ && unpacked_->fault()) remarks_.add(*unpacked_->fault());
    return false;
  }
  if (start_.size() < kStart) start_ += chunk_.substr(0, kStart - start_.size());
  log_->feed(chunk_);
  return true;
}

launch::LogReading FollowedLog::now() const {
  launch::LogReading reading = log_->now();
  const std::size_t first = start_.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && (start_[first] == '{' || start_[first] == '[');
  if (!json || !stream_->rewindable() || reading.run.last > 0 || reading.run.mean) return reading;
  // A document written by a tool at once is no log.
  try {
    io::LogStream whole(source_.path);
    if (launch::LogReading other = launch::read_whole(whole, name_); !other.content.steps.empty())
      return other;
  } catch (const InputError&) {
    return reading;  // possibly incomplete
  }
  return reading;
}

std::string FollowedLog::sha256() const {
  return stream_ ? stream_->hash_so_far() : trnplan::sha256("");
}

}  // namespace trnplan::api
