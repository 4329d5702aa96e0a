#include "io/atomic_write.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <utility>

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
  for (const OutputFile& f : files) {
    struct stat status {};
    const fs::path path = place_of(folder, f);
    if (::lstat(path.c_str(), &status) != 0) continue;
    if (S_ISDIR(status.st_mode)) {
      faults.push_back(
          {{path.string()}, "", "a folder stands where a file would be written", "remove or rename it"});
    } else if (!force) {
      faults.push_back({{path.string()},
                        "",
                        "the file exists already",
                        "choose another folder, or overwrite with --force"});
    }
  }
  if (!faults.empty()) throw InputError(std::move(faults));
}

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
    if (::stat(so_far.c_str(), &status) == 0) {
      if (!S_ISDIR(status.st_mode)) refuse(so_far, "cannot be used as a folder", ENOTDIR);
    } else if (::mkdir(so_far.c_str(), 0777) == 0) {
      undo.folder(so_far);
    } else {
      refuse(so_far, "cannot create this folder", errno);
    }
  }
}

/// A file being written; closed on every way out.
class Output {
 public:
  Output(fs::path path, mode_t mode)
      : path_(std::move(path)),
        fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)) {
    if (fd_ < 0) refuse(path_, "cannot create this file", errno);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() {
    if (fd_ >= 0) ::close(fd_);
  }

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t done = ::write(fd_, text.data(), text.size());
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

/// Makes the renames themselves last; a file system that cannot do that is no reason to fail.
void flush_folder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  static_cast<void>(::fsync(fd));
  ::close(fd);
}

}  // namespace

void write_files(const fs::path& folder, const std::vector<OutputFile>& files, bool force) {
  if (folder.empty()) throw InputError(Diagnostic{{}, "", "no output folder was named", "name a folder"});
  check_names(folder, files);
  Undo folders;
  make_folders(folder, folders);
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
    Output out(path, f.executable ? 0777 : 0666);
    temporaries.file(path);
    out.write(f.text);
    out.finish();
    written.push_back(path);
  }

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
  folders.keep();
}

void check_file(const fs::path& path, bool force) {
  const auto refuse_file = [&](const char* problem, const char* fix) {
    throw InputError(Diagnostic{{path.string()}, "", problem, fix});
  };
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) {
    const bool missing = errno == ENOENT;
    refuse_file(missing ? "its folder does not exist" : "its folder cannot be used",
                missing ? "create the folder, or choose another file" : "choose another file");
  }
  if (!S_ISDIR(status.st_mode)) refuse_file("its folder is no folder", "choose another file");
  if (::lstat(path.c_str(), &status) != 0) return;
  if (S_ISDIR(status.st_mode)) refuse_file("is a folder", "choose another file");
  if (!force) refuse_file("the file exists already", "choose another file, or overwrite with --force");
}

void write_file(const fs::path& path, const std::string& text, bool force) {
  check_file(path, force);
  try {
    write_files(path.has_parent_path() ? path.parent_path() : ".", {{path.filename().string(), text}}, force);
  } catch (const InputError& e) {
    std::vector<Diagnostic> faults = e.faults();
    for (Diagnostic& f : faults) f = {{path.string()}, "", f.problem, "choose another file"};
    throw InputError(std::move(faults));
  }
}

}  // namespace trnplan::io
