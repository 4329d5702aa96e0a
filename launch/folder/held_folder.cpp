#include "launch/folder/held_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace trnplan::launch {

namespace fs = std::filesystem;

namespace {

fs::path resolved(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::canonical(folder, error);
  return error ? fs::absolute(folder) : whole;
}

}  // namespace

HeldFolder::HeldFolder(const fs::path& folder)
    : path_(resolved(folder)),
      folder_(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {}

HeldFolder::~HeldFolder() {
  if (folder_ >= 0) ::close(folder_);
}

bool HeldFolder::is_folder() const {
  return folder_ >= 0;
}

bool HeldFolder::holds(const std::string& name) const {
  std::error_code error;
  return files_.contains(name) || fs::exists(fs::symlink_status(path_ / name, error));
}

std::vector<std::string> HeldFolder::names() const {
  std::vector<std::string> all;
  std::error_code error;
  for (fs::directory_iterator it(path_, error), end; !error && it != end; it.increment(error))
    all.push_back(it->path().filename().string());
  std::sort(all.begin(), all.end());
  return all;
}

const std::string& HeldFolder::read(const std::string& name) const {
  const auto known = files_.find(name);
  if (known != files_.end()) return known->second;
  return files_.emplace(name, fresh(name)).first->second;
}

std::string HeldFolder::fresh(const std::string& name) const {
  const fs::path file = path_ / name;
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(file, error))) {
    throw InputError({{file.string(), 0, 0},
                      "",
                      "is a link, and its target may change after it was checked",
                      "put the file itself there"});
  }
  return read_text(file);
}

bool HeldFolder::is_same_folder() const {
  struct stat held {
  }, there{};
  return ::fstat(folder_, &held) == 0 && ::lstat(path_.c_str(), &there) == 0 && held.st_dev == there.st_dev &&
         held.st_ino == there.st_ino;
}

void HeldFolder::need_unchanged() const {
  const auto changed = [](const fs::path& file, std::string what) {
    return Diagnostic{{file.string(), 0, 0},
                      "",
                      std::move(what) + " after it was checked, so it was not submitted",
                      "run trnplan launch again: it checks the current files"};
  };
  if (!is_same_folder()) throw InputError(changed(path_, "another folder has replaced it"));
  std::vector<Diagnostic> faults;
  for (const auto& [name, text] : files_) {
    try {
      if (fresh(name) != text) faults.push_back(changed(path_ / name, "was changed"));
    } catch (const InputError&) {
      faults.push_back(changed(path_ / name, "was removed or replaced"));
    }
  }
  if (!faults.empty()) throw InputError(std::move(faults));
}

bool HeldFolder::has(const fs::path& path) const {
  return path.parent_path() == path_ ? holds(path.filename().string()) : disk().has(path);
}

std::string HeldFolder::text(const fs::path& path) const {
  return path.parent_path() == path_ ? read(path.filename().string()) : disk().text(path);
}

}  // namespace trnplan::launch
