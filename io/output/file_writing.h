// What writing files safely takes of the system: signals held back, a folder locked, what was done undone, and files
// whose every fault is told. io/output/atomic_write.h puts them together.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace trnplan::io {

/// Throws the InputError of a system call that gave `code`, with what to do.
[[noreturn]] void refuse_path(const std::filesystem::path& path, const char* what, int code);

/// Holds back signals that end the program, as long as it lives, so that what has to be undone can be undone.
/// The one that came is obeyed when it goes. Those that are ignored or handled change nothing here.
class SignalHold {
 public:
  SignalHold();
  SignalHold(const SignalHold&) = delete;
  SignalHold& operator=(const SignalHold&) = delete;
  ~SignalHold();

  /// Throws when we are to end. Nobody reads what: the signal ends us once everything is undone.
  void obey() const;

 private:
  sigset_t held_{}, before_{};
};

/// One writer of a folder at a time, on all machines that share it; the system frees the lock however the
/// process ends. The lock lies on the folder itself. NFS locks no folders, so a file in it serves there.
/// Where the file system knows no locks at all we go on without one.
class FolderLock {
 public:
  FolderLock(const std::filesystem::path& folder, const SignalHold& hold);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// The folder was removed while we waited.
  bool stale() const;

 private:
  bool take(const std::filesystem::path& path, int flags, const SignalHold& hold);

  std::filesystem::path file_;
  int fd_ = -1, fault_ = 0;
  bool held_ = false, own_file_ = false;
};

/// Undoes what was done so far, newest first, unless keep() is called.
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
  std::vector<std::pair<std::filesystem::path, bool>> steps_;  ///< and whether it is a folder
};

/// With all above it.
void make_folders(const std::filesystem::path& folder, Undo& undo);

/// A file being written; closed on every way out.
class Output {
 public:
  /// `shown` is what messages call it.
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

/// Makes the renames in it last; a file system that cannot do that is no reason to fail.
void flush_folder(const std::filesystem::path& folder);

}  // namespace trnplan::io
