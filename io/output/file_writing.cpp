#include "io/output/file_writing.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string>

#include "text/diagnostic.h"

namespace trnplan::io {

namespace {

namespace fs = std::filesystem;

constexpr std::array kSignals = {SIGINT,  SIGTERM, SIGHUP,    SIGQUIT, SIGUSR1, SIGUSR2,
                                 SIGALRM, SIGXCPU, SIGVTALRM, SIGPROF, SIGXFSZ};

std::string fix_for(int code) {
  switch (code) {
    case EACCES:
    case EPERM:
      return "choose a folder you may write to";
    case EROFS:
      return "choose a folder on a writable file system";
    case ENOSPC:
    case EDQUOT:
      return "free some space, or choose a folder on another disk";
    case ENOTDIR:
    case EEXIST:
      return "choose a path that goes through folders only";
    case ENAMETOOLONG:
      return "choose a shorter name";
    default:
      return "check the path and its file system, or choose another folder";
  }
}

}  // namespace

void refuse_path(const fs::path& path, const char* what, int code) {
  throw InputError(
      Diagnostic{{path.string()}, "", std::string(what) + ": " + std::strerror(code), fix_for(code)});
}

SignalHold::SignalHold() {
  sigemptyset(&held_);
  for (const int signal : kSignals) sigaddset(&held_, signal);
  ::pthread_sigmask(SIG_BLOCK, &held_, &before_);
}

SignalHold::~SignalHold() {
  // A file that grew too large is reported like any other fault.
  sigset_t too_large;
  sigemptyset(&too_large);
  sigaddset(&too_large, SIGXFSZ);
  const timespec now{};
  if (sigismember(&before_, SIGXFSZ) == 0) static_cast<void>(::sigtimedwait(&too_large, nullptr, &now));
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void SignalHold::obey() const {
  sigset_t waiting;
  if (::sigpending(&waiting) != 0) return;
  for (const int signal : kSignals) {
    if (signal == SIGXFSZ || sigismember(&waiting, signal) == 0 || sigismember(&before_, signal) == 1)
      continue;
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_DFL)
      throw InputError(Diagnostic{{}, "", "interrupted while files were written", "run it again"});
  }
}

FolderLock::FolderLock(const fs::path& folder, const SignalHold& hold) : file_(folder / ".trnplan-lock") {
  held_ = take(folder, O_RDONLY | O_DIRECTORY, hold);
  if (held_ || fault_ == EACCES) return;
  held_ = take(file_, O_RDWR | O_CREAT | O_NOFOLLOW, hold);
  own_file_ = fd_ >= 0;
}

FolderLock::~FolderLock() {
  if (own_file_) ::unlink(file_.c_str());  // others that wait for it see that it is gone
  if (fd_ >= 0) ::close(fd_);
}

bool FolderLock::stale() const {
  return !held_ && fault_ == ENOENT;
}

bool FolderLock::take(const fs::path& path, int flags, const SignalHold& hold) {
  const timespec pause{0, 10'000'000};
  while (true) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    if (fd_ < 0) return fault_ = errno, false;
    while (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) return fault_ = errno, false;
      hold.obey();
      ::nanosleep(&pause, nullptr);
    }
    struct stat ours {
    }, there{};
    if (::fstat(fd_, &ours) == 0 && ::stat(path.c_str(), &there) == 0 && ours.st_ino == there.st_ino &&
        ours.st_dev == there.st_dev)
      return true;
  }
}

Undo::~Undo() {
  for (; !steps_.empty(); steps_.pop_back()) {
    // If this fails too, nobody is left to report to; rmdir spares a folder that is not empty.
    const auto& [path, is_folder] = steps_.back();
    static_cast<void>(is_folder ? ::rmdir(path.c_str()) : ::unlink(path.c_str()));
  }
}

void make_folders(const fs::path& folder, Undo& undo) {
  fs::path so_far;
  for (const fs::path& part : folder) {
    so_far /= part;
    struct stat status {};
    const bool missing = ::stat(so_far.c_str(), &status) != 0;
    if (missing && ::mkdir(so_far.c_str(), 0777) == 0) {
      undo.folder(so_far);
      continue;
    }
    // Another process may have made the folder meanwhile.
    const int fault = errno;
    if (missing && (fault != EEXIST || ::stat(so_far.c_str(), &status) != 0))
      refuse_path(so_far, "cannot create this folder", fault);
    if (!S_ISDIR(status.st_mode)) refuse_path(so_far, "cannot be used as a folder", ENOTDIR);
  }
}

Output::Output(const fs::path& path, fs::path shown, mode_t mode)
    : path_(std::move(shown)),
      fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)) {
  if (fd_ < 0) refuse_path(path_, "cannot create this file", errno);
}

Output::~Output() {
  if (fd_ >= 0) ::close(fd_);
}

void Output::write(std::string_view text, const SignalHold& hold) {
  constexpr std::size_t kPiece = 1u << 20;
  while (!text.empty()) {
    hold.obey();
    const ssize_t done = ::write(fd_, text.data(), std::min(text.size(), kPiece));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) refuse_path(path_, "cannot write", errno);
    text.remove_prefix(static_cast<std::size_t>(done));
  }
}

void Output::finish() {
  if (::fsync(fd_) != 0) refuse_path(path_, "cannot write to the disk", errno);
  // Network file systems may report a full disk only here.
  if (::close(std::exchange(fd_, -1)) != 0) refuse_path(path_, "cannot close", errno);
}

void flush_folder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  static_cast<void>(::fsync(fd));
  ::close(fd);
}

}  // namespace trnplan::io
