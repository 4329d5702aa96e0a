#include "io/output/atomic_write.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace trnplan::io {

namespace {

namespace fs = std::filesystem;

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

[[noreturn]] void refuse(const fs::path& path, const char* what, int code) {
  throw InputError(
      Diagnostic{{path.string()}, "", std::string(what) + ": " + std::strerror(code), fix_for(code)});
}

bool is_plain(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && printable(name, 255) == name &&
         name.find('/') == std::string::npos;
}

fs::path place_of(const fs::path& folder, const OutputFile& f) {
  return f.folder.empty() ? folder / f.name : folder / f.folder / f.name;
}

void check_names(const fs::path& folder, const std::vector<OutputFile>& files) {
  std::set<fs::path> seen;
  std::vector<Diagnostic> faults;
  for (const OutputFile& f : files) {
    if (!is_plain(f.name) || (!f.folder.empty() && !is_plain(f.folder))) {
      faults.push_back(
          {{folder.string()}, f.name, "this is no plain file name", "use a name without folders"});
    } else if (!seen.insert(place_of(folder, f)).second) {
      faults.push_back(
          {{folder.string()}, f.name, "two files would have this name", "give them different names"});
    }
  }
  if (!faults.empty()) throw InputError(std::move(faults));
}

void check_existing(const fs::path& folder, const std::vector<OutputFile>& files, bool force) {
  std::vector<Diagnostic> faults;
  std::vector<std::string> there;
  for (const OutputFile& f : files) {
    struct stat status {};
    const fs::path path = place_of(folder, f);
    if (::lstat(path.c_str(), &status) != 0) continue;
    if (S_ISDIR(status.st_mode)) {
      faults.push_back(
          {{path.string()}, "", "a folder stands where a file would be written", "remove or rename it"});
    } else if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
      faults.push_back({{path.string()}, "", "is no regular file", "choose another folder"});
    } else if (!force) {
      there.push_back((fs::path(f.folder) / f.name).string());
    }
  }
  if (there.size() == 1) {
    faults.push_back({{(folder / there.front()).string()},
                      "",
                      "the file exists already",
                      "choose another folder, or overwrite with --force"});
  } else if (!there.empty()) {
    faults.push_back({{folder.string()},
                      "",
                      fmt::format("{} of the {} files to be written exist already, {} among them",
                                  there.size(), files.size(), there.front()),
                      "choose another folder, or overwrite with --force"});
  }
  if (!faults.empty()) throw InputError(std::move(faults));
}

/// Folders that are there may be written to; what is missing can be made in the nearest one that is there.
void check_usable(const fs::path& folder) {
  fs::path nearest = folder;
  struct stat status {};
  while (::stat(nearest.c_str(), &status) != 0) {
    if (errno != ENOENT) refuse(nearest, "cannot be used as a folder", errno);
    nearest = nearest.has_parent_path() && nearest != nearest.parent_path() ? nearest.parent_path() : ".";
  }
  if (!S_ISDIR(status.st_mode)) refuse(nearest, "cannot be used as a folder", ENOTDIR);
  if (::access(nearest.c_str(), W_OK | X_OK) != 0) refuse(nearest, "cannot be written to", errno);
}

/// Holds back signals that end the program, as long as it lives, so that what has to be undone can be undone.
/// The one that came is obeyed when it goes. Those that are ignored or handled change nothing here.
class SignalHold {
 public:
  SignalHold() {
    sigemptyset(&held_);
    for (const int signal : kSignals) sigaddset(&held_, signal);
    ::pthread_sigmask(SIG_BLOCK, &held_, &before_);
  }
  SignalHold(const SignalHold&) = delete;
  SignalHold& operator=(const SignalHold&) = delete;
  ~SignalHold() {
    // A file that grew too large is told as any other fault is.
    sigset_t too_large;
    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    const timespec now{};
    if (sigismember(&before_, SIGXFSZ) == 0) static_cast<void>(::sigtimedwait(&too_large, nullptr, &now));
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

  /// Throws when we are to end. Nobody reads what: the signal ends us once everything is undone.
  void obey() const {
    sigset_t waiting;
    if (::sigpending(&waiting) != 0) return;
    for (const int signal : kSignals) {
      if (signal == SIGXFSZ || sigismember(&waiting, signal) == 0 || sigismember(&before_, signal) == 1)
        continue;
      struct sigaction action {};
      ::sigaction(signal, nullptr, &action);
      if (action.sa_handler == SIG_DFL)
        throw InputError(Diagnostic{{}, "", "interrupted while files were written", "call it again"});
    }
  }

 private:
  static constexpr std::array kSignals = {SIGINT,  SIGTERM, SIGHUP,    SIGQUIT, SIGUSR1, SIGUSR2,
                                          SIGALRM, SIGXCPU, SIGVTALRM, SIGPROF, SIGXFSZ};
  sigset_t held_{}, before_{};
};

/// One writer of a folder at a time, on all machines that share it; the system frees the lock however the
/// process ends. The lock lies on the folder itself. NFS locks no folders, so a file in it serves there.
/// Where the file system knows no locks at all we go on without one.
class FolderLock {
 public:
  FolderLock(const fs::path& folder, const SignalHold& hold) : file_(folder / ".trnplan-lock") {
    held_ = take(folder, O_RDONLY | O_DIRECTORY, hold);
    if (held_ || fault_ == EACCES) return;
    held_ = take(file_, O_RDWR | O_CREAT | O_NOFOLLOW, hold);
    own_file_ = fd_ >= 0;
  }
  ~FolderLock() {
    if (own_file_) ::unlink(file_.c_str());  // others that wait for it see that it went
    if (fd_ >= 0) ::close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// The folder was removed while we waited.
  bool stale() const { return !held_ && fault_ == ENOENT; }

 private:
  bool take(const fs::path& path, int flags, const SignalHold& hold) {
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

  fs::path file_;
  int fd_ = -1, fault_ = 0;
  bool held_ = false, own_file_ = false;
};

/// Undoes what was done so far, newest first, unless keep() is called.
class Undo {
 public:
  Undo() = default;
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  ~Undo() {
    for (; !steps_.empty(); steps_.pop_back()) {
      // Nobody is left to tell when this fails too; rmdir spares a folder that is not empty.
      const auto& [path, is_folder] = steps_.back();
      static_cast<void>(is_folder ? ::rmdir(path.c_str()) : ::unlink(path.c_str()));
    }
  }
  void folder(const fs::path& path) { steps_.emplace_back(path, true); }
  void file(const fs::path& path) { steps_.emplace_back(path, false); }
  void keep() { steps_.clear(); }

 private:
  std::vector<std::pair<fs::path, bool>> steps_;
};

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
    // Another process may have made it in between.
    const int fault = errno;
    if (missing && (fault != EEXIST || ::stat(so_far.c_str(), &status) != 0))
      refuse(so_far, "cannot create this folder", fault);
    if (!S_ISDIR(status.st_mode)) refuse(so_far, "cannot be used as a folder", ENOTDIR);
  }
}

/// A file being written; closed on every way out.
class Output {
 public:
  /// `shown` is what messages call it.
  Output(const fs::path& path, fs::path shown, mode_t mode)
      : path_(std::move(shown)),
        fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)) {
    if (fd_ < 0) refuse(path_, "cannot create this file", errno);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() {
    if (fd_ >= 0) ::close(fd_);
  }

  void write(std::string_view text, const SignalHold& hold) {
    constexpr std::size_t kPiece = 1u << 20;
    while (!text.empty()) {
      hold.obey();
      const ssize_t done = ::write(fd_, text.data(), std::min(text.size(), kPiece));
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) refuse(path_, "cannot write", errno);
      text.remove_prefix(static_cast<std::size_t>(done));
    }
  }
  void finish() {
    if (::fsync(fd_) != 0) refuse(path_, "cannot write to the disk", errno);
    // Network file systems may report a full disk only here.
    if (::close(std::exchange(fd_, -1)) != 0) refuse(path_, "cannot close", errno);
  }

 private:
  fs::path path_;
  int fd_;
};

/// In larger pieces than they come.
void write_pieces(const OutputFile& f, Output& out, const SignalHold& hold) {
  constexpr std::size_t kEnough = 1 << 20;
  std::string gathered;
  f.pieces([&](std::string_view piece) {
    gathered += piece;
    if (gathered.size() < kEnough) return;
    out.write(gathered, hold);
    gathered.clear();
  });
  out.write(gathered, hold);
}

/// Makes the renames themselves last; a file system that cannot do that is no reason to fail.
void flush_folder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  static_cast<void>(::fsync(fd));
  ::close(fd);
}

/// write_files() under the lock of the folder.
void write_locked(const fs::path& folder, const std::vector<OutputFile>& files, bool force, Undo& folders,
                  const SignalHold& hold) {
  check_existing(folder, files, force);
  std::set<fs::path> below;
  for (const OutputFile& f : files) {
    if (!f.folder.empty() && below.insert(folder / f.folder).second) make_folders(folder / f.folder, folders);
  }

  Undo temporaries;
  std::vector<fs::path> written;
  for (const OutputFile& f : files) {
    // Short, so that any name that fits the file system also fits with it; the number keeps two runs apart.
    const fs::path path =
        folder / (".trnplan-" + std::to_string(::getpid()) + "-" + std::to_string(written.size()));
    ::unlink(path.c_str());  // left by a killed run that had our number
    Output out(path, place_of(folder, f), f.executable ? 0777 : 0666);
    temporaries.file(path);
    if (f.pieces) {
      write_pieces(f, out, hold);
    } else {
      out.write(f.text, hold);
    }
    out.finish();
    written.push_back(path);
  }
  hold.obey();

  Undo fresh;  // files that were not there before go again when a later rename fails
  for (std::size_t i = 0; i < files.size(); ++i) {
    const fs::path target = place_of(folder, files[i]);
    struct stat status {};
    const bool new_file = ::lstat(target.c_str(), &status) != 0;
    if (::rename(written[i].c_str(), target.c_str()) != 0)
      refuse(target, "cannot put the file in place", errno);
    if (new_file) fresh.file(target);
  }
  flush_folder(folder);
  for (const fs::path& path : below) flush_folder(path);
  fresh.keep();
  temporaries.keep();
}

/// The folder, made and locked; its files then come from `files`.
template <class Files>
void write_into(const fs::path& folder, bool force, const Files& files) {
  if (folder.empty()) throw InputError(Diagnostic{{}, "", "no output folder was named", "name a folder"});
  const SignalHold hold;
  while (true) {
    Undo folders;
    make_folders(folder, folders);
    const FolderLock lock(folder, hold);
    if (lock.stale()) continue;
    write_locked(folder, files(), force, folders, hold);
    folders.keep();
    return;
  }
}

/// Faults of writing `path`, which nobody gave a temporary name.
[[noreturn]] void blame(const fs::path& path, std::vector<Diagnostic> faults) {
  for (Diagnostic& f : faults) f = {{path.string()}, "", f.problem, "choose another file"};
  throw InputError(std::move(faults));
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : ".";
}

}  // namespace

void write_files(const fs::path& folder, const std::vector<OutputFile>& files, bool force) {
  check_names(folder, files);
  write_into(folder, force, [&]() -> const std::vector<OutputFile>& { return files; });
}

void check_files(const fs::path& folder, const std::vector<std::string>& names, bool force) {
  if (folder.empty()) throw InputError(Diagnostic{{}, "", "no output folder was named", "name a folder"});
  std::vector<OutputFile> files;
  for (const std::string& name : names) files.push_back({name, ""});
  check_names(folder, files);
  check_usable(folder);
  check_existing(folder, files, force);
}

void check_space(const fs::path& folder, std::uint64_t bytes) {
  std::error_code unknown;
  fs::path there = fs::absolute(folder, unknown);
  while (!unknown && !fs::exists(there, unknown) && there.has_relative_path()) there = there.parent_path();
  const fs::space_info disk = fs::space(there, unknown);
  if (unknown || disk.capacity == 0 || disk.available >= bytes) return;  // /proc has no size
  const auto gigabytes = [](std::uintmax_t b) {
    return fmt::format("{:.1f} GB", static_cast<double>(b) / 1e9);
  };
  throw InputError(Diagnostic{{folder.string()},
                              "",
                              "about " + gigabytes(bytes) + " are to be written, and its disk has " +
                                  gigabytes(disk.available) + " free",
                              "choose a folder on another disk"});
}

void check_file(const fs::path& path, bool force) {
  const auto refuse_file = [&](const char* problem, const char* fix) {
    throw InputError(Diagnostic{{path.string()}, "", problem, fix});
  };
  const fs::path folder = folder_of(path);
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) {
    const bool missing = errno == ENOENT;
    refuse_file(missing ? "its folder does not exist" : "its folder cannot be used",
                missing ? "create the folder, or choose another file" : "choose another file");
  }
  if (!S_ISDIR(status.st_mode)) refuse_file("its folder is no folder", "choose another file");
  if (::lstat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) refuse_file("is a folder", "choose another file");
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
      refuse_file("is no regular file", "choose another file");
    if (!force) refuse_file("the file exists already", "choose another file, or overwrite with --force");
  } else if (errno == ENAMETOOLONG) {
    refuse_file("its name is too long", "choose another file");
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    refuse_file("its folder cannot be written to", "choose a file in a folder you may write to");
}

void write_file(const fs::path& path, const std::string& text, bool force) {
  update_file(path, force, [&] { return text; });
}

void update_file(const fs::path& path, bool force, const std::function<std::string()>& change) {
  check_file(path, force);
  if (!is_plain(path.filename().string())) blame(path, {{{}, "", "this is no plain file name", ""}});
  bool changed = false;
  try {
    write_into(folder_of(path), force, [&] {
      std::vector<OutputFile> files{{path.filename().string(), change()}};
      changed = true;
      return files;
    });
  } catch (const InputError& e) {
    if (!changed) throw;
    blame(path, e.faults());
  }
}

}  // namespace trnplan::io
