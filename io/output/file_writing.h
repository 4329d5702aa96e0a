// System calls for writing files safely: signals are held back, a folder is locked, changes are undone, and
// every fault of a file is reported. io/output/atomic_write.h combines them.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace trnplan::io {

/// Throws the InputError of a system call that failed with `code`, with a fix.
[[noreturn]] void refuse_path(const std::filesystem::path& path, const char* what, int code);

/// Holds back signals that end the program during its lifetime, so that changes can be undone. Its destructor
/// obeys a signal that came. Signals that are ignored or handled are not affected.
class SignalHold {
 public:
  SignalHold();
  SignalHold(const SignalHold&) = delete;
  SignalHold& operator=(const SignalHold&) = delete;
  ~SignalHold();

  /// Throws if a signal came. Nobody reads the exception's text: the signal ends the program once everything
  /// is undone.
  void obey() const;

 private:
  sigset_t held_{}, before_{};
};

/// Lock that allows one writer of a folder at a time, on all machines that share the folder; the system frees
/// it however the process ends. The lock is on the folder itself. NFS cannot lock folders, so there it is on
/// a file in the folder. On a file system without locks the writer continues without one.
class FolderLock {
 public:
  FolderLock(const std::filesystem::path& folder, const SignalHold& hold);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// True if the folder was removed during the wait.
  bool stale() const;

 private:
  bool take(const std::filesystem::path& path, int flags, const SignalHold& hold);

  std::filesystem::path file_;
  int fd_ = -1, fault_ = 0;
  bool held_ = false, own_file_ = false;
};

/// Undoes the steps so far, newest first, unless keep() is called.
class Undo {
 public:
  Undo() = default;
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  ~Undo();
  void folder(const std::filesystem::path& path) { steps_.emplace_back(path, true); }
  void file(const std::filesystem::path& path) { steps_.emplace_back(path, false); }
  void keep() { steps_.clear(); }

 private:
  std::vector<std::pair<std::filesystem::path, bool>> steps_;  ///< path, and true for a folder
};

/// Makes `folder` and all folders above it.
void make_folders(const std::filesystem::path& folder, Undo& undo);

/// A file that is being written; closed in every case.
class Output {
 public:
  /// `shown` is the file's name in messages.
  Output(const std::filesystem::path& path, std::filesystem::path shown, mode_t mode);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  void write(std::string_view text, const SignalHold& hold);
  void finish();

 private:
  std::filesystem::path path_;
  int fd_;
};

/// Makes the renames in the folder durable; a file system that cannot do that is no reason to fail.
void flush_folder(const std::filesystem::path& folder);

}  // namespace trnplan::io
