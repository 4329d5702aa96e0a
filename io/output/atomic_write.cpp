#include "io/output/atomic_write.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "io/output/file_writing.h"

namespace trnplan::io {

namespace {

namespace fs = std::filesystem;

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
          {{folder.string()}, f.name, "this is not a plain file name", "use a name without folders"});
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
  // A file that is written alone was named, not its folder.
  const std::string other = files.size() == 1 ? "choose another name" : "choose another folder";
  for (const OutputFile& f : files) {
    struct stat status {};
    const fs::path path = place_of(folder, f);
    if (::lstat(path.c_str(), &status) != 0) continue;
    if (S_ISDIR(status.st_mode)) {
      faults.push_back(
          {{path.string()}, "", "there is a folder where a file would be written", "remove or rename it"});
    } else if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
      faults.push_back({{path.string()}, "", "is not a regular file", other});
    } else if (!force) {
      there.push_back((fs::path(f.folder) / f.name).string());
    }
  }
  if (there.size() == 1) {
    faults.push_back({{(folder / there.front()).string()},
                      "",
                      "the file exists already",
                      other + ", or overwrite with --force"});
  } else if (!there.empty()) {
    faults.push_back({{folder.string()},
                      "",
                      fmt::format("{} of the {} files to be written exist already, {} among them",
                                  there.size(), files.size(), there.front()),
                      other + ", or overwrite with --force"});
  }
  if (!faults.empty()) throw InputError(std::move(faults));
}

/// Checks that existing folders are writable, and that missing ones can be made in the nearest existing one.
void check_usable(const fs::path& folder) {
  fs::path nearest = folder;
  struct stat status {};
  while (::stat(nearest.c_str(), &status) != 0) {
    if (errno != ENOENT) refuse_path(nearest, "cannot be used as a folder", errno);
    nearest = nearest.has_parent_path() && nearest != nearest.parent_path() ? nearest.parent_path() : ".";
  }
  if (!S_ISDIR(status.st_mode)) refuse_path(nearest, "cannot be used as a folder", ENOTDIR);
  if (::access(nearest.c_str(), W_OK | X_OK) != 0) refuse_path(nearest, "cannot be written to", errno);
}

/// Writes in larger pieces than the text comes in.
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
    // The name is short, so that any name that fits the file system also fits with it; the number keeps two
    // runs apart.
    const fs::path path =
        folder / (".trnplan-" + std::to_string(::getpid()) + "-" + std::to_string(written.size()));
    ::unlink(path.c_str());  // left by a killed run with our number
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

  Undo fresh;  // new files are removed again if a later rename fails
  for (std::size_t i = 0; i < files.size(); ++i) {
    const fs::path target = place_of(folder, files[i]);
    struct stat status {};
    const bool new_file = ::lstat(target.c_str(), &status) != 0;
    if (::rename(written[i].c_str(), target.c_str()) != 0)
      refuse_path(target, "cannot put the file in place", errno);
    if (new_file) fresh.file(target);
  }
  flush_folder(folder);
  for (const fs::path& path : below) flush_folder(path);
  fresh.keep();
  temporaries.keep();
}

/// Makes and locks the folder; then writes its files, which come from `files`.
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

/// Throws the faults of writing `path` itself, not of a file with a temporary name.
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
                              "about " + gigabytes(bytes) + " are to be written, but its disk has " +
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
  if (!S_ISDIR(status.st_mode)) refuse_file("its parent is not a folder", "choose another file");
  if (::lstat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) refuse_file("is a folder", "choose another file");
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
      refuse_file("is not a regular file", "choose another file");
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
  if (!is_plain(path.filename().string())) blame(path, {{{}, "", "this is not a plain file name", ""}});
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
