#include "launch/submit/submit.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/format/schema_version.h"
#include "launch/submit/schedulers.h"
#include "text/document.h"

namespace trnplan::launch {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLock = "launch.lock";

/// Lock that allows one launch of a folder at a time. The system frees it when the process ends, for any
/// reason.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder) : path_(folder / kLock) {
    fd_ = ::open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0644);
    int fault = fd_ < 0 ? errno : EINTR;
    while (fault == EINTR) fault = ::flock(fd_, LOCK_EX) == 0 ? 0 : errno;
    if (fault != 0) {
      const std::string why = std::strerror(fault);
      if (fd_ >= 0) ::close(fd_);
      throw InputError({{path_.string(), 0, 0},
                        "",
                        "cannot be locked: " + why,
                        "put the folder on a file system that you may write to and that supports locks"});
    }
  }
  ~FolderLock() { ::close(fd_); }
  int descriptor() const { return fd_; }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  fs::path path_;
  int fd_ = -1;
};

bool is_sound(const SubmittedJob& j) {
  return is_plain_id(j.id) && (j.what == "compile" || j.what == "train");
}

std::vector<SubmittedJob> jobs_of(const Node* node) {
  std::vector<SubmittedJob> jobs;
  if (node == nullptr || !node->is_map()) return jobs;
  for (const Node::Entry& e : node->entries) jobs.push_back({e.key, e.value.scalar});
  return jobs;
}

Order order_of(const SubmitRequest& request) {
  return {request.folder, request.folder.path(), request.flavour};
}

}  // namespace

std::optional<Submission> submitted(const fs::path& folder) {
  const fs::path path = folder / kStateFile;
  if (!fs::exists(fs::symlink_status(path))) return std::nullopt;
  return submission_from(read_text(path), path.string());
}

Submission submission_from(const std::string& text, const std::string& name) {
  const Node root = parse_document(text, name);
  std::vector<Diagnostic> faults;
  MapReader map(root, "", faults);
  io::check_schema(map);
  if (!faults.empty()) throw InputError(std::move(faults));
  const Node *scheduler = root.find("scheduler"), *begun = root.find("begun");
  Submission s;
  s.jobs = jobs_of(root.find("jobs"));
  const Scheduler* known = scheduler == nullptr ? nullptr : find_scheduler(scheduler->scalar);
  bool sound =
      known != nullptr && known->keeps_record() && std::all_of(s.jobs.begin(), s.jobs.end(), is_sound);
  if (begun != nullptr) {
    const std::vector<SubmittedJob> one = jobs_of(begun);
    sound = sound && one.size() == 1 && is_sound(one[0]);
    if (sound) s.begun = one[0];
  }
  sound = sound && (!s.jobs.empty() || s.begun);
  sound = sound && std::all_of(s.jobs.begin(), s.jobs.end(),
                               [&](const SubmittedJob& j) { return known->is_job_id(j.id); });
  if (sound) s.scheduler = known->name();
  if (sound) return s;
  throw InputError({{name, 0, 0},
                    "",
                    "does not state what was submitted from here",
                    "look for the jobs with squeue, then remove this file"});
}

std::vector<std::vector<std::string>> commands(const SubmitRequest& request) {
  return request.scheduler.commands(order_of(request));
}

SubmitResult submit(const SubmitRequest& request, const Runner& runner) {
  const Order order = order_of(request);
  if (!request.scheduler.keeps_record()) return request.scheduler.submit(order, std::nullopt, -1, runner);
  const FolderLock lock(order.folder);
  const std::optional<Submission> before = submitted(order.folder);
  if (before && before->find("train") != nullptr) return {*before, true};
  return request.scheduler.submit(order, before, lock.descriptor(), runner);
}

}  // namespace trnplan::launch
